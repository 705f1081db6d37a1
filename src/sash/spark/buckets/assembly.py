"""From packs to results: one `mapInArrow` per stage, behind a shuffle by bucket.

What a task of a stage does is small: it hands each bucket's packs to the host that keeps the bucket
and passes on what comes back.
"""

from __future__ import annotations

__all__ = ["assemble", "pack_frame"]

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sash.spark.buckets.crossing import crossed
from sash.spark.failures import telling
from sash.spark.pipelines.pipeline import Pipeline
from sash.spark.types import from_spark, quoted, spark_arrow_schema, spark_schema

if TYPE_CHECKING:
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
    for stage in pipeline.stages:
        packs = packs.coalesce(1) if pipeline.partitions == 1 else _by_bucket(packs, pipeline)
        last = stage.number == len(pipeline.stages)
        schema = spark_schema(pipeline.schema) if last else _PACKS
        packs = packs.mapInArrow(_stepping(pipeline, stage.number, last), schema)
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


def _given(paths: Sequence[str], questions: Sequence[Callable[[], Batches]]) -> Batches:
    """Results that lie in files, and what hosts give; the first host is at work while files are passed on.

    The others are asked one by one: who asks again has used what was given.
    """
    from sash.spark.buckets.bucket_files import read_results

    with ThreadPoolExecutor(1) as apart:
        first = apart.submit(questions[0]) if paths and questions else None
        for path in paths:
            yield from read_results(path)
        if first is not None:
            yield from first.result()
    for ask in questions[0 if first is None else 1 :]:
        yield from ask()


def _stepping(pipeline: Pipeline, stage: int, last: bool) -> Callable[[Batches], Batches]:
    result = spark_arrow_schema(pipeline.schema)

    def crossing(results: Batches) -> Batches:
        return (crossed(batch, result) for batch in results)

    @telling
    def step(batches: Batches) -> Batches:
        from pyspark import TaskContext

        from sash.spark.buckets.hosts import ask
        from sash.spark.buckets.keeper import Task
        from sash.spark.buckets.packs import read_pointer
        from sash.spark.buckets.workers import settle

        settle()
        context = TaskContext.get()
        assert context is not None
        run = context.getLocalProperty("spark.jobGroup.id") or ""  # one for each start of a query
        number = int(context.getLocalProperty("streaming.sql.batchId") or 0)
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
        # Where a batch of a DataFrame has no partition nobody sends packs; the batch is told of all the same,
        # so that a bucket that does not know of the batch before has lost it.
        own = range(context.partitionId(), pipeline.buckets, pipeline.partitions)
        tasks = [Task(run, stage, bucket, number) for bucket in sorted({*packs, *own})]
        questions = [partial(ask, pipeline, task, packs.get(task.bucket, [])) for task in tasks]
        given = _given(paths, questions)
        yield from crossing(given) if last else given

    return step
