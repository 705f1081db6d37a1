"""Rows that follow one another by key: each row that comes gets a number, a negative row has that of the
row it takes back.

An aggregate has one row per group at a time and gives, in a step, first the negative row of what the
group showed before, then rows that end within the step, then one that stays. So whole rows need not be
looked up, only the keys of those that cross from one step to another.
"""

from __future__ import annotations

__all__ = ["SuccessiveRows"]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.gathering import gathered
from sash.engine.kernels.successive import coming_and_crossing, follow
from sash.engine.state.numbers import Numbers
from sash.engine.state.rows import Rows
from sash.engine.state.stable_keys import StableKeys, roomy
from sash.lifetimes import FOREVER, Changes


class SuccessiveRows:
    """Numbers for rows of which one per key lives at a time; `fresh` has those that the last call gave out.

    >>> rows = SuccessiveRows([pa.string(), pa.int64()], [0])
    >>> one = Changes((pa.array(["a"]), pa.array([5])), np.array([1]), np.array([FOREVER]), np.array([1]))
    >>> other = Changes((pa.array(["a", "a"]), pa.array([5, 6])), np.array([2, 2]), np.full(2, FOREVER),
    ...     np.array([-1, 1]))
    >>> rows.numbers_of(one, np.array([0])).tolist(), rows.numbers_of(other, np.array([0, 1])).tolist()
    ([0], [0, 1])
    >>> rows.columns(np.array([1]))[1].to_pylist()
    [6]
    """

    def __init__(self, types: Sequence[pa.DataType], key: Sequence[int]) -> None:
        self._key = tuple(key)
        self._rows = Rows(types)
        self._numbers = Numbers()
        self._keys = StableKeys([types[i] for i in self._key])
        self._latest = np.full(16, -1, np.int64)  # by key: the row that stays
        self.fresh = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """One more than the greatest number that was ever given."""
        return self._numbers.size

    @property
    def nbytes(self) -> int:
        """How many bytes the rows, their keys and their numbers take."""
        return self._rows.nbytes + self._numbers.nbytes + self._keys.nbytes + int(self._latest.nbytes)

    def numbers_of(self, changes: Changes, rows: np.ndarray) -> np.ndarray:
        """The numbers of the given rows: a new one each, or that of the row it takes back."""
        n, counts = len(rows), np.zeros(2, np.int64)
        come, cross, numbers = (np.empty(n, np.int64) for _ in range(3))
        coming_and_crossing(rows, changes.weight, changes.until, FOREVER, come, cross, counts)
        come, cross = come[: counts[0]], cross[: counts[1]]
        self.fresh = self._numbers.give(len(come))
        self._rows.append(gathered(changes.columns, come), len(come))
        keys = self._key_numbers(gathered([changes.columns[i] for i in self._key], cross), len(cross))
        follow(rows, changes.weight, changes.until, FOREVER, self.fresh, keys, self._latest, numbers)
        return numbers

    def _key_numbers(self, columns: Sequence[pa.Array], length: int) -> np.ndarray:
        keys = self._keys.numbers_of(columns, length)
        self._latest = roomy(self._latest, self._keys.size, -1)
        return keys

    def columns(self, numbers: np.ndarray) -> list[pa.Array]:
        """The rows with the given numbers."""
        return self._rows.take(self._numbers.slots(numbers))

    def known(self) -> np.ndarray:
        """The numbers in use."""
        return self._numbers.known()

    def keep(self, alive: np.ndarray) -> None:
        """Forget the rows that are not marked in `alive` [size], and keys without rows once half are."""
        staying = alive[self.known()]
        self._rows.keep(staying)
        self._numbers.keep(staying)
        shown = self._latest[: self._keys.size] >= 0
        if 2 * np.count_nonzero(shown) <= len(self._keys):
            self._keys.keep(shown)

    def restore(self, columns: Sequence[pa.Array], numbers: np.ndarray, size: int) -> None:
        """Take over rows that stay, with their numbers."""
        self._rows.append(columns, len(numbers))
        self._numbers.adopt(numbers, size)
        keys = self._key_numbers([columns[i] for i in self._key], len(numbers))
        self._latest[keys] = numbers
