"""Ends to come, by the day they fall on: a calendar queue ([G06] §3.5.2, Figure 3.6).

Entries are parallel arrays, the first of which is `until`. A day is a stretch of time; entries of
days to come lie unsorted between each other, and a day is put in order when it arrives. Where ends
come in the order they go (WKS) every piece is in order already, and the calendar is a FIFO queue.
"""

from __future__ import annotations

__all__ = ["Calendar"]

import heapq
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sash.engine.kernels.ordering import argsort_instants
from sash.lifetimes import FOREVER, Instant

Arrays = tuple[np.ndarray, ...]

_DAYS = 8
"""A step's entries should fall on about this many days."""


class Calendar:
    """Entries with an `until`, taken out in time order. Entries that never end are not kept.

    >>> calendar = Calendar((np.int64, np.int64))
    >>> calendar.add((np.array([9, 4, FOREVER]), np.array([1, 2, 3])))
    >>> [part.tolist() for part in calendar.pop(5)], len(calendar)
    ([[4], [2]], 1)
    """

    def __init__(self, types: Sequence[type[np.generic]]) -> None:
        self._types = tuple(types)
        self._days: dict[int, list[Arrays]] = {}
        self._coming: list[int] = []  # a heap of the days that have entries
        self._width = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """How many bytes the entries take."""
        return self._count * sum(np.dtype(type_).itemsize for type_ in self._types)

    def add(self, entries: Arrays) -> None:
        """Enter what ends some day."""
        if len(entries[0]) and int(entries[0].max()) == FOREVER:
            known = np.flatnonzero(entries[0] != FOREVER)
            entries = tuple(part[known] for part in entries)
        until = entries[0]
        if not len(until):
            return
        first, last = int(until.min()), int(until.max())
        if not self._width:
            self._width = max(1, (last - first) // _DAYS)
        while last // self._width - first // self._width > 4 * _DAYS:
            self._widen()
        self._enter(entries)
        self._count += len(until)

    def _enter(self, entries: Arrays) -> None:
        """File entries under their days; within a day they stay in the order in which they came."""
        days = entries[0] // self._width
        order = argsort_instants(days)
        if order is not None:
            days, entries = days[order], tuple(part[order] for part in entries)
        starts = [0, *(np.flatnonzero(np.diff(days)) + 1).tolist(), len(days)]
        for start, stop in pairwise(starts):
            self._file(int(days[start]), tuple(part[start:stop] for part in entries))

    def _file(self, day: int, piece: Arrays) -> None:
        pieces = self._days.get(day)
        if pieces is None:
            self._days[day] = [piece]
            heapq.heappush(self._coming, day)
        else:
            pieces.append(piece)

    def _widen(self) -> None:
        """Longer days: entries reach further ahead than before."""
        self._width *= 4
        pieces = [piece for day in self._days.values() for piece in day]
        self._days, self._coming = {}, []
        for piece in pieces:
            self._enter(piece)

    def pop(self, frontier: Instant) -> Arrays:
        """Take out, in time order, everything that ends up to the frontier."""
        if not self._width:
            return tuple(np.empty(0, type_) for type_ in self._types)
        today = frontier // self._width
        past: list[Arrays] = []
        while self._coming and self._coming[0] < today:
            past.extend(self._days.pop(heapq.heappop(self._coming)))
        taken = [_in_order(past)] if past else []
        if self._coming and self._coming[0] == today:
            whole = _in_order(self._days.pop(heapq.heappop(self._coming)))
            cut = int(np.searchsorted(whole[0], frontier, side="right"))
            taken.append(tuple(part[:cut] for part in whole))
            if cut < len(whole[0]):
                self._file(today, tuple(part[cut:] for part in whole))
        if not taken:
            return tuple(np.empty(0, type_) for type_ in self._types)
        gone = taken[0] if len(taken) == 1 else tuple(map(np.concatenate, zip(*taken, strict=True)))
        self._count -= len(gone[0])
        return gone

    def entries(self) -> Arrays:
        """Everything that is kept, in no order."""
        pieces = [piece for day in self._days.values() for piece in day]
        if not pieces:
            return tuple(np.empty(0, type_) for type_ in self._types)
        return tuple(map(np.concatenate, zip(*pieces, strict=True)))


def _in_order(pieces: list[Arrays]) -> Arrays:
    """One piece, sorted by `until`."""
    whole: Arrays = pieces[0]
    if len(pieces) > 1:
        whole = tuple(map(np.concatenate, zip(*pieces, strict=True)))
    order = argsort_instants(whole[0])
    return whole if order is None else tuple(part[order] for part in whole)
