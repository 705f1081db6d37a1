"""The data model: a relation over time is a bag of rows, each with a lifetime and a weight.

A row lives in [begin, until); the relation at an instant is the sum of the weights of the rows
alive then. `until` is FOREVER where the end is not known yet; a row that must go early is followed
by the same row with the opposite weight and the lifetime [now, until). Negative tuples ([GH05] §3)
are the rows with weight -1; the direct approach ([G06] §2.3.3) is to trust `until`.
"""

from __future__ import annotations

__all__ = ["BEGINNING", "FOREVER", "Changes", "Instant", "Instants", "repeated"]

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Instant = int
"""A point in time: microseconds since 1970 in UTC, or a stream's own numbers."""

Instants = np.ndarray[tuple[int], np.dtype[np.int64]]

FOREVER: Instant = 2**63 - 1
"""The end of a row whose end is not known, or never comes."""

BEGINNING: Instant = -(2**62)
"""Before every row: the frontier of a clock that was never moved."""

_TIMES_SMALLER = 4
"""A slice that is this many times smaller than the whole does not keep the whole."""


_MANY = 1 << 20
"""Beyond this many, repeated numbers are not kept for the next time."""
_repeated: dict[int, Instants] = {value: np.empty(0, np.int64) for value in (1, FOREVER)}


def repeated(value: int, count: int) -> Instants:
    """1 or FOREVER as often as that, not to be written to: most weights and most ends need no room.

    >>> repeated(1, 3).tolist(), repeated(1, 2).base is repeated(1, 3).base
    ([1, 1, 1], True)
    """
    known = _repeated[value]
    if len(known) < count:
        known = np.full(count if count > _MANY else max(1024, count + count // 16), value, np.int64)
        known.flags.writeable = False
        if count <= _MANY:
            _repeated[value] = known
    return known[:count]


def _is_repeated(numbers: Sequence[Instants]) -> int | None:
    """The one number that all of these arrays repeat, as far as `repeated` made them."""
    for value, known in _repeated.items():
        if all(each.base is known for each in numbers):
            return value
    return None


def _concatenated(numbers: Sequence[Instants]) -> Instants:
    value = _is_repeated(numbers)
    return np.concatenate(numbers) if value is None else repeated(value, sum(map(len, numbers)))


def _taken(numbers: Instants, rows: np.ndarray) -> Instants:
    value = _is_repeated([numbers])
    return numbers[rows] if value is None else repeated(value, len(rows))


def _own(numbers: Instants) -> Instants:
    return numbers.copy() if _is_repeated([numbers]) is None else numbers


@dataclass(frozen=True, eq=False)
class Changes:
    """Signed lifetimes, column-wise: what one step puts on one edge of a circuit.

    On an edge, `begin` lies after the previous frontier and not after the new one.

    >>> some = Changes((pa.array(["a", "b"]),), np.array([1, 2]), np.array([5, FOREVER]), np.array([1, 1]))
    >>> len(some), some.alive(4).columns[0].to_pylist(), some.alive(5).columns[0].to_pylist()
    (2, ['a', 'b'], ['b'])
    """

    columns: tuple[pa.Array, ...]
    begin: Instants
    until: Instants
    weight: Instants

    def __len__(self) -> int:
        return len(self.begin)

    @staticmethod
    def empty(types: Sequence[pa.DataType]) -> Changes:
        """No rows, of the given types."""
        none = np.empty(0, np.int64)
        return Changes(tuple(pa.array([], type_) for type_ in types), none, none, none)

    @staticmethod
    def concat(parts: Sequence[Changes]) -> Changes:
        """All parts one after another; there must be at least one."""
        if len(parts) == 1:
            return parts[0]
        columns = tuple(
            pa.concat_arrays([part.columns[i] for part in parts]) for i in range(len(parts[0].columns))
        )
        return Changes(
            columns,
            np.concatenate([part.begin for part in parts]),
            _concatenated([part.until for part in parts]),
            _concatenated([part.weight for part in parts]),
        )

    def take(self, rows: np.ndarray) -> Changes:
        """The rows at the given positions (not a mask), in that order."""
        indices = pa.array(rows)
        columns = tuple(pc.take(column, indices, boundscheck=False) for column in self.columns)
        return Changes(columns, self.begin[rows], _taken(self.until, rows), _taken(self.weight, rows))

    def filter(self, mask: np.ndarray) -> Changes:
        """The rows where `mask` is true; the same object if that is all of them."""
        if mask.all():
            return self
        return self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> Changes:
        """The rows from `start` up to `stop`, without copying."""
        columns = tuple(column.slice(start, stop - start) for column in self.columns)
        return Changes(columns, self.begin[start:stop], self.until[start:stop], self.weight[start:stop])

    def rest(self, start: int) -> Changes:
        """The rows from `start` on, to be kept: copied where they are few, so that the others can go.

        >>> begin, ones = np.arange(100), np.ones(100, np.int64)
        >>> rest = Changes((pa.array(begin),), begin, begin + 9, ones).rest(98)
        >>> rest.begin.tolist(), rest.begin.base is None, rest.columns[0].buffers()[1].size
        ([98, 99], True, 16)
        """
        rest = self.slice(start, len(self))
        held = rest.begin if rest.begin.base is None else rest.begin.base
        few = isinstance(held, np.ndarray) and _TIMES_SMALLER * len(rest) <= held.size
        return rest._copied() if few else rest

    def _copied(self) -> Changes:
        """The same rows in memory of their own."""
        columns = tuple(pa.concat_arrays([column]) for column in self.columns)
        return Changes(columns, self.begin.copy(), _own(self.until), _own(self.weight))

    def with_columns(self, columns: Sequence[pa.Array]) -> Changes:
        """Other columns, the same lifetimes."""
        return Changes(tuple(columns), self.begin, self.until, self.weight)

    def alive(self, at: Instant) -> Changes:
        """The rows whose lifetime holds `at`."""
        return self.filter((self.begin <= at) & (at < self.until))

    @property
    def nbytes(self) -> int:
        """How many bytes the rows and their lifetimes take."""
        lifetimes = self.begin.nbytes + self.until.nbytes + self.weight.nbytes
        return int(lifetimes + sum(column.nbytes for column in self.columns))
