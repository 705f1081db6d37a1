"""Start a Spark query into one sink, or into several that share its batches.

Spark's own sinks are used as they are where there is one alone. Everything else is one function per
batch: the batch is kept while it runs, so that no action of a sink computes it twice, and computed
wholly before, since Sash's state moves by it.
"""

from __future__ import annotations

__all__ = ["start"]

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sash.spark.failures import telling
from sash.spark.sinks.sink import Part, Run
from sash.spark.sinks.spark_format import SparkSink
from sash.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def start(frame: DataFrame, parts: Sequence[Part], run: Run) -> StreamingQuery:
    """Run a streaming frame of changes (the columns, `at`, `change`, and `query` where there are several)."""
    for part in parts:
        part.sink.check(part.queries)
    writer = frame.writeStream.outputMode("append").queryName(run.name)
    writer = writer.option("checkpointLocation", str(run.checkpoint))
    if run.trigger:
        writer = writer.trigger(**run.trigger)
    only = parts[0].sink
    if len(parts) == 1 and isinstance(only, SparkSink):
        only.check_place(run)
        return only.directed(writer).start()
    try:
        for part in parts:
            part.sink.open(part, run)
        return _each_batch(writer, parts, several="query" in frame.columns)
    except BaseException:
        for part in parts:
            part.sink.close()
        raise


def _each_batch(writer: DataStreamWriter, parts: Sequence[Part], several: bool) -> StreamingQuery:
    return writer.foreachBatch(telling(_splitting(parts, several))).start()


def _splitting(parts: Sequence[Part], several: bool) -> Callable[[DataFrame, int], None]:
    """What is done with a batch: each sink gets its queries' rows."""

    def alone(batch: DataFrame, number: int) -> None:
        parts[0].sink.write(batch, number)

    if len(parts) == 1 and parts[0].sink.computes_once:
        return alone

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            batch.count()
            for part in parts:
                part.sink.write(rows_of(batch, part, several) if len(parts) > 1 else batch, number)
        finally:
            batch.unpersist()

    return write


def rows_of(batch: DataFrame, part: Part, several: bool) -> DataFrame:
    """The rows of a batch that belong to one part, with its columns alone; `query` if it has several."""
    from pyspark.sql.functions import col

    columns = quoted([*part.columns, "at", "change"])
    if several:
        batch = batch.where(col("query").isin(list(part.queries)))
    if len(part.queries) > 1:
        columns.insert(0, "query")
    return batch.select(*columns)
