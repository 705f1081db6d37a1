"""Top-k: the first rows by ORDER BY, kept while rows come and go.

Rows are known by value with their copies; those of an aggregate by key, as one follows another
(state/successive_rows.py). The first ones and some to spare are kept in order, the others in a heap
(kernels/topk.py). A row that comes after all of those kept in order waits outside of the heap, and one
that also ends within the step is left out. Where so many go that such rows could be needed, those that
come before the next rows of the heap are let in.
"""

from __future__ import annotations

__all__ = ["TopRows"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.gathering import gathered
from sash.engine.kernels.heaps import build_heaps
from sash.engine.kernels.ordering import argsort_instants
from sash.engine.kernels.topk import (
    DIRTY,
    HEAP,
    HELD,
    MORE_ROOM,
    REACH,
    SHOWN,
    SIZE,
    SKIPPED,
    UNSKIP,
    WAITING,
    add_copies,
    begin_to_wait,
    file_rows,
    refill,
    sort_out,
    sweep_top,
)  # fmt: skip
from sash.engine.operator import Operator, Saved
from sash.engine.order_keys import first_words, row_keys
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.ordered_bytes import OrderedBytes
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.stable_keys import StableKeys, roomy
from sash.engine.state.successive_rows import SuccessiveRows
from sash.lifetimes import FOREVER, Changes, Instant
from sash.plan.nodes import SortKey

_END = (np.int64, np.int64, np.int64)  # until, row, weight

_NONE = np.empty(0, np.int64)

Events = tuple[np.ndarray, ...]
"""Instants, rows, changes of copies."""

Waiting = tuple[np.ndarray, np.ndarray]
"""Positions among the changes of rows that begin to wait, and their numbers."""


@dataclass(frozen=True, eq=False)
class _Outside:
    """What of a step's changes was not let in, by their order words: rows that wait, and rows left out."""

    words: np.ndarray
    waiting: Waiting
    left_out: np.ndarray

    def __len__(self) -> int:
        return len(self.waiting[0]) + len(self.left_out)


@dataclass(eq=False)
class TopRows(Operator):
    """The rows from `offset` to `offset` + `limit`; ties by the remaining columns, NULLs first."""

    order: tuple[SortKey, ...]
    limit: int
    offset: int
    monotonic: bool
    key: tuple[int, ...] | None = None
    """Columns by which rows replace each other, as those of an aggregate do."""
    _rows: StableKeys | SuccessiveRows = field(init=False)
    _bytes: OrderedBytes = field(init=False)
    _ends: Calendar = field(init=False)
    _best: np.ndarray = field(init=False)
    _memo: np.ndarray = field(init=False)
    _root: np.ndarray = field(init=False)
    _tops: np.ndarray = field(init=False)
    _per_row: dict[str, np.ndarray] = field(init=False)
    _waiting: list[np.ndarray] = field(init=False)
    _stamp: int = field(init=False, default=0)
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)

    def __post_init__(self) -> None:
        self._rows = StableKeys(self.types) if self.key is None else SuccessiveRows(self.types, self.key)
        self._bytes, self._ends = OrderedBytes(), Calendar(_END)
        self._best, self._tops = np.empty(0, np.int64), np.empty(16, np.int64)
        self._memo, self._root = np.zeros(8, np.int64), np.full(1, -1, np.int64)
        self._memo[REACH] = FOREVER
        names = ("copies", "child", "sibling", "shown", "wanted", "opened", "mark")
        self._per_row = {name: np.empty(0, np.int64) for name in names} | {"place": np.empty(0, np.uint8)}
        self._waiting, self._stamp, self._look_at = [], 0, upkeep.FEW
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
        words = first_words(changes.columns, self.order, len(changes))
        near, far, left_out = self._sorted_out(changes, words, frontier)
        numbers = self._numbers_of(changes, np.concatenate([near, far]), len(near))
        events = self._events(changes, near, far, numbers, frontier)
        outside = _Outside(words, (far, numbers[len(near) :]), left_out)
        if not self.monotonic:
            self._memo[SKIPPED] = len(outside) + len(self._waiting)
        rows, begin, until, weight = self._sweep(events, changes, outside)
        result = Changes(tuple(self._rows.columns(rows)), begin, until, weight)
        self._forget()
        return result

    @property
    def _enough(self) -> int:
        """With so many rows in order, none is likely to be missing before the step ends."""
        return self._need if self.monotonic else self._need + self._spare // 4

    def _stock_up(self) -> None:
        """Bring rows from the heap before they are missed."""
        if self._memo[SIZE] < self._enough and (self._memo[HELD] or self._waiting):
            self._file()
            state, keys = self._per_row, self._bytes
            refill(
                len(self._best) - self._spare, self._best, self._memo, state["copies"], state["place"],
                keys.words, keys.starts, keys.ends, keys.data, self._root, state["child"], state["sibling"],
            )  # fmt: skip

    def _file(self) -> None:
        """Put the rows that wait into the heap; those without copies come in with their events."""
        if not self._waiting:
            return
        rows, self._waiting = np.concatenate(self._waiting), []
        state, keys = self._per_row, self._bytes
        rows = rows[state["place"][rows] == WAITING]
        keys.put(rows, *row_keys(self._rows.columns(rows), self.order, len(rows)))
        file_rows(
            rows, self._memo, state["copies"], state["place"],
            keys.words, keys.starts, keys.ends, keys.data, self._root, state["child"], state["sibling"],
        )  # fmt: skip

    def _sorted_out(
        self, changes: Changes, words: np.ndarray, frontier: Instant
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions of the rows that may matter, of those that come after all that are kept in order, and
        of those among the latter that also end within the step; where rows never go, the second are none.
        """
        n = len(changes)
        last = self._last_in_order()
        if not n or last is None:
            return np.arange(n), _NONE, _NONE
        near, far, left_out = (np.empty(n, np.int64) for _ in range(3))
        ends_before = FOREVER if self.monotonic else frontier
        counts = np.zeros(3, np.int64)
        sort_out(words, changes.until, self._bytes.words[last], ends_before, near, far, left_out, counts)
        return near[: counts[0]], far[: counts[1]], left_out[: counts[2]]

    def _last_in_order(self) -> int | None:
        """The row after which none is needed; None if there are too few to say so."""
        size = int(self._memo[SIZE])
        if size < max(1, self._enough):
            return None
        return int(self._best[self._need - 1 if self.monotonic and self._need else size - 1])

    def _numbers_of(self, changes: Changes, rows: np.ndarray, near: int) -> np.ndarray:
        """Numbers of the given rows; the first `near` get their order keys, the others begin to wait."""
        if isinstance(self._rows, SuccessiveRows):
            numbers = self._rows.numbers_of(changes, rows)
        else:
            numbers = self._rows.numbers_of(gathered(changes.columns, rows), len(rows))
        self._make_room()
        fresh, place = self._rows.fresh, self._per_row["place"]
        if near < len(rows):
            self._wait(numbers, near)
            fresh = fresh[place[fresh] == 0]
        if len(fresh):
            self._bytes.put(fresh, *row_keys(self._rows.columns(fresh), self.order, len(fresh)))
        return numbers

    def _wait(self, numbers: np.ndarray, first: int) -> None:
        """Let the rows from `first` on wait to be put into the heap, unless they are somewhere already."""
        waiting = np.empty(len(numbers) - first, np.int64)
        count = begin_to_wait(numbers, first, self._per_row["place"], waiting)
        if count:
            self._waiting.append(waiting[:count])

    def _make_room(self) -> None:
        size = self._rows.size
        for name, array in self._per_row.items():
            self._per_row[name] = roomy(array, size, -1 if name == "opened" else 0)
        self._tops = roomy(self._tops, min(size, self.limit))
        # `best` is full by its length: it may be shorter only while there are fewer rows than needed.
        if len(self._best) < min(self._need, size) + 2 * self._spare:
            larger = np.empty(min(self._need, 2 * size) + 2 * self._spare, np.int64)
            larger[: len(self._best)] = self._best
            self._best = larger

    def _events(
        self, changes: Changes, near: np.ndarray, far: np.ndarray, numbers: np.ndarray, frontier: Instant
    ) -> Events:
        """Beginnings of near rows and ends of all up to the frontier in time order; later ends go to the
        calendar."""
        begins = changes.begin[near], numbers[: len(near)], changes.weight[near]
        parts = [begins]
        for rows, named in ((near, numbers[: len(near)]), (far, numbers[len(near) :])):
            until = changes.until[rows]
            known = np.flatnonzero(until != FOREVER)
            if len(known):
                self._ends.add((until[known], named[known], changes.weight[rows[known]]))
        if len(self._ends):
            until, gone, weight = self._ends.pop(frontier)
            parts.append((until, gone, -weight))
        return _in_order(parts)

    def _sweep(self, events: Events, changes: Changes, outside: _Outside) -> Events:
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
                rest: Events = tuple(part[int(progress[0]) :] for part in events)
                events, outside = self._let_in(rest, changes, outside, now)
                progress[0] = 0
            else:
                break
        positions, numbers = outside.waiting
        add_copies(numbers, positions, changes.weight, state["copies"])
        state["opened"][self._tops[: self._memo[SHOWN]]] = -1
        return tuple(part[: progress[1]] for part in out)

    def _let_in(
        self, events: Events, changes: Changes, outside: _Outside, now: Instant
    ) -> tuple[Events, _Outside]:
        """Bring rows from the heap, and events of what is outside and comes before the last of them then."""
        positions, numbers = outside.waiting
        begun = int(np.searchsorted(changes.begin[positions], now, side="right"))
        add_copies(numbers[:begun], positions[:begun], changes.weight, self._per_row["copies"])
        positions, numbers = positions[begun:], numbers[begun:]
        left_out = outside.left_out[changes.until[outside.left_out] > now]
        self._stock_up()
        last, words = self._last_in_order(), outside.words
        limit = np.uint64(2**64 - 1) if last is None else self._bytes.words[last]
        inside, shown = words[positions] <= limit, words[left_out] <= limit
        rows = left_out[shown]
        late = np.concatenate([positions[inside], rows])
        still = numbers[~inside]
        self._wait(still, 0)
        fresh = self._numbers_of(changes, rows, len(rows))
        begin, weight = np.maximum(changes.begin[late], now), changes.weight[late]
        begins = begin, np.concatenate([numbers[inside], fresh]), weight
        rest = _Outside(words, (positions[~inside], still), left_out[~shown])
        self._memo[SKIPPED] = len(rest)
        return _in_order([begins, events, (changes.until[rows], fresh, -changes.weight[rows])]), rest

    def _forget(self) -> None:
        """Drop rows that are gone, once at least half are; looked for when there are four times as many."""
        if len(self._rows) < self._look_at:
            return
        known = self._rows.known()
        left = known[self._per_row["copies"][known] != 0]
        self._look_at = max(upkeep.FEW, 4 * len(left))
        if 2 * len(left) > len(known):
            return
        alive = np.zeros(self._rows.size, np.bool_)
        alive[left] = True
        self._rows.keep(alive)
        place = self._per_row["place"]
        place[: len(alive)][~alive] = 0
        waits = place[left] == WAITING
        self._waiting = [left[waits]] if waits.any() else []
        self._bytes.keep(left[~waits])
        self._build()

    def _build(self) -> None:
        """The heap anew, from the live rows that belong in it."""
        state, keys, size = self._per_row, self._bytes, self._rows.size
        inside = (state["place"][:size] == HEAP) & (state["copies"][:size] > 0)
        self._memo[HELD] = int(inside.sum())
        build_heaps(
            inside.astype(np.int64), np.zeros(size, np.int64), np.empty(size, np.uint8), self._root,
            state["child"], state["sibling"], keys.words, keys.starts, keys.ends, keys.data, 0,
        )  # fmt: skip

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return (self._ends,)

    @property
    def ends_itself(self) -> bool:
        return True

    def contents(self, frontier: Instant) -> Changes:
        top = self._tops[: self._memo[SHOWN]].copy()
        begin, until = np.full(len(top), frontier), np.full(len(top), FOREVER)
        return Changes(tuple(self._rows.columns(top)), begin, until, self._per_row["shown"][top])

    @property
    def rows(self) -> int:
        return len(self._rows) + len(self._ends)

    @property
    def nbytes(self) -> int:
        own = sum(int(part.nbytes) for part in (*self._per_row.values(), self._best, self._tops))
        return self._rows.nbytes + self._bytes.nbytes + self._ends.nbytes + own

    def save(self) -> dict[str, pa.Table]:
        state, known = self._per_row, self._rows.known()
        known = known[state["copies"][known] != 0]
        counts = {name: state[name][known] for name in ("copies", "shown")}
        columns = {str(i): column for i, column in enumerate(self._rows.columns(known))}
        ends = dict(zip(("until", "row", "weight"), self._ends.entries(), strict=True))
        return {
            "rows": pa.table(columns),
            "numbers": arrays_table({"number": known, **counts}),
            "ends": arrays_table(ends),
            "size": arrays_table({"size": np.array([self._rows.size])}),
        }

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        arrays = table_arrays(saved["numbers"])
        numbers, size = arrays["number"], int(saved["size"].column(0)[0].as_py())
        columns = [column.combine_chunks() for column in saved["rows"].columns]
        self._rows.restore(columns, numbers, size)
        self._make_room()
        self._bytes.put(numbers, *row_keys(columns, self.order, len(numbers)))
        state = self._per_row
        state["copies"][numbers], state["shown"][numbers] = arrays["copies"], arrays["shown"]
        state["place"][numbers] = np.where(arrays["copies"] > 0, HEAP, 0)
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
