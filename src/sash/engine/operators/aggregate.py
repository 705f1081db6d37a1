"""GROUP BY: one row per group that has rows, for as long as its aggregates stay the same.

Rows begin and end as events; rows of one group and lifetime are added up first, which is what makes
windows with SLIDE cheap. One sweep over the instants of the step applies the events to the groups'
lanes (lanes.py) and notes each group's state at each instant that touches it; states are linked to
lifetimes, those equal to the one before left out, and results are made of them column-wise ([G06]
§3.5.2, [GH05] §5.4: a group that becomes empty leaves the answer).
"""

from __future__ import annotations

__all__ = ["GroupAggregate"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.accumulators import MOST_ROWS
from sash.engine.encoding import key_words, value_words
from sash.engine.expressions import evaluate
from sash.engine.gathering import gathered
from sash.engine.kernels.aggregating import (
    EARLIER,
    lanes_of,
    link_states,
    sweep_groups,
    sweep_groups_with_triples,
)
from sash.engine.kernels.ordering import argsort_instants
from sash.engine.lanes import Lanes
from sash.engine.operator import Operator, Saved
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.distinct_values import DistinctValues
from sash.engine.state.extremes import Extremes, extremes_for
from sash.engine.state.fifo_extremes import FifoExtremes
from sash.engine.state.live_values import merged, not_null
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.stable_keys import StableKeys, roomy
from sash.engine.values import Faults
from sash.language.expressions import AggregateCall, Expression
from sash.lifetimes import FOREVER, Changes, Instant, repeated
from sash.plan.patterns import Pattern

_END = (np.int64, np.int64, np.int64, np.float64)  # until, group, lanes

Events = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Instants, groups, integer lanes [n, i], float lanes [n, f]."""

States = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Groups, instants, the group's state before, integer lanes [n, i], float lanes [n, f]."""


@dataclass(eq=False)
class GroupAggregate(Operator):
    """Aggregates of the first input by `groups`; the other inputs say when a global one is born."""

    groups: tuple[Expression, ...]
    aggregates: tuple[AggregateCall, ...]
    input_types: tuple[pa.DataType, ...]
    faults: Faults
    pattern: Pattern
    closes: bool = False
    """Whether rows end by negative ones even within a step: what only the answer reads."""
    lanes: Lanes = field(init=False)
    keys: StableKeys = field(init=False)
    _ends: Calendar = field(init=False)
    _distinct: list[DistinctValues | None] = field(init=False)
    _extremes: list[Extremes | FifoExtremes] = field(init=False)
    ints: np.ndarray = field(init=False)
    _floats: np.ndarray = field(init=False)
    _latest: np.ndarray = field(init=False)
    _last: np.ndarray = field(init=False)
    living: np.ndarray = field(init=False)
    _born: bool = field(init=False, default=False)
    _mass: int = field(init=False, default=0)
    _base: int = field(init=False, default=0)
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)

    def __post_init__(self) -> None:
        self.lanes = Lanes(self.aggregates)
        self.keys = StableKeys([group.type for group in self.groups])
        self._ends = Calendar(_END)
        self._distinct = [
            DistinctValues(feed.argument.type) if feed.distinct else None for feed in self.lanes.feeds
        ]
        self._extremes = [
            extremes_for(feed.argument.type, feed.largest, self.pattern) for feed in self.lanes.extremes
        ]
        self.ints, self._floats = self._room(16)
        self._latest, self._last = np.full(16, -1), np.zeros(16, np.int64)
        self.living, self._mass, self._base = np.zeros(1, np.int64), 0, 0
        self._born, self._look_at = False, upkeep.FEW

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        born = self._born
        return self.give([*self.take_in(inputs, frontier)], born)

    def take_in(self, inputs: Sequence[Changes], frontier: Instant) -> tuple[Events, Events]:
        """What comes and what goes up to the frontier, both in time order; lanes are as they were."""
        come, go = self._events(inputs, frontier)
        self._mass -= int(go[2][:, 0].sum())
        return come, go

    def give(self, events: list[Events], born: bool) -> Changes:
        """Apply what `take_in` gave to the lanes; the rows that follow from it. The list is emptied."""
        come, go = events
        events.clear()
        if not len(come[0]) and not len(go[0]):
            return Changes.empty(self.types)
        states = [self._states(come, go, born)]
        del come, go  # there may be many
        result = self._rows(states)
        self.forget()
        return result

    def _events(self, inputs: Sequence[Changes], frontier: Instant) -> tuple[Events, Events]:
        """The ends of rows up to the frontier, and all other events before them."""
        changes = inputs[0]
        n = len(changes)
        numbers = self._numbers_of(changes)
        arguments: list[tuple[Expression, pa.Array]] = []

        def argument(expression: Expression) -> pa.Array:
            for known, values in arguments:
                if known == expression:
                    return values
            arguments.append((expression, evaluate(expression, changes.columns, n, self.faults)))
            return arguments[-1][1]

        self._mass += int(changes.weight.sum())
        if not self.lanes.wide:
            fits = all(feed.carries(argument(feed.argument)) for feed in self.lanes.feeds)
            if not fits or self._mass > MOST_ROWS:
                self._widen()
        ints, floats = self._room(n)
        ints[:, 0] = changes.weight
        extra: list[Events] = []
        for feed, distinct in zip(self.lanes.feeds, self._distinct, strict=True):
            values = argument(feed.argument)
            if distinct is None:
                self._shrink(feed.shrinking(values))
                feed.write(values, changes.weight, ints, floats)
                continue
            rows = not_null(changes.with_columns([values]), numbers)
            at, moved, values, signs = distinct.step(*rows, frontier)
            if len(at):
                extra.append((at, moved, *self._room(len(at))))
                self._shrink(feed.shrinking(values))
                feed.write(values, signs, *extra[-1][2:])
        lifetimes = changes.begin, changes.until
        begin, until, groups, ints, floats = merged(*lifetimes, numbers, ints, floats, self._last)
        self._ends.add((until, groups, ints, floats))
        go = self._shaped(self._ends.pop(frontier))
        for feed_, extremes in zip(self.lanes.extremes, self._extremes, strict=True):
            rows = not_null(changes.with_columns([argument(feed_.argument)]), numbers)
            at, moved, by = extremes.step(*rows, self.keys.size, frontier)
            if len(at):
                extra.append((at, moved, *self._room(len(at))))
                extra[-1][2][:, feed_.lane] = by
        extra.extend(self._birth(inputs))
        return _all_in_order([(begin, groups, ints, floats), *extra]), go

    def _widen(self) -> None:
        """Lay the lanes out wide, in the groups and in the ends to come."""
        narrow, self.lanes = self.lanes, self.lanes.widened()
        self.ints = narrow.spread_out(self.ints, self.lanes)
        until, groups, ints, floats = self._ends.entries()
        self._ends = Calendar(_END)
        if len(until):
            self._ends.add((until, groups, narrow.spread_out(ints, self.lanes), floats))

    def _shrink(self, lanes: list[tuple[slice, float]]) -> None:
        """Scale float lanes down, in the groups and in the ends to come."""
        if lanes:
            ends = self._shaped(self._ends.entries())
            for where, factor in lanes:
                self._floats[:, where] *= factor
                ends[3][:, where] *= factor
            self._ends = Calendar(_END)
            self._ends.add(ends)

    def _numbers_of(self, changes: Changes) -> np.ndarray:
        n = len(changes)
        if self.groups:
            columns = [evaluate(group, changes.columns, n, self.faults) for group in self.groups]
            numbers = self.keys.numbers_of(columns, n)
        else:
            self.keys.numbers_of([], 1)
            numbers = np.zeros(n, np.int64)
        size = self.keys.size
        self.ints, self._floats = roomy(self.ints, size), roomy(self._floats, size)
        self._latest, self._last = roomy(self._latest, size, -1), roomy(self._last, size)
        return numbers

    def _room(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((n, self.lanes.ints), np.int64), np.zeros((n, self.lanes.floats))

    def _shaped(self, ends: tuple[np.ndarray, ...]) -> Events:
        """A calendar that has nothing to give does not know of lanes."""
        return (ends[0], ends[1], ends[2], ends[3]) if len(ends[0]) else (ends[0], ends[1], *self._room(0))

    def _birth(self, inputs: Sequence[Changes]) -> list[Events]:
        """A global aggregate's row begins with the first row of any input: an event that adds nothing."""
        if self.groups or self._born:
            return []
        first = [int(changes.begin[0]) for changes in inputs if len(changes)]
        if not first:
            return []
        self._born = True
        return [(np.array([min(first)]), np.zeros(1, np.int64), *self._room(1))]

    def _states(self, come: Events, go: Events, born: bool) -> States:
        """The groups' states in time order."""
        events = len(come[0]) + len(go[0])
        room = events + min(events, self.keys.size)
        whole = [np.empty(room, np.int64) for _ in range(3)]
        lanes = np.empty((room, self.lanes.ints), np.int64), np.empty((room, self.lanes.floats))
        sweep = sweep_groups_with_triples if self.lanes.floats else sweep_groups
        written = sweep(
            *come, *go, self.ints, self._floats, self.lanes.counts, int(born),
            self._base, self._latest, *whole, *lanes,
        )  # fmt: skip
        self._base += room
        groups, at, before, ints, floats = (part[:written] for part in (*whole, *lanes))
        return groups, at, before, ints, floats

    def _rows(self, states: list[States]) -> Changes:
        """Rows from one change of a group's row to the next. The list is emptied."""
        groups, at, before, ints, floats = states.pop()
        n = len(groups)
        telling = self.lanes.telling if self.groups else None
        most = 2 * n if self.closes else n
        chosen, owners, begin, weight = (np.empty(most, np.int64) for _ in range(4))
        until = np.empty(0 if self.closes else most, np.int64)
        out = int(self.closes), FOREVER, chosen, owners, begin, until, weight, self.living
        whole = int(not self.groups)
        if telling is not None:
            written = link_states(groups, at, before, ints, whole, ints, telling, *out)
            del groups, at, before
            linked = np.empty((ints.shape[1], written), np.int64)
            lanes_of(ints, chosen[:written], linked)
            del ints
            results = self._results(linked, floats[:0].T, np.ones(written, np.bool_))
        else:
            results = self._results(ints.T, floats.T, (ints[:, 0] > 0) & (before != EARLIER))
            words = (key_words if any(column.null_count for column in results) else value_words)(results, n)
            every = np.arange(words.shape[1])
            written = link_states(groups, at, before, ints, whole, words, every, *out)
            results = gathered(results, chosen[:written])
        ends = repeated(FOREVER, written) if self.closes else until[:written]
        columns = *self.keys.columns(owners[:written]), *results
        return Changes(columns, begin[:written], ends, weight[:written])

    def _results(self, ints: np.ndarray, floats: np.ndarray, fresh: np.ndarray) -> list[pa.Array]:
        return self.lanes.finish(ints, floats, fresh, self.faults, self._extreme_values)

    def _extreme_values(self, place: int, lane: np.ndarray) -> pa.Array:
        return self._extremes[place].values(lane)

    def forget(self) -> None:
        """Drop what is gone; to be called when no state of a step is needed any more.

        Groups without rows go once at least half are; they are looked for when their number has doubled.
        """
        for feed, extremes in zip(self.lanes.extremes, self._extremes, strict=True):
            extremes.forget(self.ints, feed.lane)
        if len(self.keys) < self._look_at or not self.groups:
            return
        known = self.keys.known()
        alive = np.zeros(self.keys.size, np.bool_)
        alive[known] = self.ints[known].any(axis=1)
        left = int(alive.sum())
        self._look_at = max(upkeep.FEW, 2 * left)
        if 2 * left <= len(known):
            self.keys.keep(alive)

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return (self._ends,)

    @property
    def ends_itself(self) -> bool:
        return True

    def contents(self, frontier: Instant) -> Changes:
        known = self.keys.known()
        living = known[self.ints[known, 0] != 0] if self.groups else known[: int(self._born)]
        columns = self.columns(living, self.ints[living], self._floats[living])
        begin, until = np.full(len(living), frontier), np.full(len(living), FOREVER)
        return Changes(tuple(columns), begin, until, np.ones(len(living), np.int64))

    def columns(self, groups: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> list[pa.Array]:
        """The rows of groups with the given lanes; faults were counted when they came."""
        counted = np.zeros(len(groups), np.bool_)
        results = self._results(np.ascontiguousarray(ints.T), np.ascontiguousarray(floats.T), counted)
        return [*self.keys.columns(groups), *results]

    @property
    def rows(self) -> int:
        return int(self.living[0]) + len(self._ends) + sum(len(values) for _, values in self._valued())

    @property
    def nbytes(self) -> int:
        per_group = (self.ints, self._floats, self._latest, self._last)
        own = self.keys.nbytes + sum(int(part.nbytes) for part in per_group)
        return own + self._ends.nbytes + sum(values.nbytes for _, values in self._valued())

    def save(self) -> dict[str, pa.Table]:
        known = self.keys.known()
        names = [f"key{i}" for i in range(len(self.groups))]
        keys = dict(zip(names, self.keys.all_columns(), strict=True))
        until, groups, ints, floats = self._shaped(self._ends.entries())
        lanes = arrays_table({"number": known, **_lane_columns(self.ints[known], self._floats[known])})
        scalars = {
            "size": [self.keys.size],
            "born": [self._born],
            "living": self.living,
            "scales": [self.lanes.scales],
            "wide": [self.lanes.wide],
        }
        saved = {
            "groups": pa.table({**keys, **{name: lanes.column(name) for name in lanes.column_names}}),
            "ends": arrays_table({"until": until, "group": groups, **_lane_columns(ints, floats)}),
            "scalars": pa.table(scalars),
        }
        for name, values in self._valued():
            saved.update(values.save(name))
        return saved

    def _valued(self) -> list[tuple[str, DistinctValues | Extremes | FifoExtremes]]:
        named: list[tuple[str, DistinctValues | Extremes | FifoExtremes]] = []
        named += [(f"distinct{i}", values) for i, values in enumerate(self._distinct) if values is not None]
        named += [(f"extremes{i}", values) for i, values in enumerate(self._extremes)]
        return named

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        scalars = saved["scalars"].to_pylist()[0]
        size, self._born = scalars["size"], scalars["born"]
        self.living[0] = scalars["living"]
        if scalars["wide"]:
            self._widen()
        self.lanes.restore_scales(scalars["scales"])
        table = saved["groups"]
        keys = [table.column(f"key{i}").combine_chunks() for i in range(len(self.groups))]
        numbers = table.column("number").to_numpy()
        if len(numbers):
            self.keys.restore(keys or [], numbers, size)
        self._numbers_of(Changes.empty(self.input_types))
        self.ints[numbers], self._floats[numbers] = self._lanes_of(table)
        self._mass = int(self.ints[:, 0].sum())
        ends = saved["ends"]
        until, groups = (ends.column(name).to_numpy() for name in ("until", "group"))
        self._ends.add((until, groups, *self._lanes_of(ends)))
        for name, values in self._valued():
            if isinstance(values, DistinctValues):
                values.load(saved, name)
            else:
                values.load(saved, name, self.keys.size)

    def _lanes_of(self, table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        arrays = table_arrays(table.select([n for n in table.column_names if n[0] in "if"]))
        ints, floats = self._room(table.num_rows)
        for i in range(self.lanes.ints):
            ints[:, i] = arrays[f"i{i}"]
        for i in range(self.lanes.floats):
            floats[:, i] = arrays[f"f{i}"]
        return ints, floats


def _lane_columns(ints: np.ndarray, floats: np.ndarray) -> dict[str, np.ndarray]:
    whole = {f"i{i}": np.ascontiguousarray(ints[:, i]) for i in range(ints.shape[1])}
    return whole | {f"f{i}": np.ascontiguousarray(floats[:, i]) for i in range(floats.shape[1])}


def _all_in_order(parts: list[Events]) -> Events:
    """Events of all parts in time order."""
    parts = [part for part in parts if len(part[0])] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    at, groups, ints, floats = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    order = argsort_instants(at)
    if order is None:
        return at, groups, ints, floats
    return at[order], groups[order], ints[order], floats[order]
