"""Combinations of rows that live, by the numbers of their rows, until the first of these ends.

A join that ends its results itself remembers which rows made them, not what they hold: the rows are
kept by the join anyway for as long as a result of theirs lives.
"""

from __future__ import annotations

__all__ = ["LiveCombinations"]

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sash.engine.state.calendar import Calendar
from sash.engine.state.saving import arrays_table, table_arrays
from sash.lifetimes import Instant

Numbers = tuple[np.ndarray, ...]
"""Row numbers in 32 bits, one array per input."""


class LiveCombinations:
    """Ends and row numbers of the combinations that live.

    >>> live = LiveCombinations(2)
    >>> live.add(np.array([5, 9]), (np.array([0, 1]), np.array([7, 7])))
    >>> until, numbers = live.pop(6)
    >>> until.tolist(), [part.tolist() for part in numbers], len(live)
    ([5], [[0], [7]], 1)
    """

    def __init__(self, inputs: int) -> None:
        self._inputs = inputs
        self._clear()

    def _clear(self) -> None:
        self.ends = Calendar((np.int64, *[np.int32] * self._inputs), endless=True)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return self.ends.nbytes

    def add(self, until: np.ndarray, numbers: Numbers) -> None:
        """Keep these."""
        self.ends.add((until, *numbers))

    def pop(self, frontier: Instant) -> tuple[np.ndarray, Numbers]:
        """Take out those that end by the frontier: their ends and rows, in no order."""
        until, *numbers = self.ends.pop(frontier, ordered=False)
        return until, tuple(numbers)

    def numbers(self) -> Numbers:
        """The rows of all that live."""
        return self.ends.entries()[1:]

    def renumber(self, i: int, origin: int, moved: np.ndarray) -> None:
        """Rows of input i, formerly `origin`, `origin` + 1, ..., now have the numbers `moved`."""
        entries = list(self.ends.entries())
        entries[1 + i] = moved[entries[1 + i] - origin].astype(np.int32)
        self._clear()
        self.ends.add(tuple(entries))

    def save(self, places: Sequence[np.ndarray]) -> pa.Table:
        """All of them; `places` has the rows' numbers as they will be when loaded."""
        until = self.ends.entries()[0]
        return arrays_table({"until": until, **{str(i): part for i, part in enumerate(places)}})

    def load(self, saved: pa.Table) -> None:
        """What `save` wrote."""
        self._clear()
        arrays: Mapping[str, np.ndarray] = table_arrays(saved)
        until, *numbers = arrays.values()
        self.ends.add((until, *(part.astype(np.int32) for part in numbers)))
