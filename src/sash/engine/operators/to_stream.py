"""A relation as a stream: ISTREAM, DSTREAM and RSTREAM, with their -RESTORE forms.

ISTREAM and DSTREAM are the positive and the negative part of the net change at each instant
([G06] §2.1.3). With restore they are those of the query without its slide, reported at the slide
that follows (§3.3.4), so that results which came and went in between are not lost.
"""

from __future__ import annotations

__all__ = ["Arrivals", "Departures"]

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.differences import Deltas, Differences
from sash.engine.operator import Operator, Saved
from sash.engine.state.saving import changes_of, changes_table
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant, repeated


def _as_stream(deltas: Deltas) -> Changes:
    return Changes(deltas.columns, deltas.at, repeated(FOREVER, len(deltas)), deltas.change)


@dataclass(eq=False)
class Departures(Operator):
    """DSTREAM: what went at each instant."""

    nets: bool
    _differences: Differences = field(init=False)
    _frontier: Instant = BEGINNING

    def __post_init__(self) -> None:
        self._differences = Differences(self.types, self.nets)

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        self._frontier = frontier
        deltas = self._differences.step(inputs[0], frontier)
        gone = deltas.take(np.flatnonzero(deltas.change < 0))
        return _as_stream(Deltas(gone.columns, gone.at, -gone.change))

    @property
    def rows(self) -> int:
        return len(self._differences.live)

    @property
    def nbytes(self) -> int:
        return self._differences.live.nbytes

    def save(self) -> dict[str, pa.Table]:
        return self._differences.save(self._frontier)

    def load(self, saved: Saved) -> None:
        self._differences.load(saved)


@dataclass(eq=False)
class Arrivals(Operator):
    """ISTREAM: what came at each instant. With `slide`, told at the slide that follows (RESTORE).

    Where nothing has to be netted the ends of rows do not matter, and it holds nothing.
    """

    nets: bool
    slide: int | None
    _differences: Differences | None = field(init=False)
    _waiting: Changes | None = None
    _frontier: Instant = BEGINNING

    def __post_init__(self) -> None:
        self._differences = Differences(self.types, True) if self.nets else None

    @property
    def reads_ends(self) -> bool:
        return self.nets

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        self._frontier = frontier
        (changes,) = inputs
        if self._differences is None:
            came = changes.filter(changes.weight > 0)
            stream = Changes(came.columns, came.begin, repeated(FOREVER, len(came)), came.weight)
        else:
            deltas = self._differences.step(changes, frontier)
            stream = _as_stream(deltas.take(np.flatnonzero(deltas.change > 0)))
        return stream if self.slide is None else self._at_slides(stream, frontier)

    def _at_slides(self, stream: Changes, frontier: Instant) -> Changes:
        assert self.slide is not None
        told = -(-stream.begin // self.slide) * self.slide
        stream = Changes(stream.columns, told, stream.until, stream.weight)
        if self._waiting is not None:
            stream = Changes.concat([self._waiting, stream])
        cut = int(np.searchsorted(stream.begin, frontier, side="right"))
        self._waiting = stream.rest(cut)
        return stream.slice(0, cut)

    @property
    def rows(self) -> int:
        waiting = 0 if self._waiting is None else len(self._waiting)
        return waiting + (0 if self._differences is None else len(self._differences.live))

    @property
    def nbytes(self) -> int:
        waiting = 0 if self._waiting is None else self._waiting.nbytes
        return waiting + (0 if self._differences is None else self._differences.live.nbytes)

    def save(self) -> dict[str, pa.Table]:
        saved = {} if self._differences is None else self._differences.save(self._frontier)
        return saved if self._waiting is None else {**saved, "waiting": changes_table(self._waiting)}

    def load(self, saved: Saved) -> None:
        if self._differences is not None:
            self._differences.load(saved)
        if "waiting" in saved:
            self._waiting = changes_of(saved["waiting"])
