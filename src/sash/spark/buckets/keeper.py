"""Keeps the buckets of a node between batches: in memory where they stand right, else from disk.

A batch starts from the state after the last batch before it. If the bucket in memory stands exactly
there it goes on at once; otherwise (a task was played again, the node is new, the query was started
again) it is rebuilt from its snapshot and the batches since. Either way the batch gives the same.
"""

from __future__ import annotations

__all__ = ["Keeper", "Task"]

import errno
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pyarrow.parquet as pq

from sash.catalog.atomic_files import replace_file
from sash.errors import SashError
from sash.lifetimes import Changes
from sash.spark.buckets.bucket import Bucket, Given
from sash.spark.buckets.bucket_files import BucketFiles, Manifest, files_of
from sash.spark.buckets.packing import pointer
from sash.spark.buckets.packs import Pack, read_pack
from sash.spark.checkpoints.endings import ended_run
from sash.spark.pipelines.pipeline import Pipeline
from sash.spark.types import spark_arrow_schema


@dataclass(frozen=True)
class Task:
    """Which bucket is to take which batch. `run` tells one start of a Spark query from another."""

    run: str
    stage: int
    bucket: int
    batch: int

    @property
    def place(self) -> tuple[str, int, int]:
        """The bucket without the batch."""
        return self.run, self.stage, self.bucket


@dataclass
class _Kept:
    """A bucket in memory, and where it stands."""

    bucket: Bucket
    manifest: Manifest | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    past: deque[int] = field(default_factory=deque)
    """The batches, in order, of which there may be files."""


class Keeper:
    """The buckets of one process."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._kept: dict[tuple[str, int, int], _Kept] = {}
        self._lock = threading.Lock()
        self._last_leg = pipeline.legs[-1][0].number
        self.checkpoint, self.hosts = pipeline.checkpoint, pipeline.hosts
        self.used = monotonic()
        """When it was last asked for anything."""
        self.rebuilt = 0
        """How many times a bucket was made from disk."""

    def forget_other_runs(self, run: str) -> None:
        """Let go of buckets of earlier starts of the query."""
        with self._lock:
            for place in [place for place in self._kept if place[0] != run]:
                del self._kept[place]

    @property
    def ended(self) -> bool:
        """Whether the run that the buckets belong to is over, as the driver has noted in the checkpoint."""
        run = ended_run(self.checkpoint)
        if run is None:
            return self._pipeline.temporary and not Path(self.checkpoint).exists()
        with self._lock:
            return bool(self._kept) and all(place[0] == run for place in self._kept)

    def step(self, task: Task, data: Sequence[pa.Buffer]) -> list[pa.RecordBatch]:
        """Let a bucket take a batch, durably; give what it gives."""
        with self._lock:
            if task.place not in self._kept:
                self._kept[task.place] = _Kept(self._fresh(task), None)
            kept = self._kept[task.place]
        with kept.lock:
            files = files_of(self.checkpoint, task.stage, task.bucket)
            self._stand_before(kept, task, files)
            manifest = kept.manifest
            kept.manifest = _NOWHERE  # half a step is no state to go on from
            given = kept.bucket.step([self._pack(one, task.stage) for one in data])
            self._keep_late(kept.bucket, task)
            answer = self._answer(given, task, files)
            kept.manifest = self._record(kept, manifest, task, data, files)
            self._clean(kept, files)
            return answer

    def _answer(self, given: Given, task: Task, files: BucketFiles) -> list[pa.RecordBatch]:
        """What goes to the task: packs first. Results of earlier legs than the last lie in a file until
        that picks them up: a shuffle would copy them again and again."""
        if given.packs is None:
            return given.answers
        if task.stage >= self._last_leg:
            return [given.packs, *given.answers]
        if not given.answers:
            files.remove_results(task.batch - 1)
            return [given.packs]
        path = files.write_results(task.batch, given.answers)
        return [given.packs, pointer(task.bucket, str(path))]

    def _fresh(self, task: Task) -> Bucket:
        return Bucket(self._pipeline, self._pipeline.stages[task.stage - 1], task.bucket)

    def _pack(self, data: pa.Buffer, stage: int) -> Pack:
        return read_pack(data, self._pipeline.stages[stage - 1].schemas)

    def _stand_before(self, kept: _Kept, task: Task, files: BucketFiles) -> None:
        """Make the bucket stand where the batch starts."""
        here = None if kept.manifest is None else kept.manifest.batch
        if here == task.batch - 1:
            return
        there = files.newest(task.batch)
        self._refuse_gap(task, here, there)
        if here == (None if there is None else there.batch):
            return
        kept.bucket, kept.manifest = self._fresh(task), there
        kept.past = deque(files.batches(task.batch))
        if there is None:
            return
        self.rebuilt += 1
        if there.snapshot is not None:
            kept.bucket.load(files.read_snapshot(there.snapshot))
        for batch in there.log:
            kept.bucket.step([self._pack(one, task.stage) for one in files.packs(batch)])

    def _refuse_gap(self, task: Task, here: int | None, before: Manifest | None) -> None:
        """Raise if a batch before is missing: every batch reaches every bucket, with rows or without.

        In memory only a batch that never came can be; on disk it may also have gone.
        """
        last = -1 if before is None else before.batch
        if last >= task.batch - 1:
            return
        bucket = f"bucket {task.bucket} of stage {task.stage}"
        whole = "in a foreachBatch of your own call persist() and count() before anything else"
        if here is not None and here >= 0:
            raise SashError(
                "SASH-SPARK-086",
                f"Batch {last + 1} was never computed in {bucket}, "
                f"and Spark goes on with batch {task.batch}.",
                remedy=f"Compute every batch whole: {whole}. Then start with a new checkpoint.",
            )
        raise SashError(
            "SASH-SPARK-086",
            f"The checkpoint is damaged, or batch {last + 1} was never computed: {bucket} has no state of "
            f"it, and Spark goes on with batch {task.batch}.",
            remedy="Put back a copy of the whole checkpoint, or begin a new one. If the query is one of "
            f"yours over to_spark(), compute every batch whole: {whole}.",
        )

    def _keep_late(self, bucket: Bucket, task: Task) -> None:
        """Write late rows where they were asked for; a batch that is played again writes the same again."""
        by_stream: dict[str, list[Changes]] = {}
        for stream, changes in bucket.late_rows:
            by_stream.setdefault(stream, []).append(changes)
        for stream, parts in by_stream.items():
            fields = self._pipeline.stream(stream).definition.fields
            schema = spark_arrow_schema(pa.schema([(field.name, field.type) for field in fields]))
            columns = [c.cast(f.type) for c, f in zip(Changes.concat(parts).columns, schema, strict=True)]
            table = pa.Table.from_arrays(columns, schema=schema)
            # Several runs may write there, and none may take another's rows for its own.
            name = f"{self._pipeline.id[:8]}-{task.bucket}-{task.batch}.parquet"
            path = Path(str(self._pipeline.late)) / stream / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, partial(pq.write_table, table), sync=False)
            except OSError as error:
                raise _late_unwritable(str(self._pipeline.late), error) from error

    def _record(
        self, kept: _Kept, before: Manifest | None, task: Task, data: Sequence[pa.Buffer], files: BucketFiles
    ) -> Manifest:
        """Write down what recovery needs: the packs, or all state if the log has grown too long."""
        nbytes = sum(one.size for one in data)
        measures = kept.bucket.measures
        manifest = (before or Manifest(-1)).after(task.batch, nbytes, measures)
        if manifest.wants_merge:
            manifest = manifest.merged(files.write_snapshot(task.batch, kept.bucket.save()))
            data = ()
        files.write_step(manifest, data)
        return manifest

    def _clean(self, kept: _Kept, files: BucketFiles) -> None:
        """Remove what no retained batch needs; now and then, as it costs a listing."""
        assert kept.manifest is not None
        kept.past.append(kept.manifest.batch)
        retain = self._pipeline.retain
        if len(kept.past) > 2 * retain:
            while len(kept.past) > retain + 1:
                kept.past.popleft()
            with suppress(SashError):  # a file that is broken is told of when it is needed
                files.clean(files.manifest(kept.past[0]))


def _late_unwritable(folder: str, error: OSError) -> SashError:
    """The error for late rows that have no place: the setting is to be mended, not the checkpoint."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full" if full else error.strerror or str(error)
    return SashError(
        "SASH-SPARK-089",
        f"Late rows could not be written to the folder '{folder}': {why}.",
        remedy=f"{'Make room there' if full else 'Let late name a folder that every executor can write to'}, "
        "and start again with the same checkpoint.",
    )


_NOWHERE = Manifest(-2)
