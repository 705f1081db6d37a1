"""Semi- and anti-join: left rows while a right row with their key lives, or while none does.

The right side is kept as counts per key and ends to come; live left rows hang on their key, so that
a key that appears or vanishes touches only its own rows. Negation is strict ([G06] §3.2.2): what
must go early is followed by its negation.
"""

from __future__ import annotations

__all__ = ["SemiJoinRows"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.encoding import any_null
from sash.engine.events import events_of
from sash.engine.expressions import Faults, evaluate
from sash.engine.kernels.ordering import argsort_instants
from sash.engine.kernels.presence import sweep_shown
from sash.engine.netting import net
from sash.engine.operator import Operator, Saved, in_order
from sash.engine.state.calendar import Calendar
from sash.engine.state.key_table import KeyTable
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.language.expressions import Expression
from sash.lifetimes import Changes, Instant

_END = (np.int64, np.int64, np.int64)  # until, delta, slot
_COUNT, _MATCHED, _HEAD = range(3)
_OLDER, _UNTIL, _WEIGHT, _LINE = range(4)
_UNSEEN = np.array([0, 0, -1])
_SLACK = 4096


@dataclass(eq=False)
class SemiJoinRows(Operator):
    """Left rows by whether the right side has their key. NULL matches nothing unless `null_safe`."""

    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    anti: bool
    null_safe: bool
    faults: Faults
    _keys: KeyTable = field(init=False)
    _slots: Tape = field(init=False)
    _ends: Calendar = field(init=False)
    _payload: Rows = field(init=False)
    _lines: Tape = field(init=False)
    _row_slots: Tape = field(init=False)
    _look_at: int = 4096

    def __post_init__(self) -> None:
        self._keys = KeyTable([key.type for key in self.left_keys])
        self._slots = Tape(np.int64, width=3)
        self._ends = Calendar(_END)
        self._clear_rows()

    def _clear_rows(self) -> None:
        self._payload = Rows(self.types)
        self._lines, self._row_slots = Tape(np.int64, width=4), Tape(np.int64)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        left, right = inputs
        aside = Changes.empty(self.types)
        left_columns = self._key_columns(self.left_keys, left)
        nulls = None if self.null_safe else any_null(left_columns)
        if nulls is not None:
            if self.anti:
                aside = left.filter(nulls)
            left = left.filter(~nulls)
            left_columns = self._key_columns(self.left_keys, left)
        events = self._right_events(right, frontier)
        slots = self._keys.slots_of(left_columns, len(left))
        new = len(self._keys) - len(self._slots)
        self._slots.append(np.tile(_UNSEEN, (new, 1)))
        first = self._keep(left, slots)
        lines = sweep_shown(
            self.anti,
            left.begin,
            slots,
            *events,
            first,
            self._lines.origin,
            self._slots.view(),
            self._lines.view(),
        )
        begin, until = np.ascontiguousarray(lines[:, 1]), np.ascontiguousarray(lines[:, 2])
        lived = np.flatnonzero(begin < until)
        order = argsort_instants(begin[lived])
        chosen = lived if order is None else lived[order]
        columns = tuple(self._payload.take(lines[chosen, 0]))
        result = Changes(columns, begin[chosen], until[chosen], lines[chosen, 3])
        self._forget(frontier)
        return in_order(Changes.concat([aside, result])) if len(aside) else result

    def _key_columns(self, keys: Sequence[Expression], changes: Changes) -> list[pa.Array]:
        return [evaluate(key, changes.columns, len(changes), self.faults) for key in keys]

    def _right_events(self, right: Changes, frontier: Instant) -> tuple[np.ndarray, ...]:
        columns = self._key_columns(self.right_keys, right)
        nulls = None if self.null_safe else any_null(columns)
        if nulls is not None:
            right = right.filter(~nulls)
            columns = self._key_columns(self.right_keys, right)
        marks = (self._keys.slots_of(columns, len(right)),)
        instants, deltas, slots = events_of([(right, marks)], self._ends, frontier)
        return instants, slots, deltas

    def _keep(self, left: Changes, slots: np.ndarray) -> int:
        first = self._payload.append(left.columns, len(left))
        lines = np.full((len(left), 4), -1)
        lines[:, _UNTIL], lines[:, _WEIGHT] = left.until, left.weight
        self._lines.append(lines)
        self._row_slots.append(slots)
        return first

    def _forget(self, frontier: Instant) -> None:
        """Drop what ended at the front; look at all rows and keys when they have doubled."""
        untils = self._lines.view()[:, _UNTIL]
        gone = 0
        while gone < len(untils) and (untils[gone : gone + _SLACK] <= frontier).all():
            gone = min(gone + _SLACK, len(untils))
        if gone:
            first = self._lines.origin + gone
            self._payload.forget_before(first)
            self._lines.forget_before(first)
            self._row_slots.forget_before(first)
        if len(self._payload) + len(self._keys) < self._look_at:
            return
        self._rewrite(frontier)
        self._look_at = max(4096, 2 * (len(self._payload) + len(self._keys)))

    def _rewrite(self, frontier: Instant) -> None:
        """Live left rows, netted, and live keys only, numbered anew."""
        origin, lines = self._lines.origin, self._lines.view()
        untils, weights = lines[:, _UNTIL].copy(), lines[:, _WEIGHT].copy()
        rows = np.flatnonzero(untils > frontier)
        if (weights[rows] < 0).any():
            kept, sums = net(self._payload.take(rows + origin), untils[rows], weights[rows])
            rows = rows[kept]
            weights[rows] = sums
        slots = self._row_slots.view()[rows]
        alive = self._slots.view()[:, _COUNT] != 0
        alive[slots] = True
        live = Changes(tuple(self._payload.take(rows + origin)), untils[rows], untils[rows], weights[rows])
        moved = self._keys.keep(alive)
        self._slots.keep(alive)
        ends, deltas, end_slots = self._ends.entries()
        known = moved[end_slots] >= 0
        self._ends = Calendar(_END)
        self._ends.add((ends[known], deltas[known], moved[end_slots][known]))
        self._hang(live, moved[slots])

    def _hang(self, live: Changes, slots: np.ndarray) -> None:
        """Keep these rows and hang them on their keys, newest first."""
        self._clear_rows()
        self._keep(live, slots)
        self._slots.view()[:, _HEAD] = -1
        order = np.argsort(slots, kind="stable")
        by_slot = slots[order]
        same = by_slot[1:] == by_slot[:-1]
        self._lines.view()[order[1:][same], _OLDER] = order[:-1][same]
        self._slots.view()[by_slot, _HEAD] = order

    @property
    def rows(self) -> int:
        return len(self._payload) + len(self._keys)

    @property
    def nbytes(self) -> int:
        tapes = self._slots.nbytes + self._lines.nbytes + self._row_slots.nbytes
        return self._payload.nbytes + self._keys.nbytes + self._ends.nbytes + tapes

    def save(self) -> dict[str, pa.Table]:
        lines, slots = self._lines.view(), self._slots.view()
        numbers = np.arange(self._lines.origin, self._lines.origin + len(lines))
        keys, columns = self._keys.all_columns(), self._payload.take(numbers)
        per_row = {
            "untils": lines[:, _UNTIL].copy(),
            "weights": lines[:, _WEIGHT].copy(),
            "slots": self._row_slots.view(),
        }
        counts = {"counts": slots[:, _COUNT].copy(), "matched": slots[:, _MATCHED].copy()}
        ends = dict(zip(("until", "deltas", "slots"), self._ends.entries(), strict=True))
        return {
            "keys": pa.table(keys, names=[str(i) for i in range(len(keys))]),
            "counts": arrays_table(counts),
            "columns": pa.table(columns, names=[str(i) for i in range(len(columns))]),
            "rows": arrays_table(per_row),
            "ends": arrays_table(ends),
        }

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        counts, per_row = table_arrays(saved["counts"]), table_arrays(saved["rows"])
        none = np.full(len(counts["counts"]), -1)
        self._slots.append(np.stack([counts["counts"], counts["matched"], none], axis=1))
        self._keys.slots_of([c.combine_chunks() for c in saved["keys"].columns], len(none))
        self._ends.add(tuple(table_arrays(saved["ends"]).values()))
        columns = tuple(c.combine_chunks() for c in saved["columns"].columns)
        live = Changes(columns, per_row["untils"], per_row["untils"], per_row["weights"])
        self._hang(live, per_row["slots"])
