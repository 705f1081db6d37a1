"""MIN or MAX of each group where rows end in the order in which they come ([G06] WKS): a deque per group.

Only rows that may still become the extreme are held, mostly a few of each group (kernels/deques.py).
Fixed-width values only: what orders them is one word, which also is the value.
"""

from __future__ import annotations

__all__ = ["FifoExtremes"]

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.engine.kernels.deques import (
    AFTER,
    ENTRY,
    FIRST,
    GROUP,
    UNTIL,
    WORD,
    hang_deques,
    settle_deques,
    sweep_deques,
)
from sash.engine.order_keys import prefixes, values_from_words, with_nulls
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.stable_keys import roomy
from sash.lifetimes import Changes, Instant

_SIGN = np.uint64(1 << 63)
_NOBODY = np.array([-1, -1, 0, 0, 0, 0, 0, 0])


class FifoExtremes:
    """The least (or `largest`) value of each group.

    A group's lane is its own number + 1 between steps (0: it has no value); within a step, each new
    value has a number beyond all groups.
    """

    def __init__(self, type_: pa.DataType, largest: bool) -> None:
        self._type = type_
        self._largest = largest
        self._groups, self._entries = np.empty((0, GROUP), np.int64), np.empty((0, ENTRY), np.int64)
        self._free = np.zeros(1, np.int64)
        self._stamp = 0
        self._known, self._new = 0, np.empty(0, np.int64)
        self._settled = np.empty(0, np.int64)
        self._changed = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._entries) - int(self._free[-1])

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        held = (self._groups, self._entries, self._free, self._settled)
        return sum(int(part.nbytes) for part in held)

    def step(
        self,
        rows: Changes,
        groups: np.ndarray,
        group_size: int,
        frontier: Instant,
        ends: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instants, groups and by how much the group's lane moves; `ends`: when rows of which groups end."""
        self._make_room(group_size, len(rows))
        words = prefixes(rows.columns[0])
        words = ((~words if self._largest else words) ^ _SIGN).view(np.int64)
        most = len(rows) + len(ends[0])
        touched, at, moved, by, new = (np.empty(most, np.int64) for _ in range(5))
        written = sweep_deques(
            rows.begin, groups, words, rows.until, *ends, self._groups, self._entries, self._free,
            self._stamp, group_size, touched, at, moved, by, new,
        )  # fmt: skip
        self._stamp += most
        self._known, self._new, self._changed = group_size, new[:written], moved[:written]
        return at[:written], moved[:written], by[:written]

    def _make_room(self, groups: int, coming: int) -> None:
        known = len(self._groups)
        self._groups, self._settled = roomy(self._groups, groups), roomy(self._settled, groups)
        self._groups[known:] = _NOBODY
        free, size = int(self._free[-1]), len(self._entries)
        if free < coming:
            fresh = max(16, coming - free, size // 4)
            self._entries = np.concatenate([self._entries, np.empty((fresh, ENTRY), np.int64)])
            stack = np.empty(size + fresh + 1, np.int64)
            stack[:free], stack[free : free + fresh] = self._free[:free], np.arange(size, size + fresh)
            stack[-1] = free + fresh
            self._free = stack

    def values(self, lane: np.ndarray) -> pa.Array:
        """The values that a lane stands for, NULL for 0."""
        there = lane > 0
        numbers = lane[there] - 1
        words = np.concatenate([self._settled[: self._known], self._new])[numbers]
        words = words.view(np.uint64) ^ _SIGN
        return with_nulls(values_from_words(~words if self._largest else words, self._type), there)

    def forget(self, lanes: np.ndarray, lane: int) -> None:
        """Number the groups' values anew; to be called when no state of this step is needed any more."""
        settle_deques(self._changed, self._groups, lanes, lane, self._settled)
        self._changed, self._new = self._changed[:0], self._new[:0]

    def save(self, name: str) -> dict[str, pa.Table]:
        """A table, its name beginning with `name`: all first entries, then all second ones, and so on."""
        layers = []
        group = np.flatnonzero(self._groups[:, FIRST] >= 0)
        entry = self._groups[group, FIRST]
        while len(entry):
            layers.append((group, entry))
            entry = self._entries[entry, AFTER]
            group, entry = group[entry >= 0], entry[entry >= 0]
        groups, entries = (
            np.concatenate([np.empty(0, np.int64), *(layer[side] for layer in layers)]) for side in (0, 1)
        )
        lines = self._entries[entries]
        held = {"group": groups, "until": lines[:, UNTIL].copy(), "word": lines[:, WORD].copy()}
        return {f"{name}_deques": arrays_table(held)}

    def load(self, saved: Mapping[str, pa.Table], name: str, group_size: int) -> None:
        """Take over what `save` gave, into a new object."""
        groups, untils, words = table_arrays(saved[f"{name}_deques"]).values()
        self._make_room(group_size, len(groups))
        hang_deques(groups, untils, words, self._groups, self._entries, self._free, self._settled)
        self._known = group_size
