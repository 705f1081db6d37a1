"""Sinks that Spark has: a format, a path, options.

Alone, Spark writes to them itself, with its own protocol. As one of several they get each batch as
an ordinary write: Delta is told the batch's number and skips what it has; any other format is
written once per run of a batch, and a batch that failed half-way may come again.
"""

from __future__ import annotations

__all__ = ["FormatSink", "SparkSink"]

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sash.catalog.planning import Planned
from sash.errors import SashError
from sash.spark.sinks.ledger import Ledger
from sash.spark.sinks.sink import Part, Run, Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class SparkSink(Sink):
    """A sink that Spark can write to by itself."""

    @abstractmethod
    def directed(self, writer: DataStreamWriter) -> DataStreamWriter:
        """The writer, told where to write."""

    def check(self, queries: Mapping[str, Planned]) -> None:
        return None

    def check_place(self, run: Run) -> None:
        """Raise if Spark's own sink would go wrong there without a word."""


class FormatSink(SparkSink):
    """A format of Spark's or of a package: delta, kafka, jdbc, ..."""

    def __init__(self, format: str, path: str | None, options: Mapping[str, str]) -> None:
        self.format, self.path, self.options = format, path, dict(options)
        self._ledger: Ledger | None = None

    def directed(self, writer: DataStreamWriter) -> DataStreamWriter:
        writer = writer.format(self.format).options(**self.options)
        return writer if self.path is None else writer.option("path", self.path)

    def open(self, part: Part, run: Run) -> None:
        self._ledger = Ledger(run, part.name)

    def write(self, batch: DataFrame, number: int) -> None:
        assert self._ledger is not None, "open() comes first"
        if self._ledger.has(number):
            return
        writer = batch.write.format(self.format).mode("append").options(**self.options)
        if self.format.lower() == "delta":
            writer = writer.option("txnAppId", self._ledger.id).option("txnVersion", number)
        writer.save(self.path)
        self._ledger.note(number)


def other_run(path: str) -> SashError:
    """The error for a folder that another checkpoint fills."""
    return SashError(
        "SASH-SPARK-065",
        f"The folder '{path}' has changes of another checkpoint, or written in another way.",
        remedy="Start with that checkpoint, or give a folder of its own.",
    )
