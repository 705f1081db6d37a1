"""What DISTINCT aggregates add up: each value of a group once, from its first copy to its last."""

from __future__ import annotations

__all__ = ["DistinctValues"]

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.engine.kernels.aggregating import sweep_values
from sash.engine.state.live_values import LiveValues
from sash.engine.state.stable_keys import roomy
from sash.lifetimes import Changes, Instant


class DistinctValues:
    """The distinct values of each group."""

    def __init__(self, type_: pa.DataType) -> None:
        self._values = LiveValues(type_)
        self._mark, self._stamp = np.zeros(16, np.int64), 0

    def __len__(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        return self._values.nbytes + int(self._mark.nbytes)

    def step(
        self, rows: Changes, groups: np.ndarray, frontier: Instant
    ) -> tuple[np.ndarray, np.ndarray, pa.Array, np.ndarray]:
        """Instants, groups, values and signs of the values that come into being or cease."""
        instants, numbers, deltas = self._values.events(rows, groups, frontier)
        self._mark = roomy(self._mark, self._values.size)
        touched, before = np.empty(len(instants), np.int64), np.empty(len(instants), np.int64)
        out = [np.empty(len(instants), np.int64) for _ in range(3)]
        written = sweep_values(
            instants, numbers, deltas, self._values.copies, self._stamp, self._mark, touched, before, *out
        )
        self._stamp += len(instants)
        at, moved, signs = (part[:written] for part in out)
        result = at, self._values.groups[moved], self._values.values(moved), signs
        self._values.forget()
        return result

    def save(self, name: str) -> dict[str, pa.Table]:
        """Tables, their names beginning with `name`."""
        return self._values.save(name)

    def load(self, saved: Mapping[str, pa.Table], name: str) -> None:
        """Take over what `save` gave, into a new object."""
        self._values.load(saved, name)
