"""From what a user names to a sink: 'parquet', 'snapshot', a function, the options of CREATE SINK."""

from __future__ import annotations

__all__ = ["resolve"]

from collections.abc import Mapping
from typing import Any

from sash.errors import SashError
from sash.spark.sinks.folder import FOLDER_FORMATS, FolderSink
from sash.spark.sinks.function import FunctionSink
from sash.spark.sinks.screen import ConsoleSink, MemorySink, NoopSink
from sash.spark.sinks.sink import Sink, lacks_option
from sash.spark.sinks.snapshot import SnapshotSink
from sash.spark.sinks.spark_format import FormatSink

_PATHLESS = ("memory", "console", "noop")
_OF_WRITERS = ("partitionby", "outputmode", "clusterby")


def resolve(sink: object, path: object = None, options: Mapping[str, Any] | None = None) -> Sink:
    """The sink that a user means; an error that says what is missing.

    >>> type(resolve("parquet", "/tmp/changes")).__name__, type(resolve(print)).__name__
    ('FolderSink', 'FunctionSink')
    """
    given = {name: _text(value) for name, value in (options or {}).items()}
    folder = None if path is None else str(path)
    for name in given:
        if name.lower() in _OF_WRITERS:  # as an option Spark would leave it aside, without a word
            raise SashError(
                "SASH-SPARK-063",
                f"A sink takes no '{name}'.",
                remedy="Changes are appended, in one folder; a function per batch can write them elsewhere.",
            )
    if not isinstance(sink, str):
        if not callable(sink):
            raise SashError(
                "SASH-SPARK-063",
                f"A value of type {type(sink).__name__} is no sink.",
                remedy="Give a format such as 'parquet', or 'snapshot', 'memory', 'console', or a function.",
            )
        _refuse_path("a function", folder, given)
        return FunctionSink(sink)
    kind = sink.lower()
    if kind in _PATHLESS:
        _refuse_path(f"'{kind}'", folder, {} if kind == "console" else given)
        return ConsoleSink(given) if kind == "console" else MemorySink() if kind == "memory" else NoopSink()
    if kind == "snapshot":
        if folder is None:
            raise lacks_option("snapshot", "path")
        _refuse_path("'snapshot'", None, given)
        return SnapshotSink(folder)
    if kind in FOLDER_FORMATS:
        if folder is None:
            raise lacks_option(kind, "path")
        return FolderSink(kind, folder, given)
    return FormatSink(sink, folder, given)


def _refuse_path(sink: str, path: str | None, options: Mapping[str, str]) -> None:
    if path is not None or options:
        what = "path" if path is not None else next(iter(options))
        remedy = "Leave it out, or choose another sink."
        raise SashError("SASH-SPARK-063", f"The sink {sink} takes no '{what}'.", remedy=remedy)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
