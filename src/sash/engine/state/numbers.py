"""Numbers that stay the same while the slots behind them move, so that queues can name them.

Where slots are forgotten together and the others move up, everything that names one would have to be
rewritten. A number stays instead; that of a forgotten slot waits to be given again.
"""

from __future__ import annotations

__all__ = ["Numbers"]

import numpy as np

from sash.engine.state.tape import Tape


class Numbers:
    """Numbers below `size` for slots 0, 1, 2 ...

    >>> numbers = Numbers()
    >>> numbers.give(3).tolist()
    [0, 1, 2]
    >>> numbers.keep(np.array([True, False, True]))
    >>> numbers.slots(np.array([2])).tolist(), numbers.give(2).tolist(), numbers.size
    ([1], [1, 3], 4)
    """

    def __init__(self) -> None:
        self._number = Tape(np.int64)  # by slot
        self._slot = Tape(np.int64)  # by number; -1 where free
        self._free = np.empty(0, np.int64)
        self._plain = True  # numbers are the slots

    @property
    def size(self) -> int:
        """One more than the greatest number that was ever given."""
        return len(self._slot)

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        return int(self._number.nbytes + self._slot.nbytes)

    def give(self, count: int) -> np.ndarray:
        """Numbers for the next `count` slots: free ones first, then new ones."""
        if not count:
            return np.empty(0, np.int64)
        first = len(self._number)
        reused = min(count, len(self._free))
        split = len(self._free) - reused
        old, self._free = self._free[split:], self._free[:split]
        fresh = np.concatenate([old, np.arange(self.size, self.size + count - reused)])
        self._slot.view()[old] = np.arange(first, first + reused)
        self._slot.append(np.arange(first + reused, first + count))
        self._number.append(fresh)
        return fresh

    def of(self, slots: np.ndarray) -> np.ndarray:
        """The numbers of the given slots."""
        return slots if self._plain else self._number.view()[slots]

    def slots(self, numbers: np.ndarray) -> np.ndarray:
        """The slots of the given numbers."""
        return numbers if self._plain else self._slot.view()[numbers]

    def known(self) -> np.ndarray:
        """The numbers in use, by slot."""
        return self._number.view()

    def keep(self, staying: np.ndarray) -> None:
        """Forget the slots that are not marked; the others move up."""
        self.adopt(self._number.view()[staying], self.size)

    def adopt(self, numbers: np.ndarray, size: int) -> None:
        """Slots with the given numbers, all below `size`, in place of what was there."""
        slot = np.full(size, -1, np.int64)
        slot[numbers] = np.arange(len(numbers))
        self._number, self._slot = Tape(np.int64), Tape(np.int64)
        self._number.append(numbers)
        self._slot.append(slot)
        self._free = np.flatnonzero(slot < 0)[::-1]
        self._plain = np.array_equal(numbers, np.arange(size))
