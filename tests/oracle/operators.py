"""The relational operators over bags at one instant: selection to top-k, by the book."""

from __future__ import annotations

__all__ = ["EVALUATE", "agree", "join_holds"]

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from sash.plan import nodes

from .aggregates import aggregate
from .scalars import evaluate, holds
from .values import Bag, Row, order_key, plain, row_key

if TYPE_CHECKING:
    from .relations import Oracle


def _select(oracle: Oracle, node: nodes.Select, at: int) -> Bag:
    return Counter({row: n for row, n in oracle.at(node.input, at).items() if holds(node.predicate, row)})


def _project(oracle: Oracle, node: nodes.Project, at: int) -> Bag:
    bag: Bag = Counter()
    for row, n in oracle.at(node.input, at).items():
        bag[tuple(evaluate(expression, row) for expression in node.expressions)] += n
    return bag


def _union(oracle: Oracle, node: nodes.Union, at: int) -> Bag:
    return sum((oracle.at(part, at) for part in node.parts), Counter())


def _join(oracle: Oracle, node: nodes.Join, at: int) -> Bag:
    bag: Bag = Counter()
    for pair in product(*(oracle.at(part, at).items() for part in node.parts)):
        if join_holds(node, [row for row, _ in pair]):
            copies = 1
            for _, n in pair:
                copies *= n
            bag[tuple(value for row, _ in pair for value in row)] += copies
    return bag


def join_holds(node: nodes.Join, rows: Sequence[Row]) -> bool:
    """True if one row of each input agree on all equalities and pass the residual."""
    for equality in node.equalities:
        left = evaluate(equality.left_key, rows[equality.left])
        right = evaluate(equality.right_key, rows[equality.right])
        if not agree([left], [right], equality.null_safe):
            return False
    return holds(node.residual, tuple(value for row in rows for value in row))


def agree(left: Sequence[object], right: Sequence[object], null_safe: bool) -> bool:
    """True if two keys are equal; a NULL equals nothing, or (null_safe) another NULL."""
    if not null_safe and (None in left or None in right):
        return False
    return list(map(order_key, left)) == list(map(order_key, right))


def _semi_join(oracle: Oracle, node: nodes.SemiJoin, at: int) -> Bag:
    right = [tuple(evaluate(e, row) for e in node.right_keys) for row in oracle.at(node.right, at)]
    found: Bag = Counter()
    for row, n in oracle.at(node.left, at).items():
        key = tuple(evaluate(e, row) for e in node.left_keys)
        if node.null_aware:
            kept = _not_in(key, right, node.null_safe)
        else:
            kept = any(agree(key, other, node.null_safe) for other in right) != node.anti
        if kept:
            found[row] = n
    return found


def _not_in(key: Row, right: Sequence[Row], null_safe: bool) -> bool:
    """x NOT IN S is true if S is empty, or if x differs from all of S and nothing there is NULL."""
    group = [other[-1] for other in right if agree(key[:-1], other[:-1], null_safe)]
    if not group:
        return True
    if key[-1] is None or None in group:
        return False
    return all(order_key(key[-1]) != order_key(value) for value in group)


def _distinct(oracle: Oracle, node: nodes.Distinct, at: int) -> Bag:
    return Counter(dict.fromkeys(oracle.at(node.input, at), 1))


def _set_operation(oracle: Oracle, node: nodes.SetOperation, at: int) -> Bag:
    left, right = oracle.at(node.left, at), oracle.at(node.right, at)
    if not node.all:
        left, right = Counter(dict.fromkeys(left, 1)), Counter(dict.fromkeys(right, 1))
    return left - right if node.kind == "except" else left & right


def _aggregate(oracle: Oracle, node: nodes.Aggregate, at: int) -> Bag:
    groups: dict[Row, list[Row]] = {}
    for row in oracle.at(node.input, at).elements():
        groups.setdefault(tuple(evaluate(e, row) for e in node.groups), []).append(row)
    if not node.groups and not groups and _was_present(oracle, node, at):
        groups[()] = []
    return Counter(
        key + tuple(plain(aggregate(call, rows)) for call in node.aggregates) for key, rows in groups.items()
    )


def _was_present(oracle: Oracle, node: nodes.Aggregate, at: int) -> bool:
    """True if any of the inputs has had a row by then."""
    return any(
        oracle.at(source, instant)
        for source in node.presence or (node.input,)
        for instant in oracle.instants(source)
        if instant <= at
    )


def _top_k(oracle: Oracle, node: nodes.TopK, at: int) -> Bag:
    rows = sorted(oracle.at(node.input, at).elements(), key=row_key)
    for key in reversed(node.order):
        rows.sort(key=_by_value(key), reverse=key.descending)
        rows.sort(key=_by_null(key))
    return Counter(rows[node.offset : node.offset + node.limit])


def _by_value(key: nodes.SortKey) -> Callable[[Row], Any]:
    return lambda row: order_key(row[key.index])


def _by_null(key: nodes.SortKey) -> Callable[[Row], bool]:
    return lambda row: (row[key.index] is None) != key.nulls_first


EVALUATE: dict[type[nodes.Node], Callable[[Any, Any, int], Bag]] = {
    nodes.Select: _select,
    nodes.Project: _project,
    nodes.Union: _union,
    nodes.Join: _join,
    nodes.SemiJoin: _semi_join,
    nodes.Distinct: _distinct,
    nodes.SetOperation: _set_operation,
    nodes.Aggregate: _aggregate,
    nodes.TopK: _top_k,
}
