"""Joins from their conditions: conjuncts are sorted into equalities, filters of one side, and the rest.

A semi- or anti-join with a condition that is more than equalities goes through the pairs that meet
it: whether a row has a match depends on its values alone, so the left rows are kept (or left out)
by comparing all of their columns with those of the pairs.
"""

from __future__ import annotations

__all__ = ["both", "filtered", "join", "may_agree", "moved", "not_in_join", "semi_join"]

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

import pyarrow as pa

from sash.language.expressions import Call, Column, Expression, Literal, all_of, columns_of
from sash.plan.nodes import Equality, Join, Node, Project, Select, SemiJoin


def both(conjuncts: Iterable[Expression]) -> Expression | None:
    """All conditions as one; None if there are none."""
    return all_of(list(conjuncts))


def moved(expression: Expression, to: Callable[[int], int]) -> Expression:
    """The expression with every column at another position.

    >>> moved(Column(1, pa.int64(), "a"), lambda position: position + 3).index
    4
    """
    if isinstance(expression, Column):
        return Column(to(expression.index), expression.type, expression.name)
    if isinstance(expression, Literal):
        return expression
    arguments = tuple(moved(argument, to) for argument in expression.arguments)
    return Call(expression.function, arguments, expression.type)


def filtered(node: Node, conjuncts: Iterable[Expression]) -> Node:
    """The rows of a node that meet all conditions."""
    condition = both(conjuncts)
    return node if condition is None else Select(node, condition)


def join(parts: Sequence[Node], conjuncts: Sequence[Expression], internal: Sequence[bool] = ()) -> Node:
    """The inner join of the parts; the conditions read the parts' columns side by side.

    Conditions on one part become selections of it, so that every plan filters early.
    """
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + len(part.schema))
    filters: list[list[Expression]] = [[] for _ in parts]
    equalities: list[Equality] = []
    residual: list[Expression] = []
    for conjunct in conjuncts:
        owners = _owners(conjunct, offsets)
        if len(owners) <= 1:
            owner = next(iter(owners), 0)
            filters[owner].append(_local(conjunct, offsets[owner]))
        elif (equality := _equality(conjunct, offsets)) is not None:
            equalities.append(equality)
        else:
            residual.append(conjunct)
    nodes = tuple(filtered(part, own) for part, own in zip(parts, filters, strict=True))
    if len(nodes) == 1:
        return nodes[0]
    flags = tuple(internal) if any(internal) else ()
    return Join(nodes, tuple(equalities), both(residual), flags)


def _local(expression: Expression, start: int) -> Expression:
    """An expression over the columns of one part, which begin at `start`."""
    return moved(expression, lambda i: i - start)


def _owners(expression: Expression, offsets: Sequence[int]) -> set[int]:
    return {max(i for i, start in enumerate(offsets) if start <= column) for column in columns_of(expression)}


def _equality(conjunct: Expression, offsets: Sequence[int]) -> Equality | None:
    if not isinstance(conjunct, Call) or conjunct.function not in ("eq", "eq_null_safe"):
        return None
    left, right = conjunct.arguments
    if left.type != right.type or pa.types.is_null(left.type):
        return None
    mine, other = _owners(left, offsets), _owners(right, offsets)
    if len(mine) != 1 or len(other) != 1 or mine == other:
        return None
    (first,), (second,) = mine, other
    return Equality(
        first,
        _local(left, offsets[first]),
        second,
        _local(right, offsets[second]),
        conjunct.function == "eq_null_safe",
    )


def semi_join(left: Node, right: Node, conjuncts: Sequence[Expression], *, anti: bool) -> Node:
    """The left rows that have a match on the right (`anti`: that have none).

    The conditions read the left side's columns, then the right side's.
    """
    pairs = join((left, right), conjuncts)
    assert isinstance(pairs, Join)
    # What filters the right side may stay there; what filters the left is no key of an anti-join.
    whole = pairs.parts[0] == left
    kinds = {equality.null_safe for equality in pairs.equalities}
    if pairs.residual is None and len(kinds) <= 1 and (whole or not anti):
        ordered = [_left_first(equality) for equality in pairs.equalities] or [_ALWAYS]
        left_keys, right_keys = zip(*ordered, strict=True)
        kept, others = pairs.parts
        return SemiJoin(kept, others, left_keys, right_keys, anti, null_safe=kinds == {True})
    columns = _columns(left)
    matched = Project(pairs, columns, tuple(field.name for field in left.schema))
    return SemiJoin(left, matched, columns, columns, anti, null_safe=True)


def not_in_join(
    left: Node,
    right: Node,
    conjuncts: Sequence[Expression],
    compared: Sequence[tuple[Expression, Expression]],
) -> Node:
    """NOT IN: the left rows whose compared values are certainly none of the right side's.

    Each pair holds a left value and a right value of the same type; all read both sides' columns.
    A row is left out by a right row that agrees, or that might if a NULL were known.
    """
    pairs = join((left, right), conjuncts)
    assert isinstance(pairs, Join)
    plain = pairs.residual is None and not any(equality.null_safe for equality in pairs.equalities)
    if plain and pairs.parts[0] == left and len(compared) == 1:
        keys = [_left_first(equality) for equality in pairs.equalities]
        value, other = compared[0]
        keys.append((value, _local(other, len(left.schema))))
        left_keys, right_keys = zip(*keys, strict=True)
        return SemiJoin(left, pairs.parts[1], left_keys, right_keys, anti=True, null_aware=True)
    return semi_join(left, right, [*conjuncts, *(may_agree(*values) for values in compared)], anti=True)


def may_agree(value: Expression, other: Expression) -> Expression:
    """Whether two values are equal or might be, one of them being NULL."""
    equal = Call("eq", (value, other), pa.bool_())
    unknown = [Call("is_null", (each,), pa.bool_()) for each in (value, other)]
    return reduce(lambda a, b: Call("or", (a, b), pa.bool_()), [*unknown, equal])


_ALWAYS = (Literal(1, pa.int32()), Literal(1, pa.int32()))
"""A key that all rows share: any row on the right is a match."""


def _left_first(equality: Equality) -> tuple[Expression, Expression]:
    keys = (equality.left_key, equality.right_key)
    return keys if equality.left == 0 else (keys[1], keys[0])


def _columns(node: Node) -> tuple[Expression, ...]:
    return tuple(Column(i, field.type, field.name) for i, field in enumerate(node.schema))
