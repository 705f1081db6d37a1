"""MIN or MAX of each group while values come and go: a pairing heap per group.

Over a stream that never loses rows only values that beat their group's best so far are looked at,
and the beaten ones are dropped.
"""

from __future__ import annotations

__all__ = ["Extremes", "deques_suffice", "extremes_for"]

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.engine.kernels.heaps import build_heaps, improving, sweep_extremes
from sash.engine.order_keys import (
    prefixes,
    value_bytes,
    values_from_bytes,
    values_from_words,
    with_nulls,
)
from sash.engine.state.fifo_extremes import FifoExtremes
from sash.engine.state.live_values import LiveValues
from sash.engine.state.ordered_bytes import OrderedBytes
from sash.engine.state.stable_keys import roomy
from sash.lifetimes import Changes, Instant
from sash.plan.patterns import Pattern


def extremes_for(type_: pa.DataType, largest: bool, pattern: Pattern) -> Extremes | FifoExtremes:
    """What follows MIN (or the `largest`) over rows that end by this pattern."""
    if deques_suffice(type_, pattern):
        return FifoExtremes(type_, largest)
    return Extremes(type_, largest, pattern is Pattern.MON)


def deques_suffice(type_: pa.DataType, pattern: Pattern) -> bool:
    """Whether rows end in the order in which they come, and one word says all about a value."""
    return pattern is Pattern.WKS and not _has_bytes(type_)


def _has_bytes(type_: pa.DataType) -> bool:
    """Whether one word does not say all about a value."""
    return bool(pa.types.is_string(type_) or pa.types.is_binary(type_) or pa.types.is_decimal(type_))


class Extremes:
    """The least (or `largest`) value of each group, as the number of the value."""

    def __init__(self, type_: pa.DataType, largest: bool, monotonic: bool) -> None:
        self._type = type_
        self._largest = largest
        self._monotonic = monotonic
        self._has_bytes = _has_bytes(type_)
        self._values = LiveValues(type_)
        self._order = OrderedBytes()
        self._inside = np.zeros(16, np.uint8)
        self._child, self._sibling = np.full(16, -1, np.int64), np.full(16, -1, np.int64)
        self._root, self._shown = np.full(16, -1, np.int64), np.zeros(16, np.int64)
        self._mark, self._stamp = np.zeros(16, np.int64), 0
        self._least, self._known = np.zeros(0, np.uint64), np.zeros(0, np.uint8)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        own = (self._inside, self._child, self._sibling, self._root, self._shown, self._mark, self._least)
        return self._values.nbytes + self._order.nbytes + sum(int(part.nbytes) for part in own)

    def step(
        self,
        rows: Changes,
        groups: np.ndarray,
        group_size: int,
        frontier: Instant,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instants, groups and by how much the group's lane moves: the number of its extreme + 1, or 0."""
        self._fit_groups(group_size)
        if self._monotonic:
            rows, groups = self._improvements(rows, groups)
        instants, numbers, deltas = self._values.events(rows, groups, frontier)
        self._enter_fresh()
        out = [np.empty(len(instants), np.int64) for _ in range(3)]
        order = self._order
        written = sweep_extremes(
            instants, numbers, deltas, self._values.copies, self._values.groups, self._inside,
            self._root, self._child, self._sibling,
            order.words, order.starts, order.ends, order.data, int(self._largest),
            self._stamp, self._mark, np.empty(len(instants), np.int64), self._shown, *out,
        )  # fmt: skip
        self._stamp += len(instants)
        at, moved, by = (part[:written] for part in out)
        return at, moved, by

    def _fit_groups(self, size: int) -> None:
        self._root = roomy(self._root, size, -1)
        self._shown, self._mark = roomy(self._shown, size), roomy(self._mark, size)
        if self._monotonic:
            self._least, self._known = roomy(self._least, size), roomy(self._known, size)

    def _improvements(self, rows: Changes, groups: np.ndarray) -> tuple[Changes, np.ndarray]:
        better = np.empty(len(rows), np.uint8)
        words = self._words(rows.columns[0])
        improving(groups, words, self._has_bytes, self._least, self._known, better)
        mask = better.view(np.bool_)
        return rows.filter(mask), groups[mask]

    def _words(self, values: pa.Array) -> np.ndarray:
        words = prefixes(values)
        return ~words if self._largest else words

    def _enter_fresh(self) -> None:
        fresh = self._values.fresh
        size = max(self._values.size, 16)
        self._inside = roomy(self._inside, size)
        self._child, self._sibling = roomy(self._child, size, -1), roomy(self._sibling, size, -1)
        if len(fresh):
            values = self._values.values(fresh)
            self._order.put(fresh, self._words(values), *value_bytes(values))

    def values(self, lane: np.ndarray) -> pa.Array:
        """The values that a lane stands for, NULL for 0."""
        there = lane > 0
        numbers = lane[there] - 1
        if self._has_bytes:
            found = values_from_bytes(*self._order.bytes_of(numbers), self._type)
        else:
            words = self._order.words[numbers]
            found = values_from_words(~words if self._largest else words, self._type)
        return with_nulls(found, there)

    def forget(self, lanes: np.ndarray, lane: int) -> None:
        """Drop dead values; to be called when no state of this step is needed any more. The lane stays."""
        if not self._values.is_due:
            return
        if self._monotonic:
            best = self._shown[self._values.groups[: self._values.size]] - 1
            beaten = best != np.arange(self._values.size)
            self._values.copies[: self._values.size][beaten] = 0
        left = self._values.forget()
        if left is not None:
            self._order.keep(left)
            self._build()

    def _build(self) -> None:
        size, order = self._values.size, self._order
        build_heaps(
            self._values.copies[:size], self._values.groups, self._inside,
            self._root, self._child, self._sibling, order.words, order.starts, order.ends,
            order.data, int(self._largest),
        )  # fmt: skip

    def save(self, name: str) -> dict[str, pa.Table]:
        """Tables, their names beginning with `name`."""
        return self._values.save(name)

    def load(self, saved: Mapping[str, pa.Table], name: str, group_size: int) -> None:
        """Take over what `save` gave, into a new object."""
        self._values.load(saved, name)
        self._fit_groups(group_size)
        self._enter_fresh()
        self._build()
        self._shown[: len(self._root)] = self._root + 1
        if self._monotonic:
            there = self._root >= 0
            self._known = roomy(there.astype(np.uint8), len(self._root))
            self._least = roomy(np.where(there, self._order.words[self._root], np.uint64(0)), len(self._root))
