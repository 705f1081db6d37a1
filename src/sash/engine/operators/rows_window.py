"""Windows by count in general: the last n rows of a stream or partition, also with SLIDE and RANGE.

When a row leaves is not known until later rows come, so the edge is strict ([G06] §3.2.2): a row
leaves by its negation, or with a closed lifetime if it came in the same step. Space is n rows per
partition.
"""

from __future__ import annotations

__all__ = ["RowsWindow"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.kernels.counting import count_windows
from sash.engine.kernels.ordering import argsort_instants
from sash.engine.operator import Operator, Saved
from sash.engine.ordering import by_value_within_instants
from sash.engine.state import upkeep
from sash.engine.state.key_table import KeyTable
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.language.windows import Window
from sash.lifetimes import FOREVER, Changes, Instant

_PER_SLOT = ("counts", "held", "heads", "waits", "tails")


@dataclass(eq=False)
class RowsWindow(Operator):
    """The last rows by count. `by_value`: rows of one instant are numbered in order of value."""

    window: Window
    by_value: bool
    _partitions: KeyTable = field(init=False)
    _payload: Rows = field(init=False)
    _slots: dict[str, np.ndarray] = field(init=False)
    _following: Tape = field(init=False)
    _ends: Tape = field(init=False)
    _shown: Tape = field(init=False)
    _left: int = 0

    def __post_init__(self) -> None:
        self._partitions = KeyTable([self.types[c] for c in self.window.partition])
        self._payload = Rows(self.types)
        self._slots = {name: np.empty(0, np.int64) for name in _PER_SLOT}
        self._following, self._ends, self._shown = Tape(np.int64), Tape(np.int64), Tape(np.int64)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        if not len(changes):
            return Changes.empty(self.types)
        if self.by_value:
            changes = by_value_within_instants(changes)
        n = len(changes)
        slots = self._partitions.slots_of([changes.columns[c] for c in self.window.partition], n)
        self._make_room()
        first = self._payload.append(changes.columns, n)
        blank = np.full(n, -1)
        length = self.window.length
        self._following.append(blank)
        self._shown.append(blank)
        self._ends.append(np.full(n, FOREVER) if length is None else changes.begin + length)
        rows, begin, until, weight = self._count(slots, changes.begin, first)
        order = np.flatnonzero(begin < until)
        sorting = argsort_instants(begin[order])
        order = order if sorting is None else order[sorting]
        columns = self._payload.take(rows[order])
        self._forget()
        return Changes(tuple(columns), begin[order], until[order], weight[order])

    def _count(self, slots: np.ndarray, instants: np.ndarray, first: int) -> tuple[np.ndarray, ...]:
        slide = self.window.slide or 1
        waiting = 0 if slide == 1 else int((self._slots["counts"] % slide).sum())
        out = [np.empty(2 * (len(slots) + waiting), np.int64) for _ in range(4)]
        left = np.array([self._left])
        size = self.window.rows
        assert size is not None
        written = count_windows(
            slots, instants, first, self._payload.origin, size, slide,
            self._following.view(), self._ends.view(), self._shown.view(),
            *self._slots.values(), *out, left,
        )  # fmt: skip
        self._left = int(left[0])
        self._shown.view()[out[0][:written] - self._payload.origin] = -1
        return tuple(part[:written] for part in out)

    def _forget(self) -> None:
        """Write the rows anew when more have left than stay."""
        held = len(self._payload)
        if self._left <= held // 2 + upkeep.FEW:
            return
        alive = np.zeros(held, bool)
        alive[self._along(self._slots["heads"])] = True
        origin = self._payload.origin
        moved = self._payload.keep(alive)
        following, ends = self._following.view()[alive], self._ends.view()[alive]
        self._following, self._ends, self._shown = Tape(np.int64), Tape(np.int64), Tape(np.int64)
        self._following.append(_renumbered(following, moved, origin))
        self._ends.append(ends)
        self._shown.append(np.full(len(ends), -1))
        for name in ("heads", "waits", "tails"):
            self._slots[name] = _renumbered(self._slots[name], moved, origin)
        self._left = 0

    @property
    def ends_itself(self) -> bool:
        return self.window.length is None

    def contents(self, frontier: Instant) -> Changes:
        entered = np.setdiff1d(self._along(self._slots["heads"]), self._along(self._slots["waits"]))
        shown = entered + self._payload.origin
        begins, untils = np.full(len(shown), frontier), np.full(len(shown), FOREVER)
        return Changes(tuple(self._payload.take(shown)), begins, untils, np.ones(len(shown), np.int64))

    def _along(self, starts: np.ndarray) -> np.ndarray:
        """The places of the rows from `starts` to the ends of their lists."""
        found = [np.empty(0, np.int64)]
        row = starts
        while len(row := row[row >= 0]):
            found.append(row - self._payload.origin)
            row = self._following.view()[found[-1]]
        return np.concatenate(found)

    def _make_room(self) -> None:
        """State for partitions seen for the first time."""
        new = len(self._partitions) - len(self._slots["counts"])
        if new > 0:
            for name, array in self._slots.items():
                fill = 0 if name in ("counts", "held") else -1
                self._slots[name] = np.concatenate([array, np.full(new, fill)])

    @property
    def rows(self) -> int:
        return len(self._payload) - self._left

    @property
    def nbytes(self) -> int:
        tapes = (self._following, self._ends, self._shown)
        slots = sum(array.nbytes for array in self._slots.values())
        return self._payload.nbytes + self._partitions.nbytes + slots + sum(tape.nbytes for tape in tapes)

    def save(self) -> dict[str, pa.Table]:
        if not len(self._payload):
            return {}
        origin = self._payload.origin
        per_row = {"following": self._following.view(), "ends": self._ends.view()}
        names = [str(i) for i in range(len(self.types))]
        partitions = self._partitions.all_columns()
        return {
            "rows": arrays_table(per_row),
            "payload": pa.table(self._payload.all_columns(), names=names),
            "slots": arrays_table(self._slots),
            "partitions": pa.table(partitions, names=[str(i) for i in range(len(partitions))]),
            "numbers": arrays_table({"origin": np.array([origin]), "left": np.array([self._left])}),
        }

    def load(self, saved: Saved) -> None:
        if not saved:
            return
        numbers = table_arrays(saved["numbers"])
        origin, self._left = int(numbers["origin"][0]), int(numbers["left"][0])
        per_row = table_arrays(saved["rows"])
        self._payload = Rows(self.types, origin)
        count = saved["rows"].num_rows
        self._payload.append([column.combine_chunks() for column in saved["payload"].columns], count)
        self._following, self._ends, self._shown = (Tape(np.int64, origin) for _ in range(3))
        self._following.append(per_row["following"])
        self._ends.append(per_row["ends"])
        self._shown.append(np.full(count, -1))
        self._slots = table_arrays(saved["slots"])
        partitions = [column.combine_chunks() for column in saved["partitions"].columns]
        self._partitions.slots_of(partitions, len(self._slots["counts"]))


def _renumbered(rows: np.ndarray, moved: np.ndarray, origin: int) -> np.ndarray:
    """Row numbers after a rewrite; -1 stays."""
    return np.where(rows >= 0, moved[np.maximum(rows - origin, 0)], -1)
