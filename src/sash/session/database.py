"""The in-process database: streams and tables come in, queries run, time moves by data.

A push is checked wholly before anything changes. Then the rows that became final go to every query
that reads the stream, and each query steps to its own frontier: the least of its streams', idle
ones left out. Time that was given as final never opens again.
"""

from __future__ import annotations

__all__ = ["Database"]

import os
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from sash.catalog.arguments import path_of, text_of
from sash.catalog.clock import KINDS, Kind, read_instant, same_kind, show_instant
from sash.catalog.display import database_html
from sash.catalog.edits import edit
from sash.catalog.names import Catalog, Definition, in_use
from sash.catalog.open_database import OpenDatabase, counted
from sash.catalog.planning import Planned, free_name, kind_of, plan_query
from sash.catalog.schema import stream_definition
from sash.catalog.tables import History
from sash.catalog.waiting import Waiting
from sash.errors import SashError
from sash.language import statements as language
from sash.language.definitions import place_of_name
from sash.language.statements import StreamDefinition, TableDefinition, ViewDefinition
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant
from sash.plan.builder import build
from sash.session.inflow import Inflow
from sash.session.inlet import admit
from sash.session.metrics import measure
from sash.session.query import Query
from sash.session.running import Running
from sash.session.settings import Settings


class Database(OpenDatabase):
    """Streams, tables, views and continuous queries in this process; `sash.connect()` makes one."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.catalog = Catalog()
        self.inflows: dict[str, Inflow] = {}
        """What is kept for each stream, by its name in lower case."""
        self.tables: dict[str, History] = {}
        """What is kept for each table, by its name in lower case."""
        self.queries: dict[str, Query] = {}
        """The queries by name, oldest first."""
        self.numbered = 0
        self.reached: dict[Kind, Instant] = dict.fromkeys(KINDS, BEGINNING)
        """How far streams that were dropped had come: what was final stays final."""

    # Definitions

    def execute(self, text: str) -> None:
        """Carry out statements, one after another: CREATE, DROP, INSERT, UPDATE, DELETE."""
        self.check_open()
        for statement in language.parse(text_of(text, "A statement")):
            self._execute(statement)

    def create_stream(
        self, name: str, schema: pa.Schema | Mapping[str, Any], *, time: str, lateness: object = 0
    ) -> None:
        """Make a stream from an Arrow schema, or a dict of Arrow types or SQL type names."""
        self.check_open()
        self.define(stream_definition(name, schema, time, lateness))

    def define(self, definition: Definition) -> None:
        """Give a stream, table or view its name, and streams and tables their place."""
        if isinstance(definition, TableDefinition) and definition.options:
            raise SashError(
                "SASH-SESSION-017",
                f"Table '{definition.name}' would be read from its source, which is on Spark only.",
                remedy="In-process, leave WITH out and fill it by INSERT INTO ... VALUES.",
                place=place_of_name(definition.name),
            )
        if isinstance(definition, ViewDefinition):
            build(definition.query, self.catalog, text=definition.text, is_view=True)  # for its errors, now
        self.catalog.add(definition)
        if isinstance(definition, StreamDefinition):
            idle = not self.settings.wait_for_empty_streams
            limit = self.settings.max_late_rows
            self.inflows[definition.name.lower()] = Inflow(definition, idle=idle, max_late_rows=limit)
            for running in self._all_running():
                if not running.streams and not running.started:  # over tables alone, made before any stream
                    self._tell_tables(running, self._kind(()))
        elif isinstance(definition, TableDefinition):
            self.tables[definition.name.lower()] = History.empty(definition)

    def query(self, text: str, name: str | None = None) -> Query:
        """Register a continuous query; it runs from now on."""
        self.check_open()
        planned = self.planned(text, allow_unbounded=self.settings.allow_unbounded)
        name, self.numbered = free_name(name, self.queries, self.numbered)
        names = planned.streams
        kind = self._kind(names)
        running = self.prepared(name, planned, kind, self._reached(names, kind, BEGINNING))
        seen = [self.inflows[each].clock.frontier for each in names if self.inflows[each].pushed]
        running.missed_until = max(seen) if seen and max(seen) > BEGINNING else None
        self._tell_tables(running, kind)
        running.move(running.since)
        self.queries[name] = Query(self, text, planned.plan, running)
        return self.queries[name]

    def planned(self, text: str, *, allow_unbounded: bool = True) -> Planned:
        """A query's plans, and the names it needs."""
        return plan_query(text, self.catalog, rules=self.settings.rules, allow_unbounded=allow_unbounded)

    def prepared(self, name: str, planned: Planned, kind: Kind, since: Instant) -> Running:
        """A circuit for an optimized plan, not yet fed."""
        plan, uses = planned.optimized, planned.uses
        cap, watch = self.settings.max_pending_changes, self.settings.watch
        return Running(name, plan, kind, uses=uses, since=since, cap=cap, watch=watch)

    # Data and time

    def push(self, stream: str, rows: object) -> None:
        """Rows for a stream: Arrow, pandas, polars or a list of dicts. All of them or none."""
        self.check_open()
        definition = self._stream(stream)
        key = definition.name.lower()
        batch = admit(rows, definition)
        readers = self._readers(key)
        floor = max((reader.frontier for reader in readers), default=BEGINNING)
        released = self.inflows[key].take(batch, floor)
        for reader in readers:
            reader.accept(reader.streams[key], released)
        del batch, released  # the readers have what they need of it
        self._move(readers + [one for one in self._all_running() if not one.streams])

    def advance(self, to: object) -> None:
        """Every row of every stream up to and including this instant is in.

        With streams of both kinds of time, a number moves those timed by integers, a datetime or
        ISO text those timed by timestamps.
        """
        self.check_open()
        moved = self._moved_by(to)
        kind = next(iter(moved.values())).clock.kind
        instant = read_instant(to, kind, what="The instant")
        for inflow in moved.values():
            if instant < inflow.clock.frontier:
                raise SashError(
                    "SASH-TIME-004",
                    f"Time cannot go back to {show_instant(instant, kind)}: stream "
                    f"'{inflow.definition.name}' is final up to {show_instant(inflow.clock.frontier, kind)}.",
                    remedy="Advance to that instant or a later one.",
                )
        for key, inflow in moved.items():
            released = inflow.advance(instant)
            for reader in self._readers(key):
                reader.accept(reader.streams[key], released)
        self._move(self._all_running())

    def idle(self, stream: str) -> None:
        """Expect no rows of a stream for now: queries stop waiting for it until its next row.

        What it pushed so far counts as complete; rows that then come at or before an instant that a
        query has reached without it are late.
        """
        self.check_open()
        key = self._stream(stream).name.lower()
        released = self.inflows[key].rest()
        for reader in self._readers(key):
            reader.accept(reader.streams[key], released)
        self._move(self._all_running())

    def late(self, stream: str) -> pa.Table:
        """The late rows of a stream since the last call: the newest `max_late_rows` of them."""
        self.check_open()
        return self.inflows[self._stream(stream).name.lower()].drain_late()

    # Looking

    def metrics(self) -> dict[str, Any]:
        """Counters of every stream and query, and what their operators hold."""
        self.check_open()
        return measure(self.inflows.values(), self._all_running(), self.tables.values())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all there is into one file, whole or not at all; `sash.load(path)` goes on from it."""
        from sash.session.saving import save

        self.check_open()
        save(self, path_of(path))

    def unreleased(self, stream: str, until: Instant) -> Changes | None:
        """The rows of a stream that wait for its frontier, up to an instant; left where they are."""
        return self.inflows[stream.lower()].waiting.peek(until)

    # Endings

    def forget(self, query: Query) -> None:
        """Take a query out; `query.drop()` calls this."""
        del self.queries[query.name]

    def close(self) -> None:
        """End all queries and forget everything; further use is an error."""
        self.closed = True
        self.queries.clear()
        self.inflows.clear()
        self.tables.clear()

    def __repr__(self) -> str:
        if self.closed:
            return "<sash database, closed>"
        return f"<sash database: {counted(len(self.inflows), len(self.tables), len(self.queries))}>"

    def _repr_html_(self) -> str:
        return f"<p><b>{self!r}</b></p>" if self.closed else database_html(repr(self), self.metrics())

    # Inner workings

    def _execute(self, statement: language.Statement) -> None:
        match statement:
            case language.CreateStream() | language.CreateTable() | language.CreateView():
                self.define(statement.definition)
            case language.InsertInto() | language.Update() | language.Delete():
                self._edit(statement)
            case language.Drop():
                self._drop(statement.kind.lower(), statement.name)
            case language.Query():
                raise SashError(
                    "SASH-SESSION-007",
                    "A query on its own has nowhere to run in execute().",
                    remedy="Register it with db.query(...); in a fixture, write QUERY name AS before it.",
                )
            case _:
                raise SashError(
                    "SASH-SESSION-008",
                    "Sinks, and INSERT INTO with a query, are on Spark only.",
                    remedy="In-process, register the query with db.query(...) and read its changes(); "
                    "a table takes INSERT INTO ... VALUES.",
                    place=place_of_name(
                        statement.sink if isinstance(statement, language.InsertQuery) else statement.name
                    ),
                )

    def _edit(self, statement: language.InsertInto | language.Update | language.Delete) -> None:
        key = self.catalog.table(statement.table).name.lower()
        clocks = [inflow.clock for inflow in self.inflows.values()]
        frontiers: dict[Kind, list[Instant]] = {k: [c.frontier for c in clocks if c.kind == k] for k in KINDS}
        greatest = {kind: max([self.reached[kind], *reached]) for kind, reached in frontiers.items()}
        present = [kind for kind in KINDS if frontiers[kind]]
        history, change = edit(statement, self.tables[key], greatest, present, statement.text)
        floors = {kind: min(reached, default=FOREVER) for kind, reached in frontiers.items()}
        self.tables[key] = history.forget(floors)
        for running in self._all_running():
            if key in running.tables:
                running.accept(running.tables[key], [change.changes(running.kind)])

    def _tell_tables(self, running: Running, kind: Kind) -> None:
        """Give a query that has not begun the content of its tables, in its kind of time."""
        running.kind = kind
        for key, table in running.tables.items():
            running.waiting[table] = Waiting([self.tables[key].since(kind, running.since)])

    def _drop(self, kind: str, name: str) -> None:
        definition = self.catalog.droppable(kind, name)
        key = definition.name.lower()
        for running in self._all_running():
            if key in running.uses:
                raise in_use(kind, definition.name, f"query '{running.name}'", place_of_name(name))
        self.catalog.remove(definition)
        if (inflow := self.inflows.pop(key, None)) is not None:
            clock = inflow.clock
            self.reached[clock.kind] = max(self.reached[clock.kind], clock.frontier)
        self.tables.pop(key, None)

    def _stream(self, name: str) -> StreamDefinition:
        return self.catalog.stream(text_of(name, "The name of a stream"))

    def _all_running(self) -> list[Running]:
        return [query.running for query in self.queries.values()]

    def _readers(self, stream: str) -> list[Running]:
        return [running for running in self._all_running() if stream in running.streams]

    def _kind(self, streams: Iterable[str]) -> Kind:
        """The kind of time of a query: its streams', or without any that of the whole session."""
        return kind_of((self.catalog.stream(each) for each in streams), self.catalog.streams)

    def _reached(self, streams: Iterable[str], kind: Kind, so_far: Instant) -> Instant:
        """How far a query over these streams may go."""
        clocks = [self.inflows[name].clock for name in streams]
        awake = [clock.frontier for clock in clocks if not clock.idle]
        if awake:
            return max(so_far, min(awake))
        if not clocks:  # tables alone: as far as any stream of that kind of time
            clocks = [inflow.clock for inflow in self.inflows.values() if inflow.clock.kind == kind]
        return max((clock.frontier for clock in clocks), default=so_far)

    def _move(self, queries: Iterable[Running]) -> None:
        """Step queries to their frontiers; one that fails stops alone, and is told of at the end."""
        failed = []
        for running in queries:
            try:
                running.move(self._reached(running.streams, running.kind, running.frontier))
            except Exception:  # whatever it is, the other queries must get their rows
                failed.append(running)
        for running in failed:
            running.check()

    def _moved_by(self, to: object) -> dict[str, Inflow]:
        """The streams whose kind of time an instant is written in."""
        if not self.inflows:
            raise SashError(
                "SASH-TIME-008", "There is no stream whose time could move.", remedy="Create a stream first."
            )
        if len({inflow.clock.kind for inflow in self.inflows.values()}) == 1:
            return dict(self.inflows)
        return {key: each for key, each in self.inflows.items() if same_kind(to, each.clock.kind)}
