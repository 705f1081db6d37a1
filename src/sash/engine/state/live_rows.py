"""Rows that live, with their ends to come: what an answer needs to shrink as time passes.

Known ends wait in a calendar. Rows and their negations are netted when they have piled up, so that
space follows what lives.
"""

from __future__ import annotations

__all__ = ["Ended", "LiveRows"]

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.netting import net
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.rows import Rows
from sash.engine.state.tape import Tape
from sash.lifetimes import Changes, Instant

_ENTRY = (np.int64, np.int64)  # until, row number


@dataclass(frozen=True, eq=False)
class Ended:
    """Rows that ended: their numbers, ends and weights."""

    numbers: np.ndarray
    until: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)


class LiveRows:
    """Signed lifetimes that reach beyond the frontier; when they began is forgotten.

    >>> live = LiveRows([pa.string()])
    >>> live.add(Changes((pa.array(["a", "b"]),), np.array([1, 1]), np.array([5, 9]), np.array([1, 1])))
    >>> ended = live.pop(6)
    >>> ended.until.tolist(), live.contents(6).columns[0].to_pylist()
    ([5], ['b'])
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = tuple(types)
        self._clear()

    def _clear(self) -> None:
        self._payload = Rows(self._types)
        self._untils, self._weights = Tape(np.int64), Tape(np.int64)
        self.ends = Calendar(_ENTRY)
        self._ended = 0
        self._negatives = 0

    def __len__(self) -> int:
        return len(self._payload) - self._ended

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        tapes = (self._untils, self._weights)
        return self._payload.nbytes + self.ends.nbytes + sum(tape.nbytes for tape in tapes)

    def add(self, changes: Changes, lasting: np.ndarray | None = None) -> None:
        """Keep these rows until they end; only those marked `lasting` have not ended yet.

        The others are kept beside them, dead: that costs less than to pick them out.
        """
        if not len(changes) or (lasting is not None and not lasting.any()):
            return
        first = self._payload.append(changes.columns, len(changes))
        self._untils.append(changes.until)
        self._weights.append(changes.weight)
        until, numbers, weight = changes.until, np.arange(first, self._payload.end), changes.weight
        if lasting is not None and not lasting.all():
            until, numbers, weight = until[lasting], numbers[lasting], weight[lasting]
            self._ended += len(changes) - len(numbers)
        self.ends.add((until, numbers))
        self._negatives += int(np.count_nonzero(weight < 0))

    def pop(self, frontier: Instant) -> Ended:
        """The rows that end by the frontier, in order of their ends; they stay until they are forgotten."""
        until, numbers = self.ends.pop(frontier)
        self._ended += len(numbers)
        return Ended(numbers, until, self._weights.view()[numbers - self._payload.origin])

    def take_beside(self, fresh: Sequence[pa.Array], ended: Ended, places: np.ndarray) -> list[pa.Array]:
        """The rows at places in `fresh` and, counted on after those, in what ended."""
        return self._payload.take_beside(fresh, ended.numbers, places)

    def forget(self, frontier: Instant) -> None:
        """Let go of rows that have ended, where that is worth it."""
        untils = self._untils.view()
        front = 0
        while front < len(untils) and (untils[front : front + 4096] <= frontier).all():
            front = min(front + 4096, len(untils))
        if front:
            before = len(self._payload)
            self._payload.forget_before(self._payload.origin + front)
            for tape in (self._untils, self._weights):
                tape.forget_before(self._payload.origin)
            self._ended -= before - len(self._payload)
        # Ends in any order leave about as many dead rows as live ones; more are worth a rewrite.
        if 3 * (self._ended + 2 * self._negatives) > 2 * len(self._payload) + upkeep.FEW:
            self.replace(self.contents(frontier))

    def contents(self, frontier: Instant) -> Changes:
        """What lives beyond the frontier, rows and their negations netted."""
        alive = np.flatnonzero(self._untils.view() > frontier)
        untils, weights = self._untils.view()[alive], self._weights.view()[alive]
        columns = self._payload.take(alive + self._payload.origin)
        everything = Changes(tuple(columns), np.full(len(alive), frontier), untils, weights)
        if not self._negatives:
            return everything
        kept, sums = net(columns, untils, weights)
        left = everything.take(kept)
        return Changes(left.columns, left.begin, left.until, sums)

    def replace(self, contents: Changes) -> None:
        """Forget everything and keep these rows instead."""
        self._clear()
        self.add(contents)
