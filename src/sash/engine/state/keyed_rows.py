"""One input of a join: its live rows in immutable segments, each with its own index per key.

Steps add segments; small neighbours are joined as in an LSM tree, segments whose last row has ended
go whole, and when what is dead (ended, or a row with its negation) outweighs what lives, the rest is
netted and written anew. A probe costs what it finds, not what is kept.
"""

from __future__ import annotations

__all__ = ["KeyedRows", "Pairs", "Segments", "matches"]

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.kernels.probing import probe
from sash.engine.netting import net
from sash.engine.state.key_index import Index
from sash.engine.state.rows import Rows
from sash.engine.state.saving import arrays_table, changes_of, changes_table, table_arrays
from sash.lifetimes import Changes, Instant

_PAIRS_AT_ONCE = 1 << 20
_SLACK = 4096
_HIGHEST = 1 << 30
"""Row numbers up to here, and those of one step more, fit 32 bits."""


@dataclass(frozen=True, eq=False)
class _Segment:
    """Rows that came together; their lifetimes are in the indexes, and no weights mean 1 each."""

    first: int
    weights: np.ndarray | None
    indexes: tuple[Index, ...]
    last_end: Instant

    def __len__(self) -> int:
        return len(self.indexes[0])

    @staticmethod
    def of(first: int, until: np.ndarray, weight: np.ndarray, indexes: Sequence[Index]) -> _Segment:
        return _Segment(first, None if (weight == 1).all() else weight, tuple(indexes), int(until.max()))

    @property
    def begin(self) -> np.ndarray:
        """When each row begins."""
        return self.indexes[0].by_row(self.indexes[0].begins)

    @property
    def until(self) -> np.ndarray:
        """When each row ends."""
        return self.indexes[0].by_row(self.indexes[0].untils)

    @property
    def weight(self) -> np.ndarray:
        """The weight of each row."""
        return np.ones(len(self), np.int64) if self.weights is None else self.weights


Segments = tuple[_Segment, ...]
"""Rows of one input as they were at some moment; immutable, so that a search may go on beside others."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Matches: positions of the probing rows, numbers of the kept rows, and their common lifetimes."""

    probes: np.ndarray
    rows: np.ndarray
    begin: np.ndarray
    until: np.ndarray

    def __len__(self) -> int:
        return len(self.probes)


class KeyedRows:
    """Rows with lifetimes, probed by key."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = tuple(types)
        self._clear()

    def _clear(self) -> None:
        self.payload = Rows(self._types)
        self._segments: list[_Segment] = []
        self._negatives = 0
        self._look_at = _SLACK
        self.all_ones = True
        """Whether every weight is 1, so that they need not be looked at."""

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    @property
    def nbytes(self) -> int:
        """How many bytes rows, lifetimes and indexes take."""
        indexes = sum(index.nbytes for segment in self._segments for index in segment.indexes)
        weights = sum(segment.weights.nbytes for segment in self._segments if segment.weights is not None)
        return self.payload.nbytes + indexes + weights

    def add(self, changes: Changes, indexes: Sequence[Index]) -> int:
        """Keep these rows, indexed by each key; gives the number of the first."""
        first = self.payload.append(changes.columns, len(changes))
        if not len(changes):
            return first
        self._segments.append(_Segment.of(first, changes.until, changes.weight, indexes))
        if self._segments[-1].weights is not None:
            self.all_ones = False
            self._negatives += int(np.count_nonzero(changes.weight < 0))
        limit = 1024 + len(self) // 8
        while len(self._segments) > 1:
            before, last = self._segments[-2:]
            adjoining = before.first + len(before) == last.first
            if not adjoining or len(before) > 2 * len(last) or len(before) + len(last) > limit:
                break
            begin, until, weight, keys = _joined([before, last])
            both = [Index.of(words, begin, until) for words in keys]
            self._segments[-2:] = [_Segment.of(before.first, until, weight, both)]
        return first

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """The weights of the given rows."""
        return self._gather(rows, lambda segment: segment.weight)

    def untils(self, rows: np.ndarray) -> np.ndarray:
        """The ends of the given rows."""
        return self._gather(rows, lambda segment: segment.until)

    def _gather(self, rows: np.ndarray, values: Callable[[_Segment], np.ndarray]) -> np.ndarray:
        out = np.empty(len(rows), np.int64)
        which = np.searchsorted([segment.first for segment in self._segments], rows, side="right") - 1
        for k, segment in enumerate(self._segments):
            here = np.flatnonzero(which == k)
            if len(here):
                out[here] = values(segment)[rows[here] - segment.first]
        return out

    @property
    def segments(self) -> Segments:
        """The rows as they are now; what is added later does not show."""
        return tuple(self._segments)

    def probe(self, asking: Index, key: int) -> Iterator[Pairs]:
        """All matches of the asking rows by the `key`-th key, in pieces of bounded size."""
        return matches(self.segments, asking, key)

    def expire(self, frontier: Instant) -> tuple[int, np.ndarray] | None:
        """Forget what has ended; rewrite when the dead outweigh the living.

        A rewrite gives the former first number, and from there on each row's new number (-1: gone).
        """
        moved = None
        self._segments = [segment for segment in self._segments if segment.last_end > frontier]
        self.payload.forget_before(self._segments[0].first if self._segments else self.payload.end)
        if len(self.payload) >= self._look_at or self.payload.end > _HIGHEST:
            dead = len(self.payload) - len(self) + 2 * self._negatives
            dead += sum(int((segment.indexes[0].untils <= frontier).sum()) for segment in self._segments)
            if 2 * dead > len(self.payload) or self.payload.end > _HIGHEST:
                moved = self._rewrite(frontier)
            self._look_at = max(_SLACK, 2 * len(self.payload))
        return moved

    def _rewrite(self, frontier: Instant) -> tuple[int, np.ndarray]:
        """Only what lives, rows and their negations netted."""
        changes, keys = self._contents()
        origin, moved = self.payload.origin, np.full(len(self.payload), -1)
        alive = np.flatnonzero(changes.until > frontier)
        weights = changes.weight[alive]
        if self._negatives:
            kept, weights = net(changes.take(alive).columns, changes.until[alive], weights)
            alive = alive[kept]
        live = changes.take(alive)
        live = Changes(live.columns, live.begin, live.until, weights)
        moved[self._numbers()[alive] - origin] = np.arange(len(alive))
        self._clear()
        self.add(live, [Index.of(words[alive], live.begin, live.until) for words in keys])
        return origin, moved

    def _numbers(self) -> np.ndarray:
        """The numbers of all rows kept; segments may have gone from between them."""
        return np.concatenate([np.arange(s.first, s.first + len(s)) for s in self._segments])

    def places(self, rows: np.ndarray) -> np.ndarray:
        """The numbers that the given rows will have after `save` and `load`."""
        return np.searchsorted(self._numbers(), rows) if len(rows) else rows

    def _contents(self) -> tuple[Changes, list[np.ndarray]]:
        columns = tuple(self.payload.take(self._numbers()))
        begin, until, weight, keys = _joined(self._segments)
        return Changes(columns, begin, until, weight), keys

    def save(self) -> dict[str, pa.Table]:
        """Rows and the words of their keys; nothing if there are none."""
        if not self._segments:
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
        self.add(rows, [Index.of(part, rows.begin, rows.until) for part in words])


def matches(segments: Segments, asking: Index, key: int) -> Iterator[Pairs]:
    """All matches of the asking rows in the segments by their `key`-th key, in pieces of bounded size."""
    room = min(_PAIRS_AT_ONCE, 1024 + len(asking))
    out, found = _room(room), 0
    hashes, begins, untils = asking.hashes, asking.begins, asking.untils
    none = np.empty((0, 1), np.int64)
    words = none if asking.longer is None else asking.longer
    for segment in segments:
        index = segment.indexes[key]
        cursor = np.zeros(1, np.int64)
        while True:
            found += probe(
                asking.order, hashes, asking.marks, begins, untils, words, cursor,
                index.bits, index.starts, index.order, index.marks, index.base, index.offsets, index.spans,
                none if index.longer is None else index.longer, segment.first,
                *(part[found:] for part in out),
            )  # fmt: skip
            if cursor[0] == len(asking):
                break
            if found:
                yield Pairs(*(part[:found] for part in out))
            else:
                room *= 2  # a single row has more matches than there was room for
            out, found = _room(room), 0
    if found:
        yield Pairs(*(part[:found] for part in out))


def _room(pairs: int) -> list[np.ndarray]:
    return [np.empty(pairs, type_) for type_ in (np.int32, np.int32, np.int64, np.int64)]


def _joined(
    segments: Sequence[_Segment],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Lifetimes, weights and the words of each key of several segments, in their order."""
    keys = [
        np.concatenate([index.by_row(index.words) for index in group])
        for group in zip(*(segment.indexes for segment in segments), strict=True)
    ]
    begin = np.concatenate([segment.begin for segment in segments])
    until = np.concatenate([segment.until for segment in segments])
    return begin, until, np.concatenate([segment.weight for segment in segments]), keys
