"""Values of a fixed width, known by row number and forgotten from the front, in one buffer used round.

Neither adding nor forgetting moves what is kept, and a buffer that has found its size stays where it is.
"""

from __future__ import annotations

__all__ = ["Ring"]

from functools import partial

import numpy as np
import pyarrow as pa

from sash.engine.fixed_width import as_column, valid_marks, values_of
from sash.engine.gathering import Task
from sash.engine.kernels.gathering import gather, gather_beside, gather_round
from sash.engine.state.room import room

_LEAST = 16
"""How many values a buffer has room for at first."""
_SMALL = 65_536
"""A buffer of up to this many values does not shrink."""


class Ring:
    """One column for rows `origin`, `origin` + 1, ... The number of a row says where its value lies.

    >>> ring = Ring(pa.int64(), np.dtype("uint64"), 0)
    >>> ring.append(pa.array([5, None, 7]))
    >>> ring.forget_before(1)
    >>> ring.append(pa.array([8]))
    >>> ring.taking(np.array([3, 1, 2])).run().to_pylist()
    [8, None, 7]
    """

    def __init__(self, type_: pa.DataType, dtype: np.dtype, origin: int) -> None:
        """Values of this type, moved as `dtype`."""
        self._type, self._dtype = type_, dtype
        self._values = np.empty(_LEAST, dtype)
        self._valid: np.ndarray | None = None  # until the first NULL comes
        self._base = self._origin = self._end = origin

    def __len__(self) -> int:
        return self._end - self._origin

    @property
    def nbytes(self) -> int:
        """How many bytes are set aside."""
        return int(self._values.nbytes + (0 if self._valid is None else self._valid.nbytes))

    def append(self, column: pa.Array) -> None:
        """Add the values of the next rows."""
        need = len(self) + len(column)
        if need > len(self._values):
            self._resize(need + need // 4)
        if self._valid is None and column.null_count:
            self._valid = np.ones(len(self._values), np.uint8)
        self._write(self._values, values_of(column, self._dtype))
        if self._valid is not None:
            self._write(self._valid, valid_marks(column))
        self._end += len(column)

    def _write(self, buffer: np.ndarray, values: np.ndarray) -> None:
        place = (self._end - self._base) % len(buffer)
        fit = min(len(values), len(buffer) - place)
        buffer[place : place + fit] = values[:fit]
        buffer[: len(values) - fit] = values[fit:]

    def _resize(self, size: int) -> None:
        self._values = self._moved(self._values, size)
        if self._valid is not None:
            self._valid = self._moved(self._valid, size)
        self._base = self._origin

    def _moved(self, buffer: np.ndarray, size: int) -> np.ndarray:
        """All values in order, in a buffer of the given size."""
        place = self._origin - self._base
        fit = min(len(self), len(buffer) - place)
        moved = room(size, buffer.dtype)
        moved[:fit] = buffer[place : place + fit]
        moved[fit : len(self)] = buffer[: len(self) - fit]
        return moved

    def forget_before(self, row: int) -> None:
        """Drop the values of all rows before `row`."""
        self._origin = row
        if row - self._base >= len(self._values):
            self._base += len(self._values)
        if len(self._values) > max(_SMALL, 4 * len(self)):
            self._resize(max(_SMALL, len(self)))

    def taking(self, rows: np.ndarray) -> Task:
        """How to get the values of the given rows."""
        out = np.empty(len(rows), self._dtype)
        valid = None if self._valid is None else np.empty(len(rows), np.uint8)
        return Task(partial(self._take, rows, out, valid), set_aside=True)

    def _take(self, rows: np.ndarray, out: np.ndarray, valid: np.ndarray | None) -> pa.Array:
        take = gather if self._end - self._base <= len(self._values) else gather_round
        take(self._values, self._base, rows, out)
        if self._valid is not None and valid is not None:
            take(self._valid, self._base, rows, valid)
        return as_column(self._type, out, valid)

    def taking_beside(self, fresh: pa.Array, rows: np.ndarray, places: np.ndarray) -> Task:
        """How to get the values at places in `fresh` and, counted on after those, of the given rows."""
        out = np.empty(len(places), self._dtype)
        marked = self._valid is not None or fresh.null_count > 0
        valid = np.empty(len(places), np.uint8) if marked else None
        return Task(partial(self._take_beside, fresh, rows, places, out, valid), set_aside=True)

    def _take_beside(
        self, fresh: pa.Array, rows: np.ndarray, places: np.ndarray, out: np.ndarray, valid: np.ndarray | None
    ) -> pa.Array:
        gather_beside(values_of(fresh, self._dtype), self._values, self._base, rows, places, out)
        if valid is not None:
            kept = np.ones(len(self._values), np.uint8) if self._valid is None else self._valid
            gather_beside(valid_marks(fresh), kept, self._base, rows, places, valid)
        return as_column(self._type, out, valid)

    def whole(self) -> pa.Array:
        """Every value, in order of number."""
        valid = None if self._valid is None else self._moved(self._valid, len(self))
        return as_column(self._type, self._moved(self._values, len(self)), valid)

    def renumber(self) -> None:
        """Count from 0 again."""
        self._base, self._origin, self._end = self._base - self._origin, 0, len(self)

    def keep(self, alive: np.ndarray) -> None:
        """Keep only the values marked, numbered from 0."""
        self._values = self._moved(self._values, len(self))[alive]
        if self._valid is not None:
            self._valid = self._moved(self._valid, len(self))[alive]
        self._base, self._origin, self._end = 0, 0, len(self._values)
        if not len(self):
            self._resize(_LEAST)
