"""From packs to results: one `mapInArrow` per leg of stages, behind a shuffle by bucket.

What a task of a leg does is small: it hands each bucket's packs to the host that keeps the bucket
and passes on what comes back.
"""

from __future__ import annotations

__all__ = ["assemble", "pack_frame"]

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa

from sash.errors import SashError
from sash.spark.buckets.crossing import crossed
from sash.spark.failures import telling
from sash.spark.pipelines.pipeline import Pipeline
from sash.spark.types import from_spark, quoted, spark_arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark import TaskContext
    from pyspark.sql import DataFrame

_PACKS = "bucket int, pack binary"

Batches = Iterator[pa.RecordBatch]


def pack_frame(frame: DataFrame, pipeline: Pipeline, stream: str) -> DataFrame:
    """The packs of a stream that comes as a DataFrame."""
    read = pipeline.columns(stream)
    # PySpark asks for each column by its name again, and does not find one with a dot or a backtick in it.
    plain = frame.select(*quoted(read)).toDF(*(f"c{i}" for i in range(len(read))))
    return plain.mapInArrow(_packing(pipeline, stream), _PACKS)


def assemble(pipeline: Pipeline, packs: DataFrame) -> DataFrame:
    """The rows of the result, from the packs of all streams."""
    for leg, stages in enumerate(pipeline.legs):
        packs = packs.coalesce(1) if pipeline.partitions == 1 else _by_bucket(packs, pipeline)
        schema = spark_schema(pipeline.schema) if stages is pipeline.legs[-1] else _PACKS
        packs = packs.mapInArrow(_stepping(pipeline, leg), schema)
    return packs


def _by_bucket(packs: DataFrame, pipeline: Pipeline) -> DataFrame:
    return packs.repartitionById(pipeline.partitions, "bucket")


def _packing(pipeline: Pipeline, stream: str) -> Callable[[Batches], Batches]:
    @telling
    def pack(batches: Batches) -> Batches:
        from pyspark import TaskContext

        from sash.spark.buckets.packing import Packer
        from sash.spark.buckets.workers import settle
        from sash.spark.reading.content import Content, timely

        settle()
        context = TaskContext.get()
        assert context is not None
        read = pipeline.columns(stream)
        definition = pipeline.stream(stream).definition
        fields = [field for field in definition.fields if field.name in read]
        parts: list[tuple[str, pa.Table]] = []
        malformed = 0
        for batch in batches:
            # One row without a usable timestamp must not stop the stream for good.
            content = Content(pa.Table.from_batches([from_spark(batch, fields)]))
            kept = timely(content, definition, "DROPMALFORMED")
            parts.append((stream, kept.table))
            malformed += kept.malformed
        number = [spec.definition.name for spec in pipeline.streams].index(stream)
        order = (number, context.partitionId())
        yield Packer(pipeline).pack(parts, order, malformed={stream: malformed})

    return pack


def _passed_on(paths: Sequence[str], own: Batches) -> Batches:
    """Results that lie in files, and what hosts give: they are at work while files are passed on."""
    from sash.spark.buckets.bucket_files import read_results
    from sash.spark.buckets.leg import begun

    with ThreadPoolExecutor(1) as apart:
        first = apart.submit(begun, own) if paths else None
        for path in paths:
            yield from read_results(path)
        yield from own if first is None else first.result()


def _batch_of(context: TaskContext) -> int:
    """The number of the batch that a task is of, as the thread knows it that asked for its rows."""
    number = context.getLocalProperty("streaming.sql.batchId")
    if number is None:
        raise SashError(
            "SASH-SPARK-091",
            "Rows of a batch were asked for in a thread that does not know which batch it is.",
            remedy="In a foreachBatch of your own call persist() and count() before other threads get the "
            "batch, or start them as pyspark.InheritableThread.",
        )
    return int(number)


def _stepping(pipeline: Pipeline, leg: int) -> Callable[[Batches], Batches]:
    result = spark_arrow_schema(pipeline.schema)
    last = leg == len(pipeline.legs) - 1

    def crossing(results: Batches) -> Batches:
        return (crossed(batch, result) for batch in results)

    @telling
    def step(batches: Batches) -> Batches:
        from pyspark import TaskContext

        from sash.spark.buckets.leg import Leg
        from sash.spark.buckets.packs import read_pointer
        from sash.spark.buckets.workers import settle

        settle()
        context = TaskContext.get()
        assert context is not None
        run = context.getLocalProperty("spark.jobGroup.id") or ""  # one for each start of a query
        number = _batch_of(context)
        packs: dict[int, list[pa.Buffer]] = {}
        paths: list[str] = []
        for batch in batches:
            for i, bucket in enumerate(batch.column(0).to_pylist()):
                pack = batch.column(1)[i]
                path = read_pointer(pack.as_buffer())
                if path is None:
                    packs.setdefault(bucket, []).append(pack.as_buffer())
                elif last:
                    paths.append(path)
                else:
                    yield batch.slice(i, 1)
        own = Leg(pipeline, pipeline.legs[leg], run, number, context.partitionId()).given(packs)
        yield from crossing(_passed_on(paths, own)) if last else own

    return step
