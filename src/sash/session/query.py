"""The handle of a continuous query: its changes, its answer now, its plan.

A query is a relation that changes, or a stream. `changes()` drains what is new since the last call,
net per instant; `answer()` is the relation at the frontier, or provisionally beyond it.
"""

from __future__ import annotations

__all__ = ["Query"]

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.catalog.clock import read_instant, show_instant
from sash.catalog.display import Text, query_html
from sash.errors import SashError
from sash.lifetimes import BEGINNING, Changes, Instant
from sash.plan.explain import explain
from sash.plan.nodes import Node, ToStream
from sash.session.running import Running

if TYPE_CHECKING:
    from sash.session.database import Database


class Query:
    """A query that runs in a database; `db.query(text)` makes one."""

    def __init__(self, database: Database, text: str, plan: Node, running: Running) -> None:
        self._database = database
        self.running = running
        self._dropped = False
        self.text = text
        """The query as it was written."""
        self.plan = plan
        """The plan before the optimizer."""

    @property
    def name(self) -> str:
        """The query's name in its database."""
        return self.running.name

    @property
    def optimized(self) -> Node:
        """The plan after the optimizer: what runs."""
        return self.running.plan

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer; `changes()` adds `at` and `change`."""
        return pa.schema([(field.name, field.type) for field in self.optimized.schema])

    @property
    def frontier(self) -> Any:
        """The last instant that is final: an integer or a datetime, None before the first."""
        if not self.running.started:
            return None
        instant = pa.scalar(self.running.frontier, pa.int64())
        return instant.as_py() if self.running.kind == "integer" else instant.cast(pa.timestamp("us")).as_py()

    @property
    def filling(self) -> bool:
        """Whether the query was added late and its windows may still lack rows from before."""
        return self.running.filling

    @property
    def is_stream(self) -> bool:
        """Whether the query is a stream (changes only) rather than a relation."""
        return bool(self.running.circuit.output.is_stream)

    def changes(self) -> pa.Table:
        """What changed since the last call: the columns, then `at` and `change`, in order of `at`."""
        self._check()
        return self.running.take_changes()

    def stream_changes(self) -> Iterator[pa.Table]:
        """The changes again and again: each `next` gives what is new; ends when the query does."""
        while not (self._dropped or self._database.closed):
            yield self.changes()

    def answer(self, at: object = None) -> pa.Table:
        """The relation at the frontier, or at a later instant as if no further row came.

        An answer beyond the frontier says so in its schema's metadata: `sash.provisional` is `true`.
        """
        self._check()
        running = self.running
        if self.is_stream:
            raise SashError(
                "SASH-SESSION-010",
                f"Query '{self.name}' is a stream: it has changes, but no answer at an instant.",
                remedy=f"Call changes(), or {self._to_make_it_a_relation()} to make it a relation.",
            )
        instant = running.frontier if at is None else read_instant(at, running.kind, what="The instant")
        if instant < running.frontier:
            raise SashError(
                "SASH-TIME-005",
                f"The answer of '{self.name}' at {show_instant(instant, running.kind)} is gone: "
                f"its frontier is {show_instant(running.frontier, running.kind)}.",
                remedy="Ask at the frontier or later, or add up changes() to go back.",
            )
        if instant == running.frontier:
            return _marked(running.circuit.answer(), instant, provisional=False)
        return _marked(running.ahead(instant, self._arriving(instant)), instant, provisional=True)

    def explain(self) -> Text:
        """The plan that runs: one line per operator with its pattern, its state and its counters."""
        self._check()
        measured = self.running.circuit.measure()
        held = "\n".join(f"  {m.operator}: {m.rows} rows, {m.nbytes} bytes" for m in measured if m.rows)
        return Text(explain(self.optimized) + (f"\nheld now:\n{held}" if held else ""))

    def drop(self) -> None:
        """End the query and forget what it holds."""
        self._check_alive()
        self._database.forget(self)
        self._dropped = True

    def _to_make_it_a_relation(self) -> str:
        plan = self.plan
        operator = plan.kind.upper() if isinstance(plan, ToStream) else ""
        if operator and operator in self.text.upper():
            return f"leave {operator} out"
        return "give its streams windows"

    def _arriving(self, at: Instant) -> dict[str, Changes | None]:
        return {name: self._database.unreleased(name, at) for name in self.running.circuit.streams}

    def _check(self) -> None:
        self._check_alive()
        self.running.check()

    def _check_alive(self) -> None:
        self._database.check_open()
        if self._dropped:
            raise SashError(
                "SASH-SESSION-012",
                f"Query '{self.name}' was dropped.",
                remedy="Register it again with db.query(...).",
            )

    def __repr__(self) -> str:
        kind = "stream" if self.is_stream else "relation"
        working = self._held_back() or ("filling" if self.filling else "running")
        state = "dropped" if self._dropped else working
        reached = show_instant(self.running.frontier, self.running.kind)
        return f"<sash query '{self.name}': {kind}, frontier {reached}, {state}>"

    def _held_back(self) -> str:
        """Which stream never had a row while rows of others came, so that there is no answer yet."""
        clocks = {name: self._database.inflows[name].clock for name in self.running.streams}
        empty = [name for name, clock in clocks.items() if clock.frontier == BEGINNING and not clock.idle]
        waiting = 0 < len(empty) < len(clocks)
        return f"waiting for {' and '.join(f'stream {name!r}' for name in empty)}" if waiting else ""

    def _repr_html_(self) -> str:
        answer = None if self._dropped or self._database.closed or self.is_stream else self.answer()
        return query_html(repr(self), self.text, answer)


def _marked(answer: pa.Table, at: Instant, *, provisional: bool) -> pa.Table:
    metadata = {b"sash.at": str(at).encode()}
    if provisional:
        metadata[b"sash.provisional"] = b"true"
    return answer.replace_schema_metadata({**(answer.schema.metadata or {}), **metadata})
