"""Where a circuit ends: changes waiting to be taken, and the answer as it stands."""

from __future__ import annotations

__all__ = ["Edge", "Output"]

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.engine.differences import Deltas, Differences
from sash.engine.state.calendar import Calendar
from sash.language.expressions import Schema
from sash.lifetimes import BEGINNING, Changes, Instant


class Output:
    """The last edge of a plan. Of a stream there are only changes, of a relation also an answer.

    Where the operators can tell what lives, nothing is held here (`holds`). Changes up to `since` are
    given as the content at that instant: a query added late begins so.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        is_stream: bool,
        nets: bool,
        since: Instant = BEGINNING,
        holds: bool = True,
    ) -> None:
        self.is_stream = is_stream
        self._holds = holds
        self._schema = pa.schema([pa.field(field.name, field.type) for field in schema])
        self._differences = Differences(self._schema.types, nets)
        self._since = since
        self._undrained: list[pa.Table] = []
        self.pending = 0

    @property
    def _delta_schema(self) -> pa.Schema:
        return self._schema.append(pa.field("at", pa.int64())).append(pa.field("change", pa.int64()))

    def step(self, changes: Changes, frontier: Instant) -> None:
        """Take what the last operator gave."""
        if self.is_stream:
            deltas = Deltas(changes.columns, changes.begin, changes.weight)
        elif self._holds:
            deltas = self._differences.step(changes, frontier)
        else:
            deltas = self._differences.within(changes, frontier)
        if len(deltas) and deltas.at[0] <= self._since:
            deltas = Deltas(deltas.columns, np.maximum(deltas.at, self._since), deltas.change)
            deltas = deltas.netted()
        if len(deltas):
            arrays = [*deltas.columns, pa.array(deltas.at), pa.array(deltas.change)]
            self._undrained.append(pa.Table.from_arrays(arrays, schema=self._delta_schema))
            self.pending += len(deltas)

    def take_changes(self) -> pa.Table:
        """The columns, `at` and `change`, in time order, since the last call."""
        taken, self._undrained, self.pending = self._undrained, [], 0
        return pa.concat_tables(taken) if taken else self._delta_schema.empty_table()

    def contents(self, frontier: Instant) -> Changes:
        """The rows that live now; only where they are held here."""
        return self._differences.live.contents(frontier)

    def as_answer(self, contents: Changes) -> pa.Table:
        """The relation that lives now, each row as often as it is there."""
        rows = np.repeat(np.arange(len(contents)), contents.weight)
        columns = [column.take(pa.array(rows)) for column in contents.columns]
        return pa.Table.from_arrays(columns, schema=self._schema)

    @property
    def ends(self) -> tuple[Calendar, ...]:
        """The ends to come of rows held here."""
        return (self._differences.live.ends,)

    @property
    def rows(self) -> int:
        """How many rows are held to end later."""
        return len(self._differences.live)

    @property
    def nbytes(self) -> int:
        """How many bytes those and the undrained changes take."""
        return int(self._differences.live.nbytes + sum(table.nbytes for table in self._undrained))

    def save(self, frontier: Instant) -> dict[str, pa.Table]:
        """Everything, with what was not drained."""
        undrained = pa.concat_tables([self._delta_schema.empty_table(), *self._undrained])
        return {**self._differences.save(frontier), "undrained": undrained}

    def load(self, saved: Mapping[str, pa.Table]) -> None:
        """What `save` wrote."""
        self._differences.load(saved)
        undrained = saved["undrained"]
        self._undrained = [undrained.cast(self._delta_schema)] if undrained.num_rows else []
        self.pending = undrained.num_rows


class Edge:
    """The last edge of a plan that goes on elsewhere: signed lifetimes waiting to be taken, and no more."""

    def __init__(self, schema: Schema) -> None:
        self._types = [field.type for field in schema]
        self._given: list[Changes] = []

    def step(self, changes: Changes, frontier: Instant) -> None:
        """Take what the last operator gave."""
        if len(changes):
            self._given.append(changes)

    def take(self) -> Changes:
        """All changes since the last call, in order of their beginnings."""
        taken, self._given = self._given, []
        return Changes.concat(taken) if taken else Changes.empty(self._types)
