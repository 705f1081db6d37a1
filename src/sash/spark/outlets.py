"""The sinks that have names, CREATE SINK, and which query's changes go to which, INSERT INTO."""

from __future__ import annotations

__all__ = ["Outlets"]

from collections.abc import Mapping

from sash.catalog.names import Catalog, in_use, taken
from sash.catalog.planning import Planned
from sash.errors import SashError
from sash.language.definitions import place_of_name
from sash.language.scope import suggestion
from sash.language.statements import CreateSink
from sash.spark.sinks import Part, Sink, lacks_option, resolve


class Outlets:
    """Named sinks share their names with streams, tables and views."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._sinks: dict[str, CreateSink] = {}
        """By their names in lower case."""
        self._directed: dict[str, str] = {}
        """The sink of each query that has one, in lower case."""

    def create(self, statement: CreateSink) -> None:
        """Give a sink its name."""
        self._catalog.check_free(statement.name)
        self.check_free(statement.name)
        _sink(statement)  # for its errors: now, not at the start
        self._sinks[statement.name.lower()] = statement

    def check_free(self, name: str) -> None:
        """Raise if a sink has that name."""
        if name.lower() in self._sinks:
            raise taken("sink", self._sinks[name.lower()].name, place_of_name(name))

    def refuse_values(self, name: str) -> None:
        """Raise if the name that VALUES should go to is a sink's."""
        if name.lower() in self._sinks:
            raise SashError(
                "SASH-SESSION-003",
                f"'{name}' is a sink, not a table.",
                remedy="Write INSERT INTO it with a SELECT.",
                place=place_of_name(name),
            )

    def name_for(self, sink: str, planned: Planned) -> str:
        """The name of a query that goes to a sink, if it may go there: the sink's, numbered from 2 on."""
        statement = self._known(sink)
        _sink(statement).check({statement.name: planned})
        count = sum(other == sink.lower() for other in self._directed.values())
        return statement.name if not count else f"{statement.name}_{count + 1}"

    def direct(self, query: str, sink: str) -> None:
        """Let a query's changes go to a sink."""
        self._directed[query] = sink.lower()

    def forget(self, query: str) -> None:
        """A query is gone."""
        self._directed.pop(query, None)

    def drop(self, name: str) -> None:
        """Forget a sink, if no query goes there."""
        sink = self._known(name)
        for query, other in self._directed.items():
            if other == name.lower():
                raise in_use("sink", sink.name, f"query '{query}'", place_of_name(name))
        del self._sinks[name.lower()]

    def parts(self, queries: Mapping[str, Planned], sink: Sink | None) -> list[Part]:
        """Which queries go to which sink: a given one takes those without, and one query that is alone."""
        if not queries:
            remedy = "Register one with db.query(...) first, or write INSERT INTO a sink."
            raise SashError("SASH-SPARK-064", "There is no query to start.", remedy=remedy)
        alone = len(queries) == 1 and sink is not None
        by_sink: dict[str, dict[str, Planned]] = {}
        for name, planned in queries.items():
            by_sink.setdefault("" if alone else self._directed.get(name, ""), {})[name] = planned
        if sink is None and "" in by_sink:
            raise SashError(
                "SASH-SPARK-078",
                f"Query '{next(iter(by_sink['']))}' has no sink.",
                remedy="Give one to start(...), such as 'parquet' with a path, or write INSERT INTO a sink.",
            )
        if sink is not None and "" not in by_sink:
            raise SashError(
                "SASH-SPARK-078",
                "A sink was given to start(), and every query has one by INSERT INTO.",
                remedy="Call start() without a sink.",
            )
        named = [(self._sinks[key], some) for key, some in by_sink.items() if key]
        given = [Part(sink, by_sink[""])] if sink is not None else []
        return [*given, *(Part(_sink(statement), some, statement.name) for statement, some in named)]

    def _known(self, name: str) -> CreateSink:
        if name.lower() in self._sinks:
            return self._sinks[name.lower()]
        place = place_of_name(name)
        remedy = "Make one first, with CREATE SINK and its format."
        if self._sinks:
            remedy = suggestion(name, [each.name for each in self._sinks.values()])
        if (other := self._catalog.lookup(name)) is not None:
            raise SashError("SASH-SESSION-003", f"'{other.name}' is not a sink.", remedy=remedy, place=place)
        raise SashError("SASH-SESSION-001", f"There is no sink '{name}'.", remedy=remedy, place=place)


def _sink(statement: CreateSink) -> Sink:
    options = dict(statement.options)
    format = options.pop("format", None)
    if format is None:
        raise lacks_option(statement.name, "format")
    return resolve(format, options.pop("path", None), options)
