"""One input of a join: its rows by number, with lifetimes, in chains by each key that they are asked for.

Rows are forgotten from the front as they end; when what is dead further on (ended, or a row with its
negation) outweighs what lives, the rest is netted and written anew. A probe costs what it finds and what
it passes on the way, not what is kept.
"""

from __future__ import annotations

__all__ = ["KeyedRows"]

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from sash.engine.kernels.chains import first_alive
from sash.engine.netting import net
from sash.engine.state import upkeep
from sash.engine.state.calendar import Calendar
from sash.engine.state.chains import Asking, Chains, Pairs
from sash.engine.state.round_array import RoundArray
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, changes_of, changes_table, table_arrays
from sash.lifetimes import BEGINNING, Changes, Instant

_HIGHEST = 1 << 30
"""Row numbers up to here, and those of one step more, fit 32 bits."""


class KeyedRows:
    """Rows with lifetimes, found by key; with `tells_ends` also by their ends.

    >>> rows = KeyedRows([pa.string()], tells_ends=True)
    >>> some = Changes((pa.array(["a", "b"]),), np.array([1, 2]), np.array([5, 6]), np.array([1, 1]))
    >>> rows.add(some, [Asking.of(np.array([[7], [8]]))])
    0
    >>> [pairs.rows.tolist() for pairs in rows.matches(Asking.of(np.array([[8]])), np.array([4]))]
    [[1]]
    >>> [part.tolist() for part in rows.ending(5)]
    [[5], [0]]
    """

    def __init__(self, types: Sequence[pa.DataType], *, tells_ends: bool = False) -> None:
        self._types = tuple(types)
        self._tells_ends = tells_ends
        self._expired = BEGINNING
        self._clear()

    def _clear(self) -> None:
        self.payload = Rows(self._types)
        self._begins = RoundArray(np.int64)
        self._span = 0  # of every row, until one differs
        self._spans: RoundArray | None = None
        self._ends: Calendar | None = None  # until a span differs, rows end in the order of their numbers
        self._weights: RoundArray | None = None  # until one is not 1
        self._chains: list[Chains] = []
        self._negatives = 0
        self._look_at = upkeep.FEW

    def __len__(self) -> int:
        return len(self._begins)

    @property
    def all_ones(self) -> bool:
        """Whether every weight is 1, so that they need not be looked at."""
        return self._weights is None

    @property
    def nbytes(self) -> int:
        """How many bytes rows, lifetimes and chains take."""
        ends = 0 if self._ends is None else self._ends.nbytes
        return self.payload.nbytes + ends + sum(part.nbytes for part in self._parts)

    @property
    def _parts(self) -> Sequence[RoundArray | Chains]:
        lives = (part for part in (self._begins, self._spans, self._weights) if part is not None)
        return [*lives, *self._chains]

    def add(self, changes: Changes, keys: Sequence[Asking]) -> int:
        """Keep these rows, found by each key; gives the number of the first."""
        first = self.payload.append(changes.columns, len(changes))
        if not len(changes):
            return first
        self._add_lives(changes)
        if not self._chains:
            self._chains = [Chains(key.words.shape[1]) for key in keys]
        for chains, key in zip(self._chains, keys, strict=True):
            chains.add(key)
        return first

    def _add_lives(self, changes: Changes) -> None:
        """Note when rows begin, and how long they live and what they weigh where that differs."""
        spans = changes.until - changes.begin
        if self._spans is None:
            if not len(self):
                self._span = int(spans[0])
            if (spans != self._span).any():
                self._spans = RoundArray.alike(self._begins, np.int64, self._span)
        if self._weights is None and (changes.weight != 1).any():
            self._weights = RoundArray.alike(self._begins, np.int64, 1)
        self._begins.append(changes.begin)
        if self._spans is not None:
            self._spans.append(spans)
            self._note_ends(changes.until)
        if self._weights is not None:
            self._weights.append(changes.weight)
            self._negatives += int(np.count_nonzero(changes.weight < 0))

    def _note_ends(self, untils: np.ndarray) -> None:
        """Note when the last rows end; when all rows do, if that was not noted until now."""
        if not self._tells_ends:
            return
        if self._ends is None:
            self._ends, untils = Calendar((np.int64, np.int32)), self._lifetimes()[1]
        numbers = np.arange(self._begins.end - len(untils), self._begins.end, dtype=np.int32)
        self._ends.add((untils, numbers))

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """The weights of the given rows."""
        return np.ones(len(rows), np.int64) if self._weights is None else self._weights.take(rows)

    def untils(self, rows: np.ndarray) -> np.ndarray:
        """The ends of the given rows."""
        spans = self._span if self._spans is None else self._spans.take(rows)
        ends: np.ndarray = self._begins.take(rows) + spans
        return ends

    def keys_of(self, rows: np.ndarray, key: int) -> Asking:
        """The `key`-th key of the given rows, to ask others by."""
        return Asking.of(self._chains[key].words_of(rows))

    def matches(
        self, asking: Asking, instants: np.ndarray, key: int = 0, *, begun: int = 0, ended: int = 0
    ) -> Iterator[Pairs]:
        """What lives at asking rows' instants and has their `key`-th key, in pieces of bounded size.

        Matches have begun `begun` ticks after the instant at the latest and end more than `ended` after it.
        """
        if not len(self):
            return iter(())
        lives = self._begins.buffer, self._all_spans
        return self._chains[key].matches(asking, instants, *lives, begun, ended)

    @property
    def _all_spans(self) -> np.ndarray:
        """As they lie, or the one of all."""
        return np.array([self._span]) if self._spans is None else self._spans.buffer

    def ending(self, frontier: Instant) -> tuple[np.ndarray, np.ndarray]:
        """Ends and numbers of the rows that end by the frontier, in time order, each told of once.

        They are still there, until they expire.
        """
        if self._ends is not None:
            ends, rows = self._ends.pop(frontier)
            return ends, rows
        rows = np.arange(self._begins.origin, self._first_alive(frontier), dtype=np.int32)
        return self.untils(rows), rows

    def due(self, frontier: Instant) -> np.ndarray:
        """When rows end up to the frontier: most of what `ending` would give."""
        if self._ends is not None:
            return self._ends.due(frontier)
        return self.untils(np.arange(self._begins.origin, self._first_alive(frontier), dtype=np.int32))

    def alive(self, frontier: Instant) -> np.ndarray:
        """The numbers of all rows that live at the frontier."""
        rows: np.ndarray = np.flatnonzero(self._lifetimes()[1] > frontier) + self._begins.origin
        return rows.astype(np.int32)

    def _first_alive(self, frontier: Instant) -> int:
        """The first row that ends after the frontier."""
        begins = self._begins
        lives = begins.buffer, self._all_spans
        return int(first_alive(*lives, begins.base, begins.origin, begins.end, frontier))

    def expire(self, frontier: Instant) -> None:
        """Forget what has ended; rewrite when the dead outweigh the living."""
        self._expired = frontier
        first = self._first_alive(frontier)
        self.payload.forget_before(first)
        for part in self._parts:
            part.forget_before(first)
        if len(self) >= self._look_at or self.payload.end > _HIGHEST:
            dead = 2 * self._negatives + int((self._lifetimes()[1] <= frontier).sum())
            if 2 * dead > len(self) or self.payload.end > _HIGHEST:
                self._rewrite()
            self._look_at = max(upkeep.FEW, 2 * len(self))

    def _rewrite(self) -> None:
        """Only what lives, rows and their negations netted, numbered anew."""
        rows, keys = self._contents()
        if self._negatives:
            # A key need not be among the columns kept: rows of different keys are different rows.
            words = (pa.array(part[:, j]) for part in keys for j in range(part.shape[1]))
            kept, weights = net([*rows.columns, *words], rows.until, rows.weight)
            rows, keys = rows.take(kept), [part[kept] for part in keys]
            rows = Changes(rows.columns, rows.begin, rows.until, weights)
        self._clear()
        self.add(rows, [Asking.of(words) for words in keys])

    def _lifetimes(self) -> tuple[np.ndarray, np.ndarray]:
        """When each row begins and when it ends, in order of number."""
        begins = self._begins.whole()
        return begins, begins + (self._span if self._spans is None else self._spans.whole())

    def _contents(self) -> tuple[Changes, list[np.ndarray]]:
        """The rows that have not ended, and the words of their keys."""
        weights = np.ones(len(self), np.int64) if self._weights is None else self._weights.whole()
        rows = Changes(tuple(self.payload.all_columns()), *self._lifetimes(), weights)
        keys = [chains.words() for chains in self._chains]
        lasting = rows.until > self._expired
        return (rows, keys) if lasting.all() else (rows.filter(lasting), [words[lasting] for words in keys])

    def save(self) -> dict[str, pa.Table]:
        """Rows and the words of their keys; nothing if there are none."""
        rows, keys = self._contents()
        if not len(rows):
            return {}
        saved = {"rows": changes_table(rows)}
        for k, words in enumerate(keys):
            columns = {str(j): np.ascontiguousarray(words[:, j]) for j in range(words.shape[1])}
            saved[f"key{k}"] = arrays_table(columns)
        return saved

    def load(self, saved: Mapping[str, pa.Table]) -> None:
        """What `save` wrote."""
        keys = [table_arrays(saved[f"key{k}"]).values() for k in range(len(saved) - 1)]
        rows = changes_of(saved["rows"])
        self._clear()
        words = [np.ascontiguousarray(np.stack(list(key), axis=1)) for key in keys]
        self.add(rows, [Asking.of(part) for part in words])
