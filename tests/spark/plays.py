"""Fixtures as plays for Spark: their streams, queries and rows, and what the in-process session says of them.

A play is a fixture whose definitions come before its rows. On Spark the same rows come in any number
of triggers, and at the end time moves to the greatest timestamp; so it does here.
"""

from __future__ import annotations

__all__ = ["Play", "cut_rows", "net_changes", "plays", "said_in_process"]

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

import sash
from sash.language.statements import CreateStream, CreateTable, StreamDefinition, parse
from sash.testing.cells import read_cell
from sash.testing.fixtures import Fixture, read_fixture
from sash.testing.replaying import read_settings

CQL = Path(__file__).parent.parent / "cql"


@dataclass(frozen=True)
class Play:
    """What a fixture defines, asks and brings; `rows` has each stream's rows in the order of their time."""

    path: Path
    statements: tuple[str, ...]
    streams: tuple[StreamDefinition, ...]
    queries: dict[str, str]
    rows: dict[str, pa.Table]

    @property
    def name(self) -> str:
        return str(self.path.relative_to(CQL))


def plays() -> list[Play]:
    """All fixtures that can be played on Spark."""
    found = (_play(read_fixture(path)) for path in sorted(CQL.rglob("*.cql")))
    return [play for play in found if play is not None]


def _play(fixture: Fixture) -> Play | None:
    statements: list[str] = []
    streams: dict[str, StreamDefinition] = {}
    queries: dict[str, str] = {}
    rows: dict[str, list[dict[str, object]]] = {}
    for step in fixture.steps:
        if step.error is not None or step.kind in ("late", "idle", "drop"):
            return None
        if step.kind == "settings" and read_settings(step.text) != {"allow_unbounded": True}:
            return None
        if step.kind in ("statement", "query") and rows:
            return None  # what comes between rows is for the session in-process
        if step.kind == "statement":
            statements.append(step.text)
            for statement in parse(step.text):
                if isinstance(statement, CreateStream):
                    streams[statement.definition.name.lower()] = statement.definition
                if isinstance(statement, CreateTable) and statement.definition.retroactive:
                    return None
        if step.kind == "query":
            queries[step.name] = step.text
        if step.kind == "push":
            definition = streams[step.name.lower()]
            types = {field.name.lower(): field.type for field in definition.fields}
            for row in step.rows:
                cells = {name: cell for name, cell in zip(step.header, row, strict=True) if cell}
                typed = {name: read_cell(cell, types[name.lower()]) for name, cell in cells.items()}
                rows.setdefault(definition.name, []).append(typed)
    if not queries or not rows:
        return None
    tables = {d.name: _table(rows.get(d.name, []), d) for d in streams.values()}
    return Play(fixture.path, tuple(statements), tuple(streams.values()), queries, tables)


def _table(rows: list[dict[str, object]], definition: StreamDefinition) -> pa.Table:
    schema = pa.schema([(field.name, field.type) for field in definition.fields])
    time = definition.fields[definition.time].name
    plain = [{field.name: _cell(row, field.name) for field in definition.fields} for row in rows]
    return pa.Table.from_pylist(sorted(plain, key=lambda row: row[time]), schema)


def _cell(row: dict[str, object], name: str) -> object:
    return next((value for other, value in row.items() if other.lower() == name.lower()), None)


def said_in_process(play: Play, end: object = None) -> dict[str, pa.Table]:
    """Every query's changes, from one push per stream; time moves to the greatest timestamp, or to `end`."""
    with sash.connect(allow_unbounded=True) as db:
        for statement in play.statements:
            db.execute(statement)
        queries = {name: db.query(text, name=name) for name, text in play.queries.items()}
        for name, table in play.rows.items():
            if table.num_rows:
                db.push(name, table)
        for kind in {definition.timed for definition in play.streams}:
            own = [definition for definition in play.streams if definition.timed == kind]
            times = [t for d in own for t in play.rows[d.name].column(d.time).to_pylist()]
            if times:
                db.advance(max(times) if end is None else end)
        return {name: query.changes() for name, query in queries.items()}


def net_changes(table: pa.Table) -> Counter[tuple[str, ...]]:
    """Changes added up per row and instant; doubles to nine digits."""
    total: Counter[tuple[str, ...]] = Counter()
    columns = [column.to_pylist() for column in table.columns]
    for *row, change in zip(*columns, strict=True):
        total[tuple(_plain(value) for value in row)] += change
    return Counter({row: count for row, count in total.items() if count})


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value + 0.0:.9g}"
    return repr(value)


def cut_rows(table: pa.Table, parts: int) -> list[pa.Table]:
    """A stream's rows in so many parts, some of which may be empty."""
    bounds = [table.num_rows * i // parts for i in range(parts + 1)]
    return [table.slice(a, b - a) for a, b in pairwise(bounds)]
