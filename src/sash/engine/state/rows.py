"""Rows kept in immutable segments and known by number, so that state can point at them.

A segment is what one step brought; small neighbours are joined as in an LSM tree (numbers stay),
segments before the first live row are dropped whole, and `keep` rewrites when too many rows in the
middle are dead.
"""

from __future__ import annotations

__all__ = ["Rows"]

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sash.engine.kernels.ordering import argsort_instants
from sash.engine.parallel import gathered

_SMALL = 65_536
"""Segments are joined with their neighbours up to this many rows."""


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
        sizes = [self.end - self._starts[-1]]
        while len(self._starts) > 1:
            before = self._starts[-1] - self._starts[-2]
            if before > 2 * sizes[-1] or before + sizes[-1] > _SMALL:
                break
            last, previous = self._segments.pop(), self._segments.pop()
            self._segments.append(tuple(pa.concat_arrays(pair) for pair in zip(previous, last, strict=True)))
            self._starts.pop()
            sizes[-1] += before
        return first

    def located(self, numbers: np.ndarray) -> tuple[list[tuple[pa.Array, ...]], np.ndarray]:
        """Pieces, and the places of the given rows in them one after another, with little copying."""
        if len(numbers):
            first = bisect_right(self._starts, int(numbers.min())) - 1
            last = bisect_right(self._starts, int(numbers.max())) - 1
            stop = self._starts[last + 1] if last + 1 < len(self._starts) else self.end
            if stop - self._starts[first] <= 4 * len(numbers):
                return self._segments[first : last + 1], numbers - self._starts[first]
        return [tuple(self.take(numbers))], np.arange(len(numbers))

    def take(self, numbers: np.ndarray) -> list[pa.Array]:
        """The columns of the given rows."""
        if not len(numbers):
            return [pa.array([], type_) for type_ in self._types]
        first = bisect_right(self._starts, int(numbers.min())) - 1
        last = bisect_right(self._starts, int(numbers.max())) - 1
        if first == last:
            return gathered(self._segments[first], numbers - self._starts[first])
        stop = self._starts[last + 1] if last + 1 < len(self._starts) else self.end
        if stop - self._starts[first] <= 4 * len(numbers):
            return self._take_across(numbers - self._starts[first], self._segments[first : last + 1])
        return self._take_apart(numbers)

    def _take_across(self, indices: np.ndarray, segments: list[tuple[pa.Array, ...]]) -> list[pa.Array]:
        """One look-up over neighbouring segments; Arrow joins them first, so only where that is cheap."""
        whole = [pa.concat_arrays([segment[i] for segment in segments]) for i in range(len(self._types))]
        return gathered(whole, indices)

    def _take_apart(self, numbers: np.ndarray) -> list[pa.Array]:
        """Segment by segment, then back into the order asked for."""
        order = argsort_instants(numbers)
        if order is None:
            order = np.arange(len(numbers))
        wanted = numbers[order]
        cuts = np.searchsorted(wanted, self._starts[1:])
        bounds = [0, *cuts.tolist(), len(wanted)]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        positions = pa.array(back)
        pieces: list[list[pa.Array]] = [[] for _ in self._types]
        for k, (start, stop) in enumerate(pairwise(bounds)):
            if start < stop:
                indices = pa.array(wanted[start:stop] - self._starts[k])
                for collected, column in zip(pieces, self._segments[k], strict=True):
                    collected.append(column.take(indices))
        return [pa.concat_arrays(collected).take(positions) for collected in pieces]

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

    def keep(self, alive: np.ndarray) -> np.ndarray:
        """Keep only the rows marked, renumbered from 0; gives each old row's new number, or -1."""
        moved = np.where(alive, np.cumsum(alive) - 1, -1)
        columns = self.take(np.flatnonzero(alive) + self.origin)
        self.origin, self.end, self._starts, self._segments = 0, 0, [], []
        self.append(columns, int(alive.sum()))
        return moved
