"""Conditions move towards the streams, so that windows, joins and groups hold only what matters.

A condition may pass an operator if keeping a row depends on that row's values alone on both sides of
it. So it passes a RANGE window but not a ROWS window, whose other rows depend on it (save on the
partition's columns: a partition is kept or left out whole).
"""

from __future__ import annotations

__all__ = ["push_down_predicates"]

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from sash.language.expressions import Call, Column, Expression, Schema, columns_of, remap
from sash.optimizer.rewriting import conjunction, conjuncts, faithful, shifted, shown, starts
from sash.plan.nodes import (
    Aggregate,
    Distinct,
    Equality,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    SetOperation,
    TableJoin,
    Union,
    Windowed,
)

Conditions = Sequence[Expression]


def push_down_predicates(plan: Node) -> Node:
    """Each conjunct of each selection (and of each inner join's condition) goes as deep as it may.

    Conditions `a = b` between two inputs of a join become its equalities. Nothing passes top-k or a
    relation-to-stream operator, and nothing enters what tells a global aggregate when to begin.
    """
    return _push(plan, ())


def _push(node: Node, conditions: Conditions) -> Node:
    """The node with the conditions, which read its columns, put above it or somewhere below."""
    match node:
        case Select():
            return _push(node.input, (*conjuncts(node.predicate), *conditions))
        case Project():
            expressions = dict(enumerate(node.expressions))
            return replace(node, input=_push(node.input, [remap(each, expressions) for each in conditions]))
        case Union():
            return Union(tuple(_push(part, _renamed(conditions, part.schema)) for part in node.parts))
        case Join():
            return _through_join(node, conditions)
        case TableJoin():
            return _through_table_join(node, conditions)
        case SemiJoin():
            return replace(
                node, left=_push(node.left, conditions), right=_push(node.right, _across(node, conditions))
            )
        case Distinct():
            passing, staying = _split(conditions, _faithful_columns(node.schema))
            return _above(Distinct(_push(node.input, passing)), staying)
        case SetOperation():
            passing, staying = _split(conditions, _faithful_columns(node.schema))
            left, right = (_push(side, _renamed(passing, side.schema)) for side in node.inputs)
            return _above(replace(node, left=left, right=right), staying)
        case Windowed():
            passing, staying = _split(conditions, _passing_window(node))
            return _above(replace(node, input=_push(node.input, passing)), staying)
        case Aggregate():
            return _through_aggregate(node, conditions)
        case _:
            return _above(node.with_inputs([_push(below, ()) for below in node.inputs]), conditions)


def _above(node: Node, conditions: Conditions) -> Node:
    predicate = conjunction(conditions)
    return node if predicate is None else Select(node, predicate)


def _split(conditions: Conditions, passing: frozenset[int]) -> tuple[list[Expression], list[Expression]]:
    """The conditions that read only the given columns, and the others."""
    inside = [each for each in conditions if columns_of(each) <= passing]
    return inside, [each for each in conditions if not columns_of(each) <= passing]


def _renamed(conditions: Conditions, schema: Schema) -> list[Expression]:
    """The conditions over another input's columns at the same positions."""
    columns = dict(enumerate(shown(schema)))
    return [remap(each, columns) for each in conditions]


def _faithful_columns(schema: Schema) -> frozenset[int]:
    return frozenset(i for i, field in enumerate(schema) if faithful(field.type))


def _passing_window(node: Windowed) -> frozenset[int]:
    if node.window.kind == "rows":
        return frozenset(node.window.partition) & _faithful_columns(node.schema)
    return frozenset(range(len(node.schema)))


def _across(node: SemiJoin, conditions: Conditions) -> list[Expression]:
    """What right rows must fulfil to meet a left row that passes: conditions on one key alone.

    Not under NOT IN, where a right row matters without meeting any.
    """
    implied: list[Expression] = []
    for own, other in zip(node.left_keys, node.right_keys, strict=True):
        if isinstance(own, Column) and faithful(own.type) and not node.null_aware:
            asked = [each for each in conditions if columns_of(each) == {own.index}]
            implied += [remap(each, {own.index: other}) for each in asked]
    return implied


def _through_aggregate(node: Aggregate, conditions: Conditions) -> Node:
    whole = frozenset(i for i, each in enumerate(node.groups) if faithful(each.type))
    passing, staying = _split(conditions, whole)
    if not node.groups:
        passing, staying = [], list(conditions)  # without rows it would still have its one row
    groups = dict(enumerate(node.groups))
    below = _push(node.input, [remap(each, groups) for each in passing])
    presence = tuple(_push(each, ()) for each in node.presence)
    return _above(replace(node, input=below, presence=presence), staying)


def _through_join(node: Join, conditions: Conditions) -> Node:
    offsets = starts(node.parts)
    owner = [i for i, part in enumerate(node.parts) for _ in part.schema]
    own: list[list[Expression]] = [[] for _ in node.parts]
    equalities = list(node.equalities)
    residual: list[Expression] = []
    for condition in (*conjuncts(node.residual), *conditions):
        owners = {owner[index] for index in columns_of(condition)}
        if len(owners) <= 1:
            for part in owners or range(len(node.parts)):
                own[part].append(shifted(condition, -offsets[part]))
        elif (equality := _equality(condition, owner, offsets)) is not None:
            equalities.append(equality)
        else:
            residual.append(condition)
    equalities = list(dict.fromkeys(equalities))
    _spread(own, equalities)
    parts = tuple(_push(part, each) for part, each in zip(node.parts, own, strict=True))
    return replace(node, parts=parts, equalities=tuple(equalities), residual=conjunction(residual))


def _equality(condition: Expression, owner: Sequence[int], offsets: Sequence[int]) -> Equality | None:
    """The condition as an equality of two inputs, if that is what it says."""
    sides = _equated(condition, ("eq", "eq_null_safe"))
    if sides is None:
        return None
    parts = [{owner[index] for index in columns_of(side)} for side in sides]
    if any(len(each) != 1 for each in parts):
        return None
    keys = sorted(zip([min(each) for each in parts], sides, strict=True), key=lambda pair: pair[0])
    (left, left_key), (right, right_key) = keys
    null_safe = isinstance(condition, Call) and condition.function == "eq_null_safe"
    return Equality(
        left, shifted(left_key, -offsets[left]), right, shifted(right_key, -offsets[right]), null_safe
    )


def _equated(condition: Expression, functions: Iterable[str]) -> tuple[Expression, Expression] | None:
    if not (isinstance(condition, Call) and condition.function in functions):
        return None
    left, right = condition.arguments
    if left.type != right.type or pa.types.is_nested(left.type) or pa.types.is_null(left.type):
        return None
    return left, right


def _spread(own: list[list[Expression]], equalities: Sequence[Equality]) -> None:
    """What is asked of a column is asked of every column it must equal: both sides hold less."""
    links: list[tuple[int, Column, int, Column]] = []
    for each in equalities:
        left, right = each.left_key, each.right_key
        if isinstance(left, Column) and isinstance(right, Column) and faithful(left.type):
            links.append((each.left, left, each.right, right))
            links.append((each.right, right, each.left, left))
    waiting = [(part, condition) for part, conditions in enumerate(own) for condition in conditions]
    while waiting:
        part, condition = waiting.pop()
        for here, column, there, twin in links:
            if part == here and columns_of(condition) == {column.index}:
                implied = remap(condition, {column.index: twin})
                if implied not in own[there]:
                    own[there].append(implied)
                    waiting.append((there, implied))


def _through_table_join(node: TableJoin, conditions: Conditions) -> Node:
    width = len(node.input.schema)
    mine = frozenset(range(width))
    if node.kind != "inner":
        passing, staying = _split(conditions, mine)
        return _above(replace(node, input=_push(node.input, passing)), staying)
    passing, others = _split((*conjuncts(node.residual), *conditions), mine)
    pairs = list(zip(node.input_keys, node.table_keys, strict=True))
    residual: list[Expression] = []
    for condition in others:
        sides = _equated(condition, ("eq",))
        ordered = sorted(sides or (), key=lambda side: not columns_of(side) <= mine)
        if ordered and _meets(ordered[0], ordered[1], width):
            pairs.append((ordered[0], shifted(ordered[1], -width)))
        else:
            residual.append(condition)
    pairs = list(dict.fromkeys(pairs))
    return replace(
        node,
        input=_push(node.input, passing),
        input_keys=tuple(own for own, _ in pairs),
        table_keys=tuple(other for _, other in pairs),
        residual=conjunction(residual),
    )


def _meets(own: Expression, other: Expression, width: int) -> bool:
    """Whether one side reads only the input's columns and the other only the table's."""
    mine, theirs = columns_of(own), columns_of(other)
    return bool(mine and theirs) and max(mine) < width <= min(theirs)
