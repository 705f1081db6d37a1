"""Distinct rows over a window: one copy of each value, for as long as any row with it lives.

If the input cannot end early (MON, WKS, WK), each value keeps the end of its row in the answer and
of its longest-lived row: the delta-star operator of [G06] §3.5.2, whose space is at most twice the
answer and whose results have known ends. Inputs with negative rows are counted instead (counted.py
in this folder), and right below the answer ends need not be known ahead (distinct_answer.py).
"""

from __future__ import annotations

__all__ = ["DistinctRows"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.kernels.distinct import extend_distinct
from sash.engine.operator import Operator, Saved, in_order
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.key_table import KeyTable
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.lifetimes import BEGINNING, Changes, Instant


@dataclass(eq=False)
class DistinctRows(Operator):
    """Delta-star: needs an input without negative rows."""

    _values: KeyTable = field(init=False)
    _ends: Tape = field(init=False)
    _longest: Tape = field(init=False)
    _shown: Tape = field(init=False)
    _due: Calendar = field(init=False)
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)

    def __post_init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._values = KeyTable(self.types)
        self._ends, self._longest, self._shown = Tape(np.int64), Tape(np.int64), Tape(np.int64)
        self._due = Calendar((np.int64, np.int64))

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        slots = self._values.slots_of(changes.columns, len(changes))
        for tape, fill in ((self._ends, BEGINNING), (self._longest, BEGINNING), (self._shown, -1)):
            tape.grow_to(len(self._values), fill)
        due_ends, due_slots = self._due.pop(frontier)
        out = [np.empty(2 * len(slots) + len(due_slots), np.int64) for _ in range(3)]
        written = extend_distinct(
            slots, changes.begin, changes.until, due_ends, due_slots,
            self._ends.view(), self._longest.view(), self._shown.view(), *out,
        )  # fmt: skip
        out_slots, begin, until = (part[:written] for part in out)
        later = until > frontier
        self._due.add((until[later], out_slots[later]))
        columns = self._values.columns(out_slots)
        result = in_order(Changes(tuple(columns), begin, until, np.ones(written, np.int64)))
        self._forget(frontier)
        return result

    def _forget(self, frontier: Instant) -> None:
        """Drop the values that are gone, looking each time their number has doubled."""
        if len(self._values) < self._look_at:
            return
        alive = self._longest.view() > frontier
        self._look_at = max(upkeep.FEW, 2 * int(alive.sum()))
        if 2 * int(alive.sum()) > len(alive):
            return
        moved = self._values.keep(alive)
        for tape in (self._ends, self._longest, self._shown):
            tape.keep(alive)
        ends, slots = self._due.entries()
        self._due = Calendar((np.int64, np.int64))
        self._due.add((ends, moved[slots]))

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return (self._due,)

    @property
    def rows(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        return int(self._values.nbytes + self._ends.nbytes + self._longest.nbytes + self._due.nbytes)

    def save(self) -> dict[str, pa.Table]:
        names = [str(i) for i in range(len(self.types))]
        values = pa.table(self._values.all_columns(), names=names)
        return {
            "values": values,
            "state": arrays_table({"ends": self._ends.view(), "longest": self._longest.view()}),
        }

    def load(self, saved: Saved) -> None:
        self._clear()
        state = table_arrays(saved["state"])
        self._ends.append(state["ends"])
        self._longest.append(state["longest"])
        self._shown.grow_to(len(self._ends), -1)
        columns = [column.combine_chunks() for column in saved["values"].columns]
        slots = self._values.slots_of(columns, len(self._ends))
        self._due.add((state["ends"], slots))
