"""What one task of Spark does for a leg of stages: it asks the hosts that keep its buckets."""

from __future__ import annotations

__all__ = ["Leg", "begun"]

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import pyarrow as pa

from sash.spark.buckets.hosts import ask
from sash.spark.buckets.keeper import Task
from sash.spark.buckets.meeting import Meeting, meeting_of
from sash.spark.pipelines.pipeline import Pipeline, Stage

Batches = Iterator[pa.RecordBatch]
Packs = Mapping[int, Sequence[pa.Buffer]]
"""By bucket."""


class Leg:
    """The part of a leg that one task of a batch has: the buckets of its partition."""

    def __init__(
        self,
        pipeline: Pipeline,
        stages: Sequence[Stage],
        run: str,
        batch: int,
        partition: int,
        ask: Callable[[Pipeline, Task, Sequence[pa.Buffer]], Batches] = ask,
    ) -> None:
        """`partition`: Spark's number of the task."""
        self._pipeline, self._stages = pipeline, stages
        self._run, self._batch, self._partition = run, batch, partition
        self._ask = ask

    def given(self, packs: Packs) -> Batches:
        """What the leg makes of the packs that Spark brought for the task's buckets."""
        if packs:
            # Not the task's number: behind coalesce() one task has several partitions, one after another,
            # and behind union() they are numbered on.
            self._partition = min(packs) % self._pipeline.partitions
        elif self._stages[0].number == 1:
            # Where a batch of a DataFrame has no partition nobody sends packs; the batch is told of all the
            # same, so that a bucket that does not know of the batch before has lost it.
            self._partition %= self._pipeline.partitions
            own = range(self._partition, self._pipeline.buckets, self._pipeline.partitions)
            packs = dict.fromkeys(own, ())
        return self._asked(self._stages, dict(sorted(packs.items())))

    def _asked(self, stages: Sequence[Stage], packs: Packs) -> Batches:
        """What buckets of the first of the stages give, one after another, and then those of the others.

        Who is asked again takes back what it gave: so the buckets of a stage are asked one by one. The
        stages behind it are asked before the last bucket's rows are passed on, since who does not want
        all rows stops in their midst.
        """
        stage, *later = stages
        meeting = self._meeting(stage) if later else None
        behind: Batches = iter(())
        for bucket, own in packs.items():
            given = self._ask(self._pipeline, Task(self._run, stage.number, bucket, self._batch), own)
            if meeting is not None:
                meeting.bring(bucket, next(given))
                if bucket == max(packs) and (brought := meeting.take()) is not None:
                    behind = begun(self._asked(later, brought))
            yield from given
        yield from behind

    def _meeting(self, stage: Stage) -> Meeting:
        return meeting_of(self._pipeline, stage, self._run, self._batch, self._partition)


def begun(batches: Batches) -> Batches:
    """The same batches, the first of them there already.

    >>> told = begun(print(number) or number for number in range(2))
    0
    >>> list(told)
    1
    [0, 1]
    """
    first = next(batches, None)
    return iter(()) if first is None else chain((first,), batches)
