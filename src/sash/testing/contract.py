"""The contract every operator keeps, checked from outside after each of its steps.

A circuit calls its watcher with the node, what went in and what came out. `Contract` is a watcher
that raises AssertionError when an output has wrong types, begins outside the step, ends before it
begins, breaks the update pattern that planning promised (right below the answer, negative rows may
stand for ends that are foreseen), or takes away what was never there.
"""

from __future__ import annotations

__all__ = ["Contract"]

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby

from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant
from sash.plan.nodes import Node
from sash.plan.patterns import Pattern, pattern

Row = tuple[object, ...]


@dataclass
class _Edge:
    """What one node has given so far."""

    node: Node
    pattern: Pattern
    inherited: bool
    """True if its circuit had a past before anyone watched: unknown rows may end then."""
    live: dict[Row, Counter[Instant]] = field(default_factory=dict)
    """By row: how its number changes, at the frontier (all of the past) and at instants foreseen."""
    earlier_until: Instant = BEGINNING
    latest: tuple[Instant, Instant] = (BEGINNING, BEGINNING)
    """The frontier of the last step, and the greatest end given by then."""


class Contract:
    """A watcher for circuits: `Circuit(plan, watch=Contract())`; `steps` counts what it has seen.

    >>> import numpy as np, pyarrow as pa
    >>> from sash.language.expressions import Field
    >>> from sash.plan.nodes import Source
    >>> node = Source("s", (Field("ts", pa.int64()),), 0)
    >>> one = np.array([1])
    >>> Contract()(node, (), Changes((pa.array([1]),), one, one + 1, one), 0, 5, 0)
    Traceback (most recent call last):
    ...
    AssertionError: Source promised MON but gave a row that ends: (1,) [1, 2) +1
    """

    def __init__(self) -> None:
        self.steps = 0
        self.most_held = 0
        self._edges: dict[int, _Edge] = {}

    def __call__(
        self,
        node: Node,
        inputs: tuple[Changes, ...],
        output: Changes,
        before: Instant,
        frontier: Instant,
        held_rows: int,
        closes: bool = False,
    ) -> None:
        self.steps += 1
        self.most_held = max(self.most_held, held_rows)
        edge = self._edges.get(id(node))
        if edge is None:
            edge = self._edges[id(node)] = _Edge(
                node, Pattern.STR if closes else pattern(node), before > BEGINNING
            )
        _check_shape(node, output)
        rows = _rows(output)
        for row, begin, until, weight in rows:
            _check_lifetime(node, edge.pattern, (row, begin, until, weight), before, frontier)
        if edge.pattern is Pattern.WKS:
            _check_order(edge, rows, before, frontier)
        _check_retractions(edge, rows, frontier)


def _rows(changes: Changes) -> list[tuple[Row, Instant, Instant, int]]:
    columns = [[_hashable(value) for value in column.to_pylist()] for column in changes.columns]
    values = list(zip(*columns, strict=True)) if columns else [()] * len(changes)
    lifetimes = (changes.begin.tolist(), changes.until.tolist(), changes.weight.tolist())
    return list(zip(values, *lifetimes, strict=True))


_NAN = float("nan")


def _hashable(value: object) -> object:
    if isinstance(value, float):
        return _NAN if value != value else value + 0.0
    if isinstance(value, (list, dict)):
        return repr(value)
    return value


def _show(life: tuple[Row, Instant, Instant, int]) -> str:
    row, begin, until, weight = life
    return f"{row} [{begin}, {'FOREVER' if until == FOREVER else until}) {weight:+d}"


def _name(node: Node) -> str:
    return type(node).__name__


def _check_shape(node: Node, output: Changes) -> None:
    wanted = [field.type for field in node.schema]
    given = [column.type for column in output.columns]
    assert given == wanted, f"{_name(node)} promised the types {wanted} but gave {given}"
    lengths = {len(column) for column in output.columns}
    lengths |= {len(output.begin), len(output.until), len(output.weight)}
    assert len(lengths) == 1, f"{_name(node)} gave columns of different lengths: {sorted(lengths)}"
    begins = output.begin
    assert bool((begins[1:] >= begins[:-1]).all()), (
        f"{_name(node)} gave rows out of the order of their begins"
    )


def _check_lifetime(
    node: Node,
    promised: Pattern,
    life: tuple[Row, Instant, Instant, int],
    before: Instant,
    frontier: Instant,
) -> None:
    _, begin, until, weight = life
    name, shown = _name(node), _show(life)
    assert before < begin <= frontier, f"{name} gave a row outside its step ({before}, {frontier}]: {shown}"
    assert begin < until, f"{name} gave a row that ends before it begins: {shown}"
    assert weight != 0, f"{name} gave a row of no weight: {shown}"
    if promised is not Pattern.STR:
        assert weight > 0, f"{name} promised {promised} but gave a negative row: {shown}"
    if promised is Pattern.MON:
        assert until == FOREVER, f"{name} promised MON but gave a row that ends: {shown}"


def _check_order(
    edge: _Edge, rows: list[tuple[Row, Instant, Instant, int]], before: Instant, frontier: Instant
) -> None:
    """WKS: whoever begins later ends no earlier."""
    if before >= edge.latest[0]:
        edge.earlier_until = max(edge.earlier_until, edge.latest[1])
    highest = edge.earlier_until
    for _, together in groupby(rows, key=lambda life: life[1]):
        untils = []
        for life in together:
            assert life[2] >= highest, (
                f"{_name(edge.node)} promised WKS but a later row ends first: {_show(life)}"
            )
            untils.append(life[2])
        highest = max(untils)
    edge.latest = (frontier, max(edge.latest[1], highest))


def _check_retractions(edge: _Edge, rows: list[tuple[Row, Instant, Instant, int]], frontier: Instant) -> None:
    """Nothing is taken away that is not there: no row's number falls below 0, now or as foreseen."""
    if edge.pattern is not Pattern.STR or edge.inherited:
        return
    for row, begin, until, weight in rows:
        steps = edge.live.setdefault(row, Counter())
        steps[begin] += weight
        steps[until] -= weight
    for life in rows:
        steps = edge.live.get(life[0], Counter())
        count = 0
        for instant in sorted(steps):
            count += steps[instant]
            assert count >= 0, f"{_name(edge.node)} took away what was not there at {instant}: {_show(life)}"
    for row, steps in list(edge.live.items()):
        past = [instant for instant in steps if instant <= frontier]
        count = sum(steps.pop(instant) for instant in past)
        if count:
            steps[frontier] = count
        if not any(steps.values()):
            del edge.live[row]
