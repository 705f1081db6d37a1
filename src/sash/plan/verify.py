"""The laws of a plan, checked after it is built and after every rule of the optimizer.

A broken law is a mistake in Sash, never in the query.
"""

from __future__ import annotations

__all__ = ["verify"]

from collections.abc import Iterable, Sequence

import pyarrow as pa

from sash.errors import SashError
from sash.language.expressions import Call, Column, Expression, Schema
from sash.plan.nodes import (
    Aggregate,
    Equality,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    SetOperation,
    Source,
    TableJoin,
    TableScan,
    TopK,
    ToStream,
    Union,
    Windowed,
)
from sash.plan.patterns import is_stream


def verify(plan: Node) -> None:
    """Raise SASH-PLAN-199 unless every node of the plan obeys its laws.

    >>> from sash.language.expressions import Field
    >>> packets = Source("packets", (Field("ts", pa.int64()),), 0)
    >>> verify(packets)
    >>> verify(Select(packets, Column(0, pa.int64(), "ts")))
    Traceback (most recent call last):
    sash.errors.SashError: SASH-PLAN-199: Internal: Select has a predicate of type int64. Please report it ...
    """
    for node in plan.walk():
        for trouble in _troubles(node):
            raise SashError(
                "SASH-PLAN-199",
                f"Internal: {type(node).__name__} {trouble}.",
                remedy="Please report it with the query; this is a mistake in Sash.",
            )


def _troubles(node: Node) -> Iterable[str]:
    if not node.schema:
        yield "has no columns"
    match node:
        case Source():
            yield from _positions((node.time,), node.schema, "time")
        case TableScan():
            yield from _positions(node.key, node.schema, "key")
        case Windowed():
            yield from _windowed(node)
        case Select():
            yield from _predicate(node.predicate, node.input.schema)
        case Project():
            yield from _expressions(node.expressions, node.input.schema)
        case Union() | SetOperation():
            yield from _agreement([each.schema for each in node.inputs])
        case Join():
            yield from _join(node)
        case SemiJoin():
            yield from _expressions(node.left_keys, node.left.schema)
            yield from _expressions(node.right_keys, node.right.schema)
            yield from _pairs(node.left_keys, node.right_keys)
            if node.null_aware and not (node.anti and node.left_keys):
                yield "is NOT IN without negation or without keys"
        case TableJoin():
            yield from _table_join(node)
        case Aggregate():
            yield from _aggregate(node)
        case TopK():
            yield from _positions([each.index for each in node.order], node.schema, "order")
            if node.limit < 0 or node.offset < 0:
                yield "has a negative limit or offset"
        case ToStream():
            if node.restore and node.slide is None:
                yield "restores without a slide"
            if node.slide is not None and node.slide <= 0:
                yield f"has the slide {node.slide}"
        case _:
            pass


def _positions(positions: Sequence[int], schema: Schema, what: str) -> Iterable[str]:
    for position in positions:
        if not 0 <= position < len(schema):
            yield f"has its {what} at column {position} of {len(schema)}"


def _expressions(expressions: Iterable[Expression], schema: Schema) -> Iterable[str]:
    for expression in expressions:
        if isinstance(expression, Column):
            if not 0 <= expression.index < len(schema):
                yield f"reads column {expression.index} ({expression.name}) of {len(schema)}"
            elif schema[expression.index].type != expression.type:
                yield (
                    f"reads column {expression.index} ({expression.name}) as {expression.type},"
                    f" but it is {schema[expression.index].type}"
                )
        elif isinstance(expression, Call):
            yield from _expressions(expression.arguments, schema)


def _predicate(predicate: Expression | None, schema: Schema) -> Iterable[str]:
    if predicate is not None:
        if not pa.types.is_boolean(predicate.type):
            yield f"has a predicate of type {predicate.type}"
        yield from _expressions((predicate,), schema)


def _pairs(left: Sequence[Expression], right: Sequence[Expression]) -> Iterable[str]:
    if len(left) != len(right):
        yield f"compares {len(left)} keys with {len(right)}"
    for mine, other in zip(left, right, strict=False):
        if mine.type != other.type:
            yield f"compares {mine} of type {mine.type} with {other} of type {other.type}"


def _agreement(schemas: Sequence[Schema]) -> Iterable[str]:
    if not schemas:
        yield "has no inputs"
    for schema in schemas[1:]:
        if [field.type for field in schema] != [field.type for field in schemas[0]]:
            yield "has inputs whose columns differ in type"


def _windowed(node: Windowed) -> Iterable[str]:
    window = node.window
    if not is_stream(node.input):
        yield "is over a relation, not a stream"
    yield from _positions(window.partition, node.schema, "partition")
    wanted = {"range": window.length, "rows": window.rows, "until": window.until}
    if window.kind in wanted and wanted[window.kind] is None:
        yield f"has a {window.kind} window without its measure"
    if window.until is not None:
        yield from _positions((window.until,), node.schema, "until")
    for measure in (window.length, window.rows, window.slide):
        if measure is not None and measure <= 0:
            yield f"has a window with the measure {measure}"


def _join(node: Join) -> Iterable[str]:
    if not node.parts:
        yield "has no inputs"
    if node.internal and len(node.internal) != len(node.parts):
        yield f"has {len(node.internal)} internal marks for {len(node.parts)} inputs"
    for equality in node.equalities:
        yield from _equality(equality, node.parts)
    yield from _predicate(node.residual, node.schema)


def _equality(equality: Equality, parts: Sequence[Node]) -> Iterable[str]:
    sides = (equality.left, equality.right)
    if equality.left == equality.right or not all(0 <= side < len(parts) for side in sides):
        yield f"equates its inputs {equality.left} and {equality.right}"
        return
    yield from _expressions((equality.left_key,), parts[equality.left].schema)
    yield from _expressions((equality.right_key,), parts[equality.right].schema)
    yield from _pairs((equality.left_key,), (equality.right_key,))


def _table_join(node: TableJoin) -> Iterable[str]:
    if node.table.retroactive:
        yield "looks up a retroactive table"
    yield from _expressions(node.input_keys, node.input.schema)
    yield from _expressions(node.table_keys, node.table.schema)
    yield from _pairs(node.input_keys, node.table_keys)
    yield from _predicate(node.residual, node.input.schema + node.table.schema)
    if node.time is not None:
        yield from _positions((node.time,), node.input.schema, "time")


def _aggregate(node: Aggregate) -> Iterable[str]:
    yield from _expressions(node.groups, node.input.schema)
    arguments = (each.argument for each in node.aggregates if each.argument is not None)
    yield from _expressions(arguments, node.input.schema)
    if not node.groups and not node.presence:
        yield "has neither groups nor presence"
    if not node.groups and not node.aggregates:
        yield "has neither groups nor aggregates"
