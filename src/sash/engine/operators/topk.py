"""Top-k: the first rows by ORDER BY, kept while rows come and go.

Rows are known by value with their copies. The first ones and some to spare are kept in order, the
others in a heap (kernels/topk.py). A row that comes after all of those kept in order and ends within
the step is not even entered, unless so many go that it could be needed.
"""

from __future__ import annotations

__all__ = ["TopRows"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.kernels.heaps import build_heaps
from sash.engine.kernels.ordering import argsort_instants
from sash.engine.kernels.topk import (
    DIRTY,
    HELD,
    MORE_ROOM,
    REACH,
    SHOWN,
    SIZE,
    SKIPPED,
    UNSKIP,
    refill,
    sweep_top,
)  # fmt: skip
from sash.engine.operator import Operator, Saved
from sash.engine.order_keys import first_words, row_keys
from sash.engine.state.calendar import Calendar
from sash.engine.state.ordered_bytes import OrderedBytes
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.stable_keys import StableKeys, roomy
from sash.lifetimes import FOREVER, Changes, Instant
from sash.plan.nodes import SortKey

_END = (np.int64, np.int64, np.int64)  # until, row, weight
_FEW = 1024
_HEAP = 2

Events = tuple[np.ndarray, ...]
"""Instants, rows, changes of copies."""


@dataclass(eq=False)
class TopRows(Operator):
    """The rows from `offset` to `offset` + `limit`; ties by the remaining columns, NULLs first."""

    order: tuple[SortKey, ...]
    limit: int
    offset: int
    monotonic: bool
    _keys: StableKeys = field(init=False)
    _bytes: OrderedBytes = field(init=False)
    _ends: Calendar = field(init=False)
    _best: np.ndarray = field(init=False)
    _memo: np.ndarray = field(init=False)
    _root: np.ndarray = field(init=False)
    _tops: np.ndarray = field(init=False)
    _per_row: dict[str, np.ndarray] = field(init=False)
    _stamp: int = field(init=False, default=0)
    _look_at: int = field(init=False, default=_FEW)

    def __post_init__(self) -> None:
        self._keys, self._bytes, self._ends = StableKeys(self.types), OrderedBytes(), Calendar(_END)
        self._best, self._tops = np.empty(0, np.int64), np.empty(16, np.int64)
        self._memo, self._root = np.zeros(8, np.int64), np.full(1, -1, np.int64)
        self._memo[REACH] = FOREVER
        names = ("copies", "child", "sibling", "shown", "wanted", "opened", "mark")
        self._per_row = {name: np.empty(0, np.int64) for name in names} | {"place": np.empty(0, np.uint8)}
        self._stamp, self._look_at = 0, _FEW
        self._make_room()

    @property
    def _need(self) -> int:
        return self.offset + self.limit

    @property
    def _spare(self) -> int:
        """How many rows are kept in order beyond those needed."""
        return min(max(128, self._need // 2), 4096)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        changes = inputs[0]
        self._stock_up()
        skipped = self._skipped(changes, frontier)
        events = self._events(changes.filter(~skipped), frontier)
        if not len(events[0]):
            return Changes.empty(self.types)
        # Where rows never go, those left out are left out for good.
        self._memo[SKIPPED] = 0 if self.monotonic else np.count_nonzero(skipped)
        rows, begin, until, weight = self._sweep(events, changes, skipped)
        result = Changes(tuple(self._keys.columns(rows)), begin, until, weight)
        self._forget()
        return result

    @property
    def _enough(self) -> int:
        """With so many rows in order, none is likely to be missing before the step ends."""
        return self._need if self.monotonic else self._need + self._spare // 4

    def _stock_up(self) -> None:
        """Bring rows from the heap before they are missed."""
        if self._memo[SIZE] < self._enough and self._memo[HELD]:
            state, keys = self._per_row, self._bytes
            refill(
                len(self._best) - self._spare, self._best, self._memo, state["copies"], state["place"],
                keys.words, keys.starts, keys.ends, keys.data, self._root, state["child"], state["sibling"],
            )  # fmt: skip

    def _skipped(self, changes: Changes, frontier: Instant) -> np.ndarray:
        """Rows that cannot matter: they come after all that are kept in order, and end within the step."""
        size = int(self._memo[SIZE])
        if not len(changes) or size < max(1, self._enough):
            return np.zeros(len(changes), np.bool_)
        last = self._best[self._need - 1 if self.monotonic and self._need else size - 1]
        words = first_words(changes.columns, self.order, len(changes))
        after: np.ndarray = words > self._bytes.words[last]
        return after if self.monotonic else after & (changes.until <= frontier)

    def _numbers_of(self, changes: Changes) -> np.ndarray:
        numbers = self._keys.numbers_of(changes.columns, len(changes))
        fresh = self._keys.fresh
        self._make_room()
        if len(fresh):
            columns = self._keys.columns(fresh)
            self._bytes.put(fresh, *row_keys(columns, self.order, len(fresh)))
        return numbers

    def _make_room(self) -> None:
        size = self._keys.size
        for name, array in self._per_row.items():
            self._per_row[name] = roomy(array, size, -1 if name == "opened" else 0)
        self._tops = roomy(self._tops, min(size, self.limit))
        # `best` is full by its length: it may be shorter only while there are fewer rows than needed.
        if len(self._best) < min(self._need, size) + 2 * self._spare:
            larger = np.empty(min(self._need, 2 * size) + 2 * self._spare, np.int64)
            larger[: len(self._best)] = self._best
            self._best = larger

    def _events(self, changes: Changes, frontier: Instant) -> Events:
        """Beginnings and ends up to the frontier in time order; later ends go to the calendar."""
        numbers = self._numbers_of(changes)
        known = changes.until != FOREVER
        if known.any():
            self._ends.add((changes.until[known], numbers[known], changes.weight[known]))
        until, gone, weight = self._ends.pop(frontier)
        return _in_order([(changes.begin, numbers, changes.weight), (until, gone, -weight)])

    def _sweep(self, events: Events, changes: Changes, skipped: np.ndarray) -> Events:
        """Rows, begins, untils and weights of what is shown."""
        out = [np.empty(max(1024, 4 * min(self.limit, 1 << 20)), np.int64) for _ in range(4)]
        progress = np.zeros(3, np.int64)
        while True:
            state, keys, n = self._per_row, self._bytes, len(events[0])
            stopped = sweep_top(
                *events, self.offset, self.limit, self._spare, FOREVER, int(self.monotonic),
                self._best, self._memo, state["copies"], state["place"],
                keys.words, keys.starts, keys.ends, keys.data, self._root, state["child"], state["sibling"],
                self._tops, state["shown"], state["wanted"], state["opened"], state["mark"], self._stamp,
                np.empty(n, np.int64), np.empty(n, np.int64), np.empty_like(self._tops), *out, progress,
            )  # fmt: skip
            self._stamp += n + 1
            if stopped == MORE_ROOM:
                out = [roomy(part, 2 * len(part)) for part in out]
            elif stopped == UNSKIP:
                now = int(progress[2])
                left_out = changes.filter(skipped & (changes.until > now))
                events = self._with(events, left_out, int(progress[0]), now)
                progress[0] = 0
            else:
                break
        state["opened"][self._tops[: self._memo[SHOWN]]] = -1
        return tuple(part[: progress[1]] for part in out)

    def _with(self, events: Events, rows: Changes, done: int, now: Instant) -> Events:
        """The events still to come, and those of rows that were left out and live now or later."""
        self._memo[SKIPPED] = 0
        numbers = self._numbers_of(rows)
        begins = np.maximum(rows.begin, now), numbers, rows.weight
        rest = events[0][done:], events[1][done:], events[2][done:]
        return _in_order([begins, rest, (rows.until, numbers, -rows.weight)])

    def _forget(self) -> None:
        """Drop rows that are gone, once at least half are; looked for when there are four times as many."""
        if len(self._keys) < self._look_at:
            return
        known = self._keys.known()
        left = known[self._per_row["copies"][known] != 0]
        self._look_at = max(_FEW, 4 * len(left))
        if 2 * len(left) > len(known):
            return
        alive = np.zeros(self._keys.size, np.bool_)
        alive[left] = True
        self._keys.keep(alive)
        self._bytes.keep(left)
        place = self._per_row["place"]
        place[: len(alive)][~alive] = 0
        self._build()

    def _build(self) -> None:
        """The heap anew, from the live rows that belong in it."""
        state, keys, size = self._per_row, self._bytes, self._keys.size
        inside = (state["place"][:size] == _HEAP) & (state["copies"][:size] > 0)
        self._memo[HELD] = int(inside.sum())
        build_heaps(
            inside.astype(np.int64), np.zeros(size, np.int64), np.empty(size, np.uint8), self._root,
            state["child"], state["sibling"], keys.words, keys.starts, keys.ends, keys.data, 0,
        )  # fmt: skip

    @property
    def ends_itself(self) -> bool:
        return True

    def contents(self, frontier: Instant) -> Changes:
        top = self._tops[: self._memo[SHOWN]].copy()
        begin, until = np.full(len(top), frontier), np.full(len(top), FOREVER)
        return Changes(tuple(self._keys.columns(top)), begin, until, self._per_row["shown"][top])

    @property
    def rows(self) -> int:
        return len(self._keys) + len(self._ends)

    @property
    def nbytes(self) -> int:
        own = sum(int(part.nbytes) for part in (*self._per_row.values(), self._best, self._tops))
        return self._keys.nbytes + self._bytes.nbytes + self._ends.nbytes + own

    def save(self) -> dict[str, pa.Table]:
        known, state = self._keys.known(), self._per_row
        counts = {name: state[name][known] for name in ("copies", "shown")}
        columns = {str(i): column for i, column in enumerate(self._keys.all_columns())}
        ends = dict(zip(("until", "row", "weight"), self._ends.entries(), strict=True))
        return {
            "rows": pa.table(columns),
            "numbers": arrays_table({"number": known, **counts}),
            "ends": arrays_table(ends),
            "size": arrays_table({"size": np.array([self._keys.size])}),
        }

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        arrays = table_arrays(saved["numbers"])
        numbers, size = arrays["number"], int(saved["size"].column(0)[0].as_py())
        columns = [column.combine_chunks() for column in saved["rows"].columns]
        self._keys.restore(columns, numbers, size)
        self._make_room()
        self._bytes.put(numbers, *row_keys(columns, self.order, len(numbers)))
        state = self._per_row
        state["copies"][numbers], state["shown"][numbers] = arrays["copies"], arrays["shown"]
        state["place"][numbers] = np.where(arrays["copies"] > 0, _HEAP, 0)
        self._build()
        self._stock_up()
        tops = numbers[arrays["shown"] > 0]
        self._tops[: len(tops)] = tops
        self._memo[SHOWN], self._memo[DIRTY], self._memo[REACH] = len(tops), 0, FOREVER
        self._ends.add(tuple(table_arrays(saved["ends"]).values()))


def _in_order(parts: Sequence[Events]) -> Events:
    """Events of all parts in time order."""
    parts = [part for part in parts if len(part[0])] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    whole = tuple(np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    order = argsort_instants(whole[0])
    return whole if order is None else tuple(part[order] for part in whole)
