"""Ends to come, by the day they fall on: a calendar queue ([G06] §3.5.2, Figure 3.6).

Entries are parallel arrays, the first of which is `until`. A day is a stretch of time; entries of
days to come lie unsorted between each other, and a day is put in order when it arrives. Entries that
come in the order in which they go (all of them on WKS edges) just wait in a FIFO queue instead.
What waits is packed (packed.py).
"""

from __future__ import annotations

__all__ = ["Calendar"]

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

import numpy as np

from sash.engine.kernels.ordering import argsort_instants, is_sorted
from sash.engine.state.packed import Packed, unpacked
from sash.lifetimes import FOREVER, Instant

Arrays = tuple[np.ndarray, ...]
Piece = tuple[Packed, ...]

_DAYS = 8
"""A step's entries should fall on about this many days."""


class Calendar:
    """Entries with an `until`, taken out in time order.

    Entries that never end are not kept, unless `endless`: they are told of, but not taken out.

    >>> calendar = Calendar((np.int64, np.int64))
    >>> calendar.add((np.array([9, 4, FOREVER]), np.array([1, 2, 3])))
    >>> [part.tolist() for part in calendar.pop(5)], len(calendar), calendar.due(9).tolist()
    ([[4], [2]], 1, [])
    """

    def __init__(self, types: Sequence[type[np.generic]], *, endless: bool = False) -> None:
        self._types = tuple(types)
        self._endless: list[Piece] | None = [] if endless else None
        self._queue: deque[Piece] = deque()
        self._days: dict[int, list[Piece]] = {}
        self._coming: list[int] = []  # a heap of the days that have entries
        self._shift: int | None = None  # a day has two to the power of this many ticks
        self._begun: int | None = None  # the day whose first piece is the sorted rest of it
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """How many bytes the entries take."""
        return sum(part.nbytes for piece in self._pieces() for part in piece)

    def add(self, entries: Arrays) -> None:
        """Enter what ends some day."""
        if len(entries[0]) and int(entries[0].max()) == FOREVER:
            entries = self._set_aside(entries)
        until = entries[0]
        if not len(until):
            return
        self._count += len(until)
        if (not self._queue or until[0] >= self._queue[-1][0].last()) and is_sorted(until):
            self._queue.append(_packed(entries))
            return
        first, last = int(until.min()), int(until.max())
        if self._shift is None:
            self._shift = ((last - first) // _DAYS).bit_length()
        while (last >> self._shift) - (first >> self._shift) > 4 * _DAYS:
            self._widen()
        self._enter(entries)

    def _set_aside(self, entries: Arrays) -> Arrays:
        """Without the entries that never end."""
        known = entries[0] != FOREVER
        if self._endless is not None:
            self._endless.append(_packed(tuple(part[~known] for part in entries)))
            self._count += len(self._endless[-1][0])
        return tuple(part[known] for part in entries)

    def _enter(self, entries: Arrays) -> None:
        """File entries under their days; within a day they stay in the order in which they came."""
        days = entries[0] >> self._shift
        order = argsort_instants(days)
        if order is not None:
            days, entries = days[order], tuple(part[order] for part in entries)
        starts = [0, *(np.flatnonzero(np.diff(days)) + 1).tolist(), len(days)]
        for start, stop in pairwise(starts):
            self._file(int(days[start]), _packed(tuple(part[start:stop] for part in entries)))

    def _file(self, day: int, piece: Piece) -> None:
        pieces = self._days.get(day)
        if pieces is None:
            self._days[day] = [piece]
            heapq.heappush(self._coming, day)
        else:
            pieces.append(piece)

    def _widen(self) -> None:
        """Longer days: entries reach further ahead than before."""
        assert self._shift is not None
        self._shift += 2
        self._begun = None
        pieces = [piece for day in self._days.values() for piece in day]
        self._days, self._coming = {}, []
        for piece in pieces:
            self._enter(_together([piece]))

    def pop(self, frontier: Instant, *, ordered: bool = True) -> Arrays:
        """Take out everything that ends up to the frontier, in time order unless that is not asked for."""
        taken = [*self._from_days(frontier), *self._from_queue(frontier)]
        if not taken:
            return tuple(np.empty(0, type_) for type_ in self._types)
        gone = _together(taken)
        self._count -= len(gone[0])
        return _in_order(gone) if ordered else gone

    def _from_queue(self, frontier: Instant) -> Iterable[Piece]:
        while self._queue:
            first = self._queue[0]
            cut = first[0].until(frontier)
            if cut < len(first[0]):
                if cut:
                    self._queue[0] = _part(first, cut, len(first[0]))
                    yield _part(first, 0, cut)
                return
            yield self._queue.popleft()

    def _from_days(self, frontier: Instant) -> Iterable[Piece]:
        if self._shift is None:
            return
        today = frontier >> self._shift
        while self._coming and self._coming[0] < today:
            yield from self._days.pop(heapq.heappop(self._coming))
        if self._coming and self._coming[0] == today:
            pieces = self._days.pop(heapq.heappop(self._coming))
            in_order = len(pieces) == 1 and self._begun == today
            whole = pieces[0] if in_order else _packed(_in_order(_together(pieces)))
            cut = whole[0].until(frontier)
            if cut < len(whole[0]):
                self._file(today, _part(whole, cut, len(whole[0])))
                self._begun = today
            if cut:
                yield _part(whole, 0, cut)

    def due(self, frontier: Instant) -> np.ndarray:
        """When most of what `pop` would give ends, in no order: without the day that has begun."""
        pieces = []
        if self._shift is not None:
            today = frontier >> self._shift
            pieces = [piece[0] for day in self._coming if day < today for piece in self._days[day]]
        for until, *_ in self._queue:
            if until.last() > frontier:
                pieces.append(until.part(0, until.until(frontier)))
                break
            pieces.append(until)
        return unpacked(pieces) if pieces else np.empty(0, np.int64)

    def entries(self) -> Arrays:
        """Everything that is kept, in no order."""
        pieces = list(self._pieces())
        return _together(pieces) if pieces else tuple(np.empty(0, type_) for type_ in self._types)

    def _pieces(self) -> Iterable[Piece]:
        return chain(self._endless or (), self._queue, *self._days.values())


def _packed(entries: Arrays) -> Piece:
    return tuple(map(Packed.of, entries))


def _part(piece: Piece, start: int, stop: int) -> Piece:
    return tuple(part.part(start, stop) for part in piece)


def _together(pieces: Sequence[Piece]) -> Arrays:
    """All pieces as arrays."""
    if len(pieces) == 1:
        return tuple(part.array() for part in pieces[0])
    return tuple(map(unpacked, zip(*pieces, strict=True)))


def _in_order(piece: Arrays) -> Arrays:
    """The same, sorted by `until`."""
    order = argsort_instants(piece[0])
    return piece if order is None else tuple(part[order] for part in piece)
