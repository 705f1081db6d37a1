"""Windows as written become windows in ticks: units, columns and kinds of time are settled here.

A TIMESTAMP stream counts microseconds, so its lengths need units; a stream with an integer TIME
column counts in its own numbers, so they take none.
"""

from __future__ import annotations

__all__ = ["bound_window", "keeps_arrival_order", "note_time", "windowed"]

import pyarrow as pa
from sqlglot import exp

from sash.language.durations import microseconds
from sash.language.expressions import Column, Schema
from sash.language.scope import Scope, names_of
from sash.language.syntax import WindowClause
from sash.language.types import sql_name
from sash.language.windows import Window
from sash.plan.context import Context
from sash.plan.nodes import Node, Project, Select, Source, Union, Windowed


def note_time(kind: str, stream: str, origin: exp.Expr, context: Context) -> None:
    """All streams of one query must have the same kind of time."""
    known = context.clock.setdefault("kind", kind)
    first = context.clock.setdefault("stream", stream)
    if known != kind:
        words = {"timestamp": "a TIMESTAMP", "integer": "an integer"}
        raise context.error(
            "SASH-BIND-013",
            f"The time of '{stream}' is {words[kind]}, that of '{first}' {words[known]}.",
            "Query streams of one kind of time, or create one of them with the other's kind of TIME column.",
            origin,
        )


def windowed(node: Node, clause: WindowClause, alias: str | None, context: Context) -> Windowed:
    """A stream through the window that stands after it; `internal` is left to the query block."""
    window = bound_window(clause, node.schema, alias, context)
    return Windowed(node, window, by_value=not keeps_arrival_order(node))


def keeps_arrival_order(node: Node) -> bool:
    """Whether rows of one instant still come in the order in which they were pushed."""
    match node:
        case Source():
            return True
        case Select() | Project():
            return keeps_arrival_order(node.input)
        case Union():
            return all(keeps_arrival_order(part) for part in node.parts)
        case _:
            return False


def bound_window(clause: WindowClause, schema: Schema, alias: str | None, context: Context) -> Window:
    """The window in ticks and positions. That it is INTERNAL is a matter of the join, not of the rows."""
    arguments = clause.args
    kind = arguments["kind"]
    names = Scope(names_of(alias, schema))
    partition: list[int] = []
    for column in arguments.get("partition") or ():
        node = column if isinstance(column, exp.Column) else exp.Column(this=column)
        bound = names.resolve(node, context.text)
        assert isinstance(bound, Column)
        partition.append(bound.index)
    length = arguments.get("length")
    slide = arguments.get("slide")
    if length is not None:
        length = _ticks(length, arguments.get("length_unit"), "RANGE", clause, context)
    if slide is not None and kind == "range":
        slide = _ticks(slide, arguments.get("slide_unit"), "SLIDE", clause, context)
    until = _until(arguments["until"], names, context) if kind == "until" else None
    return Window(kind, length, arguments.get("rows"), slide, tuple(partition), until)


def _ticks(count: int, unit: str | None, word: str, clause: WindowClause, context: Context) -> int:
    kind = context.clock.get("kind", "integer" if unit is None else "timestamp")
    if kind == "timestamp" and unit is None:
        raise context.error(
            "SASH-BIND-011",
            f"{word} {count} has no unit, and the stream's time is a TIMESTAMP.",
            f"Write for example {word} {count} SECONDS.",
            clause,
        )
    if kind == "integer" and unit is not None:
        raise context.error(
            "SASH-BIND-011",
            f"{word} {count} {unit.upper()}S has a unit, and the stream's time is a plain integer.",
            f"Write {word} and a number, counted as the TIME column counts.",
            clause,
        )
    return count if unit is None else microseconds(count, unit)


def _until(column: exp.Column, names: Scope, context: Context) -> int:
    bound = names.resolve(column, context.text)
    assert isinstance(bound, Column)
    kind = context.clock.get("kind")
    fits = {"timestamp": pa.types.is_timestamp, "integer": pa.types.is_integer}
    if kind is not None and not fits[kind](bound.type):
        raise context.error(
            "SASH-BIND-012",
            f"UNTIL '{bound.name}' is {sql_name(bound.type)}, not comparable with the stream's time.",
            f"Use a column of type {'TIMESTAMP' if kind == 'timestamp' else 'BIGINT'}.",
            column,
        )
    return bound.index
