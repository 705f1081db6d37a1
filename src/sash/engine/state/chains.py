"""Rows by one key: every row hangs behind the latest one before it whose key has a like hash.

A row is found by following its chain from the latest to the earliest, as far as rows are kept; adding one
costs a look at the head of its chain, and forgetting the earliest ones costs nothing.
"""

from __future__ import annotations

__all__ = ["Asking", "Chains", "Pairs"]

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sash.engine.encoding import hashes_of
from sash.engine.kernels.chains import AT_ONCE, link, probe
from sash.engine.state.room import room
from sash.engine.state.round_array import RoundArray

_PAIRS_AT_ONCE = 1 << 20
_FEWEST_BITS = 4


@dataclass(frozen=True, eq=False)
class Asking:
    """Keys to be looked up or to be kept: their words [n, w] and the hashes of these."""

    words: np.ndarray
    hashes: np.ndarray

    @staticmethod
    def of(words: np.ndarray) -> Asking:
        """Keys with these words."""
        return Asking(words, hashes_of(words))

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Matches in order of the asking rows: the positions of these and the numbers of kept rows."""

    probes: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.probes)


class Chains:
    """The words of rows `origin`, `origin` + 1, ... and which row each hangs behind.

    >>> chains = Chains(1)
    >>> chains.add(Asking.of(np.array([[7], [8], [7]])))
    >>> lives = np.array([1, 2, 3]), np.array([10])
    >>> pairs = next(chains.matches(Asking.of(np.array([[7], [9]])), np.array([4, 4]), *lives, 0, 0))
    >>> pairs.probes.tolist(), pairs.rows.tolist()
    ([0, 0], [2, 0])
    """

    def __init__(self, width: int) -> None:
        """Of keys of so many words."""
        self._words = RoundArray(np.int64, width=width)
        self._before = RoundArray(np.int32)
        self._bits = _FEWEST_BITS
        self._heads = _no_heads(self._bits)

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return int(self._words.nbytes + self._before.nbytes + self._heads.nbytes)

    def add(self, keys: Asking) -> None:
        """Hang in the next rows."""
        self._words.append(keys.words)
        first = self._before.extend(len(keys))
        if len(self._words) > len(self._heads):
            self._hang_anew()
        else:
            link(keys.hashes, first, self._before.base, self._bits, self._heads, self._before.buffer)

    def _hang_anew(self) -> None:
        """As many chains as there are rows, or more."""
        rows = len(self._words)
        self._bits = max(_FEWEST_BITS, (rows - 1).bit_length())
        self._heads = _no_heads(self._bits)
        hashes = hashes_of(self._words.whole())
        link(hashes, self._before.origin, self._before.base, self._bits, self._heads, self._before.buffer)

    def forget_before(self, row: int) -> None:
        """Drop the rows before `row`."""
        self._words.forget_before(row)
        self._before.forget_before(row)
        if len(self._heads) > 1 << 16 and len(self._heads) > 8 * len(self._words):
            self._hang_anew()

    def matches(
        self,
        asking: Asking,
        instants: np.ndarray,
        kept_begins: np.ndarray,
        kept_spans: np.ndarray,
        begun: int,
        ended: int,
    ) -> Iterator[Pairs]:
        """What lives at an asking row's instant and has its key, in pieces of bounded size.

        Matches have begun `begun` ticks after that at the latest and end more than `ended` ticks after it.
        Kept begins and spans lie as the rows do here, or one span is that of all.
        """
        cursor = np.array([0, -1])
        pairs = min(_PAIRS_AT_ONCE, AT_ONCE + 2 * len(asking))
        while cursor[0] < len(asking):
            out = [np.empty(pairs, np.int32) for _ in range(2)]
            found = probe(
                asking.hashes, asking.words, instants, begun, ended, cursor,
                self._bits, self._heads, self._before.buffer, self._words.buffer, kept_begins, kept_spans,
                self._before.base, self._before.origin, self._before.end, *out,
            )  # fmt: skip
            if found:
                yield Pairs(*(part[:found] for part in out))

    def words(self) -> np.ndarray:
        """The words of every row, in order of number."""
        return self._words.whole()

    def words_of(self, rows: np.ndarray) -> np.ndarray:
        """The words of the given rows."""
        return self._words.take_lines(rows)


def _no_heads(bits: int) -> np.ndarray:
    heads = room(1 << bits, np.int32)
    heads[:] = -1
    return heads
