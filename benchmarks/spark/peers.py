"""Spark's own operators on the same files: joins of two and of three streams, windows, a plain query.

Spark's join keeps its state as watermarks allow: rows that no row to come can meet are dropped.
"""

from __future__ import annotations

__all__ = [
    "AS_SHIPPED", "DEFAULT_CHECKPOINTS", "STORES", "collected", "joined", "joined_three", "peer", "plain",
    "read", "windowed",
]  # fmt: skip

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.spark.data import Files
from benchmarks.spark.harness import Query, Side

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Frame = Callable[["SparkSession", Files], "DataFrame"]

_STREAMING = "spark.sql.streaming"
_PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
_ROCKSDB = f"{_PROVIDERS}.RocksDBStateStoreProvider"
_IN_MEMORY = f"{_PROVIDERS}.HDFSBackedStateStoreProvider"


def _store(provider: str, version: int) -> dict[str, str]:
    return {
        f"{_STREAMING}.stateStore.providerClass": provider,
        f"{_STREAMING}.join.stateFormatVersion": str(version),
    }


STORES = {
    "rocksdb_2": _store(_ROCKSDB, 2),
    "rocksdb_4": _store(_ROCKSDB, 4),
    "in_memory": _store(_IN_MEMORY, 2),
}
"""Where Spark's join keeps its rows, and in which of its formats."""

DEFAULT_CHECKPOINTS = {
    f"{_STREAMING}.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileContextBasedCheckpointFileManager"
}
"""Spark's logs written in the way that Spark chooses by itself."""

AS_SHIPPED = {
    f"{name}_as_shipped": STORES[name]
    | DEFAULT_CHECKPOINTS
    | {
        f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
        f"{_STREAMING}.stateStore.rocksdb.trackTotalNumberOfRows": "true",
    }
    for name in ("rocksdb_2", "rocksdb_4")
}
"""The same without the settings that Sash asks for, which make Spark's own joins faster too."""


def peer(name: str, frame: Frame, warm_up: int, measured: int, settings: Mapping[str, str]) -> Side:
    """A query of Spark's into the noop sink."""

    def start(spark: SparkSession, files: Files, checkpoint: Path) -> Query:
        writer = frame(spark, files).writeStream.format("noop").outputMode("append")
        running: Query = writer.option("checkpointLocation", str(checkpoint)).start()
        return running

    return Side(name, start, warm_up, measured, settings)


def collected(spark: SparkSession, frame: DataFrame, checkpoint: Path) -> pa.Table:
    """All rows that a query of Spark's gives."""
    writer = frame.writeStream.format("memory").queryName("collected").outputMode("append")
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return spark.table("collected").toArrow()


def read(spark: SparkSession, files: Files, stream: str) -> DataFrame:
    """One stream by Spark's file source, one file per trigger."""
    columns = ", ".join(f"{name} BIGINT" for name in files.columns[stream])
    reader = spark.readStream.schema(f"ts TIMESTAMP, {columns}").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(files.path(stream)))


def _side_of_join(spark: SparkSession, files: Files, stream: str) -> DataFrame:
    renamed = {name: f"{stream}_{name}" for name in ("ts", *files.columns[stream])}
    return read(spark, files, stream).withColumnsRenamed(renamed).withWatermark(f"{stream}_ts", "0 seconds")


def _near(one: str, other: str) -> str:
    """Less than a minute apart: the lifetimes of both rows overlap."""
    minute = "INTERVAL 60 SECONDS"
    return f"{one}_ts > {other}_ts - {minute} AND {one}_ts < {other}_ts + {minute}"


def joined(spark: SparkSession, files: Files) -> DataFrame:
    """Rows of a and b with the same k, less than 60 seconds apart."""
    from pyspark.sql.functions import expr

    a, b = (_side_of_join(spark, files, stream) for stream in "ab")
    pairs = a.join(b, expr(f"a_k = b_k AND {_near('a', 'b')}"))
    return pairs.selectExpr("a_k AS k", "a_ts", "b_ts", "a_p", "b_p")


def joined_three(spark: SparkSession, files: Files) -> DataFrame:
    """Rows of a, b and c with the same k, each two less than 60 seconds apart: a join behind a join."""
    from pyspark.sql.functions import expr

    a, b, c = (_side_of_join(spark, files, stream) for stream in "abc")
    pairs = a.join(b, expr(f"a_k = b_k AND {_near('a', 'b')}"))
    # A stream may have one column with a watermark; an expression has none.
    pairs = pairs.withColumn("b_ts", expr("b_ts + INTERVAL 0 SECONDS"))
    triples = pairs.join(c, expr(f"a_k = c_k AND {_near('c', 'a')} AND {_near('c', 'b')}"))
    return triples.selectExpr("a_k AS k", "a_ts", "b_ts", "c_ts", "a_p", "b_p", "c_p")


def windowed(length: int, slide: int) -> Frame:
    """COUNT and SUM by k of every window (end - length, end]: Spark's [start, end), a tick earlier."""

    def frame(spark: SparkSession, files: Files) -> DataFrame:
        from pyspark.sql.functions import count, expr, window
        from pyspark.sql.functions import sum as total

        rows = read(spark, files, "s").withColumn("ts", expr("ts - INTERVAL 1 MICROSECOND"))
        windows = window("ts", f"{length} seconds", f"{slide} seconds")
        grouped = rows.withWatermark("ts", "0 seconds").groupBy(windows, "k")
        sums = grouped.agg(count("*").alias("n"), total("v").alias("total"))
        return sums.selectExpr("k", "n", "total", "window.end AS ends")

    return frame


def plain(*streams: str) -> Frame:
    """A query without state: some rows of the streams, one after another."""

    def frame(spark: SparkSession, files: Files) -> DataFrame:
        frames = [read(spark, files, stream) for stream in streams]
        together = frames[0]
        for each in frames[1:]:
            together = together.union(each)
        return together.where("p >= 0").selectExpr("k", "ts", "p")

    return frame
