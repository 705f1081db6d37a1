"""Rows kept in immutable segments and known by number, so that state can point at them.

A segment is what one step brought; small neighbours are joined as in an LSM tree (numbers stay),
segments before the first live row are dropped whole, and `keep` rewrites when too many rows in the
middle are dead.
"""

from __future__ import annotations

__all__ = ["Rows"]

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sash.engine.kernels.ordering import argsort_instants
from sash.engine.parallel import gathered, gathered_across

_LARGE = 16_384
"""A segment of this many rows stays as it came; smaller ones are joined with their neighbours."""


class Rows:
    """Columns of rows `origin`, `origin` + 1, ... in segments.

    >>> rows = Rows([pa.string()])
    >>> rows.append([pa.array(["a", "b"])], 2), rows.append([pa.array(["c"])], 1)
    (0, 2)
    >>> rows.take(np.array([2, 0]))[0].to_pylist()
    ['c', 'a']
    """

    def __init__(self, types: Sequence[pa.DataType], origin: int = 0) -> None:
        self._types = tuple(types)
        self._starts: list[int] = []
        self._segments: list[tuple[pa.Array, ...]] = []
        self.origin = origin
        self.end = origin

    def __len__(self) -> int:
        return self.end - self.origin

    @property
    def nbytes(self) -> int:
        """How many bytes the segments take."""
        return sum(column.nbytes for segment in self._segments for column in segment)

    def append(self, columns: Sequence[pa.Array], count: int) -> int:
        """Keep these rows; gives the number of the first."""
        first = self.end
        if not count:
            return first
        self._starts.append(first)
        self._segments.append(tuple(columns))
        self.end += count
        while len(self._starts) > 1:
            before, size = self._starts[-1] - self._starts[-2], self.end - self._starts[-1]
            if size >= _LARGE or before >= _LARGE or before > 2 * size:
                break
            last, previous = self._segments.pop(), self._segments.pop()
            self._segments.append(tuple(pa.concat_arrays(pair) for pair in zip(previous, last, strict=True)))
            self._starts.pop()
        return first

    def located(self, numbers: np.ndarray) -> tuple[list[tuple[pa.Array, ...]], np.ndarray]:
        """Pieces, and the places of the given rows in them one after another, with little copying."""
        if not len(numbers):
            return [tuple(pa.array([], type_) for type_ in self._types)], numbers
        first, last = self._segment_of(numbers.min()), self._segment_of(numbers.max())
        if self._stop(last) - self._starts[first] <= 4 * len(numbers):
            return self._segments[first : last + 1], numbers - self._starts[first]
        return self._apart(numbers, first, last)

    def take(self, numbers: np.ndarray) -> list[pa.Array]:
        """The columns of the given rows."""
        if len(numbers):
            segment = self._segment_of(numbers.min())
            if int(numbers.max()) < self._stop(segment):
                return gathered(self._segments[segment], numbers - self._starts[segment])
        return gathered_across(*self.located(numbers))

    def _segment_of(self, number: int) -> int:
        return bisect_right(self._starts, int(number)) - 1

    def _stop(self, segment: int) -> int:
        return self._starts[segment + 1] if segment + 1 < len(self._starts) else self.end

    def _apart(
        self, numbers: np.ndarray, first: int, last: int
    ) -> tuple[list[tuple[pa.Array, ...]], np.ndarray]:
        """Rows that are few in their segments, gathered segment by segment."""
        order = argsort_instants(numbers.astype(np.int64, copy=False))
        wanted = numbers if order is None else numbers[order]
        cuts = np.searchsorted(wanted, self._starts[first + 1 : last + 1])
        pieces = [
            tuple(gathered(self._segments[first + k], wanted[start:stop] - self._starts[first + k]))
            for k, (start, stop) in enumerate(pairwise([0, *cuts.tolist(), len(wanted)]))
            if start < stop
        ]
        places = np.arange(len(numbers))
        if order is not None:
            places[order] = places.copy()
        return pieces, places

    def all_columns(self) -> list[pa.Array]:
        """Every row kept, in order of number."""
        if not self._segments:
            return [pa.array([], type_) for type_ in self._types]
        return [pa.concat_arrays([segment[i] for segment in self._segments]) for i in range(len(self._types))]

    def forget_before(self, row: int) -> None:
        """Drop the segments all of whose rows come before `row`."""
        while self._starts and (self._starts[1] if len(self._starts) > 1 else self.end) <= row:
            self._starts.pop(0)
            self._segments.pop(0)
        self.origin = self._starts[0] if self._starts else self.end

    def segment_end(self, row: int) -> int:
        """The number after the last row of the segment that has this row, or of the last segment."""
        return self._stop(self._segment_of(row))

    def renumber(self) -> None:
        """Count from 0 again."""
        self._starts = [start - self.origin for start in self._starts]
        self.origin, self.end = 0, self.end - self.origin

    def keep(self, alive: np.ndarray) -> np.ndarray:
        """Keep only the rows marked, renumbered from 0; gives each old row's new number, or -1.

        It goes segment by segment, and lets go of each before the next.
        """
        moved = np.cumsum(alive)
        moved -= 1
        moved[~alive] = -1
        segments, sizes = deque(self._segments), deque(np.diff([*self._starts, self.end]).tolist())
        self.origin, self.end, self._starts, self._segments = 0, 0, [], []
        start = 0
        while segments:
            stop = start + sizes.popleft()
            columns, rows = segments.popleft(), np.flatnonzero(alive[start:stop])
            if 0 < len(rows) < stop - start:
                columns = tuple(gathered(columns, rows))
            self.append(columns, len(rows))
            start = stop
        return moved
