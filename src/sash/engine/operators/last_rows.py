"""The last few rows of each partition: count windows that are small and do not slide.

Each partition has a ring of row numbers, and a row pushes out the one that came a ring's length
before it: by its negation, or with a closed lifetime if it came in the same step ([G06] §3.2.2).
Larger windows and SLIDE are in rows_window.py.
"""

from __future__ import annotations

__all__ = ["LastRows"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.kernels.counting import find_in_rings, push_out
from sash.engine.kernels.ordering import merge_order
from sash.engine.operator import Operator, Saved
from sash.engine.ordering import by_value_within_instants
from sash.engine.state import upkeep
from sash.engine.state.key_table import KeyTable
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.language.windows import Window
from sash.lifetimes import FOREVER, Changes, Instant

_AT_ONCE = 32_768
"""How many of the oldest rows are looked through at least when some have to go."""
_HIGHEST = 1 << 30
"""Row numbers up to here, and those of one step more, fit 32 bits."""


@dataclass(eq=False)
class LastRows(Operator):
    """The last `window.rows` rows per partition, not older than `window.length` if that is given."""

    window: Window
    by_value: bool
    _partitions: KeyTable = field(init=False)
    _rings: Tape = field(init=False)
    _held: np.ndarray = field(init=False)
    _payload: Rows = field(init=False)
    _ends: Tape = field(init=False)

    def __post_init__(self) -> None:
        self._partitions = KeyTable([self.types[c] for c in self.window.partition])
        assert self.window.rows is not None
        self._rings = Tape(np.int32, width=1 + self.window.rows)
        self._held = np.zeros(1, np.int64)  # row numbers in the rings
        self._payload = Rows(self.types)
        self._ends = Tape(np.int64)

    @property
    def ends_itself(self) -> bool:
        return self.window.length is None

    @property
    def _numbers(self) -> np.ndarray:
        """The row numbers in the rings, -1 where there is none."""
        return self._rings.view()[:, 1:]

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        if not len(changes):
            return Changes.empty(self.types)
        if self.by_value:
            changes = by_value_within_instants(changes)
        n = len(changes)
        slots = self._partitions.slots_of([changes.columns[c] for c in self.window.partition], n)
        self._rings.grow_to(len(self._partitions), -1)
        first = self._payload.append(changes.columns, n)
        length = self.window.length
        untils = np.full(n, FOREVER) if length is None else changes.begin + length
        if length is not None:
            self._ends.append(untils)
        rows, begins = np.empty(n, np.int64), np.empty(n, np.int64)
        out = push_out(
            slots, changes.begin, first, self._payload.origin, self._ends.view(),
            self._rings.view(), self._held, untils, rows, begins,
        )  # fmt: skip
        came = Changes(changes.columns, changes.begin, untils, changes.weight).filter(changes.begin < untils)
        result = self._with_negations(came, rows[:out], begins[:out]) if out else came
        self._forget(frontier)
        return result

    def _with_negations(self, came: Changes, rows: np.ndarray, begins: np.ndarray) -> Changes:
        """What came, and rows of earlier steps that go, in time order."""
        n = len(came)
        order, begins = merge_order(came.begin, begins)
        columns = self._payload.take_beside(came.columns, rows, order)
        known = len(self._ends) > 0
        ends = self._ends.view()[rows - self._payload.origin] if known else np.full(len(rows), FOREVER)
        untils = np.concatenate([came.until, ends])[order]
        return Changes(tuple(columns), begins, untils, np.where(order < n, 1, -1))

    def _forget(self, frontier: Instant) -> None:
        """Move the oldest rows that stay, as long as a quarter as many have left as stay."""
        while 5 * (len(self._payload) - self.rows) > len(self._payload) + upkeep.FEW:
            self._empty_oldest(frontier)
        if self._payload.end > _HIGHEST:
            numbers = self._numbers
            numbers[numbers >= 0] -= self._payload.origin
            self._payload.renumber()
            self._ends.origin = 0

    def _empty_oldest(self, frontier: Instant) -> None:
        """Move what lives of the oldest rows to the end: few rows, mostly, if partitions are alike."""
        origin, rings = self._payload.origin, self._rings.view()
        stop = min(origin + _AT_ONCE, self._payload.end)
        places = np.full(stop - origin, -1, np.int32)
        find_in_rings(rings, origin, places)
        if len(self._ends):
            ended = (self._ends.view()[: stop - origin] <= frontier) & (places >= 0)
            rings.reshape(-1)[places[ended]] = places[ended] = -1
            self._held[0] -= np.count_nonzero(ended)
        rows = np.flatnonzero(places >= 0)
        columns, ends = self._payload.take(rows + origin), self._ends.view()[rows if len(self._ends) else []]
        self._payload.forget_before(stop)
        self._ends.forget_before(stop)
        self._ends.append(ends)
        first = self._payload.append(columns, len(rows))
        rings.reshape(-1)[places[rows]] = np.arange(first, first + len(rows))

    def contents(self, frontier: Instant) -> Changes:
        rows, untils = self._kept()
        lasting = untils > frontier
        rows, untils = rows[lasting], untils[lasting]
        begins = np.full(len(rows), frontier)
        return Changes(tuple(self._payload.take(rows)), begins, untils, np.ones(len(rows), np.int64))

    def _kept(self) -> tuple[np.ndarray, np.ndarray]:
        """The row numbers in the rings, rising, and when those rows end at the latest."""
        numbers = self._numbers
        rows = np.sort(numbers[numbers >= 0]).astype(np.int64)
        known = len(self._ends) > 0
        ends = self._ends.view()[rows - self._payload.origin] if known else np.full(len(rows), FOREVER)
        return rows, ends

    @property
    def rows(self) -> int:
        return int(self._held[0])

    @property
    def nbytes(self) -> int:
        return self._payload.nbytes + self._partitions.nbytes + self._rings.nbytes + self._ends.nbytes

    def save(self) -> dict[str, pa.Table]:
        rows, ends = self._kept()
        rings = self._oldest_first()
        place = np.where(rings >= 0, np.searchsorted(rows, rings), -1)
        per_slot = {
            "counts": np.count_nonzero(rings >= 0, axis=1),
            **{f"ring{j}": place[:, j].copy() for j in range(rings.shape[1])},
        }
        partitions, columns = self._partitions.all_columns(), self._payload.take(rows)
        return {
            "slots": arrays_table(per_slot),
            "partitions": pa.table(partitions, names=[str(i) for i in range(len(partitions))]),
            "columns": pa.table(columns, names=[str(i) for i in range(len(columns))]),
            "ends": arrays_table({"ends": ends}),
        }

    def _oldest_first(self) -> np.ndarray:
        """The row numbers in the rings from old to new, then -1 where there is none."""
        numbers, following = self._numbers, self._rings.view()[:, :1] - 1
        size = numbers.shape[1]
        turned = np.take_along_axis(numbers, (following + np.arange(size)) % size, axis=1)
        return np.take_along_axis(turned, np.argsort(turned < 0, axis=1, kind="stable"), axis=1)

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        per_slot, ends = table_arrays(saved["slots"]), table_arrays(saved["ends"])["ends"]
        following, rings = per_slot.pop("counts"), list(per_slot.values())
        self._rings.append(np.stack([following % len(rings) + 1, *rings], axis=1))
        self._held[0] = len(ends)
        self._partitions.slots_of([c.combine_chunks() for c in saved["partitions"].columns], len(self._rings))
        self._payload.append([c.combine_chunks() for c in saved["columns"].columns], len(ends))
        if self.window.length is not None:
            self._ends.append(ends)
