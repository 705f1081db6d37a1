"""Cutting a stretch of pushes anew: once, instant by instant, or anywhere, always in the order of time.

Only the last ADVANCE of a stretch is certain to hold after it, so none is moved beyond that; and none
before the frontier of any stream, since time does not go back.
"""

from __future__ import annotations

__all__ = ["cut"]

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from .cells import guess_cell, show_cell
from .fixtures import Step

if TYPE_CHECKING:
    from .replaying import Player

_EPOCH = datetime(1970, 1, 1)
_FEW = 300

Timed = tuple[int, str, tuple[tuple[str, ...], tuple[str, ...]]]
"""A row: its instant, its stream, its header and cells."""


def cut(region: list[Step], player: Player) -> Iterator[Step]:
    """The steps of a stretch of PUSH and ADVANCE, in the way of the player's reading."""
    timed = [_read_instant(step.text) for step in region if step.kind == "advance"]
    end = max((instant for instant, _ in timed), default=None)
    dated = any(is_date for _, is_date in timed)
    rows = sorted(
        (row for step in region if step.kind == "push" for row in _rows(step, player)), key=lambda row: row[0]
    )
    before = [row for row in rows if end is None or row[0] <= end]
    for part, stop in _parts(before, end, player):
        yield from _pushes(part, player)
        if stop is not None and end is not None and player.greatest_frontier <= stop < end:
            player.greatest_frontier = stop
            yield _advance(stop, dated)
    if end is not None:
        player.greatest_frontier = max(player.greatest_frontier, end)
        yield _advance(end, dated)
        for part, _ in _parts([row for row in rows if row[0] > end], None, player):
            yield from _pushes(part, player)


def _parts(rows: list[Timed], end: int | None, player: Player) -> Iterator[tuple[list[Timed], int | None]]:
    """Rows to push together, and the instant to advance to after them, if any."""
    cut_ = player.reading.cut
    if cut_ == "once" or not rows:
        yield rows, None
    elif cut_ == "instants":
        instants = sorted({row[0] for row in rows})
        if end is not None and end - instants[0] <= _FEW:
            instants = list(range(instants[0], end + 1))
        for instant in instants:
            yield [row for row in rows if row[0] == instant], instant
    else:
        rows = _disordered(rows, player)
        start = 0
        while start < len(rows):
            stop = player.random.randint(start + 1, len(rows))
            still_to_come = min((row[0] for row in rows[stop:]), default=None)
            certain = still_to_come is not None and player.random.random() < 0.5
            yield rows[start:stop], still_to_come - 1 if certain and still_to_come is not None else None
            start = stop


def _disordered(rows: list[Timed], player: Player) -> list[Timed]:
    """The rows out of order as far as each stream's LATENESS allows; those of one instant stay in order."""
    delays: dict[tuple[str, int], int] = {}
    for instant, stream, _ in rows:
        lateness = player.streams[stream.lower()].lateness
        delays.setdefault((stream, instant), player.random.randint(0, lateness))
    return sorted(rows, key=lambda row: row[0] + delays[row[1], row[0]])


def _pushes(rows: list[Timed], player: Player) -> Iterator[Step]:
    """One PUSH for each stream and header among the rows."""
    for instant, stream, _ in rows:
        frontier = instant - player.streams[stream.lower()].lateness - 1
        player.greatest_frontier = max(player.greatest_frontier, frontier)
    together: dict[tuple[str, tuple[str, ...]], list[tuple[str, ...]]] = {}
    for _, stream, (header, cells) in rows:
        together.setdefault((stream, header), []).append(cells)
    for (stream, header), cells_ in together.items():
        yield Step("push", stream, "", (0, 0), header, tuple(cells_))


def _rows(step: Step, player: Player) -> Iterator[Timed]:
    stream = player.streams[step.name.lower()]
    time = stream.fields[stream.time].name
    assert step.header is not None
    for values, cells in zip(player.typed(step), step.rows, strict=True):
        moment = next(value for name, value in values.items() if name.lower() == time.lower())
        yield _instant(moment), step.name, (step.header, cells)


def _instant(value: object) -> int:
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(microseconds=1)
    assert isinstance(value, int)
    return value


def _read_instant(text: str) -> tuple[int, bool]:
    value = guess_cell(text)
    if isinstance(value, int):
        return value, False
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return _instant(moment), True


def _advance(instant: int, dated: bool) -> Step:
    text = show_cell(_EPOCH + timedelta(microseconds=instant)) if dated else str(instant)
    return Step("advance", "", text, (0, 0))
