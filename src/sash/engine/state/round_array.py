"""An array of rows known by number and forgotten from the front, in one buffer used round.

Neither adding nor forgetting moves what is kept, and a buffer that has found its size stays where it is.
"""

from __future__ import annotations

__all__ = ["RoundArray"]

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike

from sash.engine.kernels.gathering import gather, gather_round
from sash.engine.state.room import room

_LEAST = 16
"""How many rows a buffer has room for at first."""
_SMALL = 65_536
"""A buffer of up to this many rows grows by half and does not shrink; a larger one grows by an eighth."""


class RoundArray:
    """One number, or several, for each of the rows `origin`, `origin` + 1, ... up to `end`.

    Row r lies in the `buffer` at r - `base`, counted round once.

    >>> rows = RoundArray(np.int64)
    >>> rows.append(np.arange(10, 30))
    >>> rows.forget_before(15)
    >>> rows.append(np.array([30, 31]))
    >>> rows.take(np.array([21, 15])).tolist(), len(rows)
    ([31, 25], 7)
    """

    def __init__(self, dtype: DTypeLike, origin: int = 0, *, width: int | None = None) -> None:
        """Rows of one number each, or of `width` numbers."""
        self.buffer = np.empty(_LEAST if width is None else (_LEAST, width), dtype)
        self.base = self.origin = self.end = origin

    @staticmethod
    def alike(other: RoundArray, dtype: DTypeLike, value: int) -> RoundArray:
        """The same rows as in another one, lying as they lie there, with one and the same number each."""
        made = RoundArray(dtype, other.origin)
        made.buffer = np.full(len(other.buffer), value, dtype)
        made.base, made.end = other.base, other.end
        return made

    def __len__(self) -> int:
        return self.end - self.origin

    @property
    def nbytes(self) -> int:
        """How many bytes are set aside."""
        return int(self.buffer.nbytes)

    def append(self, values: np.ndarray) -> None:
        """Add the next rows."""
        for some, here in self.places(self.extend(len(values))):
            self.buffer[here] = values[some]

    def extend(self, count: int) -> int:
        """Add so many rows that hold anything; gives the number of the first."""
        need = len(self) + count
        if need > len(self.buffer):
            self._resize(need + need // (2 if need < _SMALL else 8))
        self.end += count
        return self.end - count

    def places(self, first: int) -> Iterator[tuple[slice, slice]]:
        """Where in the buffer the rows from `first` up to the last lie: in one stretch or in two."""
        count, size = self.end - first, len(self.buffer)
        place = (first - self.base) % size
        fit = min(count, size - place)
        yield slice(0, fit), slice(place, place + fit)
        if fit < count:
            yield slice(fit, count), slice(0, count - fit)

    def _resize(self, size: int) -> None:
        self.buffer = self._moved(size)
        self.base = self.origin

    def _moved(self, size: int) -> np.ndarray:
        """All rows in order, in a buffer for `size` of them."""
        moved = room((size, *self.buffer.shape[1:]), self.buffer.dtype)
        for some, here in self.places(self.origin):
            moved[some] = self.buffer[here]
        return moved

    def forget_before(self, row: int) -> None:
        """Drop all rows before `row`."""
        self.origin = row
        if row - self.base >= len(self.buffer):
            self.base += len(self.buffer)
        if len(self.buffer) > max(_SMALL, 4 * len(self)):
            self._resize(max(_SMALL, len(self)))

    def take(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The numbers of the given rows, where each has one; written to `out` if there is one."""
        taken = np.empty(len(rows), self.buffer.dtype) if out is None else out
        by_row = gather if self.end - self.base <= len(self.buffer) else gather_round
        moving = np.dtype(f"u{taken.itemsize}") if taken.itemsize <= 8 else taken.dtype
        by_row(self.buffer.view(moving), self.base, rows, taken.view(moving))
        return taken

    def take_lines(self, rows: np.ndarray) -> np.ndarray:
        """The numbers of the given rows, where each has several."""
        lines: np.ndarray = self.buffer[(rows.astype(np.int64) - self.base) % len(self.buffer)]
        return lines

    def whole(self) -> np.ndarray:
        """Every row, in order of number."""
        return self._moved(len(self))

    def renumber(self) -> None:
        """Count from 0 again."""
        self.base, self.origin, self.end = self.base - self.origin, 0, len(self)

    def keep(self, alive: np.ndarray) -> None:
        """Keep only the rows marked, numbered from 0."""
        kept = self.whole()[alive]
        self.base, self.origin, self.end = 0, 0, len(kept)
        self.buffer = kept if len(kept) else np.empty((_LEAST, *kept.shape[1:]), kept.dtype)
