"""Rows that wait for a frontier, given back in the order of (ts, arrival).

Every part is sorted when it comes; parts stand in order of arrival. Releasing takes the beginning
of each part, and sorts (stably, so that arrival breaks ties) only if the parts overlap: input that
is already in order is sliced, part by part, and copied only where a few rows would hold on to many. The same
buffer holds the rows within a stream's LATENESS, the rows of a fast stream that wait for a query's
slower ones, and future table changes.
"""

from __future__ import annotations

__all__ = ["Waiting", "lifetimes_of_rows", "released"]

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sash.engine.operator import in_order
from sash.lifetimes import FOREVER, Changes, Instant, Instants, repeated

_MANY_PARTS = 32
_LARGE_PART = 16_384  # rows; larger parts are left as they are, shared with whoever else holds them


def lifetimes_of_rows(columns: Sequence[pa.Array], ts: Instants) -> Changes:
    """A stream's rows as changes: each begins at its timestamp and never ends.

    >>> rows = lifetimes_of_rows([pa.array(["a"])], np.array([3]))
    >>> rows.begin.tolist(), rows.weight.tolist()
    ([3], [1])
    """
    return Changes(tuple(columns), ts, repeated(FOREVER, len(ts)), repeated(1, len(ts)))


class Waiting:
    """Changes that are not certain yet, by the instant at which they begin.

    >>> rows = Waiting()
    >>> rows.add(lifetimes_of_rows([pa.array(["c", "a"])], np.array([3, 1])))
    >>> rows.add(lifetimes_of_rows([pa.array(["b", "d"])], np.array([1, 4])))
    >>> [part.columns[0].to_pylist() for part in rows.release(3)], len(rows)
    ([['a', 'b', 'c']], 1)
    """

    def __init__(self, parts: Sequence[Changes] = ()) -> None:
        self._parts: list[Changes] = []
        for part in parts:
            self.add(part)

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    @property
    def nbytes(self) -> int:
        """How many bytes the waiting rows take."""
        return sum(part.nbytes for part in self._parts)

    def add(self, changes: Changes, *, ordered: bool = False) -> None:
        """Let these wait too; they arrived after all that wait already.

        `ordered` says that they are known to be in time order.
        """
        if not len(changes):
            return
        self._parts.append(changes if ordered else in_order(changes))
        if len(self._parts) > _MANY_PARTS:
            self._merge_small()

    def release(self, frontier: Instant) -> list[Changes]:
        """Take out all that begins at or before the frontier: parts that follow one another in time."""
        taken: list[Changes] = []
        kept: list[Changes] = []
        for part in self._parts:
            stop = _count_until(part.begin, frontier)
            if stop:
                taken.append(part.slice(0, stop) if stop < len(part) else part)
            if stop < len(part):
                kept.append(part.rest(stop) if stop else part)
        self._parts = kept
        return taken if _chained(taken) else [_merged(taken)]

    def peek(self, frontier: Instant) -> Changes | None:
        """What `release` would give, as one and left where it is; None if that is nothing."""
        stops = [(part, _count_until(part.begin, frontier)) for part in self._parts]
        taken = [part.slice(0, stop) for part, stop in stops if stop]
        return _merged(taken) if taken else None

    def everything(self) -> Changes | None:
        """All that waits, left where it is."""
        return self.peek(FOREVER)

    def _merge_small(self) -> None:
        """Merge neighbours of like size, newest first, so that the number of parts stays small.

        Neighbours only: the order of arrival between parts must survive.
        """
        parts = self._parts
        merged = [parts[-1]]
        for part in reversed(parts[:-1]):
            if len(merged[-1]) < _LARGE_PART and len(part) <= 2 * len(merged[-1]):
                merged[-1] = _merged([part, merged[-1]])
            else:
                merged.append(part)
        self._parts = merged[::-1]


def released(waiting: Mapping[str, Waiting], frontier: Instant) -> dict[str, list[Changes]]:
    """What begins by the frontier, by name; nobody else holds it, so that it can go once it is used."""
    taken = ((name, each.release(frontier)) for name, each in waiting.items())
    return {name: parts for name, parts in taken if parts}


def _chained(parts: Sequence[Changes]) -> bool:
    """Whether sorted parts follow one another in time."""
    return all(a.begin[-1] <= b.begin[0] for a, b in pairwise(parts))


def _merged(parts: Sequence[Changes]) -> Changes:
    """Sorted parts as one; equal instants keep the order of the parts."""
    whole = Changes.concat(parts)
    return whole if _chained(parts) else in_order(whole)


def _count_until(begins: Instants, frontier: Instant) -> int:
    """How many of the sorted instants are not after the frontier."""
    if begins[-1] <= frontier:
        return len(begins)
    return int(np.searchsorted(begins, frontier, side="right"))
