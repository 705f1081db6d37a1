"""Distinct rows as an answer: when each value comes, and when the last of its rows has gone.

Between operators a value's row has to carry its end (distinct.py); an answer only shows it once it
is there. So a value keeps the end of its longest-lived row, and is looked at again when the end that
was known at the last look has come.
"""

from __future__ import annotations

__all__ = ["DistinctAnswer"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.kernels.distinct import come_and_go
from sash.engine.operator import Operator, Saved, in_order
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.key_table import KeyTable
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant, repeated

_END, _LOOK = range(2)


@dataclass(eq=False)
class DistinctAnswer(Operator):
    """Values come by a positive and go by a negative row; needs an input without negative rows."""

    _values: KeyTable = field(init=False)
    _lives: Tape = field(init=False)
    _due: Calendar = field(init=False)
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)

    def __post_init__(self) -> None:
        self._values = KeyTable(self.types)
        self._lives = Tape(np.int64, width=2)
        self._due = Calendar((np.int64, np.int64))

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        slots = self._values.slots_of(changes.columns, len(changes))
        self._lives.grow_to(len(self._values), BEGINNING)
        lives = self._lives.view()
        _, due = self._due.pop(frontier)
        room = 2 * len(slots) + len(due)
        values, at, change = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int8)
        later, counts = np.empty(len(slots) + len(due), np.int64), np.empty(2, np.int64)
        come_and_go(
            slots, changes.begin, changes.until, due, frontier, BEGINNING, lives,
            values, at, change, later, counts,
        )  # fmt: skip
        written, later = int(counts[0]), later[: counts[1]]
        self._due.add((lives[later, _END], later))
        columns = tuple(self._values.columns(values[:written]))
        signs = change[:written].astype(np.int64)
        result = in_order(Changes(columns, at[:written], repeated(FOREVER, written), signs))
        self._forget()
        return result

    def _forget(self) -> None:
        """Drop the values that are gone, looking each time their number has doubled."""
        if len(self._values) < self._look_at:
            return
        alive = self._lives.view()[:, _END] != BEGINNING
        living = int(alive.sum())
        self._look_at = max(upkeep.FEW, 2 * living)
        if 2 * living > len(alive):
            return
        moved = self._values.keep(alive)
        self._lives.keep(alive)
        ends, slots = self._due.entries()
        self._due = Calendar((np.int64, np.int64))
        self._due.add((ends, moved[slots]))

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return (self._due,)

    @property
    def ends_itself(self) -> bool:
        return True

    @property
    def is_net(self) -> bool:
        return True

    def contents(self, frontier: Instant) -> Changes:
        slots = np.flatnonzero(self._lives.view()[:, _END] != BEGINNING)
        begin, until = np.full(len(slots), frontier), np.full(len(slots), FOREVER)
        return Changes(tuple(self._values.columns(slots)), begin, until, np.ones(len(slots), np.int64))

    @property
    def rows(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + self._lives.nbytes + self._due.nbytes

    def save(self) -> dict[str, pa.Table]:
        names = [str(i) for i in range(len(self.types))]
        ends = np.ascontiguousarray(self._lives.view()[:, _END])
        return {
            "values": pa.table(self._values.all_columns(), names=names),
            "state": arrays_table({"ends": ends}),
        }

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        ends = table_arrays(saved["state"])["ends"]
        self._lives.append(np.stack([ends, ends], axis=1))
        self._values.slots_of([column.combine_chunks() for column in saved["values"].columns], len(ends))
        present = np.flatnonzero(ends != BEGINNING)
        self._due.add((ends[present], present))
