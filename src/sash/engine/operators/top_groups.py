"""Top-k right above a GROUP BY, ordered by one of its counts or sums.

The aggregate's lanes say at every instant where each group stands, so no row is made of a group unless
it is shown (kernels/top_groups.py). Where lanes cannot say it any more (a NULL under a sum, a number
too large for them), the aggregate goes on as it is, with the general top-k (topk.py) behind it.
"""

from __future__ import annotations

__all__ = ["TopGroups"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.kernels.top_groups import (
    COME,
    GO,
    OUTSIDE,
    SHOWN,
    SIZE,
    WRITTEN,
    refill_best,
    sweep_top_groups,
    write_words,
)
from sash.engine.operator import Operator, Saved
from sash.engine.operators.aggregate import Events, GroupAggregate
from sash.engine.operators.topk import TopRows
from sash.engine.order_keys import row_keys
from sash.engine.state.calendar import Calendar
from sash.engine.state.ordered_bytes import OrderedBytes
from sash.engine.state.saving import under
from sash.engine.state.stable_keys import roomy
from sash.language.expressions import AggregateCall
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant
from sash.plan.nodes import SortKey

_TURNED = np.uint64(2**64 - 1)
_LEAST_SPARE = 128
_GROUPS_PER_SPARE = 64


@dataclass(eq=False)
class TopGroups(Operator):
    """The groups from `offset` to `offset` + `limit` by a lane, ties by the groups' keys."""

    aggregate: GroupAggregate
    top: TopRows
    """The general top-k, unused as long as lanes say it all."""
    selected: tuple[int, ...]
    """The aggregate's columns that are given."""
    call: AggregateCall
    """What comes first in the order."""
    ties: tuple[SortKey, ...]
    """How the keys decide the rest of it."""
    _general: bool = field(init=False, default=False)
    _order: OrderedBytes = field(init=False)
    _memo: np.ndarray = field(init=False)
    _root: np.ndarray = field(init=False)
    _best: np.ndarray = field(init=False)
    _inside: np.ndarray = field(init=False)
    _per_group: dict[str, np.ndarray] = field(init=False)
    _shown: np.ndarray = field(init=False)
    _shown_ints: np.ndarray = field(init=False)
    _stamp: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._general, self._order, self._stamp = False, OrderedBytes(), 0
        self._memo, self._root = np.zeros(6, np.int64), np.full(1, -1, np.int64)
        self._best, self._inside = np.empty(0, np.int64), np.zeros(16, np.uint8)
        self._per_group = {name: np.zeros(16, np.int64) for name in ("child", "sibling", "mark", "rank")}
        self._shown = np.empty(0, np.int64)
        self._shown_ints = np.empty((0, self.aggregate.lanes.ints), np.int64)

    @property
    def _need(self) -> int:
        return self.top.offset + self.top.limit

    @property
    def _spare(self) -> int:
        """How many groups are kept in order beyond those needed: enough to look through all of the others
        seldom, few enough to keep in order cheaply."""
        return max(_LEAST_SPARE, min(self._need // 2, 4096), self.aggregate.keys.size // _GROUPS_PER_SPARE)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        come, go = self.aggregate.take_in(inputs, frontier)
        if self.aggregate.lanes.wide and not self._general:
            self._generalise()
        if self._general:
            return self.top.step([self._given(self.aggregate.give([come, go], False))], frontier)
        if not len(come[0]) and not len(go[0]):
            return Changes.empty(self.types)
        result = self._sweep(come, go)
        known = len(self.aggregate.keys)
        self.aggregate.forget()
        if len(self.aggregate.keys) < known:
            self._order.keep(self.aggregate.keys.known())
        count = int(self._memo[SHOWN])
        # The number of an extreme lasts no longer than the step; the aggregate has the lasting one now.
        self._shown_ints[:count] = self.aggregate.ints[self._shown[:count]]
        return result

    def _generalise(self) -> None:
        """Hand over to the general top-k what it would hold by now."""
        self._general = True
        self.aggregate.living[0] = self._memo[SIZE] + self._memo[OUTSIDE]
        self.top.step([self._given(self.aggregate.contents(BEGINNING))], BEGINNING)

    def _given(self, changes: Changes) -> Changes:
        return changes.with_columns([changes.columns[i] for i in self.selected])

    def _sweep(self, come: Events, go: Events) -> Changes:
        self._make_room()
        limit, groups = self.top.limit, self.aggregate.keys.size
        most = min(limit, groups)
        lanes, state = self.aggregate.lanes, self._per_group
        keys = len(self.aggregate.groups)
        telling = lanes.telling_of([self.aggregate.aggregates[i - keys] for i in self.selected if i >= keys])
        self._memo[[WRITTEN, COME, GO]] = 0
        events = len(come[0]) + len(go[0])
        at_once = min(events, groups)  # a group is noted once per instant
        touched, lived = np.empty(at_once, np.int64), np.empty(at_once, np.uint8)
        opened = np.full(most, -1, np.int64)
        fresh = np.empty(most, np.int64), np.empty((most, lanes.ints), np.int64), np.empty(most, np.int64)
        out = self._room(max(1024, 4 * most))
        while True:
            stamp = sweep_top_groups(
                *come[:3], *go[:3], self.aggregate.ints, groups, self._lane, self._turn, telling,
                self.top.offset, limit, self._spare, FOREVER, self._best, self._inside,
                self._order.words, self._order.starts, self._order.ends, self._order.data,
                self._root, state["child"], state["sibling"], state["mark"], self._stamp, touched, lived,
                self._shown, self._shown_ints, opened, *fresh, state["rank"], *out, self._memo,
            )  # fmt: skip
            if not stamp:
                break
            self._stamp = stamp
            out = tuple(roomy(part, 2 * len(part)) for part in out)
        self._stamp += events + 1
        owners, ints, begin, until, weight = (part[: self._memo[WRITTEN]] for part in out)
        return Changes(tuple(self._rows_of(owners, ints)), begin, until, weight)

    @property
    def _lane(self) -> int:
        lane = self.aggregate.lanes.lane_of(self.call)
        assert lane is not None, "narrow lanes have the order's"
        return lane

    @property
    def _turn(self) -> np.uint64:
        return _TURNED if self.top.order[0].descending else np.uint64(0)

    def _room(self, n: int) -> tuple[np.ndarray, ...]:
        """Arrays for so many rows of output: groups, lanes, begin, until, weight."""
        whole = [np.empty(n, np.int64) for _ in range(4)]
        return whole[0], np.empty((n, self.aggregate.lanes.ints), np.int64), *whole[1:]

    def _rows_of(self, groups: np.ndarray, ints: np.ndarray) -> list[pa.Array]:
        columns = self.aggregate.columns(groups, ints, np.empty((len(groups), 0)))
        return [columns[i] for i in self.selected]

    def _make_room(self) -> None:
        """Room for all groups, order keys for the new ones, and a `best` of the right length."""
        keys = self.aggregate.keys
        if len(keys.fresh):
            self._put(keys.fresh)
        size = keys.size
        self._order.make_room(size)
        self._inside = roomy(self._inside, size)
        for name, array in self._per_group.items():
            self._per_group[name] = roomy(array, size)
        most = min(self.top.limit, size)
        self._shown, self._shown_ints = roomy(self._shown, most), roomy(self._shown_ints, most)
        # `best` is full by its length: it may be shorter only while there are fewer groups than needed.
        if len(self._best) < min(self._need, size) + 2 * self._spare:
            larger = np.empty(min(self._need, 2 * size) + 3 * self._spare, np.int64)
            larger[: len(self._best)] = self._best
            self._best = larger

    def _put(self, groups: np.ndarray) -> None:
        columns = self.aggregate.keys.columns(groups)
        self._order.put(groups, *row_keys(columns, self.ties, len(groups)))

    @property
    def stride_rows(self) -> int:
        return 24_576  # of all rows few change what is shown: little is gained by many at once

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return self.aggregate.ends + self.top.ends

    @property
    def ends_itself(self) -> bool:
        return True

    def contents(self, frontier: Instant) -> Changes:
        if self._general:
            return self.top.contents(frontier)
        count = int(self._memo[SHOWN])
        columns = self._rows_of(self._shown[:count].copy(), self._shown_ints[:count])
        begin, until = np.full(count, frontier), np.full(count, FOREVER)
        return Changes(tuple(columns), begin, until, np.ones(count, np.int64))

    @property
    def rows(self) -> int:
        groups = 0 if self._general else int(self._memo[SIZE] + self._memo[OUTSIDE])
        return self.aggregate.rows + groups + self.top.rows

    @property
    def nbytes(self) -> int:
        own = [self._inside, self._best, self._shown, self._shown_ints, *self._per_group.values()]
        return self.aggregate.nbytes + self.top.nbytes + self._order.nbytes + sum(int(a.nbytes) for a in own)

    def save(self) -> dict[str, pa.Table]:
        saved = {f"aggregate/{name}": table for name, table in self.aggregate.save().items()}
        if self._general:
            saved |= {f"top/{name}": table for name, table in self.top.save().items()}
        return saved

    def load(self, saved: Saved) -> None:
        self.aggregate.load(under("aggregate", saved))
        self.__post_init__()
        top = under("top", saved)
        if top:
            self._general = True
            self.top.load(top)
        elif len(self.aggregate.keys):
            self._rebuild()

    def _rebuild(self) -> None:
        """Find out what is shown; nothing was held of it."""
        keys, ints = self.aggregate.keys, self.aggregate.ints
        self._put(keys.known())
        self._make_room()
        state = self._per_group
        write_words(ints, keys.size, self._lane, self._turn, self._order.words)
        self._memo[OUTSIDE] = np.count_nonzero(ints[: keys.size, 0] > 0)
        refill_best(
            ints, keys.size, len(self._best) - self._spare, self._best, self._inside,
            self._order.words, self._order.starts, self._order.ends, self._order.data,
            self._root, state["child"], state["sibling"], self._memo,
        )  # fmt: skip
        tops = self._best[self.top.offset : min(int(self._memo[SIZE]), self._need)]
        self._memo[SHOWN] = len(tops)
        self._shown[: len(tops)], self._shown_ints[: len(tops)] = tops, ints[tops]
        state["rank"][tops] = np.arange(1, len(tops) + 1)
