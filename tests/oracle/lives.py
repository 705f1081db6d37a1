"""Rows one by one, with their lifetimes: for the two operators whose answer needs to know which row it is.

An INTERNAL window lets a pair outlive one of its rows, and a non-retroactive table is met at the
instant at which a row began. Everything else is defined on bags alone.
"""

from __future__ import annotations

__all__ = ["Life", "internal_join", "lives", "table_join"]

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from sash.plan import nodes

from .operators import agree, join_holds
from .scalars import evaluate, holds
from .values import Bag, Row, instant_of
from .windows import FOREVER, members

if TYPE_CHECKING:
    from .relations import Oracle

Life = tuple[Row, int, int]
"""A row, its first instant, and the first instant at which it is gone."""


def lives(oracle: Oracle, node: nodes.Node) -> list[Life]:
    """The node's rows with their lifetimes, as far as the horizon knows their ends."""
    if isinstance(node, nodes.Windowed):
        return _windowed(oracle, node)
    if isinstance(node, nodes.Source | nodes.ToStream):
        return [(row, at, FOREVER) for at, row in oracle.rows(node, oracle.horizon)]
    if isinstance(node, nodes.Select):
        return [life for life in oracle.lives(node.input) if holds(node.predicate, life[0])]
    if isinstance(node, nodes.Project):
        return [
            (tuple(evaluate(expression, row) for expression in node.expressions), begin, until)
            for row, begin, until in oracle.lives(node.input)
        ]
    if isinstance(node, nodes.Union):
        return [life for part in node.parts for life in oracle.lives(part)]
    if isinstance(node, nodes.Join):
        return list(_joined(oracle, node))
    if isinstance(node, nodes.TableJoin):
        return list(_beside_table(oracle, node))
    return _from_bags(oracle, node)


def internal_join(oracle: Oracle, node: nodes.Join, at: int) -> Bag:
    """The join at an instant where some inputs are INTERNAL."""
    return Counter(row for row, begin, until in oracle.lives(node) if begin <= at < until)


def table_join(oracle: Oracle, node: nodes.TableJoin, at: int) -> Bag:
    """The join with a non-retroactive table at an instant."""
    return Counter(row for row, begin, until in oracle.lives(node) if begin <= at < until)


def _windowed(oracle: Oracle, node: nodes.Windowed) -> list[Life]:
    stream = oracle.rows(node.input, oracle.horizon)
    inside = {at: set(members(oracle, node, at)) for at in oracle.instants(node)}
    found = []
    for i, (_, row) in enumerate(stream):
        present = [at for at, positions in inside.items() if i in positions]
        if present:
            gone = [at for at, positions in inside.items() if at > present[0] and i not in positions]
            # Past the horizon nobody looks, so a row that is still there may as well stay.
            found.append((row, present[0], gone[0] if gone else FOREVER))
    return found


def _joined(oracle: Oracle, node: nodes.Join) -> Iterator[Life]:
    internal = node.internal or (False,) * len(node.parts)
    for pair in product(*(oracle.lives(part) for part in node.parts)):
        begin = max(life[1] for life in pair)
        if begin < min(life[2] for life in pair) and join_holds(node, [life[0] for life in pair]):
            outside = [life[2] for life, inner in zip(pair, internal, strict=True) if not inner]
            yield tuple(v for life in pair for v in life[0]), begin, min(outside, default=FOREVER)


def _beside_table(oracle: Oracle, node: nodes.TableJoin) -> Iterator[Life]:
    for row, begin, until in oracle.lives(node.input):
        met_at = begin if node.time is None else instant_of(row[node.time])
        table = [] if met_at is None else list(oracle.at(node.table, met_at).elements())
        key = [evaluate(expression, row) for expression in node.input_keys]
        matches = [
            other
            for other in table
            if agree(key, [evaluate(expression, other) for expression in node.table_keys], null_safe=False)
            and holds(node.residual, row + other)
        ]
        if node.kind in ("inner", "left"):
            yield from ((row + other, begin, until) for other in matches)
            if node.kind == "left" and not matches:
                yield row + (None,) * len(node.table.schema), begin, until
        elif bool(matches) == (node.kind == "semi"):
            yield row, begin, until


def _from_bags(oracle: Oracle, node: nodes.Node) -> list[Life]:
    """Lifetimes from bags: a row lasts as long as there are as many of it; the first to come goes first."""
    open_: dict[Row, list[int]] = {}
    found = []
    for at in oracle.instants(node):
        bag = oracle.at(node, at)
        for row in set(bag) | set(open_):
            begins = open_.setdefault(row, [])
            while len(begins) > bag[row]:
                found.append((row, begins.pop(0), at))
            begins += [at] * (bag[row] - len(begins))
    return found + [(row, begin, FOREVER) for row, begins in open_.items() for begin in begins]
