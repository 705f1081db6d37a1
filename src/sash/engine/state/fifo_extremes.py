"""MIN or MAX of each group among other aggregates, where rows end in the order in which they come."""

from __future__ import annotations

__all__ = ["FifoExtremes"]

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.engine.kernels.deques import LANE, VALUE, settle_deques
from sash.engine.state.deques import Deques
from sash.engine.state.stable_keys import roomy
from sash.lifetimes import Changes, Instant


class FifoExtremes:
    """The least (or `largest`) value of each group.

    A group's lane is its own number + 1 between steps (0: it has no value); within a step, each new
    value has a number beyond all groups.
    """

    def __init__(self, type_: pa.DataType, largest: bool) -> None:
        self._deques = Deques(type_, largest, by_group=True)
        self._known, self._new = 0, np.empty(0, np.int64)
        self._settled = np.empty(0, np.int64)
        self._changed = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._deques)

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        return self._deques.nbytes + int(self._settled.nbytes)

    def step(
        self, rows: Changes, groups: np.ndarray, group_size: int, frontier: Instant
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instants, groups and by how much the group's lane moves; no value is NULL."""
        self._settled = roomy(self._settled, group_size)
        moves = self._deques.step(rows, groups, group_size, frontier)
        before, now = moves.lines[:, 0], moves.lines[:, 1]
        self._known, self._changed = group_size, moves.groups
        self._new = np.ascontiguousarray(moves.lines[:, 3])
        return moves.at, moves.groups, now - before

    def values(self, lane: np.ndarray) -> pa.Array:
        """The values that a lane stands for, NULL for 0."""
        words = np.concatenate([self._settled[: self._known], self._new, np.zeros(1, np.int64)])
        return self._deques.values(words[lane - 1], lane == 0)

    def forget(self, lanes: np.ndarray, lane: int) -> None:
        """Number the groups' values anew; to be called when no state of this step is needed any more."""
        settle_deques(self._changed, self._deques.groups, lanes, lane, self._settled)
        self._changed, self._new = self._changed[:0], self._new[:0]

    def save(self, name: str) -> dict[str, pa.Table]:
        """A table, its name beginning with `name`."""
        return {f"{name}_deques": self._deques.save()}

    def load(self, saved: Mapping[str, pa.Table], name: str, group_size: int) -> None:
        """Take over what `save` gave, into a new object."""
        self._deques.load(saved[f"{name}_deques"], group_size)
        self._known, self._settled = group_size, roomy(self._settled, group_size)
        showing = np.flatnonzero(self._deques.groups[:, LANE] > 0)
        self._settled[showing] = self._deques.groups[showing, VALUE]
