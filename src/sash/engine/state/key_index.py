"""An index of rows by one key: for a join, of what is kept as well as of what asks.

Rows are in order of the top bits of their key's hash. Beside each stands what it is told by, when it
begins, and how long it lives: in half the bits where that suffices, and once where all live equally long.
"""

from __future__ import annotations

__all__ = ["Index"]

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sash.engine.encoding import hashes_of
from sash.engine.kernels.probing import build_index


@dataclass(frozen=True, eq=False)
class Index:
    """Rows in order of the hash of one key; immutable, so that it can be probed from either side.

    >>> index = Index.of(np.array([[7], [8], [7]]), np.array([1, 2, 3]), np.array([11, 12, 13]))
    >>> index.by_row(index.words).tolist(), index.by_row(index.untils).tolist(), index.spans.tolist()
    ([[7], [8], [7]], [11, 12, 13], [10])
    """

    bits: int
    starts: np.ndarray
    order: np.ndarray
    marks: np.ndarray
    """A key of one word itself; the hash of a longer one."""
    longer: np.ndarray | None
    """The words of longer keys, row by row."""
    base: int
    offsets: np.ndarray
    """Beginnings, as distances from the base."""
    spans: np.ndarray
    """How long each row lives; one number if all live equally long."""

    @staticmethod
    def of(words: np.ndarray, begins: np.ndarray, untils: np.ndarray) -> Index:
        """Index rows with these key words and lifetimes."""
        return Index.building(begins, untils)(words)

    @staticmethod
    def building(begins: np.ndarray, untils: np.ndarray) -> Callable[[np.ndarray], Index]:
        """How to index rows with these lifetimes by their words: memory is set aside now."""
        n = len(begins)
        starts = np.zeros((1 << max(1, (n - 1).bit_length())) + 1, np.int32)
        order, marks, spans = np.empty(n, np.int32), np.empty(n, np.int64), untils - begins
        if not n or spans.min() == spans.max():
            spans = spans[:1].copy() if n else np.zeros(1, np.int64)
        base, offsets = (int(begins.min()), np.empty(n, np.uint32)) if n else (0, np.empty(0, np.int64))
        if n and int(begins.max()) - base > np.iinfo(np.uint32).max:
            base, offsets = 0, np.empty(n, np.int64)
        return partial(_built, begins, starts, order, marks, base, offsets, spans)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def hashes(self) -> np.ndarray:
        """The hash of each key, in the index's order."""
        return hashes_of(self.marks.reshape(-1, 1)) if self.longer is None else self.marks.view(np.uint64)

    @property
    def words(self) -> np.ndarray:
        """The words of each key, in the index's order."""
        return self.marks.reshape(-1, 1) if self.longer is None else self.longer[self.order]

    @property
    def begins(self) -> np.ndarray:
        """When each row begins, in the index's order."""
        whole = self.offsets.dtype == np.int64
        return self.offsets if whole else np.add(self.offsets, self.base, dtype=np.int64)

    @property
    def untils(self) -> np.ndarray:
        """When each row ends, in the index's order."""
        ends: np.ndarray = self.begins + self.spans
        return ends

    def by_row(self, indexed: np.ndarray) -> np.ndarray:
        """What is in the index's order, in that of the rows."""
        values = np.empty_like(indexed)
        values[self.order] = indexed
        return values

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        parts = (self.starts, self.order, self.marks, self.longer, self.offsets, self.spans)
        return sum(part.nbytes for part in parts if part is not None)


def _built(
    begins: np.ndarray,
    starts: np.ndarray,
    order: np.ndarray,
    marks: np.ndarray,
    base: int,
    offsets: np.ndarray,
    spans: np.ndarray,
    words: np.ndarray,
) -> Index:
    hashes, bits, one = hashes_of(words), (len(starts) - 1).bit_length() - 1, words.shape[1] == 1
    told_by = words.reshape(-1) if one else hashes.view(np.int64)
    build_index(hashes, told_by, begins, base, bits, starts, order, marks, offsets)
    in_order = spans if len(spans) == 1 else spans[order]
    return Index(bits, starts, order, marks, None if one else words, base, offsets, in_order)
