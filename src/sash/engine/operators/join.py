"""The n-way join over signed lifetimes, without intermediate state ([GO03] §3, [G06] §5.2).

New rows of each input ask the others one after another for rows that live when they begin; a result
lives as long as all its parts. It is bilinear, so a negative row needs no special case. Of rows that begin
together those of later inputs find those of earlier ones, so that every combination is found once: by the
part that begins last. So combinations are found in order of their beginnings. Where the answer is to show
their ends they are found once more, by the part that ends first: nothing is kept but the inputs' rows.
"""

from __future__ import annotations

__all__ = ["MultiJoin"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.combinations import Combinations, in_time_order, with_signs
from sash.engine.encoding import any_null, key_words, value_words, word_count
from sash.engine.expressions import Faults, evaluate
from sash.engine.gathering import Task, done, picked
from sash.engine.operator import Ends, Operator, Saved
from sash.engine.parallel import in_parallel
from sash.engine.state.chains import Asking
from sash.engine.state.keyed_rows import KeyedRows
from sash.engine.state.saving import under
from sash.language.expressions import Expression, columns_of
from sash.lifetimes import FOREVER, Changes, Instant, repeated
from sash.plan.nodes import Equality

_WORTHWHILE = 4_096
"""From this many rows on, a second thread is worth waking."""
_STRIDE_ROWS = 32_768
"""A row may make many results, and what is found of them waits until all of a stride's are."""


@dataclass(frozen=True)
class _Key:
    """What an input is probed by: its own expressions, and what the inputs before give for them."""

    input: int
    own: tuple[Expression, ...]
    given: tuple[tuple[int, Expression], ...]
    null_safe: tuple[bool, ...]


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
    _kept: list[KeyedRows] = field(init=False)
    _keys: list[list[_Key]] = field(init=False)
    _routes: list[list[tuple[_Key, int]]] = field(init=False)
    _payload: list[tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._keys = [[] for _ in self.input_types]
        self._routes = [self._route(start) for start in range(len(self.input_types))]
        self._payload = [self._columns_kept(i) for i in range(len(self.input_types))]
        self._kept = [
            KeyedRows([types[c] for c in kept], tells_ends=self.closes)
            for types, kept in zip(self.input_types, self._payload, strict=True)
        ]

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
        keying = [self._keyed(i, new) for i, new in enumerate(ready)]
        asked = in_parallel(keying, worthwhile=busy and self._longer_keys)
        firsts = [self._keep(i, new, keys) for i, (new, keys) in enumerate(zip(ready, asked, strict=True))]
        gone = [kept.ending(frontier) for kept in self._kept] if self.closes else []
        busy = busy or sum(len(rows) for _, rows in gone) > _WORTHWHILE
        terms = [self._term(i, new, firsts[i], asked[i]) for i, new in enumerate(ready) if len(new)]
        ends = [self._ending_term(i, *rows) for i, rows in enumerate(gone) if len(rows[0])]
        found = in_parallel([*terms, *ends], worthwhile=busy)
        result = self._results(found[: len(terms)], found[len(terms) :])
        for rows in self._kept:
            rows.expire(frontier)
        return result

    @property
    def _longer_keys(self) -> bool:
        """Whether words must be made of keys: of texts, say."""
        return any(word_count(e.type) > 1 for keys in self._keys for key in keys for e in key.own)

    def _keyed(self, i: int, changes: Changes) -> Callable[[], list[Asking]]:
        """How to get the keys by which new rows of input i are kept."""
        return lambda: [Asking.of(self._own_words(key, changes)) for key in self._keys[i]]

    def _keep(self, i: int, changes: Changes, keys: Sequence[Asking]) -> int:
        """Keep new rows of input i; gives the number of the first."""
        columns = [changes.columns[c] for c in self._payload[i]]
        return self._kept[i].add(changes.with_columns(columns), keys)

    def _term(
        self, i: int, changes: Changes, first: int, keys: Sequence[Asking]
    ) -> Callable[[], list[Combinations]]:
        """The search for what new rows of input i match: rows that live when they begin."""
        numbers = np.arange(first, first + len(changes), dtype=np.int32)
        start = self._alone(i, numbers, changes.begin)
        asking = self._asking(i, changes, keys)
        # Of what begins at the same instant, only the rows of earlier inputs have begun.
        begun = [0 if j < i else -1 for j in range(len(self._kept))]
        ended = [0] * len(self._kept)
        return lambda: list(self._extend(start, self._routes[i], begun, ended, self.faults, asking))

    def _ending_term(self, i: int, ends: np.ndarray, rows: np.ndarray) -> Callable[[], list[Combinations]]:
        """The search for what ends with rows of input i: what lives a tick before."""
        start = self._alone(i, rows, ends - 1)
        begun = [0] * len(self._kept)
        # Of what ends at the same instant, only the rows of earlier inputs are there still.
        ended = [0 if j < i else 1 for j in range(len(self._kept))]
        return lambda: list(self._extend(start, self._routes[i], begun, ended, Faults()))

    def _alone(self, i: int, rows: np.ndarray, at: np.ndarray) -> Combinations:
        """Rows of input i at some instants, not combined with others yet."""
        return Combinations(tuple(rows if j == i else None for j in range(len(self._kept))), at)

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
        own = self._own_key(i, key)
        if own is not None:
            return keys[own]
        given = [expression for _, expression in key.given]
        values = [evaluate(expression, changes.columns, len(changes), self.faults) for expression in given]
        return Asking.of(_words(values, key.null_safe, len(changes)))

    def _own_key(self, i: int, key: _Key) -> int | None:
        """Which of the keys that rows of input i are kept by is the one that they ask another input for."""
        asked = tuple(expression for _, expression in key.given), key.null_safe
        known = [(own.own, own.null_safe) for own in self._keys[i]]
        return known.index(asked) if asked in known and all(j == i for j, _ in key.given) else None

    def _extend(
        self,
        start: Combinations,
        route: Sequence[tuple[_Key, int]],
        begun: Sequence[int],
        ended: Sequence[int],
        faults: Faults,
        asking: Asking | None = None,
    ) -> Iterator[Combinations]:
        """Follow a route, input by input, in pieces of bounded size: who lives at the instants of `start`?

        `begun` and `ended` say by how much each input's rows must have begun and not ended then.
        """
        if not len(start.at):
            return
        if not route:
            yield self._passing(start, faults)
            return
        key, which = route[0]
        if asking is None:
            asking = self._asking_again(start, key, faults)
        kept, sharp = self._kept[key.input], {"begun": begun[key.input], "ended": ended[key.input]}
        for pairs in kept.matches(asking, start.at, which, **sharp):
            numbers = [None if known is None else picked(known, pairs.probes) for known in start.numbers]
            numbers[key.input] = pairs.rows
            grown = Combinations(tuple(numbers), picked(start.at, pairs.probes))
            yield from self._extend(grown, route[1:], begun, ended, faults)

    def _asking_again(self, start: Combinations, key: _Key, faults: Faults) -> Asking:
        """Combinations of rows that are kept, as they ask the next input on their route."""
        for i, numbers in enumerate(start.numbers):
            own = self._own_key(i, key)
            if numbers is not None and own is not None:
                return self._kept[i].keys_of(numbers, own)
        values = [self._given(start, i, expression, faults) for i, expression in key.given]
        return Asking.of(_words(values, key.null_safe, len(start.at)))

    def _given(self, start: Combinations, i: int, expression: Expression, faults: Faults) -> pa.Array:
        """A key's value for each combination so far."""
        numbers = start.numbers[i]
        assert numbers is not None
        columns = self._spread(i, self._kept[i].payload.take(numbers))
        return evaluate(expression, columns, len(start.at), faults)

    def _spread(self, i: int, kept: Sequence[pa.Array]) -> list[pa.Array]:
        """Kept columns at their own positions; what was not kept is never read."""
        columns: list[pa.Array] = [None] * len(self.input_types[i])
        for position, column in zip(self._payload[i], kept, strict=True):
            columns[position] = column
        return columns

    def _passing(self, found: Combinations, faults: Faults) -> Combinations:
        """What passes the residual predicate."""
        if self.residual is None:
            return found
        columns = self._columns(found, columns_of(self.residual))
        passed = evaluate(self.residual, columns, len(found.at), faults)
        return found.take(np.flatnonzero(pc.fill_null(passed, False).to_numpy(zero_copy_only=False)))

    def _columns(self, found: Combinations, read: frozenset[int]) -> list[pa.Array]:
        """The columns of all inputs side by side for each combination; those that are not read are None."""
        columns: list[pa.Array] = [None] * self._offset(len(self.input_types))
        tasks: dict[int, Task] = {}
        for i, numbers in enumerate(found.bound):
            payload, offset = self._kept[i].payload, self._offset(i)
            for k, column in enumerate(self._payload[i]):
                if offset + column in read:
                    tasks[offset + column] = payload.taking(k, numbers)
        for position, column in zip(tasks, done(list(tasks.values()), len(found.at)), strict=True):
            columns[position] = column
        return columns

    def _results(self, came: list[list[Combinations]], went: list[list[Combinations]]) -> Changes:
        whole, signs = in_time_order(came), None
        if self.closes:
            whole, signs = with_signs(whole, in_time_order(went))
        if whole is None:
            return Changes.empty(self.types)
        columns = self._computed(whole)
        return Changes(columns, whole.at, self._ends(whole), self._weights(whole, signs))

    def _computed(self, found: Combinations) -> tuple[pa.Array, ...]:
        """The outputs for each combination."""
        read = frozenset().union(*map(columns_of, self.outputs)) if self.outputs else frozenset()
        columns = self._columns(found, read)
        return tuple(evaluate(e, columns, len(found.at), self.faults) for e in self.outputs)

    @property
    def stride_rows(self) -> int:
        if self.closes:
            return _STRIDE_ROWS * 3 // 8  # every result ends, too
        return _STRIDE_ROWS * 3 // 4 if self._longer_keys else _STRIDE_ROWS

    @property
    def ends(self) -> tuple[Ends, ...]:
        return tuple(self._kept) if self.closes else ()

    @property
    def ends_itself(self) -> bool:
        return self.closes

    def contents(self, frontier: Instant) -> Changes:
        rows = self._kept[0].alive(frontier)
        start = self._alone(0, rows, np.full(len(rows), frontier))
        now = [0] * len(self._kept)
        live = in_time_order([list(self._extend(start, self._routes[0], now, now, Faults()))])
        if live is None:
            return Changes.empty(self.types)
        return Changes(self._computed(live), live.at, self._ends(live), self._weights(live))

    def _ends(self, found: Combinations) -> np.ndarray:
        """Until when results live: INTERNAL inputs do not end them, and none is foreseen if this closes."""
        ends = repeated(FOREVER, len(found.at))
        if self.closes or not self.ends_are_read:
            return ends
        for kept, numbers, inside in zip(self._kept, found.bound, self.internal, strict=True):
            if not inside:
                ends = np.minimum(ends, kept.untils(numbers))
        return ends

    def _weights(self, found: Combinations, signs: np.ndarray | None = None) -> np.ndarray:
        weights = repeated(1, len(found.at)) if signs is None else signs
        for kept, numbers in zip(self._kept, found.numbers, strict=True):
            if not kept.all_ones and numbers is not None:
                weights = weights * kept.weights(numbers)
        return weights

    @property
    def rows(self) -> int:
        return sum(map(len, self._kept))

    @property
    def nbytes(self) -> int:
        return sum(kept.nbytes for kept in self._kept)

    def save(self) -> dict[str, pa.Table]:
        return {
            f"{i}/{name}": table for i, kept in enumerate(self._kept) for name, table in kept.save().items()
        }

    def load(self, saved: Saved) -> None:
        for i, kept in enumerate(self._kept):
            mine = under(str(i), saved)
            if mine:
                kept.load(mine)


def _words(values: Sequence[pa.Array], null_safe: Sequence[bool], n: int) -> np.ndarray:
    """The words of a key; only null-safe parts need to mark NULLs, the others have none left."""
    if not any(null_safe):
        return value_words(values, n)
    plain = value_words([value for value, safe in zip(values, null_safe, strict=True) if not safe], n)
    marked = key_words([value for value, safe in zip(values, null_safe, strict=True) if safe], n)
    return np.concatenate([plain, marked], axis=1)
