"""Keys to numbers that stay the same for as long as the key is known (numbers.py)."""

from __future__ import annotations

__all__ = ["StableKeys", "roomy"]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.state.key_table import KeyTable
from sash.engine.state.numbers import Numbers


class StableKeys:
    """A map from key columns to numbers below `size`; `fresh` has those that the last call gave out.

    >>> keys = StableKeys([pa.string()])
    >>> keys.numbers_of([pa.array(["a", "b"])], 2).tolist()
    [0, 1]
    >>> keys.keep(np.array([False, True]))
    >>> keys.numbers_of([pa.array(["b", "c"])], 2).tolist(), keys.size
    ([1, 0], 2)
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._table = KeyTable(types)
        self._numbers = Numbers()
        self.fresh = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def size(self) -> int:
        """One more than the greatest number that was ever given."""
        return self._numbers.size

    @property
    def nbytes(self) -> int:
        """How many bytes the keys and their numbers take."""
        return self._table.nbytes + self._numbers.nbytes

    def numbers_of(self, columns: Sequence[pa.Array], length: int) -> np.ndarray:
        """The number of each row's key; new keys get free numbers, then new ones."""
        before = len(self._table)
        slots = self._table.slots_of(columns, length)
        self.fresh = self._numbers.give(len(self._table) - before)
        return self._numbers.of(slots)

    def columns(self, numbers: np.ndarray) -> list[pa.Array]:
        """The key columns of the given numbers."""
        return self._table.columns(self._numbers.slots(numbers))

    def known(self) -> np.ndarray:
        """The numbers in use, in the order of `all_columns`."""
        return self._numbers.known()

    def all_columns(self) -> list[pa.Array]:
        """The key columns of all numbers in use."""
        return self._table.all_columns()

    def keep(self, alive: np.ndarray) -> None:
        """Forget the numbers that are not marked in `alive` [size]."""
        staying = alive[self.known()]
        self._table.keep(staying)
        self._numbers.keep(staying)

    def restore(self, columns: Sequence[pa.Array], numbers: np.ndarray, size: int) -> None:
        """Take over keys with their numbers, as `all_columns` and `known` gave them."""
        self._table.slots_of(columns, len(numbers))
        self._numbers.adopt(numbers, size)


def roomy(array: np.ndarray, size: int, fill: int = 0) -> np.ndarray:
    """The array itself, or a copy of at least `size` rows with room to spare, filled up.

    >>> len(roomy(np.zeros(3), 2)), len(roomy(np.zeros(3), 4)) >= 4
    (3, True)
    """
    if size <= len(array):
        return array
    larger = np.full((max(16, size + size // 2), *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger
