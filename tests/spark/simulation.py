"""A pipeline without Spark: packers, buckets and stages in one process, batch by batch."""

from __future__ import annotations

__all__ = ["Simulation"]

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from sash.spark.buckets.bucket_files import read_results
from sash.spark.buckets.crossing import crossed
from sash.spark.buckets.keeper import Keeper, Task
from sash.spark.buckets.leg import Leg
from sash.spark.buckets.packing import PACK_SCHEMA, Packer
from sash.spark.buckets.packs import Control, read_pointer
from sash.spark.pipelines.pipeline import Pipeline
from sash.spark.types import spark_arrow_schema


class Simulation:
    """Plays batches as Spark would; `forget` makes every bucket come back from disk."""

    def __init__(self, pipeline: Pipeline, tasks: int = 2) -> None:
        self.pipeline, self.tasks = pipeline, tasks
        self.batch, self.run = 0, "run"
        Path(pipeline.checkpoint, "sash").mkdir(parents=True, exist_ok=True)
        self.keeper = Keeper(pipeline)

    def forget(self) -> None:
        """As after a crash: another run, on a node that remembers nothing."""
        self.run += "again"
        self.keeper = Keeper(self.pipeline)

    def step(self, rows: Mapping[str, pa.Table], *, idle: Iterable[str] = (), end: bool = False) -> pa.Table:
        """One batch: each stream's rows split over the source's tasks, and what the source says of time."""
        control = Control(frozenset(idle), end)
        packs: dict[int, list[pa.Buffer]] = {}
        results: list[pa.RecordBatch] = []
        for task in range(self.tasks):
            parts = []
            for name, table in rows.items():
                start, stop = (table.num_rows * i // self.tasks for i in (task, task + 1))
                parts.append((name, table.slice(start, stop - start)))
            _deal(Packer(self.pipeline).pack(parts, (0, task), control), packs, results)
        for leg in self.pipeline.legs:
            given: dict[int, list[pa.Buffer]] = {}
            for partition in range(self.pipeline.partitions):
                own = {b: p for b, p in packs.items() if b % self.pipeline.partitions == partition}
                task = Leg(self.pipeline, leg, self.run, self.batch, partition, ask=self._asked)
                for batch in task.given(own):
                    if batch.schema.equals(PACK_SCHEMA):
                        _deal(batch, given, results)
                    else:
                        results.append(batch)
            packs = given
        self.batch += 1
        for_spark = spark_arrow_schema(self.pipeline.schema)
        given_out = pa.Table.from_batches([crossed(batch, for_spark) for batch in results], for_spark)
        return given_out.cast(self.pipeline.schema)

    def _asked(self, _: Pipeline, task: Task, packs: Sequence[pa.Buffer]) -> Iterator[pa.RecordBatch]:
        return iter(self.keeper.step(task, packs))


def _deal(batch: pa.RecordBatch, packs: dict[int, list[pa.Buffer]], results: list[pa.RecordBatch]) -> None:
    for bucket, pack in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
        path = read_pointer(pack.as_buffer())
        if path is None:
            packs.setdefault(bucket, []).append(pack.as_buffer())
        else:
            results.extend(read_results(path))
