"""Looking up a non-retroactive table at the edge of the stream that asks ([G06] §3.3.1).

A row meets the table as of its own timestamp. Before a window a row begins at its timestamp, so the
look-up goes below the window; a count window must see every row first, so there it goes above and
takes the timestamp from the row's TIME column.
"""

from __future__ import annotations

__all__ = ["Kind", "looked_up"]

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from sash.language.expressions import Call, Column, Expression, columns_of, remap
from sash.plan.joining import both, moved
from sash.plan.nodes import Node, Project, Select, Source, TableJoin, TableScan, Union, Windowed
from sash.plan.patterns import is_stream

Kind = Literal["inner", "left", "semi", "anti"]


def looked_up(node: Node, table: TableScan, conjuncts: Sequence[Expression], kind: Kind) -> Node | None:
    """The node's rows beside the table's rows that meet them; None if the node is no edge of a stream.

    The conditions read the node's columns, then the table's.
    """
    match node:
        case Windowed(window=window) if window.kind == "rows":
            time = _time_of(node.input)
            return None if time is None else _table_join(node, table, conjuncts, kind, time)
        case Windowed():
            below = looked_up(node.input, table, conjuncts, kind)
            return None if below is None else Windowed(below, node.window, node.by_value)
        case TableJoin():
            # It stands where a look-up may stand; the next one sees the same rows at the same times.
            return _table_join(node, table, conjuncts, kind, node.time)
        case _ if is_stream(node):
            return _table_join(node, table, conjuncts, kind, None)
        case Select():
            below = looked_up(node.input, table, conjuncts, kind)
            return None if below is None else Select(below, node.predicate)
        case Project():
            return _below_projection(node, table, conjuncts, kind)
        case Union():
            parts = [looked_up(part, table, conjuncts, kind) for part in node.parts]
            whole = tuple(part for part in parts if part is not None)
            return Union(whole) if len(whole) == len(parts) else None
        case _:
            return None


def _time_of(node: Node) -> int | None:
    """Where a stream's rows carry their timestamp."""
    match node:
        case Source():
            return node.time
        case Select() | TableJoin():
            return _time_of(node.input)
        case Project():
            below = _time_of(node.input)
            columns = enumerate(node.expressions)
            return next((i for i, e in columns if isinstance(e, Column) and e.index == below), None)
        case _:
            return None


def _below_projection(
    node: Project, table: TableScan, conjuncts: Sequence[Expression], kind: Kind
) -> Node | None:
    width, width_below = len(node.schema), len(node.input.schema)
    positions: dict[int, Expression] = dict(enumerate(node.expressions))
    beside = [Column(width_below + i, field.type, field.name) for i, field in enumerate(table.schema)]
    positions |= {width + i: column for i, column in enumerate(beside)}
    below = looked_up(node.input, table, [remap(each, positions) for each in conjuncts], kind)
    if below is None:
        return None
    if kind in ("semi", "anti"):
        return Project(below, node.expressions, node.names)
    names = node.names + tuple(field.name for field in table.schema)
    return Project(below, (*node.expressions, *beside), names)


def _table_join(
    node: Node, table: TableScan, conjuncts: Sequence[Expression], kind: Kind, time: int | None
) -> TableJoin:
    width = len(node.schema)
    input_keys: list[Expression] = []
    table_keys: list[Expression] = []
    residual: list[Expression] = []
    for conjunct in conjuncts:
        sides = _sides(conjunct, width)
        if sides is None:
            residual.append(conjunct)
        else:
            input_keys.append(sides[0])
            table_keys.append(moved(sides[1], lambda i: i - width))
    return TableJoin(node, table, tuple(input_keys), tuple(table_keys), both(residual), kind, time)


def _sides(conjunct: Expression, width: int) -> tuple[Expression, Expression] | None:
    """The two sides of an equality between the node and the table, the node's first."""
    if not isinstance(conjunct, Call) or conjunct.function != "eq":
        return None
    left, right = conjunct.arguments
    if left.type != right.type or pa.types.is_null(left.type):
        return None
    for mine, other in ((left, right), (right, left)):
        own, its = columns_of(mine), columns_of(other)
        if own and its and max(own) < width <= min(its):
            return mine, other
    return None
