"""One stream's way through the session: late rows out, the others in order, final ones released.

A row is late if it is at or before the stream's frontier when its push begins. Late rows are
counted, and the newest of them kept for `late()`. The others wait until the frontier passes them
([G06] Figure 1.2: the input monitor).
"""

from __future__ import annotations

__all__ = ["Inflow"]

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sash.catalog.clock import Clock
from sash.catalog.waiting import Waiting, lifetimes_of_rows
from sash.engine.kernels.ordering import is_sorted
from sash.language.statements import StreamDefinition
from sash.lifetimes import Changes, Instant
from sash.session.inlet import Batch


class Inflow:
    """What a session keeps for one stream."""

    def __init__(self, definition: StreamDefinition, *, idle: bool = False, max_late_rows: int = 0) -> None:
        self.definition = definition
        self.clock = Clock(definition.timed, definition.lateness, idle=idle)
        self.waiting = Waiting()
        self.pushed = 0
        """Rows pushed so far, late ones too."""
        self.late = 0
        """Late rows so far."""
        self.late_rows: list[tuple[pa.Array, ...]] = []
        self._max_late_rows = max_late_rows

    def take(self, batch: Batch, floor: Instant) -> list[Changes]:
        """Accept rows; give those that became final, in parts that follow one another in time.

        `floor` is how far the stream's queries have gone: an idle stream comes back at it.
        """
        if not len(batch):
            return []
        if self.clock.idle:
            self.clock = replace(self.clock.advanced(floor), idle=False)
        self.pushed += len(batch)
        columns, ts = batch.columns, batch.ts
        ordered = is_sorted(ts)
        if ordered:
            first = int(np.searchsorted(ts, self.clock.frontier, side="right"))
            if first:
                self._collect_late(_take(columns, np.arange(first)))
                columns, ts = tuple(column.slice(first) for column in columns), ts[first:]
        elif (late := ts <= self.clock.frontier).any():
            self._collect_late(_take(columns, np.flatnonzero(late)))
            kept = np.flatnonzero(~late)
            columns, ts = _take(columns, kept), ts[kept]
        if not len(ts):
            return []
        self.waiting.add(lifetimes_of_rows(columns, ts), ordered=ordered)
        self.clock = self.clock.seen(int(ts[-1] if ordered else ts.max()))
        return self.waiting.release(self.clock.frontier)

    def advance(self, frontier: Instant) -> list[Changes]:
        """Everything up to the frontier is in; give what became final."""
        self.clock = self.clock.advanced(frontier)
        return self.waiting.release(self.clock.frontier)

    def rest(self) -> list[Changes]:
        """Nothing is expected for now: what waits is final, and no query waits for more."""
        waiting = self.waiting.everything()
        greatest = self.clock.frontier if waiting is None else int(waiting.begin[-1])
        released = self.advance(greatest)
        self.clock = replace(self.clock, idle=True)
        return released

    def drain_late(self) -> pa.Table:
        """The late rows kept since the last call, oldest first."""
        late, self.late_rows = self.late_table(), []
        return late

    def late_table(self) -> pa.Table:
        """The late rows that are kept, left where they are."""
        schema = pa.schema([(field.name, field.type) for field in self.definition.fields])
        batches = [pa.RecordBatch.from_arrays(list(columns), schema=schema) for columns in self.late_rows]
        return pa.Table.from_batches(batches, schema=schema)

    def _collect_late(self, columns: tuple[pa.Array, ...]) -> None:
        """Keep copies: a slice would keep the whole push alive."""
        self.late += len(columns[0])
        self.late_rows.append(columns)
        surplus = sum(len(part[0]) for part in self.late_rows) - self._max_late_rows
        while surplus > 0:
            oldest = self.late_rows.pop(0)
            if len(oldest[0]) > surplus:
                self.late_rows.insert(0, tuple(column.slice(surplus) for column in oldest))
            surplus -= len(oldest[0])


def _take(columns: tuple[pa.Array, ...], positions: np.ndarray) -> tuple[pa.Array, ...]:
    indices = pa.array(positions)
    return tuple(column.take(indices) for column in columns)
