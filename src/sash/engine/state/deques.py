"""The least (or largest) value of each group where rows end in the order in which they come ([G06] WKS).

Of every group a deque of the rows that may still become its least is held (kernels/deques.py), all in one
array used round, so that ends are met in passing; other rows stay there until they end, or outnumber those
by far. Fixed-width values only: what orders them is one word, which also is the value. NULL is above all
values: it shows only where a group has nothing else.
"""

from __future__ import annotations

__all__ = ["Deques", "Moves"]

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.encoding import any_null
from sash.engine.kernels.deques import (
    GROUP,
    LANE,
    OUT,
    OWNER,
    ROW,
    UNTIL,
    VALUE,
    WORD,
    first_lasting,
    hang_deques,
    sweep_deques,
)
from sash.engine.order_keys import prefixes, values_from_words, with_nulls
from sash.engine.state import upkeep
from sash.engine.state.round_array import RoundArray
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.stable_keys import roomy
from sash.lifetimes import Changes, Instant

_SIGN = np.uint64(1 << 63)
_TOP = 2**63 - 1
_NULL = 1 << 32
_NOBODY = np.array([-1, -1, 0, 0])
_BY_NULL = -1
_MOST_OTHERS = 4
"""How many times as many rows as are in deques may be held."""


@dataclass(frozen=True, eq=False)
class Moves:
    """When which groups show another value: lines [shown before, shown now, word before, word now].

    What is shown is a number: 0 for nothing.
    """

    at: np.ndarray
    groups: np.ndarray
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.at)


class Deques:
    """The rows that may become the least (or `largest`) of their groups, and what each group shows.

    >>> deques = Deques(pa.int64(), largest=False)
    >>> rows = Changes((pa.array([7, 5]),), np.array([1, 2]), np.array([4, 5]), np.array([1, 1]))
    >>> moves = deques.step(rows, np.array([0, 0]), 1, frontier=5)
    >>> moves.at.tolist(), moves.lines[:, :2].tolist()
    ([1, 2, 5], [[0, 1], [1, 1], [1, 0]])
    """

    def __init__(self, type_: pa.DataType, largest: bool, *, by_group: bool = False) -> None:
        """What a group shows is 1, or 2 for NULL; `by_group`: its own number + 1, and in a step those that
        are new are beyond all groups."""
        self._type = type_
        self._largest = largest
        self._by_group = by_group
        self._rows = RoundArray(np.int64, width=ROW)
        self._held = 0  # rows in deques
        self.groups = np.empty((0, GROUP), np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        return self._rows.nbytes + int(self.groups.nbytes)

    def step(self, rows: Changes, groups: np.ndarray, group_size: int, frontier: Instant) -> Moves:
        """Rows come, their only column being the value, and all rows end up to the frontier."""
        self._forget_others()
        self._fit(group_size)
        words, owners = self._ordered(rows.columns[0], groups)
        cursor = np.array([self._rows.origin, self._held])
        most = 2 * len(rows) + self._first_lasting(frontier) - self._rows.origin  # who comes may end, too
        come = self._rows.extend(len(rows))
        touched, at, moved = (np.empty(most, np.int64) for _ in range(3))
        lines = np.empty((most, 4), np.int64)
        written = sweep_deques(
            rows.begin, rows.until, owners, words, come, self._rows.base, frontier, cursor,
            self._rows.buffer, self.groups, group_size if self._by_group else _BY_NULL,
            touched, at, moved, lines,
        )  # fmt: skip
        self._held = int(cursor[1])
        self._rows.forget_before(int(cursor[0]))
        return Moves(at[:written], moved[:written], lines[:written])

    def _fit(self, group_size: int) -> None:
        known = len(self.groups)
        self.groups = roomy(self.groups, group_size)
        self.groups[known:] = _NOBODY

    def _forget_others(self) -> None:
        """Drop the rows that are in no deque, where they are most."""
        if len(self._rows) >= upkeep.FEW and len(self._rows) > _MOST_OTHERS * self._held:
            self._hang(self._in_deques())

    def _in_deques(self) -> np.ndarray:
        """The lines of the rows that may become the least, as they came."""
        lines = self._rows.whole()
        held: np.ndarray = lines[lines[:, OWNER] != OUT]
        return held

    def _hang(self, lines: np.ndarray) -> None:
        """Hold these rows and no others."""
        hang_deques(lines, self.groups, 0 if self._by_group else _BY_NULL)
        self._rows, self._held = RoundArray(np.int64, width=ROW), len(lines)
        self._rows.append(lines)

    def _ordered(self, values: pa.Array, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Words of values, and owners."""
        words = prefixes(values)
        words = ((~words if self._largest else words) ^ _SIGN).view(np.int64)
        nulls = any_null([values])
        if nulls is None:
            return words, groups
        return np.where(nulls, _TOP, words), np.where(nulls, groups + _NULL, groups)

    def values(self, words: np.ndarray, nulls: np.ndarray) -> pa.Array:
        """The values with these words, NULL where marked."""
        there = ~nulls
        given = (words if there.all() else words[there]).view(np.uint64) ^ _SIGN
        return with_nulls(values_from_words(~given if self._largest else given, self._type), there)

    def showing(self, groups: np.ndarray) -> np.ndarray:
        """Which of some groups show something."""
        there: np.ndarray = self.groups[groups, LANE] > 0
        return there

    def shown(self, groups: np.ndarray) -> pa.Array:
        """What groups show that show something."""
        return self.values(self.groups[groups, VALUE], self.groups[groups, LANE] == 2)

    def due(self, frontier: Instant) -> np.ndarray:
        """When rows end up to the frontier."""
        rows = self._rows
        ending = np.arange(rows.origin, self._first_lasting(frontier))
        ends: np.ndarray = rows.take_lines(ending)[:, UNTIL]
        return ends

    def _first_lasting(self, frontier: Instant) -> int:
        """The first row that ends after the frontier."""
        rows = self._rows
        return int(first_lasting(rows.buffer, rows.base, rows.origin, rows.end, frontier))

    def save(self) -> pa.Table:
        """The rows that may become the least, as they came."""
        lines = self._in_deques()
        held = {"owner": lines[:, OWNER], "until": lines[:, UNTIL], "word": lines[:, WORD]}
        return arrays_table({name: np.ascontiguousarray(part) for name, part in held.items()})

    def load(self, saved: pa.Table, group_size: int) -> None:
        """Take over what `save` gave, into a new object."""
        owners, untils, words = table_arrays(saved).values()
        self._fit(group_size)
        lines = np.empty((len(owners), ROW), np.int64)
        lines[:, UNTIL], lines[:, WORD], lines[:, OWNER] = untils, words, owners
        self._hang(lines)
