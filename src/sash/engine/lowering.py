"""Nodes that are built from others: NOT IN, and semi-joins whose results end as foreseen.

A left row of NOT IN stays if its group on the right is empty; or else if its own value is not NULL,
the group has no NULL and no equal value. A semi-join of inputs that do not end early is the join
with the distinct keys of the right side, so that its results have known ends (WK) and need no
negative rows.
"""

from __future__ import annotations

__all__ = ["lower"]

import pyarrow as pa

from sash.language.expressions import Call, Column, Expression, Literal
from sash.plan.nodes import Distinct, Equality, Exchange, Join, Node, Project, Select, SemiJoin, Union
from sash.plan.patterns import Pattern, pattern

_ANY: tuple[Expression, ...] = (Literal(1, pa.int64()),)
"""The key where any row will do."""


def lower(node: Node) -> Node:
    """The plan with null-aware anti-joins and foreseeable semi-joins replaced."""
    if isinstance(node, Exchange):
        return node  # what is below it runs elsewhere
    lowered = node.with_inputs([lower(child) for child in node.inputs]) if node.inputs else node
    if isinstance(lowered, SemiJoin) and lowered.null_aware:
        return lower(_not_in(lowered))
    if isinstance(lowered, SemiJoin) and not lowered.anti and _foreseen(lowered):
        return _semi_join(lowered)
    return lowered


def _foreseen(node: SemiJoin) -> bool:
    return Pattern.STR not in (pattern(node.left), pattern(node.right))


def _is(function: str, expression: Expression) -> Expression:
    return Call(function, (expression,), pa.bool_())


def _not_in(node: SemiJoin) -> Node:
    left, right = node.left, node.right
    left_group, right_group = node.left_keys[:-1], node.right_keys[:-1]
    unopposed = SemiJoin(left, right, left_group, right_group, anti=True)
    comparable = Select(left, _is("is_not_null", node.left_keys[-1]))
    opposed = SemiJoin(comparable, right, left_group, right_group, anti=False)
    nulls = Select(right, _is("is_null", node.right_keys[-1]))
    decided = SemiJoin(opposed, nulls, left_group, right_group, anti=True)
    different = SemiJoin(decided, right, node.left_keys, node.right_keys, anti=True)
    return Union((unopposed, different))


def _semi_join(node: SemiJoin) -> Node:
    left_keys, right_keys = node.left_keys or _ANY, node.right_keys or _ANY
    names = tuple(f"key{i}" for i in range(len(right_keys)))
    keys = Distinct(Project(node.right, right_keys, names))
    equalities = tuple(
        Equality(0, own, 1, Column(i, other.type, name), node.null_safe)
        for i, (own, other, name) in enumerate(zip(left_keys, right_keys, names, strict=True))
    )
    left = tuple(Column(i, field.type, field.name) for i, field in enumerate(node.schema))
    return Project(Join((node.left, keys), equalities), left, tuple(field.name for field in node.schema))
