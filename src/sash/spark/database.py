"""The database on Spark: streams, tables, views, sinks and queries, which run when they are started.

Names, texts and plans are the same as in-process. A stream has a source (files, a source of Spark's,
a DataFrame), a query has a sink; `start` makes one Spark query of all of them, with one scan per
stream and one shuffle per stream and key.
"""

from __future__ import annotations

__all__ = ["SparkDatabase"]

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn

from sash.catalog.arguments import text_of
from sash.catalog.clock import EARLIEST, KINDS
from sash.catalog.display import Text
from sash.catalog.edits import edit
from sash.catalog.names import Catalog, Definition, in_use
from sash.catalog.open_database import OpenDatabase, counted
from sash.catalog.planning import Planned, free_name, plan_query
from sash.catalog.schema import stream_definition
from sash.catalog.tables import History, insert
from sash.errors import SashError
from sash.language import statements as language
from sash.language.definitions import place_of_name
from sash.language.statements import StreamDefinition, TableDefinition, ViewDefinition
from sash.lifetimes import BEGINNING
from sash.plan.builder import build
from sash.spark.checkpoints.checkpoint import Checkpoint
from sash.spark.feeds import Feed, frame_feed, option_feed, table_rows
from sash.spark.handle import Handle
from sash.spark.outlets import Outlets
from sash.spark.pipelines.explaining import explain_pipeline
from sash.spark.query import SparkQuery
from sash.spark.runs import Plan, changes_frame, pipeline_of, start_run
from sash.spark.sessions.sessions import stop_session
from sash.spark.settings import Settings
from sash.spark.sinks import resolve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkDatabase(OpenDatabase):
    """Streams, tables, views, sinks and continuous queries on Spark; `sash.connect(spark)` makes one."""

    def __init__(
        self, spark: SparkSession, owns_session: bool = False, settings: Settings | None = None
    ) -> None:
        self.spark = spark
        """The session that everything runs in."""
        self.settings = settings or Settings()
        self.catalog = Catalog()
        self.feeds: dict[str, Feed] = {}
        """Where the rows of each stream come from, by its name in lower case."""
        self.tables: dict[str, History] = {}
        """What each table holds, by its name in lower case."""
        self.outlets = Outlets(self.catalog)
        """The sinks that have names, and which queries go there."""
        self.queries: dict[str, SparkQuery] = {}
        """The queries by name, oldest first."""
        self.handles: list[Handle] = []
        """The runs that were started here, oldest first."""
        self._owns_session = owns_session
        self._numbered = 0

    # Definitions

    def execute(self, text: str) -> None:
        """Carry out statements, one after another: CREATE, DROP, INSERT, UPDATE, DELETE."""
        self.check_open()
        for statement in language.parse(text_of(text, "A statement")):
            self._execute(statement)

    def create_stream(
        self, name: str, source: Any, *, time: str, lateness: object = 0, **options: object
    ) -> None:
        """Make a stream from a streaming DataFrame, or from a schema and a source's options.

        `db.create_stream("packets", df, time="ts", lateness="2 seconds")`, or a schema as in-process with
        `format="parquet", path="..."` and whatever else the source takes.
        """
        self.check_open()
        if hasattr(source, "isStreaming"):
            feed = frame_feed(name, source, time, lateness)
            self.outlets.check_free(feed.definition.name)
            self.catalog.add(feed.definition)
            self.feeds[feed.definition.name.lower()] = feed
            return
        plain = stream_definition(name, source, time, lateness)
        given = tuple((key, str(value)) for key, value in options.items())
        self.define(StreamDefinition(plain.name, plain.fields, plain.time, plain.lateness, given))

    def define(self, definition: Definition) -> None:
        """Give a stream, table or view its name, and streams and tables their source."""
        self.outlets.check_free(definition.name)
        if isinstance(definition, ViewDefinition):
            build(definition.query, self.catalog, text=definition.text, is_view=True)  # for its errors, now
            self.catalog.add(definition)
        elif isinstance(definition, TableDefinition):
            history = self._filled(definition)
            self.catalog.add(definition)
            self.tables[definition.name.lower()] = history
        else:
            feed = option_feed(self.spark, definition)
            self.catalog.add(definition)
            self.feeds[definition.name.lower()] = feed

    def query(self, text: str, name: str | None = None) -> SparkQuery:
        """Register a continuous query; it runs when it is started."""
        self.check_open()
        planned = self._planned(text)
        name, self._numbered = free_name(name, self.queries, self._numbered)
        self.queries[name] = SparkQuery(self, name, planned)
        return self.queries[name]

    # Running

    def start(
        self,
        sink: object = None,
        *,
        path: object = None,
        checkpoint: object = None,
        trigger: object = None,
        until_end: bool = False,
        name: str = "sash",
        **options: Any,
    ) -> Handle:
        """Run every registered query in one Spark query.

        Queries of INSERT INTO go to their sinks, all others to `sink`, with a column `query` where
        there are several. The arguments are those of `SparkQuery.start`.
        """
        self.check_open()
        queries = list(self.queries.values())
        return self.start_queries(queries, sink, path, checkpoint, trigger, until_end, options, name=name)

    def start_queries(
        self,
        queries: Sequence[SparkQuery],
        sink: object,
        path: object,
        checkpoint: object,
        trigger: object,
        until_end: bool,
        options: Mapping[str, Any],
        *,
        name: str,
    ) -> Handle:
        """Run some queries in one Spark query; `start` of the database and of a query call this."""
        plan = self._plan(queries, until_end)
        parts = self.outlets.parts(plan.queries, None if sink is None else resolve(sink, path, options))
        handle = start_run(plan, parts, text_of(name, "A run's name"), checkpoint, trigger)
        self.handles.append(handle)
        return handle

    def frame_of(self, queries: Sequence[SparkQuery], checkpoint: object) -> DataFrame:
        """The streaming frame of changes of some queries; `to_spark` calls this."""
        held = Checkpoint(checkpoint, keep=True)
        try:
            return changes_frame(self._plan(queries, until_end=False), held)
        finally:
            held.close()  # whoever starts a query on the frame holds it then

    # Looking

    def explain(self) -> Text:
        """How all registered queries would run together."""
        self.check_open()
        return self.explain_queries(list(self.queries.values()))

    def explain_queries(self, queries: Sequence[SparkQuery]) -> Text:
        """The placed plans of some queries, and into what they are cut."""
        if not queries:
            return Text("no queries")
        return Text(explain_pipeline(pipeline_of(self._plan(queries, until_end=False), None)))

    def metrics(self) -> dict[str, Any]:
        """Counters of every run that was started here, by its name."""
        self.check_open()
        return {handle.name or handle.id: handle.metrics() for handle in self.handles}

    # What Spark does otherwise

    def push(self, stream: str, rows: object) -> NoReturn:
        """Not on Spark: rows come from a stream's source."""
        raise _otherwise("push()", "Write the rows where the stream's source reads: files, a topic, a table.")

    def advance(self, to: object) -> NoReturn:
        """Not on Spark: time moves by data."""
        raise _otherwise("advance()", "Time moves by data; until_end=True and the setting heartbeat move it.")

    def idle(self, stream: str) -> NoReturn:
        """Not on Spark: a setting says when a stream is idle."""
        raise _otherwise("idle()", "Connect with idle_timeout='1 minute'.")

    def late(self, stream: str) -> NoReturn:
        """Not on Spark: late rows are counted, and written where a setting says."""
        raise _otherwise("late()", "Connect with late='folder'; metrics() counts them.")

    def save(self, path: object) -> NoReturn:
        """Not on Spark: a run's checkpoint is its state."""
        raise _otherwise("save()", "Start with checkpoint='folder': a later start goes on from there.")

    # Endings

    def forget(self, query: SparkQuery) -> None:
        """Take a query out; `query.drop()` calls this."""
        del self.queries[query.name]
        self.outlets.forget(query.name)

    def close(self) -> None:
        """Stop all runs that were started here, and the Spark session if Sash made it."""
        if self.closed:
            return
        self.closed = True
        try:
            for handle in self.handles:
                if handle.isActive:
                    handle.stop()
        finally:
            if self._owns_session:
                stop_session(self.spark)

    def __repr__(self) -> str:
        if self.closed:
            return "<sash database on Spark, closed>"
        held = counted(len(self.catalog.streams), len(self.tables), len(self.queries))
        return f"<sash database on Spark: {held}>"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(repr(each))}</li>" for each in [*self.queries.values(), *self.handles])
        below = "" if self.closed or not lines else f"<ul>{lines}</ul>"
        return f"<p><b>{escape(repr(self))}</b></p>{below}"

    # Inner workings

    def _execute(self, statement: language.Statement) -> None:
        match statement:
            case language.CreateStream() | language.CreateTable() | language.CreateView():
                self.define(statement.definition)
            case language.CreateSink():
                self.outlets.create(statement)
            case language.InsertInto() | language.Update() | language.Delete():
                self._edit(statement)
            case language.InsertQuery():
                self._insert(statement)
            case language.Drop(kind="sink"):
                self.outlets.drop(statement.name)
            case language.Drop():
                self._drop(statement.kind, statement.name)
            case _:
                raise SashError(
                    "SASH-SESSION-007",
                    "A query on its own has nowhere to run in execute().",
                    remedy="Register it with db.query(...), or say where it goes: INSERT INTO a sink.",
                )

    def _insert(self, statement: language.InsertQuery) -> None:
        planned = self._planned(statement.text)
        wanted = self.outlets.name_for(statement.sink, planned)
        name, self._numbered = free_name(wanted, self.queries, self._numbered)
        self.queries[name] = SparkQuery(self, name, planned)
        self.outlets.direct(name, statement.sink)

    def _drop(self, kind: str, name: str) -> None:
        definition = self.catalog.droppable(kind, name)
        key = definition.name.lower()
        for query in self.queries.values():
            if key in query.planned.uses:
                raise in_use(kind, definition.name, f"query '{query.name}'", place_of_name(name))
        self.catalog.remove(definition)
        self.feeds.pop(key, None)
        self.tables.pop(key, None)

    def _edit(self, statement: language.InsertInto | language.Update | language.Delete) -> None:
        self.outlets.refuse_values(statement.table)
        key = self.catalog.table(statement.table).name.lower()
        for query in self.queries.values():
            if key in query.planned.tables and any(handle.isActive for handle in self.handles):
                raise SashError(
                    "SASH-SPARK-079",
                    f"Table '{statement.table}' is in use by query '{query.name}', which may be running.",
                    remedy="On Spark a table is as it was at the start: stop the run, then start with a new "
                    "checkpoint.",
                )
        greatest = dict.fromkeys(KINDS, BEGINNING)
        present = {stream.timed for stream in self.catalog.streams}
        self.tables[key], _ = edit(statement, self.tables[key], greatest, present, statement.text)

    def _filled(self, definition: TableDefinition) -> History:
        """A table with the rows that its source has now."""
        if definition.retroactive:
            raise SashError(
                "SASH-SPARK-071",
                f"Table '{definition.name}' is RETROACTIVE, and such tables are in-process only.",
                remedy="Leave RETROACTIVE out to meet the table as of each row's own timestamp, make its "
                "changes a stream and join that, or run the query with sash.connect().",
            )
        history = History.empty(definition)
        rows = table_rows(self.spark, definition)
        if rows is None:
            return history
        return insert(history, tuple(rows.columns), EARLIEST)[0]

    def _planned(self, text: str) -> Planned:
        unbounded = self.settings.allow_unbounded
        return plan_query(text, self.catalog, rules=self.settings.rules, allow_unbounded=unbounded)

    def _plan(self, queries: Sequence[SparkQuery], until_end: bool) -> Plan:
        planned = {query.name: query.planned for query in queries}
        return Plan(self.spark, planned, self.feeds, self.tables, self.settings, until_end)


def _otherwise(call: str, remedy: str) -> SashError:
    return SashError("SASH-SPARK-077", f"There is no {call} on Spark.", remedy=remedy)
