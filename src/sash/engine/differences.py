"""A relation's changes, instant by instant: the multiset difference between successive instants.

This one thing is what `changes()` shows, what ISTREAM and DSTREAM stream and what RSTREAM follows
([G06] §2.1.3): beginnings are +, ends are -, and equal rows of one instant are added up wherever
they can meet.
"""

from __future__ import annotations

__all__ = ["Deltas", "Differences"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.engine.gathering import gathered
from sash.engine.kernels.ordering import argsort_instants, merge_ends
from sash.engine.netting import net
from sash.engine.state.live_rows import Ended, LiveRows
from sash.engine.state.saving import changes_of, changes_table
from sash.lifetimes import Changes, Instant


@dataclass(frozen=True, eq=False)
class Deltas:
    """Rows with the instant and the sign of their change, in time order."""

    columns: tuple[pa.Array, ...]
    at: np.ndarray
    change: np.ndarray

    def __len__(self) -> int:
        return len(self.at)

    def take(self, rows: np.ndarray) -> Deltas:
        """The rows at the given positions."""
        return Deltas(tuple(gathered(self.columns, rows)), self.at[rows], self.change[rows])

    def netted(self) -> Deltas:
        """Equal rows of one instant added up; rows alone at theirs are not looked at.

        >>> deltas = Deltas((pa.array([7, 7, 8]),), np.array([1, 1, 2]), np.array([1, -1, 1]))
        >>> deltas.netted().columns[0].to_pylist()
        [8]
        """
        follows = self.at[1:] == self.at[:-1]
        if not follows.any():
            return self
        together = np.append(follows, False)
        together[1:] |= follows
        rows = np.flatnonzero(together)
        some = self if len(rows) == len(self) else self.take(rows)
        left, sums = net(some.columns, some.at, some.change)
        if len(left) == len(rows):
            return self
        kept, change = ~together, self.change.copy()
        kept[rows[left]], change[rows[left]] = True, sums
        return replace(self, change=change).take(np.flatnonzero(kept))


class Differences:
    """Follows one edge. `nets`: equal rows may leave and enter at one instant."""

    def __init__(self, types: Sequence[pa.DataType], nets: bool) -> None:
        self._nets = nets
        self.live = LiveRows(types)

    def step(self, changes: Changes, frontier: Instant) -> Deltas:
        """All changes up to the frontier."""
        lasting = changes.until > frontier
        deltas = self._deltas(changes, np.flatnonzero(~lasting), self.live.pop(frontier))
        self.live.add(changes, lasting)
        self.live.forget(frontier)
        return deltas

    def within(self, changes: Changes, frontier: Instant) -> Deltas:
        """The same for an edge whose rows end within a step or by negative rows: nothing is held."""
        return self._deltas(changes, np.flatnonzero(changes.until <= frontier), None)

    def _deltas(self, changes: Changes, short: np.ndarray, ended: Ended | None) -> Deltas:
        """What began, what began and ended (`short`), and what ended of earlier steps, in time order."""
        rows, at, change = short, changes.until[short], -changes.weight[short]
        if ended is not None and len(ended):
            rows = np.concatenate([rows, np.arange(len(changes), len(changes) + len(ended))])
            at = np.concatenate([at, ended.until])
            change = np.concatenate([change, -ended.weight])
        if not self._nets and (change > 0).any():  # a row and its negation end together
            kept, change = net(self._gathered(changes.columns, ended, rows), at, change)
            rows, at = rows[kept], at[kept]
        if len(rows):
            places, at, change = _merged(changes, rows, at, change)
            deltas = Deltas(tuple(self._gathered(changes.columns, ended, places)), at, change)
        else:
            deltas = Deltas(changes.columns, changes.begin, changes.weight)
        return deltas.netted() if self._nets else deltas

    def _gathered(self, begun: Sequence[pa.Array], ended: Ended | None, places: np.ndarray) -> list[pa.Array]:
        """Rows of what began and, counted on after those, of what ended."""
        if ended is None or not len(ended):
            return gathered(begun, places)
        return self.live.take_beside(begun, ended, places)

    def save(self, frontier: Instant) -> dict[str, pa.Table]:
        """The rows whose ends are to come."""
        return {"live": changes_table(self.live.contents(frontier))}

    def load(self, saved: Mapping[str, pa.Table]) -> None:
        """What `save` wrote."""
        self.live.replace(changes_of(saved["live"]))


def _merged(
    begun: Changes, rows: np.ndarray, at: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, instants and changes of what began at its beginning and of the given rows at their ends."""
    order = argsort_instants(at)
    places, instants, changes = (np.empty(len(begun) + len(at), np.int64) for _ in range(3))
    in_order = np.empty(0, np.int64) if order is None else order
    merge_ends(begun.begin, begun.weight, at, in_order, rows, change, places, instants, changes)
    return places, instants, changes
