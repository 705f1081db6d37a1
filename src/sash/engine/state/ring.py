"""Values of a fixed width, known by row number: a column of rows in an array used round, and its NULLs."""

from __future__ import annotations

__all__ = ["Ring"]

from functools import partial

import numpy as np
import pyarrow as pa

from sash.engine.fixed_width import as_column, valid_marks, values_of
from sash.engine.gathering import Task
from sash.engine.kernels.gathering import gather_beside
from sash.engine.state.round_array import RoundArray


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
        self._values = RoundArray(dtype, origin)
        self._valid: RoundArray | None = None  # until the first NULL comes

    def __len__(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        """How many bytes are set aside."""
        return self._values.nbytes + (0 if self._valid is None else self._valid.nbytes)

    def append(self, column: pa.Array) -> None:
        """Add the values of the next rows."""
        if self._valid is None and column.null_count:
            self._valid = RoundArray.alike(self._values, np.uint8, 1)
        self._values.append(values_of(column, self._dtype))
        if self._valid is not None:
            self._valid.append(valid_marks(column))

    def forget_before(self, row: int) -> None:
        """Drop the values of all rows before `row`."""
        for part in self._parts:
            part.forget_before(row)

    @property
    def _parts(self) -> list[RoundArray]:
        return [self._values] if self._valid is None else [self._values, self._valid]

    def taking(self, rows: np.ndarray) -> Task:
        """How to get the values of the given rows."""
        out = np.empty(len(rows), self._dtype)
        valid = None if self._valid is None else np.empty(len(rows), np.uint8)
        return Task(partial(self._take, rows, out, valid), set_aside=True)

    def _take(self, rows: np.ndarray, out: np.ndarray, valid: np.ndarray | None) -> pa.Array:
        self._values.take(rows, out)
        if self._valid is not None and valid is not None:
            self._valid.take(rows, valid)
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
        kept, base = self._values.buffer, self._values.base
        gather_beside(values_of(fresh, self._dtype), kept, base, rows, places, out)
        if valid is not None:
            marks = np.ones(len(kept), np.uint8) if self._valid is None else self._valid.buffer
            gather_beside(valid_marks(fresh), marks, base, rows, places, valid)
        return as_column(self._type, out, valid)

    def whole(self) -> pa.Array:
        """Every value, in order of number."""
        return as_column(
            self._type, self._values.whole(), None if self._valid is None else self._valid.whole()
        )

    def renumber(self) -> None:
        """Count from 0 again."""
        for part in self._parts:
            part.renumber()

    def keep(self, alive: np.ndarray) -> None:
        """Keep only the values marked, numbered from 0."""
        for part in self._parts:
            part.keep(alive)
