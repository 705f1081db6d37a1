"""RSTREAM: the whole relation, whenever it changes or at each slide; with RESTORE also what it missed.

The relation is kept as counts by value. RSTREAM-RESTORE speaks at each slide and adds the results
that began and ended since the last one ([G06] §3.3.4): of each value, as many copies as ended
beyond those that were there at the last slide.
"""

from __future__ import annotations

__all__ = ["WholeRelation"]

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sash.engine.differences import Differences
from sash.engine.operator import Operator, Saved
from sash.engine.state import upkeep
from sash.engine.state.key_table import KeyTable
from sash.engine.state.saving import arrays_table, table_arrays
from sash.engine.state.tape import Tape
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant

_Told = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Some instants, and what is told at each of them: the slots of values, and how often each is there."""


@dataclass(eq=False)
class WholeRelation(Operator):
    """Stream all rows at every instant of change, or (with `slide`) at every multiple of the slide."""

    slide: int | None
    restore: bool
    _differences: Differences = field(init=False)
    _values: KeyTable = field(init=False)
    _counts: Tape = field(init=False)
    _at_slide: Tape = field(init=False)
    _ended: Tape = field(init=False)
    _frontier: Instant = BEGINNING

    def __post_init__(self) -> None:
        self._differences = Differences(self.types, True)
        self._values = KeyTable(self.types)
        self._counts, self._at_slide, self._ended = Tape(np.int64), Tape(np.int64), Tape(np.int64)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        deltas = self._differences.step(inputs[0], frontier)
        slots = self._values.slots_of(deltas.columns, len(deltas))
        for tape in (self._counts, self._at_slide, self._ended):
            tape.grow_to(len(self._values), 0)
        told: list[_Told] = []
        starts = [0, *(np.flatnonzero(np.diff(deltas.at)) + 1).tolist(), len(deltas)] if len(deltas) else [0]
        before = self._frontier
        for start, stop in pairwise(starts):
            at = int(deltas.at[start])
            self._tell_slides(before, at - 1, told)
            change = deltas.change[start:stop]
            self._counts.view()[slots[start:stop]] += change
            self._ended.view()[slots[start:stop]] += np.maximum(-change, 0)
            if self.slide is None:
                told.append((np.array([at]), *_present(self._counts.view())))
            before = at - 1
        self._tell_slides(before, frontier, told)
        self._frontier = frontier
        stream = self._stream(told)
        self._forget()
        return stream

    def _tell_slides(self, after: Instant, upto: Instant, told: list[_Told]) -> None:
        """Speak at the multiples of the slide in (after, upto], between which nothing changes."""
        if self.slide is None:
            return
        first = (after // self.slide + 1) * self.slide
        if first > upto:
            return
        counts, ended, earlier = self._counts.view(), self._ended.view(), self._at_slide.view()
        total = counts + np.maximum(ended - earlier, 0) if self.restore else counts
        told.append((np.array([first]), *_present(total)))
        ended[:] = 0
        earlier[:] = counts
        if counts.any():  # else there is nothing to tell until something changes
            told.append((np.arange(first + self.slide, upto + 1, self.slide), *_present(counts)))

    def _stream(self, told: Sequence[_Told]) -> Changes:
        if not told:
            return Changes.empty(self.types)
        slots = np.concatenate([np.tile(slots, len(instants)) for instants, slots, _ in told])
        at = np.concatenate([np.repeat(instants, len(slots)) for instants, slots, _ in told])
        weights = np.concatenate([np.tile(weights, len(instants)) for instants, _, weights in told])
        return Changes(tuple(self._values.columns(slots)), at, np.full(len(at), FOREVER), weights)

    def _forget(self) -> None:
        """Drop values that are not there any more once they outnumber the others."""
        alive = (self._counts.view() != 0) | (self._ended.view() != 0) | (self._at_slide.view() != 0)
        if len(alive) > upkeep.FEW and 2 * int(alive.sum()) < len(alive):
            self._values.keep(alive)
            for tape in (self._counts, self._at_slide, self._ended):
                tape.keep(alive)

    @property
    def rows(self) -> int:
        return len(self._values) + len(self._differences.live)

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + self._differences.live.nbytes

    def save(self) -> dict[str, pa.Table]:
        values = self._values.all_columns()
        counts = {"counts": self._counts, "at_slide": self._at_slide, "ended": self._ended}
        return {
            **self._differences.save(self._frontier),
            "values": pa.table(values, names=[str(i) for i in range(len(values))]),
            "counts": arrays_table({name: tape.view() for name, tape in counts.items()}),
            "clock": arrays_table({"frontier": np.array([self._frontier])}),
        }

    def load(self, saved: Saved) -> None:
        self.__post_init__()
        self._differences.load(saved)
        counts = table_arrays(saved["counts"])
        for name, tape in (("counts", self._counts), ("at_slide", self._at_slide), ("ended", self._ended)):
            tape.append(counts[name])
        self._values.slots_of([c.combine_chunks() for c in saved["values"].columns], len(self._counts))
        self._frontier = int(table_arrays(saved["clock"])["frontier"][0])


def _present(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slots of the values that are there, and how often they are."""
    slots = np.flatnonzero(counts)
    return slots, counts[slots]
