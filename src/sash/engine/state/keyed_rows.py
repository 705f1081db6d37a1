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
from sash.engine.state.chains import Asking, Chains, Pairs
from sash.engine.state.round_array import RoundArray
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, changes_of, changes_table, table_arrays
from sash.lifetimes import Changes, Instant

_SLACK = 4096
_HIGHEST = 1 << 30
"""Row numbers up to here, and those of one step more, fit 32 bits."""


class KeyedRows:
    """Rows with lifetimes, found by key.

    >>> rows = KeyedRows([pa.string()])
    >>> some = Changes((pa.array(["a", "b"]),), np.array([1, 2]), np.array([5, 6]), np.array([1, 1]))
    >>> rows.add(some, [Asking.of(np.array([[7], [8]]))])
    0
    >>> asking = Asking.of(np.array([[8]])), np.array([4]), np.array([9])
    >>> [(pairs.rows.tolist(), pairs.until.tolist()) for pairs in rows.matches(*asking)]
    [([1], [6])]
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = tuple(types)
        self._clear()

    def _clear(self) -> None:
        self.payload = Rows(self._types)
        self._begins = RoundArray(np.int64)
        self._span = 0  # of every row, until one differs
        self._spans: RoundArray | None = None
        self._weights: RoundArray | None = None  # until one is not 1
        self._chains: list[Chains] = []
        self._negatives = 0
        self._look_at = _SLACK

    def __len__(self) -> int:
        return len(self._begins)

    @property
    def all_ones(self) -> bool:
        """Whether every weight is 1, so that they need not be looked at."""
        return self._weights is None

    @property
    def nbytes(self) -> int:
        """How many bytes rows, lifetimes and chains take."""
        return self.payload.nbytes + sum(part.nbytes for part in self._parts)

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
        if self._weights is not None:
            self._weights.append(changes.weight)
            self._negatives += int(np.count_nonzero(changes.weight < 0))

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """The weights of the given rows."""
        return np.ones(len(rows), np.int64) if self._weights is None else self._weights.take(rows)

    def untils(self, rows: np.ndarray) -> np.ndarray:
        """The ends of the given rows."""
        spans = self._span if self._spans is None else self._spans.take(rows)
        ends: np.ndarray = self._begins.take(rows) + spans
        return ends

    def matches(
        self, asking: Asking, begins: np.ndarray, untils: np.ndarray, key: int = 0, *, together: bool = True
    ) -> Iterator[Pairs]:
        """What lives when asking rows begin and has their `key`-th key, in pieces of bounded size.

        Rows that begin `together` with the asking one are among its matches, or are not.
        """
        if not len(self):
            return iter(())
        lives = self._begins.buffer, self._span_buffer
        return self._chains[key].matches(asking, begins, untils, *lives, together=together)

    @property
    def _span_buffer(self) -> np.ndarray:
        return np.array([self._span]) if self._spans is None else self._spans.buffer

    def expire(self, frontier: Instant) -> tuple[int, np.ndarray] | None:
        """Forget what has ended; rewrite when the dead outweigh the living.

        A rewrite gives the former first number, and from there on each row's new number (-1: gone).
        """
        begins = self._begins
        first = first_alive(
            begins.buffer, self._span_buffer, begins.base, begins.origin, begins.end, frontier
        )
        self.payload.forget_before(first)
        for part in self._parts:
            part.forget_before(first)
        if len(self) < self._look_at and begins.end <= _HIGHEST:
            return None
        dead = 2 * self._negatives + int((self._contents_untils() <= frontier).sum())
        moved = self._rewrite(frontier) if 2 * dead > len(self) or begins.end > _HIGHEST else None
        self._look_at = max(_SLACK, 2 * len(self))
        return moved

    def _rewrite(self, frontier: Instant) -> tuple[int, np.ndarray]:
        """Only what lives, rows and their negations netted."""
        changes, keys = self._contents()
        origin, moved = self._begins.origin, np.full(len(self), -1)
        alive = np.flatnonzero(changes.until > frontier)
        weights = changes.weight[alive]
        if self._negatives:
            kept, weights = net(changes.take(alive).columns, changes.until[alive], weights)
            alive = alive[kept]
        live = changes.take(alive)
        live = Changes(live.columns, live.begin, live.until, weights)
        moved[alive] = np.arange(len(alive))
        self._clear()
        self.add(live, [Asking.of(words[alive]) for words in keys])
        return origin, moved

    def places(self, rows: np.ndarray) -> np.ndarray:
        """The numbers that the given rows will have after `save` and `load`."""
        return rows - self._begins.origin

    def _contents_untils(self) -> np.ndarray:
        spans = self._span if self._spans is None else self._spans.whole()
        ends: np.ndarray = self._begins.whole() + spans
        return ends

    def _contents(self) -> tuple[Changes, list[np.ndarray]]:
        weights = np.ones(len(self), np.int64) if self._weights is None else self._weights.whole()
        columns = tuple(self.payload.all_columns())
        changes = Changes(columns, self._begins.whole(), self._contents_untils(), weights)
        return changes, [chains.words() for chains in self._chains]

    def save(self) -> dict[str, pa.Table]:
        """Rows and the words of their keys; nothing if there are none."""
        if not len(self):
            return {}
        changes, keys = self._contents()
        saved = {"rows": changes_table(changes)}
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
