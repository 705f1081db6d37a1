"""The n-way join over signed lifetimes, without intermediate state ([GO03] §3, [G06] §5.2).

New rows of each input ask the others one after another for rows that live when they begin; a result
lives as long as all its parts. It is bilinear, so a negative row needs no special case. Of rows that begin
together those of later inputs find those of earlier ones, so that every combination is found once: by the
part that begins last. So combinations are found in order of their beginnings.
"""

from __future__ import annotations

__all__ = ["MultiJoin"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.encoding import any_null, key_words, value_words
from sash.engine.expressions import Faults, evaluate
from sash.engine.gathering import Task, done
from sash.engine.kernels.ordering import argsort_instants, merge_order
from sash.engine.operator import Operator, Saved
from sash.engine.parallel import in_parallel
from sash.engine.state.calendar import Calendar
from sash.engine.state.chains import Asking
from sash.engine.state.keyed_rows import KeyedRows
from sash.engine.state.live_combinations import LiveCombinations
from sash.engine.state.saving import under
from sash.language.expressions import Expression, columns_of
from sash.lifetimes import FOREVER, Changes, Instant, repeated
from sash.plan.nodes import Equality

_WORTHWHILE = 4_096
"""From this many rows on, a second thread is worth waking."""
_STRIDE_ROWS = 16_384
"""A row may make many results, and what is found of them waits until all of a stride's are."""


@dataclass(frozen=True)
class _Key:
    """What an input is probed by: its own expressions, and what the inputs before give for them."""

    input: int
    own: tuple[Expression, ...]
    given: tuple[tuple[int, Expression], ...]
    null_safe: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class _Combinations:
    """Row numbers per input (None where not bound yet) and their common lifetime (no end: not foreseen)."""

    numbers: tuple[np.ndarray | None, ...]
    begin: np.ndarray
    ends: np.ndarray | None

    @property
    def until(self) -> np.ndarray:
        """When they end."""
        return repeated(FOREVER, len(self.begin)) if self.ends is None else self.ends

    @property
    def bound(self) -> tuple[np.ndarray, ...]:
        """The row numbers of every input."""
        return tuple(n for n in self.numbers if n is not None)

    def take(self, positions: np.ndarray) -> _Combinations:
        """Those at the given positions."""
        numbers = tuple(None if n is None else n[positions] for n in self.numbers)
        ends = None if self.ends is None else self.ends[positions]
        return _Combinations(numbers, self.begin[positions], ends)


@dataclass(eq=False)
class MultiJoin(Operator):
    """Join the inputs on `equalities` and `residual`, and compute `outputs` from what matches.

    Outputs and residual read the inputs' columns side by side. Where `internal[i]`, rows of input i
    match while they live but their results outlive them. With `closes` results end by negative rows;
    inputs must not have such rows themselves.
    """

    input_types: tuple[tuple[pa.DataType, ...], ...]
    equalities: tuple[Equality, ...]
    residual: Expression | None
    outputs: tuple[Expression, ...]
    internal: tuple[bool, ...]
    faults: Faults
    closes: bool = False
    _live: LiveCombinations = field(init=False)
    _kept: list[KeyedRows] = field(init=False)
    _keys: list[list[_Key]] = field(init=False)
    _routes: list[list[tuple[_Key, int]]] = field(init=False)
    _payload: list[tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._keys = [[] for _ in self.input_types]
        self._routes = [self._route(start) for start in range(len(self.input_types))]
        self._payload = [self._columns_kept(i) for i in range(len(self.input_types))]
        self._kept = [
            KeyedRows([types[c] for c in kept])
            for types, kept in zip(self.input_types, self._payload, strict=True)
        ]
        self._live = LiveCombinations(len(self.input_types))

    def _route(self, start: int) -> list[tuple[_Key, int]]:
        """In which order new rows of `start` meet the others: those they are tied to first."""
        bound, route = [start], []
        while len(bound) < len(self.input_types):
            rest = [i for i in range(len(self.input_types)) if i not in bound]
            ties = {i: self._ties(i, bound) for i in rest}
            following = max(rest, key=lambda i: (len(ties[i].own), -i))
            key = ties[following]
            own = [(known.own, known.null_safe) for known in self._keys[following]]
            if (key.own, key.null_safe) not in own:
                self._keys[following].append(key)
                own.append((key.own, key.null_safe))
            route.append((key, own.index((key.own, key.null_safe))))
            bound.append(following)
        return route

    def _ties(self, to: int, bound: Sequence[int]) -> _Key:
        ties: list[tuple[Expression, int, Expression, bool]] = []
        for e in self.equalities:
            if e.left == to and e.right in bound:
                ties.append((e.left_key, e.right, e.right_key, e.null_safe))
            elif e.right == to and e.left in bound:
                ties.append((e.right_key, e.left, e.left_key, e.null_safe))
        ties.sort(key=lambda tie: str(tie[0]))
        return _Key(to, tuple(t[0] for t in ties), tuple(t[1:3] for t in ties), tuple(t[3] for t in ties))

    def _offset(self, i: int) -> int:
        return sum(len(types) for types in self.input_types[:i])

    def _columns_kept(self, i: int) -> tuple[int, ...]:
        """The columns of input i that are read after a match."""
        read: set[int] = set()
        for expression in (*self.outputs, *(() if self.residual is None else (self.residual,))):
            read |= {c - self._offset(i) for c in columns_of(expression)}
        if len(self.input_types) > 2:
            for key in (key for route in self._routes for key, _ in route):
                for given, expression in key.given:
                    read |= columns_of(expression) if given == i else frozenset()
        return tuple(sorted(c for c in read if 0 <= c < len(self.input_types[i])))

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        ready = [self._matchable(i, changes) for i, changes in enumerate(inputs)]
        busy = sum(map(len, ready)) > _WORTHWHILE
        asked = in_parallel([self._keyed(i, new) for i, new in enumerate(ready)], worthwhile=busy)
        firsts = [self._keep(i, new, keys) for i, (new, keys) in enumerate(zip(ready, asked, strict=True))]
        terms = [self._term(i, new, firsts[i], asked[i]) for i, new in enumerate(ready) if len(new)]
        result = self._results(in_parallel(terms, worthwhile=busy), frontier)
        for i, rows in enumerate(self._kept):
            moved = rows.expire(frontier)
            if moved is not None and len(self._live):
                self._live.renumber(i, *moved)
        return result

    def _keyed(self, i: int, changes: Changes) -> Callable[[], list[Asking]]:
        """How to get the keys by which new rows of input i are kept."""
        return lambda: [Asking.of(self._own_words(key, changes)) for key in self._keys[i]]

    def _keep(self, i: int, changes: Changes, keys: Sequence[Asking]) -> int:
        """Keep new rows of input i; gives the number of the first."""
        columns = [changes.columns[c] for c in self._payload[i]]
        return self._kept[i].add(changes.with_columns(columns), keys)

    def _term(
        self, i: int, changes: Changes, first: int, keys: Sequence[Asking]
    ) -> Callable[[], list[_Combinations]]:
        """The search for what new rows of input i match: rows that live when they begin."""
        numbers = np.arange(first, first + len(changes), dtype=np.int32)
        bound = tuple(numbers if j == i else None for j in range(len(self.input_types)))
        start = _Combinations(bound, changes.begin, changes.until)
        asking = self._asking(i, changes, keys)
        return lambda: list(self._extend(i, start, self._routes[i], asking))

    def _matchable(self, i: int, changes: Changes) -> Changes:
        """Without the rows that have a NULL where another input must be equal."""
        if not len(changes):
            return changes
        keys = [e.left_key for e in self.equalities if e.left == i and not e.null_safe]
        keys += [e.right_key for e in self.equalities if e.right == i and not e.null_safe]
        nulls = any_null([evaluate(key, changes.columns, len(changes), self.faults) for key in keys])
        return changes if nulls is None else changes.filter(~nulls)

    def _own_words(self, key: _Key, changes: Changes) -> np.ndarray:
        values = [evaluate(e, changes.columns, len(changes), self.faults) for e in key.own]
        return _words(values, key.null_safe, len(changes))

    def _asking(self, i: int, changes: Changes, keys: Sequence[Asking]) -> Asking:
        """New rows as they ask the first input on their route; mostly by a key that they are kept by."""
        key = self._routes[i][0][0]
        given = tuple(expression for _, expression in key.given)
        for own, asking in zip(self._keys[i], keys, strict=True):
            if (own.own, own.null_safe) == (given, key.null_safe):
                return asking
        values = [evaluate(expression, changes.columns, len(changes), self.faults) for expression in given]
        return Asking.of(_words(values, key.null_safe, len(changes)))

    def _extend(
        self,
        i: int,
        start: _Combinations,
        route: Sequence[tuple[_Key, int]],
        asking: Asking | None = None,
    ) -> Iterator[_Combinations]:
        """Follow the route of input i's new rows, input by input, in pieces of bounded size."""
        if not route:
            yield self._passing(start)
            return
        key, which = route[0]
        if asking is None:
            values = [self._given(start, j, expression) for j, expression in key.given]
            asking = Asking.of(_words(values, key.null_safe, len(start.begin)))
        kept, together = self._kept[key.input], key.input < i
        for pairs in kept.matches(asking, start.begin, start.until, which, together=together):
            numbers = [None if known is None else known[pairs.probes] for known in start.numbers]
            numbers[key.input] = pairs.rows
            grown = _Combinations(tuple(numbers), start.begin[pairs.probes], pairs.until)
            yield from self._extend(i, grown, route[1:])

    def _given(self, start: _Combinations, i: int, expression: Expression) -> pa.Array:
        """A key's value for each combination so far."""
        numbers = start.numbers[i]
        assert numbers is not None
        columns = self._spread(i, self._kept[i].payload.take(numbers))
        return evaluate(expression, columns, len(start.begin), self.faults)

    def _spread(self, i: int, kept: Sequence[pa.Array]) -> list[pa.Array]:
        """Kept columns at their own positions; what was not kept is never read."""
        columns: list[pa.Array] = [None] * len(self.input_types[i])
        for position, column in zip(self._payload[i], kept, strict=True):
            columns[position] = column
        return columns

    def _passing(self, found: _Combinations) -> _Combinations:
        """What passes the residual predicate."""
        if self.residual is None or not len(found.begin):
            return found
        columns = self._columns(found, columns_of(self.residual))
        passed = evaluate(self.residual, columns, len(found.begin), self.faults)
        return found.take(np.flatnonzero(pc.fill_null(passed, False).to_numpy(zero_copy_only=False)))

    def _columns(self, found: _Combinations, read: frozenset[int]) -> list[pa.Array]:
        """The columns of all inputs side by side for each combination; those that are not read are None."""
        columns: list[pa.Array] = [None] * self._offset(len(self.input_types))
        tasks: dict[int, Task] = {}
        for i, numbers in enumerate(found.bound):
            payload, offset = self._kept[i].payload, self._offset(i)
            for k, column in enumerate(self._payload[i]):
                if offset + column in read:
                    tasks[offset + column] = payload.taking(k, numbers)
        for position, column in zip(tasks, done(list(tasks.values()), len(found.begin)), strict=True):
            columns[position] = column
        return columns

    def _results(self, found: list[list[_Combinations]], frontier: Instant) -> Changes:
        whole = _in_time_order(found, len(self.input_types))
        begun = len(whole.begin)
        if self.closes:
            whole, order = self._with_ends(whole, frontier)
        if not len(whole.begin):
            return Changes.empty(self.types)
        columns = self._computed(whole)
        weights = self._weights(whole)
        if begun < len(whole.begin):
            weights = np.where(order < begun, weights, -weights)
        return Changes(columns, whole.begin, self._ends(whole), weights)

    def _with_ends(self, found: _Combinations, frontier: Instant) -> tuple[_Combinations, np.ndarray]:
        """What is found and what ends, in time order, and where each was in one after the other.

        The ends of those that end later are kept.
        """
        gone = [self._live.pop(frontier)]
        lasting = found.until > frontier
        if lasting.all():
            self._live.add(found.until, found.bound)
        else:
            self._live.add(found.until[lasting], tuple(part[lasting] for part in found.bound))
            short = ~lasting
            gone.append((found.until[short], tuple(part[short] for part in found.bound)))
        ends = np.concatenate([until for until, _ in gone])
        turns = argsort_instants(ends)
        order, begin = merge_order(found.begin, ends if turns is None else ends[turns])
        if turns is not None:
            after = order >= len(found.begin)
            order[after] = turns[order[after] - len(found.begin)] + len(found.begin)
        numbers = zip(found.bound, *(numbers for _, numbers in gone), strict=True)
        return _Combinations(tuple(np.concatenate(each)[order] for each in numbers), begin, None), order

    def _computed(self, found: _Combinations) -> tuple[pa.Array, ...]:
        """The outputs for each combination."""
        read = frozenset().union(*map(columns_of, self.outputs)) if self.outputs else frozenset()
        columns = self._columns(found, read)
        return tuple(evaluate(e, columns, len(found.begin), self.faults) for e in self.outputs)

    @property
    def stride_rows(self) -> int:
        return _STRIDE_ROWS

    @property
    def ends(self) -> tuple[Calendar, ...]:
        return (self._live.ends,)

    @property
    def ends_itself(self) -> bool:
        return self.closes

    def contents(self, frontier: Instant) -> Changes:
        numbers = self._live.numbers()
        begin = np.full(len(numbers[0]), frontier)
        live = _Combinations(numbers, begin, None)
        return Changes(self._computed(live), begin, live.until, self._weights(live))

    def _ends(self, found: _Combinations) -> np.ndarray:
        """Until when results live: INTERNAL inputs do not end them."""
        if not any(self.internal):
            return found.until
        ends = np.full(len(found.begin), FOREVER)
        for i, inside in enumerate(self.internal):
            numbers = found.numbers[i]
            if not inside and numbers is not None:
                ends = np.minimum(ends, self._kept[i].untils(numbers))
        return ends

    def _weights(self, found: _Combinations) -> np.ndarray:
        weights = repeated(1, len(found.begin))
        for kept, numbers in zip(self._kept, found.numbers, strict=True):
            if not kept.all_ones and numbers is not None:
                weights = weights * kept.weights(numbers)
        return weights

    @property
    def rows(self) -> int:
        return sum(map(len, self._kept)) + len(self._live)

    @property
    def nbytes(self) -> int:
        return sum(kept.nbytes for kept in self._kept) + self._live.nbytes

    def save(self) -> dict[str, pa.Table]:
        saved = {
            f"{i}/{name}": table for i, kept in enumerate(self._kept) for name, table in kept.save().items()
        }
        if len(self._live):
            numbers = zip(self._kept, self._live.numbers(), strict=True)
            saved["live"] = self._live.save([kept.places(rows) for kept, rows in numbers])
        return saved

    def load(self, saved: Saved) -> None:
        for i, kept in enumerate(self._kept):
            mine = under(str(i), saved)
            if mine:
                kept.load(mine)
        if "live" in saved:
            self._live.load(saved["live"])


def _in_time_order(found: list[list[_Combinations]], inputs: int) -> _Combinations:
    """All that was found, in order of beginnings, as it is within each term."""
    terms = [_joined(term) for term in found if term]
    if not terms:
        none = np.empty(0, np.int64)
        return _Combinations((none.astype(np.int32),) * inputs, none, none)
    whole, *others = terms
    for other in others:
        order, begin = merge_order(whole.begin, other.begin)
        both = _joined([whole, other])
        numbers = tuple(part[order] for part in both.bound)
        whole = _Combinations(numbers, begin, both.until[order])
    return whole


def _joined(parts: Sequence[_Combinations]) -> _Combinations:
    """Some combinations, one after another."""
    if len(parts) == 1:
        return parts[0]
    numbers = tuple(map(np.concatenate, zip(*(part.bound for part in parts), strict=True)))
    begin, until = (np.concatenate([getattr(part, name) for part in parts]) for name in ("begin", "until"))
    return _Combinations(numbers, begin, until)


def _words(values: Sequence[pa.Array], null_safe: Sequence[bool], n: int) -> np.ndarray:
    """The words of a key; only null-safe parts need to mark NULLs, the others have none left."""
    if not any(null_safe):
        return value_words(values, n)
    plain = value_words([value for value, safe in zip(values, null_safe, strict=True) if not safe], n)
    marked = key_words([value for value, safe in zip(values, null_safe, strict=True) if safe], n)
    return np.concatenate([plain, marked], axis=1)
