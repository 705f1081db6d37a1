"""A growing array whose entries are known by row number, forgotten from the front."""

from __future__ import annotations

__all__ = ["Tape"]

import numpy as np

from sash.engine.state.room import room


class Tape:
    """Numbers for rows `origin`, `origin` + 1, ...

    >>> tape = Tape(np.int64)
    >>> tape.append(np.array([5, 6, 7]))
    >>> tape.forget_before(1)
    >>> tape.origin, tape.view().tolist()
    (1, [6, 7])
    """

    def __init__(self, dtype: type[np.generic], origin: int = 0, *, width: int | None = None) -> None:
        """With `width`, each row has a line of that many numbers."""
        self._line = () if width is None else (width,)
        self._buffer = np.empty((16, *self._line), dtype)
        self._start = 0
        self._stop = 0
        self.origin = origin

    def __len__(self) -> int:
        return self._stop - self._start

    @property
    def nbytes(self) -> int:
        """How many bytes are set aside."""
        return int(self._buffer.nbytes)

    def view(self) -> np.ndarray:
        """The entries, writable in place; index by row number less `origin`."""
        return self._buffer[self._start : self._stop]

    def append(self, values: np.ndarray) -> None:
        """Add entries for the next rows."""
        self.extended(len(values))[:] = values

    def extended(self, count: int) -> np.ndarray:
        """Add this many entries that hold anything, and give them to be written."""
        need = len(self) + count
        if self._stop + count > len(self._buffer):
            # A ninth of the room stays free, so that moving costs a few copies per entry on average.
            fits = 9 * need <= 8 * len(self._buffer)
            larger = max(16, need + need // 6)
            buffer = self._buffer if fits else room((larger, *self._line), self._buffer.dtype)
            # In one dimension NumPy copies forwards, so that it needs no room between.
            buffer[: len(self)].reshape(-1)[:] = self.view().reshape(-1)
            self._stop, self._start, self._buffer = len(self), 0, buffer
        self._stop += count
        return self._buffer[self._stop - count : self._stop]

    def grow_to(self, count: int, fill: int) -> None:
        """Add entries of the value `fill` until there are `count`."""
        if count > len(self):
            self.extended(count - len(self))[:] = fill

    def keep(self, alive: np.ndarray) -> None:
        """Keep only the entries marked, numbered from 0."""
        kept = self.view()[alive]
        self._buffer, self._start, self._stop, self.origin = kept, 0, len(kept), 0

    def forget_before(self, row: int) -> None:
        """Drop the entries of all rows before `row`."""
        gone = min(max(0, row - self.origin), len(self))
        self._start += gone
        self.origin += gone
