"""What a checkpoint is bound to, as `sash/format.json` has it, and what a restart may not change.

State is kept by query, stage and bucket: it fits the plans, columns and bucket count that it was
made with and no others. The number of partitions, hosts and tasks may change, and so may the version
of Sash if it makes the same plans.
"""

from __future__ import annotations

__all__ = ["FORMAT", "Record", "check", "read_record", "record_of"]

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from sash import __version__
from sash.catalog.planning import Planned, fingerprint
from sash.catalog.tables import History
from sash.errors import SashError
from sash.language.types import sql_name
from sash.spark.checkpoints.sealing import open_sealed, sealed
from sash.spark.pipelines.pipeline import Pipeline

FORMAT = 1

_BESIDE = "beside_sash"
"""Whether the run has a source of Sash's. It is told with each stream, where an older Sash does not mind
a fact that it does not know; checkpoints that are older do not tell."""


@dataclass(frozen=True)
class Record:
    """One checkpoint: all of it is JSON."""

    id: str
    """Tells this checkpoint from every other, for sinks that remember what they have."""
    sash: str
    kind: str
    buckets: int
    partitions: int
    stages: int
    streams: Mapping[str, Mapping[str, Any]]
    queries: Mapping[str, Mapping[str, str]]
    tables: Mapping[str, str]

    def to_json(self) -> bytes:
        """The file's content."""
        return sealed({"format": FORMAT, **asdict(self)}, indent=1)


def record_of(pipeline: Pipeline, planned: Mapping[str, Planned]) -> Record:
    """What a new checkpoint of a pipeline would say."""
    return Record(
        id=uuid.uuid4().hex,
        sash=__version__,
        kind=pipeline.kind,
        buckets=pipeline.buckets,
        partitions=pipeline.partitions,
        stages=len(pipeline.stages),
        streams={
            each.definition.name: {
                "columns": {field.name: sql_name(field.type) for field in each.definition.fields},
                "time": each.definition.fields[each.definition.time].name,
                "lateness": each.definition.lateness,
                "reader": "Sash" if each.format is not None else "Spark",
                _BESIDE: pipeline.has_source,
            }
            for each in pipeline.streams
        },
        queries={
            name: {
                "text": planned[name].text.strip(),
                "plan": fingerprint(planned[name].optimized),
                "placed": fingerprint(plan),
            }
            for name, plan in pipeline.queries.items()
        },
        tables={name: _content(history) for name, history in sorted(pipeline.tables.items())},
    )


def _content(history: History) -> str:
    """What tells one content of a table from another."""
    sink = pa.BufferOutputStream()
    table = history.to_arrow().combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def read_record(content: bytes, path: str) -> Record:
    """The record in a file's content; an error if it is damaged or newer than this Sash."""
    try:
        facts = open_sealed(content)
        version = facts.pop("format")
        if isinstance(version, int) and version > FORMAT:
            raise SashError(
                "SASH-SPARK-051",
                f"The checkpoint '{path}' has format {version}, and Sash {__version__} reads up to {FORMAT}.",
                remedy=f"Go on with Sash {facts.get('sash', 'of a newer version')}, which wrote it.",
            )
        record = Record(**facts)
        if version != FORMAT or not isinstance(record.id, str) or not isinstance(record.queries, dict):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SashError(
            "SASH-SPARK-050",
            f"The checkpoint '{path}' is damaged: its sash/format.json is not as it was written.",
            remedy="Take another copy of the checkpoint, or start with a new one.",
        ) from None
    return record


def check(old: Record, new: Record, path: str) -> None:
    """Raise if state kept under one record does not fit the other, with what changed."""
    remedy = f"Start with what the checkpoint '{path}' was made with, or with a new checkpoint."
    changed = _changed_queries(old, new)
    if changed:
        raise SashError("SASH-SPARK-052", changed, remedy=remedy)
    changed = _changed_streams(old, new)
    if changed:
        raise SashError("SASH-SPARK-053", changed, remedy=remedy)
    if old.buckets != new.buckets:
        raise SashError(
            "SASH-SPARK-054",
            f"The checkpoint has {old.buckets} buckets, and this pipeline would have {new.buckets}.",
            remedy=f"Connect with buckets={old.buckets} or without it, or start with a new checkpoint.",
        )
    changed = _changed_plans(old, new)
    if changed:
        raise SashError("SASH-SPARK-055", changed, remedy=remedy)
    for name, content in new.tables.items():
        if old.tables.get(name) != content:
            raise SashError(
                "SASH-SPARK-056",
                f"Table '{name}' is not what it was when the checkpoint was made.",
                remedy=f"Give it the rows it had, or start with a new checkpoint in place of '{path}'.",
            )


def _changed_queries(old: Record, new: Record) -> str | None:
    gone = [name for name in old.queries if name not in new.queries]
    added = [name for name in new.queries if name not in old.queries]
    if gone and added:
        return f"Query '{gone[0]}' of the checkpoint is gone, and query '{added[0]}' is new."
    if gone:
        return f"Query '{gone[0]}' of the checkpoint is gone."
    if added:
        return f"Query '{added[0]}' is not in the checkpoint."
    for name, query in new.queries.items():
        before = old.queries[name]
        if before["plan"] != query["plan"] and _words(before["text"]) != _words(query["text"]):
            return f"Query '{name}' has changed: the checkpoint was made for {_words(before['text'])!r}."
    return None


def _changed_streams(old: Record, new: Record) -> str | None:
    for name, stream in new.streams.items():
        before = old.streams.get(name)
        if before is None:
            return f"Stream '{name}' is not in the checkpoint."
        for column, type_ in before["columns"].items():
            now = stream["columns"].get(column)
            if now is None:
                return f"Column '{column}' of stream '{name}' is gone."
            if now != type_:
                return f"Column '{column}' of stream '{name}' was {type_} and is {now}."
        for column in stream["columns"]:
            if column not in before["columns"]:
                return f"Column '{column}' of stream '{name}' is new."
        if list(stream["columns"]) != list(before["columns"]):
            return f"The columns of stream '{name}' stand in another order."
        for fact, words in (("time", "The TIME of"), ("lateness", "The LATENESS of")):
            if stream[fact] != before[fact]:
                return f"{words} stream '{name}' was {before[fact]} and is {stream[fact]}."
        if before.get("reader", stream["reader"]) != stream["reader"]:  # earlier ones do not tell
            return _another_reader(name, before["reader"], stream["reader"])
    gone = [name for name in old.streams if name not in new.streams]
    if gone:
        return f"Stream '{gone[0]}' of the checkpoint is gone."
    return _other_sources(old, new)


def _another_reader(stream: str, before: str, now: str) -> str:
    """Spark counts its sources and keeps an offset of each: one more or less fits no checkpoint."""
    return (
        f"Stream '{stream}' was read by {before} and would be read by {now}: its source or its options "
        "have changed, or its folder now has partitions or is one that a sink of Spark writes to."
    )


def _other_sources(old: Record, new: Record) -> str | None:
    """Streams that are all DataFrames have a source of Sash's beside them only where it tells the time."""
    settings = "until_end, idle_timeout and heartbeat"
    for name, stream in new.streams.items():
        before, now = old.streams[name].get(_BESIDE), stream[_BESIDE]
        if before is False and now:
            return f"All streams are DataFrames, and the checkpoint was made without {settings}."
        if before and not now:
            return f"All streams are DataFrames, and the checkpoint was made with one of {settings}."
    return None


def _changed_plans(old: Record, new: Record) -> str | None:
    for name, query in new.queries.items():
        before = old.queries[name]
        if before["plan"] != query["plan"] or before["placed"] != query["placed"]:
            if old.sash != new.sash:
                return f"Sash {old.sash}, which kept the state of query '{name}', ran it by another plan."
            if before["plan"] == query["plan"]:
                return f"Query '{name}' reads other rows: the setting 'late' was given one time only."
            return f"Query '{name}' has another plan: a view, a table or the optimizer's rules have changed."
    if old.stages != new.stages:
        return f"The pipeline had {old.stages} stages and has {new.stages}."
    return None


def _words(text: str) -> str:
    return " ".join(text.split())
