"""Which rows of a stream are in a window at an instant, straight from the table of windows."""

from __future__ import annotations

__all__ = ["instants", "members", "ordered"]

from typing import TYPE_CHECKING

from sash.plan.nodes import Windowed

from .values import Row, instant_of, row_key

if TYPE_CHECKING:
    from .relations import Oracle

FOREVER = 2**63 - 1


def members(oracle: Oracle, node: Windowed, at: int) -> list[int]:
    """Positions, in the stream's rows up to the horizon, of the rows in the window at an instant."""
    window = node.window
    stream = oracle.rows(node.input, oracle.horizon)
    so_far = [i for i, (ts, _) in enumerate(stream) if ts <= at]
    if window.kind == "unbounded":
        return so_far
    if window.kind == "now":
        return [i for i in so_far if stream[i][0] == at]
    if window.kind == "until":
        assert window.until is not None
        ends = {i: instant_of(stream[i][1][window.until]) for i in so_far}
        return [i for i in so_far if _later(ends[i], at)]
    if window.kind == "range":
        assert window.length is not None
        # With a slide, the window is what it was at the last multiple of the slide.
        as_of = at if window.slide is None else at // window.slide * window.slide
        return [i for i in so_far if as_of - window.length < stream[i][0] <= as_of]
    assert window.rows is not None
    slide = window.slide or 1
    found = []
    for partition in _partitions(node, stream, so_far):
        counted = len(partition) // slide * slide
        found += partition[max(0, counted - window.rows) : counted]
    if window.length is not None:
        found = [i for i in found if stream[i][0] > at - window.length]
    return sorted(found)


def _later(end: int | None, at: int) -> bool:
    return end is None or end > at


def _partitions(node: Windowed, stream: list[tuple[int, Row]], so_far: list[int]) -> list[list[int]]:
    partitions: dict[Row, list[int]] = {}
    for i in ordered(node, stream, so_far):
        key = tuple(stream[i][1][column] for column in node.window.partition)
        partitions.setdefault(key, []).append(i)
    return list(partitions.values())


def ordered(node: Windowed, stream: list[tuple[int, Row]], positions: list[int]) -> list[int]:
    """The order in which a count window counts: time, then arrival or (computed streams) value."""
    if not node.by_value:
        return positions
    return sorted(positions, key=lambda i: (stream[i][0], row_key(stream[i][1])))


def instants(oracle: Oracle, node: Windowed) -> set[int]:
    """Every instant at which a row can enter or leave the window."""
    window = node.window
    stream = oracle.rows(node.input, oracle.horizon)
    begins = {ts for ts, _ in stream}
    ends: set[int] = set()
    if window.length is not None:
        ends = {ts + window.length for ts in begins}
    if window.kind == "now":
        ends = {ts + 1 for ts in begins}
    if window.kind == "until":
        assert window.until is not None
        ends = {end for _, row in stream if (end := instant_of(row[window.until])) is not None}
    if window.kind == "range" and window.slide is not None:
        slide = window.slide
        return {-(-instant // slide) * slide for instant in begins | ends}
    return {instant for instant in begins | ends if instant < FOREVER}
