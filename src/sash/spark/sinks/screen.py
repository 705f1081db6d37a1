"""Sinks to look at, or to look away: a table in memory, the console, nothing at all."""

from __future__ import annotations

__all__ = ["ConsoleSink", "MemorySink", "NoopSink"]

import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sash.errors import SashError
from sash.spark.sinks.sink import Part, Run
from sash.spark.sinks.spark_format import SparkSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_ROWS = 20
_VIEW = re.compile(r"\w*[^\W\d]\w*|`[^`]+`")


class MemorySink(SparkSink):
    """A temporary view with all changes so far, named after the run.

    Alone it is Spark's own. As one of several its rows are kept in files that end with this process.
    """

    def __init__(self) -> None:
        self._folder = ""
        self._view: tuple[Run, str] | None = None

    def directed(self, writer: DataStreamWriter) -> DataStreamWriter:
        return writer.format("memory")

    def check_place(self, run: Run) -> None:
        _check_new(run)
        _check_view(run.name)

    def open(self, part: Part, run: Run) -> None:
        _check_new(run)
        _check_view(part.name)
        self._folder = tempfile.mkdtemp(prefix="sash-memory-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._view = (run, part.name)

    def write(self, batch: DataFrame, number: int) -> None:
        assert self._view is not None, "open() comes first"
        run, name = self._view
        batch.write.mode("overwrite").parquet(f"{self._folder}/{number}")
        folders = [str(each) for each in sorted(Path(self._folder).iterdir(), key=lambda f: int(f.name))]
        run.spark.read.schema(batch.schema).parquet(*folders).createOrReplaceTempView(name)


def _check_new(run: Run) -> None:
    if not run.is_new:
        raise SashError(
            "SASH-SPARK-066",
            "The memory sink cannot go on from a checkpoint: what it had went with its process.",
            remedy="Start without a checkpoint, or choose a sink that lasts, such as 'parquet'.",
        )


def _check_view(name: str) -> None:
    """Raise if Spark could make no view of that name: else the first batch fails."""
    if not _VIEW.fullmatch(name):
        raise SashError(
            "SASH-SPARK-090",
            f"The memory sink cannot make a view called '{name}'.",
            remedy="Give the run, or the sink of CREATE SINK, a name of letters, digits and underscores.",
        )


class ConsoleSink(SparkSink):
    """The first rows of each batch on the terminal."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._options = dict(options or {})
        self._name = ""

    def directed(self, writer: DataStreamWriter) -> DataStreamWriter:
        return writer.format("console").options(**self._options)

    def open(self, part: Part, run: Run) -> None:
        self._name = part.name

    def write(self, batch: DataFrame, number: int) -> None:
        print(f"{self._name}, batch {number}")
        batch.show(int(self._options.get("numRows", _ROWS)), self._options.get("truncate", "true") == "true")


class NoopSink(SparkSink):
    """Everything is computed, nothing is written: for measurements."""

    def directed(self, writer: DataStreamWriter) -> DataStreamWriter:
        return writer.format("noop")

    def open(self, part: Part, run: Run) -> None:
        return None

    def write(self, batch: DataFrame, number: int) -> None:
        return None  # every batch is computed before any sink gets it
