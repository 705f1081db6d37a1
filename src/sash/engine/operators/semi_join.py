"""Semi- and anti-join: left rows while a right row with their key lives, or while none does.

The right side is kept as counts per key and ends to come; live left rows hang on their key, so that
a key that appears or vanishes touches only its own rows. Negation is strict ([G06] §3.2.2): what
must go early is followed by its negation. Right below the answer, every row goes by its negation.
"""

from __future__ import annotations

__all__ = ["SemiJoinRows"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.encoding import any_null
from sash.engine.expressions import Faults, evaluate
from sash.engine.kernels.ordering import argsort_instants
from sash.engine.kernels.presence import sweep_shown
from sash.engine.netting import net
from sash.engine.operator import Operator, Saved
from sash.engine.state.calendar import Calendar
from sash.engine.state.key_table import KeyTable
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.language.expressions import Expression
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant

_RIGHT_END = (np.int64, np.int64, np.int64)  # until, slot, weight
_LEFT_END = (np.int64, np.int64)  # until, row
_COUNT, _MATCHED, _HEAD = range(3)
_OLDER, _UNTIL, _WEIGHT, _LINE = range(4)
_UNSEEN = np.array([0, 0, -1])
_SLACK = 4096

Ends = tuple[np.ndarray, ...]


@dataclass(eq=False)
class SemiJoinRows(Operator):
    """Left rows by whether the right side has their key. NULL matches nothing unless `null_safe`.

    With `closes` rows go by negative ones; the left side must not have such rows itself.
    """

    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    anti: bool
    null_safe: bool
    faults: Faults
    closes: bool = False
    _keys: KeyTable = field(init=False)
    _slots: Tape = field(init=False)
    _ends: Calendar = field(init=False)
    _left_ends: Calendar = field(init=False)
    _payload: Rows = field(init=False)
    _lines: Tape = field(init=False)
    _row_slots: Tape = field(init=False)
    _look_at: int = 4096
    _frontier: Instant = BEGINNING

    def __post_init__(self) -> None:
        self._keys = KeyTable([key.type for key in self.left_keys])
        self._slots = Tape(np.int64, width=3)
        self._ends = Calendar(_RIGHT_END)
        self._clear_rows()

    def _clear_rows(self) -> None:
        self._payload = Rows(self.types)
        self._lines, self._row_slots = Tape(np.int64, width=4), Tape(np.int64)
        self._left_ends = Calendar(_LEFT_END)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        # A key with a NULL matches nothing: for an anti-join, one more key that the right never has.
        left, slots = self._slotted(inputs[0], self.left_keys, nulls=self.null_safe or self.anti)
        right, right_slots = self._slotted(inputs[1], self.right_keys, nulls=self.null_safe)
        new = len(self._keys) - len(self._slots)
        self._slots.extended(new)[:] = _UNSEEN
        first = self._keep(left, slots)
        lines = sweep_shown(
            self.anti,
            FOREVER if self.closes else 0,
            left.begin,
            slots,
            *self._ends_of_left(left, first, frontier),
            right.begin,
            right_slots,
            right.weight,
            *_ends_now(self._ends, (right.until, right_slots, right.weight), frontier),
            first,
            self._lines.origin,
            self._slots.view(),
            self._lines.view(),
            self._row_slots.view(),
        )
        result = self._result(lines)
        self._frontier = frontier
        self._forget(frontier)
        return result

    def _result(self, lines: np.ndarray) -> Changes:
        begin, until = np.ascontiguousarray(lines[:, 1]), np.ascontiguousarray(lines[:, 2])
        rows, weight = np.ascontiguousarray(lines[:, 0]), np.ascontiguousarray(lines[:, 3])
        if not self.closes:
            lived = np.flatnonzero(begin < until)
            order = argsort_instants(begin[lived])
            chosen = lived if order is None else lived[order]
            begin, until, rows, weight = begin[chosen], until[chosen], rows[chosen], weight[chosen]
        return Changes(tuple(self._payload.take(rows)), begin, until, weight)

    def _slotted(
        self, changes: Changes, keys: Sequence[Expression], *, nulls: bool
    ) -> tuple[Changes, np.ndarray]:
        """The rows that count, without those that have a NULL in their key unless `nulls`; their slots."""
        columns = [evaluate(key, changes.columns, len(changes), self.faults) for key in keys]
        missing = None if nulls else any_null(columns)
        if missing is not None:
            rows = np.flatnonzero(~missing)
            changes, columns = changes.take(rows), [column.take(pa.array(rows)) for column in columns]
        return changes, self._keys.slots_of(columns, len(changes))

    def _ends_of_left(self, left: Changes, first: int, frontier: Instant) -> Ends:
        """When left rows end in this step, and which; nobody asks where ends are foreseen."""
        rows = np.arange(first, first + len(left)) if self.closes else np.empty(0, np.int64)
        return _ends_now(self._left_ends, (left.until if self.closes else rows, rows), frontier)

    def _keep(self, left: Changes, slots: np.ndarray) -> int:
        first = self._payload.append(left.columns, len(left))
        lines = self._lines.extended(len(left))
        lines[:, _OLDER] = lines[:, _LINE] = -1
        lines[:, _UNTIL], lines[:, _WEIGHT] = left.until, left.weight
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
        ends, end_slots, gone = self._ends.entries()
        known = moved[end_slots] >= 0
        self._ends = Calendar(_RIGHT_END)
        self._ends.add((ends[known], moved[end_slots][known], gone[known]))
        self._hang(live, moved[slots])

    def _hang(self, live: Changes, slots: np.ndarray) -> None:
        """Keep these rows and hang them on their keys, newest first."""
        self._clear_rows()
        first = self._keep(live, slots)
        if self.closes:
            self._left_ends.add((live.until, np.arange(first, first + len(live))))
        self._slots.view()[:, _HEAD] = -1
        order = np.argsort(slots, kind="stable")
        by_slot = slots[order]
        same = by_slot[1:] == by_slot[:-1]
        self._lines.view()[order[1:][same], _OLDER] = order[:-1][same]
        self._slots.view()[by_slot, _HEAD] = order

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return self._ends, self._left_ends

    @property
    def ends_itself(self) -> bool:
        return self.closes

    def contents(self, frontier: Instant) -> Changes:
        lines, slots = self._lines.view(), self._row_slots.view()
        matched = self._slots.view()[slots, _MATCHED] == 1
        shown = np.flatnonzero((lines[:, _UNTIL] > frontier) & (matched != self.anti))
        begin, until = np.full(len(shown), frontier), np.full(len(shown), FOREVER)
        columns = tuple(self._payload.take(shown + self._lines.origin))
        return Changes(columns, begin, until, lines[shown, _WEIGHT])

    @property
    def rows(self) -> int:
        return len(self._payload) + len(self._keys)

    @property
    def nbytes(self) -> int:
        tapes = self._slots.nbytes + self._lines.nbytes + self._row_slots.nbytes
        ends = self._ends.nbytes + self._left_ends.nbytes
        return self._payload.nbytes + self._keys.nbytes + ends + tapes

    def save(self) -> dict[str, pa.Table]:
        alive = np.flatnonzero(self._lines.view()[:, _UNTIL] > self._frontier)
        lines, slots = self._lines.view()[alive], self._slots.view()
        keys, columns = self._keys.all_columns(), self._payload.take(alive + self._lines.origin)
        per_row = {
            "untils": lines[:, _UNTIL].copy(),
            "weights": lines[:, _WEIGHT].copy(),
            "slots": self._row_slots.view()[alive],
        }
        counts = {"counts": slots[:, _COUNT].copy(), "matched": slots[:, _MATCHED].copy()}
        ends = dict(zip(("until", "slots", "weights"), self._ends.entries(), strict=True))
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


def _ends_now(calendar: Calendar, coming: Ends, frontier: Instant) -> Ends:
    """The ends that fall into this step, of entries in the calendar and of those coming, which it keeps."""
    due = calendar.pop(frontier)
    now = coming[0] <= frontier
    if not now.any():
        calendar.add(coming)
        return due
    calendar.add(tuple(part[~now] for part in coming))
    together = [np.concatenate([part, new[now]]) for part, new in zip(due, coming, strict=True)]
    order = argsort_instants(together[0])
    return tuple(together) if order is None else tuple(part[order] for part in together)
