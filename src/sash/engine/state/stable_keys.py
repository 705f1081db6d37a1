"""Keys to numbers that stay the same for as long as the key is known, so that queues can name them.

A key table renumbers its slots when it forgets; the ends to come in a calendar would all have to be
rewritten. Here a forgotten key's number waits for the next new key instead.
"""

from __future__ import annotations

__all__ = ["StableKeys", "roomy"]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.state.key_table import KeyTable
from sash.engine.state.tape import Tape


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
        self._number = Tape(np.int64)  # by slot
        self._slot = Tape(np.int64)  # by number; -1 where free
        self._free = np.empty(0, np.int64)
        self._plain = True  # numbers are the slots
        self.fresh = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def size(self) -> int:
        """One more than the greatest number that was ever given."""
        return len(self._slot)

    @property
    def nbytes(self) -> int:
        """How many bytes the keys and their numbers take."""
        return self._table.nbytes + self._number.nbytes + self._slot.nbytes

    def numbers_of(self, columns: Sequence[pa.Array], length: int) -> np.ndarray:
        """The number of each row's key; new keys get free numbers, then new ones."""
        before = len(self._table)
        slots = self._table.slots_of(columns, length)
        self._give(before, len(self._table) - before)
        return slots if self._plain else self._number.view()[slots]

    def _give(self, first: int, count: int) -> None:
        if not count:
            self.fresh = np.empty(0, np.int64)
            return
        reused = min(count, len(self._free))
        split = len(self._free) - reused
        old, self._free = self._free[split:], self._free[:split]
        fresh = np.arange(self.size, self.size + count - reused)
        self._slot.view()[old] = np.arange(first, first + reused)
        self._slot.append(np.arange(first + reused, first + count))
        self.fresh = np.concatenate([old, fresh])
        self._number.append(self.fresh)

    def columns(self, numbers: np.ndarray) -> list[pa.Array]:
        """The key columns of the given numbers."""
        return self._table.columns(numbers if self._plain else self._slot.view()[numbers])

    def known(self) -> np.ndarray:
        """The numbers in use, in the order of `all_columns`."""
        return self._number.view()

    def all_columns(self) -> list[pa.Array]:
        """The key columns of all numbers in use."""
        return self._table.all_columns()

    def keep(self, alive: np.ndarray) -> None:
        """Forget the numbers that are not marked in `alive` [size]."""
        used = self._number.view()
        staying = alive[used]
        self._table.keep(staying)
        self._adopt(used[staying], self.size)

    def restore(self, columns: Sequence[pa.Array], numbers: np.ndarray, size: int) -> None:
        """Take over keys with their numbers, as `all_columns` and `known` gave them."""
        self._table.slots_of(columns, len(numbers))
        self._adopt(numbers, size)

    def _adopt(self, numbers: np.ndarray, size: int) -> None:
        slot = np.full(size, -1, np.int64)
        slot[numbers] = np.arange(len(numbers))
        self._number, self._slot = Tape(np.int64), Tape(np.int64)
        self._number.append(numbers)
        self._slot.append(slot)
        self._free = np.flatnonzero(slot < 0)[::-1]
        self._plain = np.array_equal(numbers, np.arange(size))


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
