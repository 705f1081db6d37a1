"""Keys to dense slot numbers, with the keys' own columns kept once per slot.

Slots of dead keys stay until at least half are dead, then all survivors are renumbered together,
so that the cost of forgetting is spread over the keys that came.
"""

from __future__ import annotations

__all__ = ["KeyTable"]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.encoding import hashes_of, key_words, value_words
from sash.engine.kernels.tables import find_or_add, rehash
from sash.engine.parallel import in_parallel
from sash.engine.state.room import room
from sash.engine.state.rows import Rows

_MANY = 16_384
"""From this many rows on, looking them up is worth a second thread."""


class KeyTable:
    """A growing map from key columns to slots 0, 1, 2 ...

    >>> table = KeyTable([pa.string()])
    >>> table.slots_of([pa.array(["a", "b", "a", None])], 4).tolist(), len(table)
    ([0, 1, 0, 2], 3)
    >>> table.columns(np.array([2, 1]))[0].to_pylist()
    [None, 'b']
    >>> table.keep(np.array([False, True, True])).tolist()
    [-1, 0, 1]
    >>> table.slots_of([pa.array(["b"])], 1).tolist()
    [0]
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        width = value_words([pa.array([], type_) for type_ in types], 0).shape[1]
        self._keys = np.empty((8, width), np.int64)
        self._marked = False  # whether keys have words that mark NULLs
        self._table = np.zeros(16, np.int32)
        self._used = 0
        self._columns = Rows(types)

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """How many bytes the table and its keys take."""
        return int(self._keys.nbytes + self._table.nbytes + self._columns.nbytes)

    def slots_of(self, columns: Sequence[pa.Array], length: int) -> np.ndarray:
        """The slot of each row; new keys are added."""
        words = self._words(columns, length)
        slots = np.empty(length, np.int64)
        before, start = self._used, self._look_up(words, slots)
        if start == length:
            return slots
        first_rows = np.empty(len(self._keys), np.int64)
        while True:
            self._used = find_or_add(words, start, self._table, self._keys, self._used, slots, first_rows)
            if self._used < min(len(self._keys), len(self._table) // 2):
                break
            stopped = np.flatnonzero(slots[start:] == -1)
            if not len(stopped):
                break
            start += int(stopped[0])
            self._grow()
            first_rows = np.concatenate([first_rows, np.empty(len(first_rows), np.int64)])
        if self._used > before:
            rows = pa.array(first_rows[before : self._used])
            self._columns.append([column.take(rows) for column in columns], len(rows))
        return slots

    def _look_up(self, words: np.ndarray, slots: np.ndarray) -> int:
        """Fill in the slots of known keys, half of the rows each in a thread; gives the first row whose key
        is not known, from where on all is to be done."""
        n, keys, nowhere = len(slots), self._keys[: self._used], np.empty(0, np.int64)
        if n < _MANY or not self._used:
            return 0

        def known(start: int, stop: int) -> int:
            # Without room for new keys, it stops where the first one would be added.
            own = slots[start:stop]
            find_or_add(words[start:stop], 0, self._table, keys, self._used, own, nowhere)
            missing = own == -1
            return start + int(missing.argmax()) if missing.any() else stop

        halves = [lambda: known(0, n // 2), lambda: known(n // 2, n)]
        first, second = in_parallel(halves, worthwhile=True)
        return second if first == n // 2 else first

    def _words(self, columns: Sequence[pa.Array], length: int) -> np.ndarray:
        """The words of keys; they mark NULLs once one was met."""
        if not self._marked and any(column.null_count for column in columns):
            self._marked = True
            width = key_words([column.slice(0, 0) for column in columns], 0).shape[1]
            keys = np.zeros((len(self._keys), width), np.int64)
            keys[:, : self._keys.shape[1]] = self._keys
            self._keys = keys
            self._rebuild(len(self._table))
        return (key_words if self._marked else value_words)(columns, length)

    def columns(self, slots: np.ndarray) -> list[pa.Array]:
        """The key columns of the given slots."""
        return self._columns.take(slots)

    def all_columns(self) -> list[pa.Array]:
        """The key columns of every slot, in slot order."""
        return self._columns.all_columns()

    def keep(self, alive: np.ndarray) -> np.ndarray:
        """Forget the slots that are not alive; gives each old slot's new number, or -1."""
        moved = self._columns.keep(alive)
        self._keys = np.ascontiguousarray(self._keys[: self._used][alive])
        self._used = len(self._keys)
        if not self._used:
            self._keys = np.empty((8, self._keys.shape[1]), np.int64)
        self._rebuild(max(16, _power_of_two(4 * self._used)))
        return moved

    def _grow(self) -> None:
        keys = room((2 * len(self._keys), self._keys.shape[1]), np.int64)
        keys[: self._used] = self._keys[: self._used]
        self._keys = keys
        if 2 * len(keys) > len(self._table):
            self._rebuild(_power_of_two(4 * len(keys)) // 2)

    def _rebuild(self, capacity: int) -> None:
        self._table = room(capacity, np.int32)
        self._table[:] = 0
        rehash(hashes_of(np.ascontiguousarray(self._keys[: self._used])), self._table)


def _power_of_two(at_least: int) -> int:
    return 1 << max(4, (at_least - 1).bit_length())
