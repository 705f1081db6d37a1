"""Texts known by row number: a column of rows whose bytes lie end to end in an array used round."""

from __future__ import annotations

__all__ = ["TextRing"]

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.fixed_width import valid_marks
from sash.engine.gathering import MANY, Task
from sash.engine.kernels.texts import copy_texts, measure_texts
from sash.engine.parallel import in_parallel
from sash.engine.state.round_array import RoundArray

_MOST = 2**31 - 1
"""More bytes than this are not one column of texts."""


class TextRing:
    """One column of texts or of bytes for rows `origin`, `origin` + 1, ...

    >>> ring = TextRing(pa.string(), 0)
    >>> ring.append(pa.array(["a", None, "bcd"]))
    >>> ring.forget_before(1)
    >>> ring.append(pa.array(["", "ef"]))
    >>> ring.taking(np.array([4, 1, 2, 3])).run().to_pylist()
    ['ef', None, 'bcd', '']
    """

    def __init__(self, type_: pa.DataType, origin: int) -> None:
        """Texts of this type: strings or binaries."""
        self._type = type_
        self._stops = RoundArray(np.int64, origin)
        self._bytes = RoundArray(np.uint8)
        self._valid: RoundArray | None = None  # until the first NULL comes

    def __len__(self) -> int:
        return len(self._stops)

    @property
    def nbytes(self) -> int:
        """How many bytes are set aside."""
        marks = 0 if self._valid is None else self._valid.nbytes
        return self._stops.nbytes + self._bytes.nbytes + marks

    def append(self, column: pa.Array) -> None:
        """Add the texts of the next rows."""
        if not len(column):
            return
        if self._valid is None and column.null_count:
            self._valid = RoundArray.alike(self._stops, np.uint8, 1)
        _, offsets_buffer, data = column.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int32)[column.offset : column.offset + len(column) + 1]
        self._stops.append(self._bytes.end + (offsets[1:] - np.int64(offsets[0])))
        if offsets[-1] > offsets[0]:
            self._bytes.append(np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]])
        if self._valid is not None:
            self._valid.append(valid_marks(column))

    def taking(self, rows: np.ndarray) -> Task:
        """How to get the texts of the given rows."""
        return Task(partial(self._take, rows), set_aside=False)

    def _take(self, rows: np.ndarray) -> pa.Array:
        where = self._stops.buffer, self._stops.base, self._stops.origin, self._bytes.origin
        offsets = np.empty(len(rows) + 1, np.int32)
        total = measure_texts(*where, rows, offsets)
        if total > _MOST:
            raise pa.ArrowCapacityError(f"{total} bytes of text in one column of one step")
        texts, half = np.empty(total, np.uint8), len(rows) // 2
        from_ring = self._bytes.buffer, self._bytes.base
        halves = [
            lambda: copy_texts(*where, rows[:half], offsets, *from_ring, texts[: offsets[half]]),
            lambda: copy_texts(*where, rows[half:], offsets[half:], *from_ring, texts),
        ]
        in_parallel(halves, worthwhile=len(rows) > MANY)
        valid = None if self._valid is None else self._valid.take(rows)
        marks = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        return pa.Array.from_buffers(
            self._type, len(rows), [marks, pa.py_buffer(offsets), pa.py_buffer(texts)], -1 if marks else 0
        )

    def taking_beside(self, fresh: pa.Array, rows: np.ndarray, places: np.ndarray) -> Task:
        """How to get the texts at places in `fresh` and, counted on after those, of the given rows."""
        return Task(partial(self._take_beside, fresh, rows, places), set_aside=False)

    def _take_beside(self, fresh: pa.Array, rows: np.ndarray, places: np.ndarray) -> pa.Array:
        both = pa.concat_arrays([fresh, self._take(rows)])
        return pc.take(both, pa.array(places), boundscheck=False)

    def whole(self) -> pa.Array:
        """Every text, in order of number."""
        return self._take(np.arange(self._stops.origin, self._stops.end))

    def forget_before(self, row: int) -> None:
        """Drop the texts of all rows before `row`."""
        if row > self._stops.origin:
            self._bytes.forget_before(int(self._stops.take(np.array([row - 1]))[0]))
        for part in (self._stops,) if self._valid is None else (self._stops, self._valid):
            part.forget_before(row)

    def renumber(self) -> None:
        """Count from 0 again."""
        for part in (self._stops,) if self._valid is None else (self._stops, self._valid):
            part.renumber()

    def keep(self, alive: np.ndarray) -> None:
        """Keep only the texts marked, numbered from 0."""
        kept = self._take(np.flatnonzero(alive) + self._stops.origin)
        self.__init__(self._type, 0)  # type: ignore[misc]
        self.append(kept)
