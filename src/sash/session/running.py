"""A query at work: its own circuit, the rows that wait for its frontier, the changes not yet drained.

Streams that are ahead of the query's slowest one leave their rows here, as slices of what was
pushed. Changes that nobody drains are capped: beyond the cap the query goes on but stops
collecting, the next `changes()` raises once, and collecting starts again with the content at that
moment.
"""

from __future__ import annotations

__all__ = ["Running"]

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sash.catalog.clock import Kind, instant_column, show_instant
from sash.catalog.waiting import Waiting, released
from sash.engine.circuit import Circuit
from sash.engine.kernels.ordering import argsort_instants, is_sorted
from sash.errors import SashError
from sash.lifetimes import BEGINNING, Changes, Instant
from sash.plan.nodes import Node
from sash.session.filling import Horizon, horizon_of


class Running:
    """One circuit and what surrounds it."""

    def __init__(
        self, name: str, plan: Node, kind: Kind, *, uses: frozenset[str], since: Instant, cap: int, watch: Any
    ) -> None:
        self.name, self.plan, self.kind, self.since = name, plan, kind, since
        self.uses = uses
        """The streams, tables and views that the query needs, in lower case."""
        self.circuit = Circuit(plan, since=since, watch=watch)
        self.streams = {stream.lower(): stream for stream in self.circuit.streams}
        self.tables = {table.lower(): table for table in self.circuit.tables}
        self.waiting = {each: Waiting() for each in (*self.circuit.streams, *self.circuit.tables)}
        self.horizon: Horizon = horizon_of(plan)
        self.missed_until: Instant | None = None
        """The last instant whose rows the query may have missed, if it was added late."""
        self.rows_in = dict.fromkeys(self.circuit.streams, 0)
        self.changes_out = 0
        self.drained = 0
        self.lost = 0
        """Changes thrown away since the cap was met; 0 while collecting."""
        self.restart: pa.Table | None = None
        """The content with which collecting began again."""
        self.failure: BaseException | None = None
        self._cap = cap

    @property
    def frontier(self) -> Instant:
        """The last instant for which changes are given."""
        return self.circuit.frontier

    @property
    def started(self) -> bool:
        """Whether any instant is final yet."""
        return self.circuit.frontier > BEGINNING

    def check(self) -> None:
        """Raise if the query stopped on an error: its state is not to be trusted any more."""
        if self.failure is not None:
            raise SashError(
                "SASH-SESSION-013",
                f"Query '{self.name}' stopped: {type(self.failure).__name__}: {self.failure}.",
                remedy="Drop it and register it again, or go on from the last snapshot.",
            ) from self.failure

    @property
    def filling(self) -> bool:
        """Whether a window may still lack rows that came before the query."""
        if self.missed_until is None:
            return False
        short = any(self.rows_in.get(name, 0) < needed for name, needed in self.horizon.rows.items())
        ticks = self.horizon.ticks
        return short or ticks is None or self.frontier < self.missed_until + ticks

    def accept(self, name: str, parts: Sequence[Changes]) -> None:
        """Rows of a stream that are final, or changes of a table, for when the frontier gets there."""
        if self.failure is None:
            for part in parts:
                self.waiting[name].add(part, ordered=name in self.rows_in)  # streams release in order

    def move(self, frontier: Instant) -> None:
        """Step to the frontier, if that is forwards."""
        if frontier <= self.frontier or self.failure is not None:
            return
        inputs = released(self.waiting, frontier)
        came = {name: sum(map(len, parts)) for name, parts in inputs.items() if name in self.rows_in}
        before = self.circuit.output.pending
        try:
            self.circuit.step(frontier, inputs)
        except BaseException as error:
            self.failure = error  # half a step is no state to go on from
            raise
        for name, rows in came.items():
            self.rows_in[name] += rows
        self.changes_out += self.circuit.output.pending - before
        self._cap_pending()

    def take_changes(self) -> pa.Table:
        """All changes since the last call, by instant; the error, once, if some were thrown away."""
        if self.lost:
            lost, self.lost = self.lost, 0
            if not self.circuit.output.is_stream:
                self.restart = _as_changes(self.circuit.answer(), self.frontier)
            raise SashError(
                "SASH-SESSION-011",
                f"Query '{self.name}' threw away {lost} changes: more than {self._cap} waited to be drained.",
                remedy="Call changes() more often or raise max_pending_changes; the next call begins with "
                f"the content at {show_instant(self.frontier, self.kind)}.",
            )
        table = self.circuit.output.take_changes()
        if self.restart is not None:
            table = pa.concat_tables([self.restart.cast(table.schema), table])
            self.restart = None
        self.drained += table.num_rows
        place = table.num_columns - 2  # a query may have a column `at` of its own
        if not _rises(table.column(place)):
            table = table.take(pa.array(argsort_instants(table.column(place).to_numpy())))
        return table.set_column(place, "at", instant_column(table.column(place), self.kind))

    def ahead(self, at: Instant, arriving: Mapping[str, Changes | None]) -> pa.Table:
        """The answer at an instant beyond the frontier, as if no further row came.

        A second circuit takes over the state and steps there with the rows that wait here and those
        `arriving` that wait in the streams' own buffers.
        """
        second = Circuit(self.plan, since=self.since)
        second.load(self.circuit.save())
        inputs = {}
        for name, waiting in self.waiting.items():
            parts = [part for part in (waiting.peek(at), arriving.get(name)) if part is not None]
            if parts:
                inputs[name] = parts
        second.step(at, inputs)
        return second.answer()

    def _cap_pending(self) -> None:
        pending = self.circuit.output.pending
        if self.lost or pending > self._cap:
            self.lost += pending + (0 if self.restart is None else self.restart.num_rows)
            self.restart = None
            self.circuit.output.take_changes()


def _rises(instants: pa.ChunkedArray) -> bool:
    """Whether instants never fall: looked at where they are, as there may be many."""
    chunks = [chunk.to_numpy() for chunk in instants.chunks if len(chunk)]
    return all(a[-1] <= b[0] for a, b in pairwise(chunks)) and all(map(is_sorted, chunks))


def _as_changes(answer: pa.Table, at: Instant) -> pa.Table:
    """A relation's content as changes at one instant: each row once, with how often it is there."""
    names = answer.column_names
    plain = answer.rename_columns([f"c{i}" for i in range(len(names))])
    try:
        counted = plain.group_by(plain.column_names, use_threads=False).aggregate([([], "count_all")])
        columns, change = counted.columns[: len(names)], counted.column("count_all")
    except (pa.ArrowException, TypeError):  # nested values cannot be grouped: one change per copy
        columns, change = answer.columns, pa.array(np.ones(answer.num_rows, np.int64))
    instants = pa.array(np.full(len(change), at, np.int64))
    return pa.Table.from_arrays([*columns, instants, change.cast(pa.int64())], names=[*names, "at", "change"])
