"""How a stream's files are read: the options of Spark's readers that Sash honours, in one frozen record.

Sash reads Parquet, CSV and JSON lines itself. Whatever it does not know (another format, an option
or a value it cannot honour) is left to Spark's own file source: `reads_itself` tells which.
"""

from __future__ import annotations

__all__ = ["FORMATS", "SINK_LOG", "ReadOptions", "Unreadable", "read_options", "reads_itself"]

import codecs
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from sash.errors import SashError
from sash.spark.reading.timestamp_formats import iso_rewriting

FORMATS = ("parquet", "csv", "json")
SINK_LOG = "_spark_metadata"
"""The folder in which a sink of Spark notes what it has committed; it makes it before any file."""

Mode = Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]

_COMMON = {
    "path", "maxfilespertrigger", "maxrowspertrigger", "rows_per_trigger", "maxbytespertrigger",
    "recursivefilelookup", "pathglobfilter", "ignoremissingfiles", "ignorecorruptfiles", "mode",
}  # fmt: skip
_TEXT = {"encoding", "charset", "timestampformat", "dateformat"}
_KNOWN = {
    "parquet": _COMMON | {"mergeschema"},
    "json": _COMMON | _TEXT,
    "csv": _COMMON | _TEXT | {"header", "sep", "delimiter", "quote", "escape", "nullvalue", "multiline"},
}

_SCHEMES = ("s3", "gs", "gcs", "hdfs", "abfs", "abfss")
"""Addresses in pyarrow's spelling; those that only Hadoop knows (s3a, wasb, dbfs) are Spark's."""


class Unreadable(ValueError):
    """Options that Sash does not honour; Spark may."""


@dataclass(frozen=True)
class ReadOptions:
    """What the options say, typed. Limits are per trigger; None means no limit."""

    path: str
    max_files: int | None = None
    max_rows: int | None = None
    max_bytes: int | None = None
    recursive: bool = False
    name_filter: str | None = None
    ignore_missing: bool = False
    ignore_corrupt: bool = False
    mode: Mode = "PERMISSIVE"
    encoding: str = "utf-8"
    timestamp_format: str | None = None
    date_format: str | None = None
    header: bool = False
    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    null_text: str = ""
    multi_line: bool = False


def reads_itself(format: str | None, options: Mapping[str, str]) -> bool:
    """Whether Sash reads such files itself; if not, Spark's own file source has to.

    >>> reads_itself("csv", {"path": "/data", "header": "true"})
    True
    >>> reads_itself("csv", {"path": "/data", "comment": "#"}), reads_itself("orc", {"path": "/data"})
    (False, False)
    """
    try:
        parsed = read_options(format, options)
    except Unreadable:
        return False
    return not _is_sink_or_partitioned(parsed.path)


def read_options(format: str | None, options: Mapping[str, str]) -> ReadOptions:
    """The options of Spark's readers, read; Unreadable if Sash does not honour one of them.

    >>> read_options("CSV", {"path": "/data", "delimiter": ";"}).separator
    ';'
    """
    given = {name.lower(): str(value) for name, value in options.items()}
    kind = (format or "").lower()
    if kind not in FORMATS:
        raise Unreadable(f"format {format}")
    if unknown := set(given) - _KNOWN[kind]:
        raise Unreadable(f"option {min(unknown)}")
    if any(given.get(name) and iso_rewriting(given[name]) is None for name in _TEXT if "format" in name):
        raise Unreadable("a pattern of time")
    return ReadOptions(
        path=_path(given.get("path", "")),
        max_files=_limit(given, "maxfilespertrigger"),
        max_rows=_limit(given, "maxrowspertrigger", "rows_per_trigger"),
        max_bytes=_limit(given, "maxbytespertrigger"),
        recursive=_flag(given, "recursivefilelookup"),
        name_filter=_glob(given.get("pathglobfilter")),
        ignore_missing=_flag(given, "ignoremissingfiles"),
        ignore_corrupt=_flag(given, "ignorecorruptfiles"),
        mode=_mode(given.get("mode", "FAILFAST" if kind == "parquet" else "PERMISSIVE")),
        encoding=_encoding(given.get("encoding", given.get("charset", "utf-8"))),
        timestamp_format=given.get("timestampformat") or None,
        date_format=given.get("dateformat") or None,
        header=_flag(given, "header"),
        separator=_character(given.get("sep", given.get("delimiter", ",")), empty=False),
        quote=_character(given.get("quote", '"')),
        escape=_character(given.get("escape", "\\")),
        null_text=given.get("nullvalue", ""),
        multi_line=_flag(given, "multiline"),
    )


def _path(path: str) -> str:
    scheme, colon, _ = path.partition("://")
    if not path or "{" in path or (colon and scheme not in ("file", *_SCHEMES)):
        raise Unreadable("path")
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return path if colon and scheme != "file" else os.path.abspath(path)


def _glob(pattern: str | None) -> str | None:
    if pattern and "{" in pattern:
        raise Unreadable("pathGlobFilter")
    return pattern


def _limit(given: Mapping[str, str], *names: str) -> int | None:
    for name in names:
        if name in given:
            text = given[name].strip().replace("_", "")
            if not text.isdigit() or int(text) == 0:
                raise SashError(
                    "SASH-SOURCE-009",
                    f"The option {name} is '{given[name]}', which is no number of files, rows or bytes.",
                    remedy="Give a whole number from 1, or leave the option out.",
                )
            return int(text)
    return None


def _flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
    if text not in ("true", "false"):
        raise Unreadable(name)
    return text == "true"


def _mode(text: str) -> Mode:
    if text.upper() not in ("PERMISSIVE", "DROPMALFORMED", "FAILFAST"):
        raise SashError(
            "SASH-SOURCE-009",
            f"The option mode is '{text}'.",
            remedy="Give PERMISSIVE, DROPMALFORMED or FAILFAST.",
        )
    return cast(Mode, text.upper())


def _encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise Unreadable("encoding") from None


def _character(text: str, empty: bool = True) -> str:
    text = {"\\t": "\t", "\\\\": "\\", "\\u0000": "", "\0": ""}.get(text, text)
    if len(text) > 1 or (not text and not empty) or not text.isascii() or text in ("\n", "\r"):
        raise Unreadable("a sign of more than one character")
    return text


def _is_sink_or_partitioned(path: str) -> bool:
    """Whether a local folder is a Spark sink's output or has partitions; Spark knows how to read both."""
    if not os.path.isdir(path):
        return False
    with os.scandir(path) as entries:
        return any(entry.name == SINK_LOG or ("=" in entry.name and entry.is_dir()) for entry in entries)
