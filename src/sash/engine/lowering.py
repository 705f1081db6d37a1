"""NOT IN as SQL means it, built from semi- and anti-joins.

A left row stays if its group on the right is empty; or else if its own value is not NULL, the group
has no NULL and no equal value.
"""

from __future__ import annotations

__all__ = ["lower"]

import pyarrow as pa

from sash.language.expressions import Call, Expression
from sash.plan.nodes import Node, Select, SemiJoin, Union


def lower(node: Node) -> Node:
    """The plan with every null-aware anti-join replaced."""
    lowered = node.with_inputs([lower(child) for child in node.inputs]) if node.inputs else node
    if isinstance(lowered, SemiJoin) and lowered.null_aware:
        return _not_in(lowered)
    return lowered


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
