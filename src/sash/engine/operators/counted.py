"""DISTINCT over strict inputs, EXCEPT and INTERSECT, as sets and as bags: all by counting.

Each value has a count per side; how many copies the answer holds is a function of the two
(kernels/presence.py). Both sides are kept as counts and as ends to come, never as rows.
"""

from __future__ import annotations

__all__ = ["CountedRows"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.events import events_of
from sash.engine.kernels.presence import sweep_counts
from sash.engine.operator import Operator, Saved, in_order
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.key_table import KeyTable
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.lifetimes import FOREVER, Changes, Instant

_END = (np.int64, np.int64, np.int64, np.int64)  # until, delta, slot, side


@dataclass(eq=False)
class CountedRows(Operator):
    """One or two inputs of the same columns, combined by `mode` of kernels/presence.py."""

    mode: int
    _values: KeyTable = field(init=False)
    _left: Tape = field(init=False)
    _right: Tape = field(init=False)
    _current: Tape = field(init=False)
    _opened: Tape = field(init=False)
    _ends: Calendar = field(init=False)
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)

    def __post_init__(self) -> None:
        self._values = KeyTable(self.types)
        self._left, self._right, self._current, self._opened = (Tape(np.int64) for _ in range(4))
        self._ends = Calendar(_END)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        rows = []
        for side, changes in enumerate(inputs):
            slots = self._values.slots_of(changes.columns, len(changes))
            rows.append((changes, (slots, np.full(len(changes), side))))
        instants, deltas, slots, sides = events_of(rows, self._ends, frontier)
        for tape in (self._left, self._right, self._current):
            tape.grow_to(len(self._values), 0)
        self._opened.grow_to(len(self._values), -1)
        out = [np.empty(2 * len(slots), np.int64) for _ in range(4)]
        written = sweep_counts(
            self.mode, instants, slots, sides, deltas, FOREVER, self._left.view(), self._right.view(),
            self._current.view(), self._opened.view(), *out,
        )  # fmt: skip
        out_slots, begin, until, weight = (part[:written] for part in out)
        result = in_order(Changes(tuple(self._values.columns(out_slots)), begin, until, weight))
        self._forget()
        return result

    def _forget(self) -> None:
        """Drop the values that are gone, looking each time their number has doubled."""
        if len(self._values) < self._look_at:
            return
        alive = (self._left.view() != 0) | (self._right.view() != 0)
        self._look_at = max(upkeep.FEW, 2 * int(alive.sum()))
        if 2 * int(alive.sum()) > len(alive):
            return
        moved = self._values.keep(alive)
        for tape in (self._left, self._right, self._current, self._opened):
            tape.keep(alive)
        until, deltas, slots, sides = self._ends.entries()
        self._ends = Calendar(_END)
        # A value with no live copies may have ends to come only in pairs that cancel.
        known = moved[slots] >= 0
        self._ends.add((until[known], deltas[known], moved[slots][known], sides[known]))

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return (self._ends,)

    @property
    def ends_itself(self) -> bool:
        return True

    def contents(self, frontier: Instant) -> Changes:
        slots = np.flatnonzero(self._current.view())
        begins, untils = np.full(len(slots), frontier), np.full(len(slots), FOREVER)
        return Changes(tuple(self._values.columns(slots)), begins, untils, self._current.view()[slots])

    @property
    def rows(self) -> int:
        return len(self._values) + len(self._ends)

    @property
    def nbytes(self) -> int:
        tapes = (self._left, self._right, self._current, self._opened)
        return self._values.nbytes + self._ends.nbytes + sum(tape.nbytes for tape in tapes)

    def save(self) -> dict[str, pa.Table]:
        values = self._values.all_columns()
        ends = dict(zip(("until", "deltas", "slots", "sides"), self._ends.entries(), strict=True))
        counts = {"left": self._left.view(), "right": self._right.view(), "current": self._current.view()}
        return {
            "values": pa.table(values, names=[str(i) for i in range(len(values))]),
            "counts": arrays_table(counts),
            "ends": arrays_table(ends),
        }

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        counts = table_arrays(saved["counts"])
        self._left.append(counts["left"])
        self._right.append(counts["right"])
        self._current.append(counts["current"])
        self._opened.grow_to(len(self._left), -1)
        self._values.slots_of([c.combine_chunks() for c in saved["values"].columns], len(self._left))
        self._ends.add(tuple(table_arrays(saved["ends"]).values()))
