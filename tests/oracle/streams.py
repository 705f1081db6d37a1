"""Computed streams: what ISTREAM, DSTREAM and RSTREAM say, instant by instant ([G06] §2.1.3, §3.3.4)."""

from __future__ import annotations

__all__ = ["instants", "rows"]

from collections import Counter
from typing import TYPE_CHECKING

from sash.plan import nodes

from .scalars import evaluate, holds
from .values import Bag, Row, row_key

if TYPE_CHECKING:
    from .relations import Oracle


def rows(oracle: Oracle, node: nodes.Node) -> list[tuple[int, Row]]:
    """All rows of a stream up to the horizon, in order of time and then of arrival."""
    every = oracle.horizon
    if isinstance(node, nodes.Source):
        return [(ts, row) for ts, _, row in oracle.streams.get(node.name, ()) if ts <= every]
    if isinstance(node, nodes.Select):
        return [(at, row) for at, row in oracle.rows(node.input, every) if holds(node.predicate, row)]
    if isinstance(node, nodes.Project):
        return [
            (at, tuple(evaluate(expression, row) for expression in node.expressions))
            for at, row in oracle.rows(node.input, every)
        ]
    if isinstance(node, nodes.Union):
        together = [pair for part in node.parts for pair in oracle.rows(part, every)]
        return sorted(together, key=lambda pair: pair[0])
    if isinstance(node, nodes.Windowed) and node.window.kind == "unbounded":
        return oracle.rows(node.input, every)
    said = _said if isinstance(node, nodes.ToStream) else _came
    return [
        (at, row)
        for at in oracle.instants(node)
        for row in sorted(said(oracle, node, at).elements(), key=row_key)  # type: ignore[arg-type]
    ]


def instants(oracle: Oracle, node: nodes.ToStream) -> set[int]:
    """When a relation-to-stream operator may speak."""
    below = oracle.instants(node.input)
    if node.slide is None or not below:
        return set(below)
    slide = node.slide
    if node.kind == "rstream":
        return set(range(-(-below[0] // slide) * slide, oracle.horizon + 1, slide))
    return {-(-instant // slide) * slide for instant in below} if node.restore else set(below)


def _said(oracle: Oracle, node: nodes.ToStream, at: int) -> Bag:
    if node.restore:
        return _restored(oracle, node, at)
    if node.kind == "istream":
        return _came(oracle, node.input, at)
    if node.kind == "dstream":
        return _went(oracle, node.input, at)
    if node.slide is None and oracle.at(node.input, at) == oracle.at(node.input, at - 1):
        return Counter()
    return oracle.at(node.input, at)


def _came(oracle: Oracle, node: nodes.Node, at: int) -> Bag:
    """What there is more of at an instant than just before it."""
    return oracle.at(node, at) - oracle.at(node, at - 1)


def _went(oracle: Oracle, node: nodes.Node, at: int) -> Bag:
    return oracle.at(node, at - 1) - oracle.at(node, at)


def _restored(oracle: Oracle, node: nodes.ToStream, at: int) -> Bag:
    assert node.slide is not None
    since = [t for t in oracle.instants(node.input) if at - node.slide < t <= at]
    if node.kind == "istream":
        return sum((_came(oracle, node.input, t) for t in since), Counter())
    ended: Bag = sum((_went(oracle, node.input, t) for t in since), Counter())
    return oracle.at(node.input, at) + (ended - oracle.at(node.input, at - node.slide))
