"""Values of any width, known by row number: what each step brought, as it came.

Small neighbours are joined as in an LSM tree (numbers stay), and segments before the first row that is
kept are dropped whole.
"""

from __future__ import annotations

__all__ = ["Segments"]

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.gathering import Task
from sash.engine.kernels.ordering import argsort_instants

_LARGE = 16_384
"""A segment of this many rows stays as it came; smaller ones are joined with their neighbours."""


class Segments:
    """One column for rows `origin`, `origin` + 1, ... in immutable pieces.

    >>> names = Segments(pa.string(), 0)
    >>> names.append(pa.array(["a", "b"]))
    >>> names.append(pa.array(["c"]))
    >>> names.taking(np.array([2, 0])).run().to_pylist()
    ['c', 'a']
    """

    def __init__(self, type_: pa.DataType, origin: int) -> None:
        self._type = type_
        self._starts: list[int] = []
        self._segments: list[pa.Array] = []
        self._origin = self._end = origin

    @property
    def nbytes(self) -> int:
        """How many bytes the segments take."""
        return sum(segment.nbytes for segment in self._segments)

    def append(self, column: pa.Array) -> None:
        """Add the values of the next rows."""
        if not len(column):
            return
        self._starts.append(self._end)
        self._segments.append(column)
        self._end += len(column)
        while len(self._starts) > 1:
            before, size = self._starts[-1] - self._starts[-2], self._end - self._starts[-1]
            if size >= _LARGE or before >= _LARGE or before > 2 * size:
                break
            last, previous = self._segments.pop(), self._segments.pop()
            self._segments.append(pa.concat_arrays([previous, last]))
            self._starts.pop()

    def taking(self, rows: np.ndarray) -> Task:
        """How to get the values of the given rows."""
        return Task(partial(self._take, rows), set_aside=False)

    def _take(self, rows: np.ndarray) -> pa.Array:
        pieces, places = self._located(rows)
        return _taken(pieces, places)

    def taking_beside(self, fresh: pa.Array, rows: np.ndarray, places: np.ndarray) -> Task:
        """How to get the values at places in `fresh` and, counted on after those, of the given rows."""
        return Task(partial(self._take_beside, fresh, rows, places), set_aside=False)

    def _take_beside(self, fresh: pa.Array, rows: np.ndarray, places: np.ndarray) -> pa.Array:
        pieces, located = self._located(rows)
        after = np.concatenate([np.arange(len(fresh)), located + len(fresh)])
        return _taken([fresh, *pieces], after[places])

    def _located(self, rows: np.ndarray) -> tuple[list[pa.Array], np.ndarray]:
        """Pieces, and the places of the given rows in them one after another, with little copying."""
        if not len(rows):
            return [pa.array([], self._type)], rows
        first, last = self._segment_of(rows.min()), self._segment_of(rows.max())
        if self._stop(last) - self._starts[first] <= 4 * len(rows):
            return self._segments[first : last + 1], rows - self._starts[first]
        return self._apart(rows, first, last)

    def _segment_of(self, row: int) -> int:
        return bisect_right(self._starts, int(row)) - 1

    def _stop(self, segment: int) -> int:
        return self._starts[segment + 1] if segment + 1 < len(self._starts) else self._end

    def _apart(self, rows: np.ndarray, first: int, last: int) -> tuple[list[pa.Array], np.ndarray]:
        """Rows that are few in their segments, gathered segment by segment."""
        order = argsort_instants(rows.astype(np.int64, copy=False))
        wanted = rows if order is None else rows[order]
        cuts = np.searchsorted(wanted, self._starts[first + 1 : last + 1])
        pieces = [
            _taken([self._segments[first + k]], wanted[start:stop] - self._starts[first + k])
            for k, (start, stop) in enumerate(pairwise([0, *cuts.tolist(), len(wanted)]))
            if start < stop
        ]
        places = np.arange(len(rows))
        if order is not None:
            places[order] = places.copy()
        return pieces, places

    def whole(self) -> pa.Array:
        """Every value, in order of number."""
        if not self._segments:
            return pa.array([], self._type)
        return pa.concat_arrays(self._segments).slice(self._origin - self._starts[0])

    def forget_before(self, row: int) -> None:
        """Drop the values of rows before `row`, as far as they fill segments."""
        self._origin = row
        while self._starts and self._stop(0) <= row:
            self._starts.pop(0)
            self._segments.pop(0)

    def renumber(self) -> None:
        """Count from 0 again."""
        self._starts = [start - self._origin for start in self._starts]
        self._origin, self._end = 0, self._end - self._origin

    def keep(self, alive: np.ndarray) -> None:
        """Keep only the values marked, numbered from 0: segment by segment, letting go of each."""
        start, segments, bounds = self._origin, deque(self._segments), [*self._starts, self._end]
        self._starts, self._segments, self._origin, self._end = [], [], 0, 0
        for first, stop in pairwise(bounds):
            segment, begin = segments.popleft(), max(first, start)
            rows = np.flatnonzero(alive[begin - start : stop - start]) + (begin - first)
            self.append(segment if len(rows) == len(segment) else _taken([segment], rows))


def _taken(pieces: Sequence[pa.Array], places: np.ndarray) -> pa.Array:
    whole = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
    return pc.take(whole, pa.array(places), boundscheck=False)
