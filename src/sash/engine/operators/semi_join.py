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
from sash.engine.kernels.ordering import argsort_instants, is_sorted
from sash.engine.kernels.presence import hang, sweep_shown
from sash.engine.netting import net
from sash.engine.operator import Operator, Saved
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.key_table import KeyTable
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.language.expressions import Expression
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant, repeated

_RIGHT_END = (np.int64, np.int32, np.int64)  # until, slot, weight
_LEFT_END = (np.int64, np.int64)  # until, row
_COUNT, _MATCHED, _HEAD = range(3)
_UNSEEN = np.array([0, 0, -1])
_STRIDE_ROWS = 8_192
"""A key that appears or vanishes touches all its rows, and what it gives waits until the stride is done."""
_AT_ONCE = 4_096
_HIGHEST = 1 << 30
"""Row numbers up to here, and those of one step more, fit 32 bits."""

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
    _ended: int | None = 0  # rows before this one have ended, in order; None if they came in another
    _payload: Rows = field(init=False)
    _back: Tape = field(init=False)
    _row_slots: Tape = field(init=False)
    _untils: Tape = field(init=False)
    _weights: Tape = field(init=False)  # empty while all are 1
    _lines: Tape = field(init=False)  # empty if this closes
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)
    _frontier: Instant = BEGINNING

    def __post_init__(self) -> None:
        self._keys = KeyTable([key.type for key in self.left_keys])
        self._slots = Tape(np.int32, width=3)
        self._ends = Calendar(_RIGHT_END)
        self._payload = Rows(self.types)
        self._back, self._row_slots, self._lines = (Tape(np.int32) for _ in range(3))
        self._untils, self._weights = Tape(np.int64), Tape(np.int64)
        self._left_ends, self._ended = Calendar(_LEFT_END), 0

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
            *self._ends_of_right(right, right_slots, frontier),
            first,
            self._untils.origin,
            self._slots.view(),
            *(tape.view() for tape in self._tapes),
        )
        rows, begin, weight = (np.ascontiguousarray(lines[:, i]) for i in (0, 1, 3))
        until = repeated(FOREVER, len(lines)) if self.closes else np.ascontiguousarray(lines[:, 2])
        del lines  # there may be many
        result = self._result(rows, begin, until, weight)
        self._frontier = frontier
        self._forget(frontier)
        return result

    @property
    def _tapes(self) -> tuple[Tape, ...]:
        """What is kept per left row, as the kernel takes it."""
        return self._back, self._row_slots, self._untils, self._weights, self._lines

    def _result(self, rows: np.ndarray, begin: np.ndarray, until: np.ndarray, weight: np.ndarray) -> Changes:
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
        none, untils, origin = np.empty(0, np.int64), self._untils.view(), self._untils.origin
        if not self.closes:
            return none, none
        if self._ended is None:
            return _ends_now(self._left_ends, (left.until, np.arange(first, self._payload.end)), frontier)
        waiting, ended = untils[self._ended - origin :], self._ended
        if is_sorted(untils[max(0, first - origin - 1) :]):
            stop = int(np.searchsorted(waiting, frontier, side="right"))
            self._ended = ended + stop
            return waiting[:stop], np.arange(ended, ended + stop)
        self._ended = None
        return _ends_now(self._left_ends, (waiting.copy(), np.arange(ended, self._payload.end)), frontier)

    def _ends_of_right(self, right: Changes, slots: np.ndarray, frontier: Instant) -> Ends:
        """When right rows end in this step, of which slots, and their weights."""
        ends = right.until, slots.astype(np.int32), right.weight
        return _ends_now(self._ends, ends, frontier)

    def _keep(self, left: Changes, slots: np.ndarray) -> int:
        first = self._payload.append(left.columns, len(left))
        if len(self._weights) or not (left.weight == 1).all():
            if not len(self._weights):
                self._weights.origin = self._untils.origin
            self._weights.grow_to(len(self._untils), 1)
            self._weights.append(left.weight)
        self._untils.append(left.until)
        self._row_slots.append(slots)
        self._back.extended(len(left))
        if not self.closes:
            self._lines.extended(len(left))[:] = -1
        return first

    def _forget(self, frontier: Instant) -> None:
        """Drop what ended at the front; look at all rows and keys when they may have doubled."""
        untils = self._untils.view()
        gone = 0
        while gone < len(untils) and (untils[gone : gone + _AT_ONCE] <= frontier).all():
            gone = min(gone + _AT_ONCE, len(untils))
        if gone:
            first = self._untils.origin + gone
            self._payload.forget_before(first)
            for tape in self._tapes:
                tape.forget_before(first)
        if self._payload.end > _HIGHEST:
            self._rewrite(self._untils.view() > frontier)
        if self.rows >= self._look_at:
            living = self._look(frontier)
            self._look_at = max(upkeep.FEW, 2 * living)

    def _look(self, frontier: Instant) -> int:
        """Rewrite if a third of all rows and keys are of no use; gives how many are."""
        alive, weights = self._untils.view() > frontier, self._weights.view()
        negatives = np.count_nonzero(weights[alive] < 0) if len(weights) else 0
        living = int(np.count_nonzero(alive) + np.count_nonzero(self._keys_of(alive)) - 2 * negatives)
        if 3 * living >= 2 * self.rows:
            return living
        if negatives:
            self._net(alive)
        self._rewrite(alive)
        return self.rows

    def _keys_of(self, alive: np.ndarray) -> np.ndarray:
        """Which keys have rows on the right, or one of the given rows on the left."""
        keys: np.ndarray = self._slots.view()[:, _COUNT] != 0
        keys[self._row_slots.view()[alive]] = True
        return keys

    def _net(self, alive: np.ndarray) -> None:
        """Of equal rows that end together one stays alive, with the weight of all."""
        rows = np.flatnonzero(alive)
        untils, weights = self._untils.view(), self._weights.view()
        kept, sums = net(self._payload.take(rows + self._untils.origin), untils[rows], weights[rows])
        alive[rows] = False
        alive[rows[kept]] = True
        weights[rows[kept]] = sums

    def _rewrite(self, alive: np.ndarray) -> None:
        """Live left rows and live keys only, numbered anew."""
        keys = self._keys_of(alive)
        self._payload.keep(alive)
        for tape in self._tapes:
            if len(tape):
                tape.keep(alive)
            tape.origin = 0
        moved = self._keys.keep(keys)
        self._slots.keep(keys)
        self._row_slots.view()[:] = moved[self._row_slots.view()]
        ends, slots, weights = self._ends.entries()
        known = moved[slots] >= 0
        self._ends = Calendar(_RIGHT_END)
        self._ends.add((ends[known], moved[slots[known]].astype(np.int32), weights[known]))
        self._hang()

    def _hang(self) -> None:
        """Hang all rows on their keys, and enter their ends."""
        self._slots.view()[:, _HEAD] = -1
        hang(self._row_slots.view(), self._slots.view(), self._back.view())
        self._left_ends, self._ended = Calendar(_LEFT_END), 0
        if self.closes and not is_sorted(self._untils.view()):
            self._ended = None
            self._left_ends.add((self._untils.view().copy(), np.arange(len(self._untils))))

    @property
    def stride_rows(self) -> int:
        return _STRIDE_ROWS

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return self._ends, self._left_ends

    @property
    def ends_itself(self) -> bool:
        return self.closes

    def contents(self, frontier: Instant) -> Changes:
        matched = self._slots.view()[self._row_slots.view(), _MATCHED] == 1
        shown = np.flatnonzero((self._untils.view() > frontier) & (matched != self.anti))
        begin, until = np.full(len(shown), frontier), np.full(len(shown), FOREVER)
        columns = tuple(self._payload.take(shown + self._untils.origin))
        return Changes(columns, begin, until, self._weights_of(shown))

    def _weights_of(self, rows: np.ndarray) -> np.ndarray:
        return self._weights.view()[rows] if len(self._weights) else np.ones(len(rows), np.int64)

    @property
    def rows(self) -> int:
        return len(self._payload) + len(self._keys)

    @property
    def nbytes(self) -> int:
        tapes = self._slots.nbytes + sum(tape.nbytes for tape in self._tapes)
        ends = self._ends.nbytes + self._left_ends.nbytes
        return self._payload.nbytes + self._keys.nbytes + ends + tapes

    def save(self) -> dict[str, pa.Table]:
        alive, slots = np.flatnonzero(self._untils.view() > self._frontier), self._slots.view()
        keys, columns = self._keys.all_columns(), self._payload.take(alive + self._untils.origin)
        per_row = {
            "untils": self._untils.view()[alive],
            "weights": self._weights_of(alive),
            "slots": self._row_slots.view()[alive].astype(np.int64),
        }
        counts = {"counts": slots[:, _COUNT].astype(np.int64), "matched": slots[:, _MATCHED].astype(np.int64)}
        until, end_slots, weights = self._ends.entries()
        ends = {"until": until, "slots": end_slots.astype(np.int64), "weights": weights}
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
        until, end_slots, weights = table_arrays(saved["ends"]).values()
        self._ends.add((until, end_slots.astype(np.int32), weights))
        columns = tuple(c.combine_chunks() for c in saved["columns"].columns)
        live = Changes(columns, per_row["untils"], per_row["untils"], per_row["weights"])
        self._keep(live, per_row["slots"])
        self._hang()


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
