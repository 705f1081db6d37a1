"""From logical nodes to operators: which implementation and which state suit the update pattern.

One rule per node; the choice between implementations is made here and nowhere else.
"""

from __future__ import annotations

__all__ = ["closing_operator_for", "operator_for", "reads"]

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Literal

from sash.engine.expressions import Faults, can_fault
from sash.engine.kernels.presence import EXCEPT, EXCEPT_ALL, INTERSECT, INTERSECT_ALL, SOME
from sash.engine.lanes import Lanes
from sash.engine.operator import Operator
from sash.engine.operators.aggregate import GroupAggregate
from sash.engine.operators.counted import CountedRows
from sash.engine.operators.distinct import DistinctRows
from sash.engine.operators.distinct_answer import DistinctAnswer
from sash.engine.operators.extreme_answer import ExtremeAnswer
from sash.engine.operators.join import MultiJoin
from sash.engine.operators.last_rows import LastRows
from sash.engine.operators.project import ProjectColumns
from sash.engine.operators.range_window import RangeWindow
from sash.engine.operators.rows_window import RowsWindow
from sash.engine.operators.select import SelectRows
from sash.engine.operators.semi_join import SemiJoinRows
from sash.engine.operators.table_join import TableLookup
from sash.engine.operators.to_stream import Arrivals, Departures
from sash.engine.operators.top_groups import TopGroups
from sash.engine.operators.topk import TopRows
from sash.engine.operators.union import UnionAll
from sash.engine.operators.whole_relation import WholeRelation
from sash.engine.state.extremes import deques_suffice
from sash.language.expressions import AggregateCall, Column, Expression
from sash.plan.keys import key, nets
from sash.plan.nodes import (
    Aggregate,
    Distinct,
    Exchange,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    SetOperation,
    SortKey,
    TableJoin,
    TopK,
    ToStream,
    Union,
    Windowed,
)
from sash.plan.patterns import Pattern, pattern

_SMALL = 64
"""Up to this many rows a count window keeps a ring of row numbers per partition."""

_MODES = {
    ("except", False): EXCEPT,
    ("except", True): EXCEPT_ALL,
    ("intersect", False): INTERSECT,
    ("intersect", True): INTERSECT_ALL,
}


def _types(node: Node) -> tuple[object, ...]:
    return tuple(field.type for field in node.schema)


def reads(node: Node) -> tuple[Node, ...]:
    """The nodes an operator takes its inputs from: a projection right above a join is part of it, and so
    is a GROUP BY below a top-k by one of its counts or sums.

    What is below an exchange runs elsewhere.
    """
    if isinstance(node, Exchange):
        return ()
    if isinstance(node, Project) and isinstance(node.input, Join):
        return node.input.inputs
    if isinstance(node, TopK) and (groups := _groups_below(node)) is not None:
        return groups.aggregate.inputs
    return node.inputs


@singledispatch
def operator_for(node: Node, faults: Faults) -> Operator:
    """The operator that computes a node from the edges of `reads(node)`."""
    raise TypeError(f"no operator for {type(node).__name__}")


def closing_operator_for(node: Node, faults: Faults) -> Operator:
    """The same for an edge that only the answer reads: one that ends its rows itself, if there is one.

    Rows that may end early anyway keep the usual one, as their ends would have to be netted; an aggregate
    adds up an instant's rows before it gives any.
    """
    strict = any(pattern(read) is Pattern.STR for read in reads(node))
    match node:
        case Aggregate():
            return _extreme_answer(node, faults) or _aggregate(node, faults, closes=True)
        case Distinct() if not strict:
            return DistinctAnswer(_types(node))
        case SemiJoin() if pattern(node.left) is not Pattern.STR:
            return _semi_join(node, faults, closes=True)
        case Join() if not strict and not any(node.internal):
            return _join(node, _everything(node), _types(node), faults, closes=True)
        case Project(input=Join() as join) if not strict and not any(join.internal):
            if not any(map(can_fault, node.expressions)):  # an end is no second fault
                return _join(join, node.expressions, _types(node), faults, closes=True)
    return operator_for(node, faults)


@operator_for.register
def _(node: Select, faults: Faults) -> Operator:
    return SelectRows(_types(node), node.predicate, faults)


@operator_for.register
def _(node: Project, faults: Faults) -> Operator:
    if isinstance(node.input, Join):
        return _join(node.input, node.expressions, _types(node), faults)
    return ProjectColumns(_types(node), node.expressions, faults)


@operator_for.register
def _(node: Union, faults: Faults) -> Operator:
    return UnionAll(_types(node))


@operator_for.register
def _(node: Windowed, faults: Faults) -> Operator:
    window = node.window
    if window.kind == "rows":
        if window.slide in (None, 1) and window.rows is not None and window.rows <= _SMALL:
            return LastRows(_types(node), window, node.by_value)
        return RowsWindow(_types(node), node.window, node.by_value)
    return RangeWindow(_types(node), node.window)


@operator_for.register
def _(node: Join, faults: Faults) -> Operator:
    return _join(node, _everything(node), _types(node), faults)


def _everything(node: Node) -> tuple[Expression, ...]:
    return tuple(Column(i, field.type, field.name) for i, field in enumerate(node.schema))


def _join(
    node: Join,
    outputs: tuple[Expression, ...],
    types: tuple[object, ...],
    faults: Faults,
    *,
    closes: bool = False,
) -> Operator:
    inputs = tuple(map(_types, node.inputs))
    internal = node.internal or (False,) * len(inputs)
    return MultiJoin(types, inputs, node.equalities, node.residual, outputs, internal, faults, closes)


@operator_for.register
def _(node: SemiJoin, faults: Faults) -> Operator:
    return _semi_join(node, faults)


def _semi_join(node: SemiJoin, faults: Faults, *, closes: bool = False) -> Operator:
    keys = node.left_keys, node.right_keys
    return SemiJoinRows(_types(node), *keys, node.anti, node.null_safe, faults, closes)


@operator_for.register
def _(node: TableJoin, faults: Faults) -> Operator:
    return TableLookup(
        _types(node), _types(node.table), node.input_keys, node.table_keys, node.residual,
        node.kind, node.time, _asked_again(node.input), faults,
    )  # fmt: skip


def _asked_again(node: Node) -> Literal["never", "while they live", "at any time"]:
    """When rows of a relation may ask for an old version of a table: a window may hold them back, too."""
    if pattern(node) is not Pattern.STR:
        return "never"
    windows = (each.window for each in node.walk() if isinstance(each, Windowed))
    held_back = any(window.kind == "rows" and window.slide is not None for window in windows)
    return "at any time" if held_back else "while they live"


@operator_for.register
def _(node: Distinct, faults: Faults) -> Operator:
    if pattern(node.input) is Pattern.STR:
        return CountedRows(_types(node), SOME)
    return DistinctRows(_types(node))


@operator_for.register
def _(node: SetOperation, faults: Faults) -> Operator:
    return CountedRows(_types(node), _MODES[node.kind, node.all])


@operator_for.register
def _(node: Aggregate, faults: Faults) -> Operator:
    return _aggregate(node, faults)


def _aggregate(node: Aggregate, faults: Faults, *, closes: bool = False) -> GroupAggregate:
    read = _types(node.input), faults, pattern(node.input)
    return GroupAggregate(_types(node), node.groups, node.aggregates, *read, closes)


def _extreme_answer(node: Aggregate, faults: Faults) -> ExtremeAnswer | None:
    """What follows a MIN or MAX that is the only aggregate of groups, if it needs no lanes."""
    if not node.groups or len(node.aggregates) != 1:
        return None
    (call,) = node.aggregates
    if call.argument is None or call.function not in ("min", "max"):
        return None
    if not deques_suffice(call.argument.type, pattern(node.input)):
        return None
    return ExtremeAnswer(_types(node), node.groups, call.argument, call.function == "max", faults)


@operator_for.register
def _(node: TopK, faults: Faults) -> Operator:
    monotonic = pattern(node.input) is Pattern.MON
    top = TopRows(_types(node), node.order, node.limit, node.offset, monotonic, _replacing(node.input))
    groups = _groups_below(node)
    if groups is None:
        return top
    aggregate = _aggregate(groups.aggregate, faults)
    return TopGroups(_types(node), aggregate, top, groups.selected, groups.call, groups.ties)


@dataclass(frozen=True)
class _Groups:
    """A GROUP BY that a top-k can be part of: which of its columns are given, and how they are ordered."""

    aggregate: Aggregate
    selected: tuple[int, ...]
    call: AggregateCall
    ties: tuple[SortKey, ...]


def _groups_below(node: TopK) -> _Groups | None:
    """The GROUP BY right below, if its lanes say which groups come first: ordered by a count or a sum of
    integers, and then by nothing but the groups' keys."""
    below, selected = node.input, tuple(range(len(node.schema)))
    if isinstance(below, Project) and all(isinstance(each, Column) for each in below.expressions):
        selected = tuple(each.index for each in below.expressions if isinstance(each, Column))
        below = below.input
    if not isinstance(below, Aggregate) or not below.groups or not node.order or not node.limit:
        return None
    lanes, keys = Lanes(below.aggregates), len(below.groups)
    first = selected[node.order[0].index]
    if lanes.telling is None or lanes.floats or first < keys:
        return None
    call = below.aggregates[first - keys]
    ordered = {key.index for key in node.order}
    rest = [SortKey(i, False, True) for i in range(len(selected)) if i not in ordered]
    ties: dict[int, SortKey] = {}
    for key_ in [*node.order[1:], *rest]:
        column = selected[key_.index]
        if len(ties) < keys and column >= keys and column != first:
            return None
        if column < keys:
            ties.setdefault(column, replace(key_, index=column))
    if lanes.lane_of(call) is None or len(ties) < keys:
        return None
    return _Groups(below, selected, call, tuple(ties.values()))


def _replacing(node: Node) -> tuple[int, ...] | None:
    """The key by which rows follow one another, as an aggregate gives them."""
    below, known = node, key(node)
    while isinstance(below, Select | Project):
        below = below.input
    return None if known is None or not isinstance(below, Aggregate) else tuple(sorted(known))


@operator_for.register
def _(node: ToStream, faults: Faults) -> Operator:
    if node.kind == "rstream":
        return WholeRelation(_types(node), node.slide, node.restore)
    if node.kind == "dstream":
        return Departures(_types(node), nets(node.input))
    return Arrivals(_types(node), nets(node.input), node.slide if node.restore else None)
