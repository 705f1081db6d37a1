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

from sash.engine.kernels.counting import push_out
from sash.engine.operator import Operator, Saved, in_order
from sash.engine.ordering import by_value_within_instants
from sash.engine.state.key_table import KeyTable
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.language.windows import Window
from sash.lifetimes import FOREVER, Changes, Instant

_SLACK = 4096


@dataclass(eq=False)
class LastRows(Operator):
    """The last `window.rows` rows per partition, not older than `window.length` if that is given."""

    window: Window
    by_value: bool
    _partitions: KeyTable = field(init=False)
    _rings: Tape = field(init=False)
    _counts: Tape = field(init=False)
    _payload: Rows = field(init=False)
    _ends: Tape = field(init=False)
    _gone: int = 0

    def __post_init__(self) -> None:
        self._partitions = KeyTable([self.types[c] for c in self.window.partition])
        self._rings = Tape(np.int64, width=self.window.rows)
        self._counts, self._ends = Tape(np.int64), Tape(np.int64)
        self._payload = Rows(self.types)

    @property
    def ends_itself(self) -> bool:
        return self.window.length is None

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        if not len(changes):
            return Changes.empty(self.types)
        if self.by_value:
            changes = by_value_within_instants(changes)
        n = len(changes)
        slots = self._partitions.slots_of([changes.columns[c] for c in self.window.partition], n)
        self._rings.grow_to(len(self._partitions), -1)
        self._counts.grow_to(len(self._partitions), 0)
        first = self._payload.append(changes.columns, n)
        length = self.window.length
        untils = np.full(n, FOREVER) if length is None else changes.begin + length
        if length is not None:
            self._ends.append(untils)
        rows, begins = np.empty(n, np.int64), np.empty(n, np.int64)
        origin = self._payload.origin
        out = push_out(
            slots, changes.begin, first, origin, self._ends.view(),
            self._rings.view(), self._counts.view(), untils, rows, begins,
        )  # fmt: skip
        came = Changes(changes.columns, changes.begin, untils, changes.weight).filter(changes.begin < untils)
        left = self._negations(rows[:out], begins[:out])
        self._gone += n - int((untils > frontier).sum()) + out
        self._forget()
        return in_order(Changes.concat([came, left])) if len(left) else came

    def _negations(self, rows: np.ndarray, begins: np.ndarray) -> Changes:
        columns = tuple(self._payload.take(rows))
        known = len(self._ends) > 0
        untils = self._ends.view()[rows - self._payload.origin] if known else np.full(len(rows), FOREVER)
        return Changes(columns, begins, untils, np.full(len(rows), -1))

    def _forget(self) -> None:
        """Write the rows anew when half as many have left as stay."""
        held = len(self._payload)
        if 3 * self._gone <= held + _SLACK:
            return
        origin, rings = self._payload.origin, self._rings.view()
        numbers = rings[rings >= 0] - origin
        alive = np.zeros(held, bool)
        alive[numbers] = True
        moved = self._payload.keep(alive)
        rings[rings >= 0] = moved[numbers]
        if len(self._ends):
            self._ends.keep(alive)
        self._gone = 0

    def contents(self, frontier: Instant) -> Changes:
        rings = self._rings.view()
        rows = np.sort(rings[rings >= 0])
        untils = np.full(len(rows), FOREVER)
        if len(self._ends):
            untils = self._ends.view()[rows - self._payload.origin]
            rows, untils = rows[untils > frontier], untils[untils > frontier]
        begins = np.full(len(rows), frontier)
        return Changes(tuple(self._payload.take(rows)), begins, untils, np.ones(len(rows), np.int64))

    @property
    def rows(self) -> int:
        return len(self._payload) - self._gone

    @property
    def nbytes(self) -> int:
        tapes = (self._rings, self._counts, self._ends)
        return self._payload.nbytes + self._partitions.nbytes + sum(tape.nbytes for tape in tapes)

    def save(self) -> dict[str, pa.Table]:
        rings = self._rings.view()
        numbers = rings[rings >= 0]
        rows = np.sort(numbers)
        place = np.where(rings >= 0, np.searchsorted(rows, rings), -1)
        per_slot = {
            "counts": self._counts.view(),
            **{f"ring{j}": place[:, j].copy() for j in range(rings.shape[1])},
        }
        ends = (
            self._ends.view()[rows - self._payload.origin] if len(self._ends) else np.full(len(rows), FOREVER)
        )
        partitions, columns = self._partitions.all_columns(), self._payload.take(rows)
        return {
            "slots": arrays_table(per_slot),
            "partitions": pa.table(partitions, names=[str(i) for i in range(len(partitions))]),
            "columns": pa.table(columns, names=[str(i) for i in range(len(columns))]),
            "ends": arrays_table({"ends": ends}),
        }

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        per_slot, ends = table_arrays(saved["slots"]), table_arrays(saved["ends"])["ends"]
        self._counts.append(per_slot.pop("counts"))
        self._rings.append(np.stack(list(per_slot.values()), axis=1))
        self._partitions.slots_of(
            [c.combine_chunks() for c in saved["partitions"].columns], len(self._counts)
        )
        self._payload.append([c.combine_chunks() for c in saved["columns"].columns], len(ends))
        if self.window.length is not None:
            self._ends.append(ends)
        self._gone = 0
