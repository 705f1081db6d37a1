"""Windows whose ends are known when a row comes: RANGE, NOW, UNTIL, UNBOUNDED ([G06] §2.1.1, §4.1).

Such a window only gives each row its lifetime and holds nothing; with SLIDE it holds rows back
until their slide begins.
"""

from __future__ import annotations

__all__ = ["RangeWindow"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.operator import Operator, Saved
from sash.engine.state.saving import changes_of, changes_table
from sash.language.windows import Window
from sash.lifetimes import FOREVER, Changes, Instant


@dataclass(eq=False)
class RangeWindow(Operator):
    """Give rows of a stream the lifetimes of `window`."""

    window: Window
    _waiting: list[Changes] = field(default_factory=list, init=False)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        if len(changes):
            changes = self._lifetimes(changes)
        if self.window.slide is None:
            return changes
        self._waiting.append(changes)
        return self._released(frontier)

    def _lifetimes(self, changes: Changes) -> Changes:
        begin, until = changes.begin, changes.until
        window = self.window
        if window.kind == "now":
            until = begin + 1
        elif window.kind == "until":
            assert window.until is not None
            until = _instants(changes.columns[window.until])
        elif window.kind == "range":
            assert window.length is not None
            if window.slide is None:
                until = _saturating(begin, window.length)
            elif window.length % window.slide:
                until = _next_multiple(_saturating(begin, window.length), window.slide)
                begin = _next_multiple(begin, window.slide)
            else:
                begin = _next_multiple(begin, window.slide)
                until = _saturating(begin, window.length)
        dressed = Changes(changes.columns, begin, until, changes.weight)
        if window.kind == "until" or window.slide is not None:
            return dressed.filter(begin < until)
        return dressed

    def _released(self, frontier: Instant) -> Changes:
        """What begins by the frontier; slides keep the order of timestamps."""
        out: list[Changes] = []
        while self._waiting:
            first = self._waiting[0]
            cut = int(np.searchsorted(first.begin, frontier, side="right"))
            if cut < len(first):
                out.append(first.slice(0, cut))
                self._waiting[0] = first.rest(cut)
                break
            out.append(first)
            self._waiting.pop(0)
        parts = [part for part in out if len(part)]
        return Changes.concat(parts) if parts else Changes.empty(self.types)

    @property
    def rows(self) -> int:
        return sum(map(len, self._waiting))

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._waiting)

    def save(self) -> dict[str, pa.Table]:
        return {"waiting": changes_table(Changes.concat(self._waiting))} if self._waiting else {}

    def load(self, saved: Saved) -> None:
        self._waiting = [changes_of(table) for table in saved.values()]


def _saturating(begin: np.ndarray, length: int) -> np.ndarray:
    if length >= FOREVER:
        return np.full(len(begin), FOREVER)
    if int(begin.max()) > FOREVER - length:
        return np.where(begin > FOREVER - length, FOREVER, begin + length)
    return begin + length


def _next_multiple(instants: np.ndarray, slide: int) -> np.ndarray:
    """The least multiple of the slide not before each of the rising instants; FOREVER stays.

    >>> _next_multiple(np.array([-3, 0, 1, 10]), 10).tolist()
    [0, 0, 10, 10]
    """
    low, high = int(instants[0]), int(instants[-1])
    if (high - low) // slide < len(instants) // 8 and high < FOREVER - 2 * slide:
        multiples = np.arange(-(-low // slide), -(-high // slide) + 1) * slide
        stops = np.searchsorted(instants, multiples, side="right")
        return np.repeat(multiples, np.diff(stops, prepend=0))
    up = -(-instants // slide) * slide
    return np.where(instants > FOREVER - slide, FOREVER, up)


def _instants(column: pa.Array) -> np.ndarray:
    """A column of ends; a row that names none never ends."""
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    ends: np.ndarray = column.cast(pa.int64()).fill_null(FOREVER).to_numpy()
    return ends
