"""What the rules share: walking a plan from below, taking conjunctions apart, moving columns."""

from __future__ import annotations

__all__ = [
    "bottom_up", "conjunction", "conjuncts", "faithful", "lifetimes_matter", "shifted", "shown", "starts",
]  # fmt: skip

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from sash.language.expressions import Call, Column, Expression, Literal, Schema, all_of
from sash.plan.nodes import Join, Node, Project, Select, TableJoin, Union


def bottom_up(node: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with `change` applied to every node, inputs first."""
    inputs = tuple(bottom_up(below, change) for below in node.inputs)
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(inputs)
    return change(node)


def conjuncts(predicate: Expression | None) -> tuple[Expression, ...]:
    """The conditions that must all be true for a predicate to be; none for TRUE.

    >>> a, b = Column(0, pa.bool_(), "a"), Column(1, pa.bool_(), "b")
    >>> [str(each) for each in conjuncts(Call("and", (a, b), pa.bool_()))]
    ['a', 'b']
    """
    if predicate is None or (isinstance(predicate, Literal) and predicate.value is True):
        return ()
    if isinstance(predicate, Call) and predicate.function == "and":
        return tuple(each for argument in predicate.arguments for each in conjuncts(argument))
    return (predicate,)


def conjunction(conditions: Iterable[Expression]) -> Expression | None:
    """One predicate that is true where all conditions are, each mentioned once; None if there are none."""
    return all_of(list(dict.fromkeys(conditions)))


def shown(schema: Schema) -> tuple[Column, ...]:
    """All columns of a schema as expressions."""
    return tuple(Column(i, field.type, field.name) for i, field in enumerate(schema))


def shifted(expression: Expression, offset: int) -> Expression:
    """The expression with every column moved to the right by `offset` (to the left if negative)."""
    if isinstance(expression, Column):
        return Column(expression.index + offset, expression.type, expression.name)
    if isinstance(expression, Literal):
        return expression
    return Call(
        expression.function, tuple(shifted(each, offset) for each in expression.arguments), expression.type
    )


def starts(nodes: Sequence[Node]) -> tuple[int, ...]:
    """Where each node's columns begin when they stand side by side."""
    offsets, total = [], 0
    for node in nodes:
        offsets.append(total)
        total += len(node.schema)
    return tuple(offsets)


def faithful(type_: pa.DataType) -> bool:
    """Whether equal values of a type are identical, so that any function gives the same for both.

    Floats are not (-0.0 equals 0.0), nor is what may contain them.
    """
    return not (pa.types.is_floating(type_) or pa.types.is_nested(type_))


def lifetimes_matter(node: Node, above: bool) -> bool:
    """Whether a node's inputs must keep their rows' lifetimes, or only which rows live at each instant.

    A table looked up as of a row's beginning, and a join with an INTERNAL input, tell a row that goes
    on from one that ends where its equal begins; `above` says that something above this node does.
    """
    if isinstance(node, TableJoin) and node.time is None:
        return True
    if isinstance(node, Join) and any(node.internal):
        return True
    return above and isinstance(node, Select | Project | Union | Join | TableJoin)
