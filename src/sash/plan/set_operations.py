"""UNION, EXCEPT and INTERSECT: as many columns on either side, each pair in its common type."""

from __future__ import annotations

__all__ = ["set_operation"]

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from sash.language.binder import cast_to
from sash.language.expressions import Column
from sash.language.functions import FunctionError, common_type
from sash.language.types import sql_name
from sash.plan.context import Built, Context
from sash.plan.internal_windows import refuse_monotonic
from sash.plan.local_views import with_local_views
from sash.plan.nodes import Distinct, Node, Project, SetOperation, Union
from sash.plan.top_k import ordered_outputs


def set_operation(query: exp.SetOperation, context: Context) -> Built:
    """The plan of a set operation, with the ORDER BY and LIMIT that may follow it."""
    context = with_local_views(query, context)
    left, right = context.query(query.this, context), context.query(query.expression, context)
    every = not query.args.get("distinct")
    first, second = _alike(left.node, right.node, query, context)
    added = isinstance(query, exp.Union) and every
    negations: frozenset[str] = frozenset() if added else frozenset({"a set operation"})
    if query.args.get("limit") is not None:
        negations |= {"top-k"}
    monotonic = left.monotonic + right.monotonic
    refuse_monotonic(monotonic, negations, context)
    node: Node
    if isinstance(query, exp.Union):
        parts = (*_branches(first), *_branches(second)) if every else (first, second)
        node = Union(parts) if every else Distinct(Union(parts))
    else:
        node = SetOperation(first, second, "except" if isinstance(query, exp.Except) else "intersect", every)
    negations |= left.negations | right.negations
    return Built(ordered_outputs(node, query, context), negations, monotonic)


def _branches(node: Node) -> Sequence[Node]:
    """UNION ALL of UNION ALL is one."""
    return node.parts if isinstance(node, Union) else (node,)


def _alike(left: Node, right: Node, query: exp.SetOperation, context: Context) -> tuple[Node, Node]:
    word = query.key.upper()
    if len(left.schema) != len(right.schema):
        raise context.error(
            "SASH-BIND-015",
            f"The sides of {word} have {len(left.schema)} and {len(right.schema)} columns.",
            "Select as many columns on both sides.",
            query.expression,
        )
    types: list[pa.DataType] = []
    for position, (mine, other) in enumerate(zip(left.schema, right.schema, strict=True)):
        try:
            types.append(common_type([mine.type, other.type]))
        except FunctionError:
            raise context.error(
                "SASH-BIND-016",
                f"Column {position + 1} of {word} is {sql_name(mine.type)} on one side and "
                f"{sql_name(other.type)} on the other.",
                "Cast one of them to the type of the other.",
                query.expression,
            ) from None
    return _cast(left, types), _cast(right, types)


def _cast(node: Node, types: Sequence[pa.DataType]) -> Node:
    if [field.type for field in node.schema] == list(types):
        return node
    columns = [Column(i, field.type, field.name) for i, field in enumerate(node.schema)]
    cast = tuple(cast_to(column, type_) for column, type_ in zip(columns, types, strict=True))
    return Project(node, cast, tuple(field.name for field in node.schema))
