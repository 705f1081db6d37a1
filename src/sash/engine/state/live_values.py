"""The distinct values of each group with their copies, and when copies come and go.

DISTINCT aggregates, MIN and MAX look at values, not rows: a value matters from its first copy to its
last. A value is a number that stays its own while it has copies (stable_keys.py).
"""

from __future__ import annotations

__all__ = ["LiveValues", "merged", "not_null"]

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.engine.encoding import any_null
from sash.engine.kernels.aggregating import count_runs, merge_partials
from sash.engine.kernels.ordering import argsort_instants
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.stable_keys import StableKeys, roomy
from sash.lifetimes import Changes, Instant

_END = (np.int64, np.int64, np.int64)

Arrays = tuple[np.ndarray, ...]


def merged(begin: np.ndarray, until: np.ndarray, groups: np.ndarray, ints: np.ndarray, floats: np.ndarray,
           last: np.ndarray) -> Arrays:  # fmt: skip
    """Rows of one group and lifetime added up, where instants repeat often enough to pay for it."""
    n = len(begin)
    if 2 * count_runs(begin) > n:
        return begin, until, groups, ints, floats
    out = [np.empty(n, np.int64) for _ in range(3)]
    out_ints, out_floats = np.empty(ints.shape, np.int64), np.empty(floats.shape, np.float64)
    used = merge_partials(groups, begin, until, ints, floats, last, *out, out_ints, out_floats)
    if used < 0:
        return begin, until, groups, ints, floats
    # Copies of the right size: these go on living in the calendar.
    parts = (out[1], out[2], out[0], out_ints, out_floats)
    return tuple(part[:used].copy() for part in parts)


def not_null(rows: Changes, groups: np.ndarray) -> tuple[Changes, np.ndarray]:
    """The rows whose only column is not NULL, with their groups."""
    missing = any_null(rows.columns)
    return (rows, groups) if missing is None else (rows.filter(~missing), groups[~missing])


class LiveValues:
    """Numbers for (group, value) with copies; `copies` and `groups` are by number."""

    def __init__(self, type_: pa.DataType) -> None:
        self._keys = StableKeys([pa.int64(), type_])
        self._ends = Calendar(_END)
        self._look_at = upkeep.FEW
        self._last = np.zeros(16, np.int64)
        self.copies = np.zeros(16, np.int64)
        self.groups = np.zeros(16, np.int64)
        self.fresh = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def size(self) -> int:
        """One more than the greatest number."""
        return self._keys.size

    @property
    def nbytes(self) -> int:
        """How many bytes are held."""
        own = self.copies.nbytes + self.groups.nbytes + self._last.nbytes
        return int(self._keys.nbytes + self._ends.nbytes + own)

    def events(self, rows: Changes, groups: np.ndarray, frontier: Instant) -> Arrays:
        """Instants, numbers and changes of copies up to the frontier, in time order.

        `rows` has one column, the values, none of them NULL. Numbers that are new are in `fresh`.
        """
        numbers = self._keys.numbers_of([pa.array(groups), *rows.columns], len(rows))
        self.fresh = self._keys.fresh
        self.copies, self.groups = roomy(self.copies, self.size), roomy(self.groups, self.size)
        self._last = roomy(self._last, self.size)
        self.groups[numbers] = groups
        weight, none = rows.weight.reshape(-1, 1), np.empty((len(rows), 0))
        begin, until, numbers, weight, _ = merged(rows.begin, rows.until, numbers, weight, none, self._last)
        self._ends.add((until, numbers, weight[:, 0]))
        gone, gone_numbers, gone_weight = self._ends.pop(frontier)
        if not len(gone):
            return begin, numbers, weight[:, 0].copy()
        instants = np.concatenate([begin, gone])
        order = argsort_instants(instants)
        both = instants, np.concatenate([numbers, gone_numbers]), np.concatenate([weight[:, 0], -gone_weight])
        return both if order is None else tuple(part[order] for part in both)

    def values(self, numbers: np.ndarray) -> pa.Array:
        """The values of the given numbers."""
        return self._keys.columns(numbers)[1]

    @property
    def is_due(self) -> bool:
        """Whether it is time to look for values without copies: their number has doubled."""
        return len(self._keys) >= self._look_at

    def forget(self) -> np.ndarray | None:
        """Drop the values without copies, once at least half are; gives the numbers left, if so.

        Ends to come of a dropped value can only be pairs that cancel, so its number may be given again.
        """
        if not self.is_due:
            return None
        known = self._keys.known()
        left: np.ndarray = known[self.copies[known] != 0]
        self._look_at = max(upkeep.FEW, 2 * len(left))
        if 2 * len(left) > len(known):
            return None
        alive = np.zeros(self.size, np.bool_)
        alive[left] = True
        self._keys.keep(alive)
        return left

    def save(self, name: str) -> dict[str, pa.Table]:
        """Tables, their names beginning with `name`."""
        known = self._keys.known()
        group, value = self._keys.all_columns()
        columns = {"group": group, "value": value, "number": known, "copies": self.copies[known]}
        ends = dict(zip(("until", "number", "weight"), self._ends.entries(), strict=True))
        return {
            f"{name}_values": pa.table({k: pa.array(v) for k, v in columns.items()}),
            f"{name}_size": arrays_table({"size": np.array([self.size])}),
            f"{name}_ends": arrays_table(ends),
        }

    def load(self, saved: Mapping[str, pa.Table], name: str) -> None:
        """Take over what `save` gave, into a new object; every number in use is then in `fresh`."""
        table = saved[f"{name}_values"]
        group, value = (table.column(i).combine_chunks() for i in ("group", "value"))
        numbers, size = table.column("number").to_numpy(), int(saved[f"{name}_size"].column(0)[0].as_py())
        self._keys.restore([group, value], numbers, size)
        self.copies, self.groups = roomy(self.copies, size), roomy(self.groups, size)
        self._last = roomy(self._last, size)
        self.copies[numbers] = table.column("copies").to_numpy()
        self.groups[numbers] = group.to_numpy()
        self.fresh = np.array(numbers)
        self._ends.add(tuple(table_arrays(saved[f"{name}_ends"]).values()))
