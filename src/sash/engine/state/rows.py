"""Rows known by number, so that state can point at them: forgotten from the front, or rewritten when too
many in the middle are dead. Columns of a fixed width and texts lie in rings, others in segments.
"""

from __future__ import annotations

__all__ = ["Rows"]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.fixed_width import moving_dtype
from sash.engine.gathering import Task, done
from sash.engine.state.ring import Ring
from sash.engine.state.segments import Segments
from sash.engine.state.text_ring import TextRing


class Rows:
    """Columns of rows `origin`, `origin` + 1, ... up to `end`.

    >>> rows = Rows([pa.string()])
    >>> rows.append([pa.array(["a", "b"])], 2), rows.append([pa.array(["c"])], 1)
    (0, 2)
    >>> rows.take(np.array([2, 0]))[0].to_pylist()
    ['c', 'a']
    """

    def __init__(self, types: Sequence[pa.DataType], origin: int = 0) -> None:
        self._columns = [_column(type_, origin) for type_ in types]
        self.origin = origin
        self.end = origin

    def __len__(self) -> int:
        return self.end - self.origin

    @property
    def nbytes(self) -> int:
        """How many bytes the columns take."""
        return sum(column.nbytes for column in self._columns)

    def append(self, columns: Sequence[pa.Array], count: int) -> int:
        """Keep these rows; gives the number of the first."""
        for kept, column in zip(self._columns, columns, strict=True):
            kept.append(column)
        self.end += count
        return self.end - count

    def take(self, numbers: np.ndarray) -> list[pa.Array]:
        """The columns of the given rows."""
        return done([column.taking(numbers) for column in self._columns], len(numbers))

    def taking(self, column: int, numbers: np.ndarray) -> Task:
        """How to get one column of the given rows."""
        return self._columns[column].taking(numbers)

    def take_beside(
        self, fresh: Sequence[pa.Array], numbers: np.ndarray, places: np.ndarray
    ) -> list[pa.Array]:
        """The rows at places in `fresh` and, counted on after those, of the given numbers.

        >>> rows = Rows([pa.int64()])
        >>> first = rows.append([pa.array([5, 6])], 2)
        >>> rows.take_beside([pa.array([7])], np.array([1]), np.array([1, 0]))[0].to_pylist()
        [6, 7]
        """
        columns = zip(self._columns, fresh, strict=True)
        return done([kept.taking_beside(column, numbers, places) for kept, column in columns], len(places))

    def all_columns(self) -> list[pa.Array]:
        """Every row kept, in order of number."""
        return [column.whole() for column in self._columns]

    def forget_before(self, row: int) -> None:
        """Drop the rows before `row`."""
        self.origin = min(max(self.origin, row), self.end)
        for column in self._columns:
            column.forget_before(self.origin)

    def renumber(self) -> None:
        """Count from 0 again."""
        for column in self._columns:
            column.renumber()
        self.origin, self.end = 0, len(self)

    def keep(self, alive: np.ndarray) -> np.ndarray:
        """Keep only the rows marked, renumbered from 0; gives each old row's new number, or -1."""
        moved = np.cumsum(alive)
        moved -= 1
        moved[~alive] = -1
        for column in self._columns:
            column.keep(alive)
        self.origin, self.end = 0, int(np.count_nonzero(alive))
        return moved


def _column(type_: pa.DataType, origin: int) -> Ring | TextRing | Segments:
    dtype = moving_dtype(type_)
    if dtype is not None:
        return Ring(type_, dtype, origin)
    texts = pa.types.is_string(type_) or pa.types.is_binary(type_)
    return TextRing(type_, origin) if texts else Segments(type_, origin)
