"""A database as a snapshot, and back: definitions, clocks, waiting rows, tables, circuits.

Plans are not saved but made again from the queries' texts; a fingerprint of the optimized plan
tells whether the saved state still fits it.
"""

from __future__ import annotations

__all__ = ["restore", "save"]

import base64
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.catalog.arguments import path_of
from sash.catalog.names import Definition
from sash.catalog.planning import fingerprint
from sash.catalog.tables import History
from sash.catalog.waiting import Waiting
from sash.errors import SashError
from sash.language.expressions import Field, Schema
from sash.language.statements import CreateView, StreamDefinition, TableDefinition, parse
from sash.lifetimes import Changes
from sash.session.inflow import Inflow
from sash.session.query import Query
from sash.session.settings import settings_from
from sash.session.snapshot import read_snapshot, write_snapshot

if TYPE_CHECKING:
    from sash.session.database import Database

_INFLOW = ("pushed", "late")
_RUNNING = ("missed_until", "rows_in", "changes_out", "drained", "lost")


def save(database: Database, path: Path) -> None:
    """Write a database into one file."""
    for query in database.queries.values():
        query.running.check()
    manifest = {
        "settings": database.settings.saved,
        "numbered": database.numbered,
        "reached": database.reached,
        "definitions": [_define(definition) for definition in database.catalog],
        "streams": {key: _stream_facts(inflow) for key, inflow in database.inflows.items()},
        "queries": [_query_facts(query) for query in database.queries.values()],
    }
    write_snapshot(path, manifest, _sections(database))


def restore(given_path: object, given: Mapping[str, Any]) -> Database:
    """The database that a file holds, with the settings given changed."""
    from sash.session.database import Database

    path = path_of(given_path)
    manifest, sections = read_snapshot(path)
    database = Database(settings_from(given, settings_from(manifest["settings"])))
    database.numbered, database.reached = manifest["numbered"], manifest["reached"]
    for saved in manifest["definitions"]:
        database.define(_defined(saved))
    for key, facts in manifest["streams"].items():
        _restore_stream(database.inflows[key], facts, sections, f"stream/{key}")
    for key, history in database.tables.items():
        database.tables[key] = History.from_arrow(history.definition, sections[f"table/{key}"])
    for number, facts in enumerate(manifest["queries"]):
        _restore_query(database, facts, sections, f"query/{number}", path)
    return database


def _sections(database: Database) -> Iterator[tuple[str, pa.Table]]:
    for key, inflow in database.inflows.items():
        yield from _waiting_section(f"stream/{key}/waiting", inflow.waiting)
        if inflow.late_rows:
            yield f"stream/{key}/late", inflow.late_table()
    for key, history in database.tables.items():
        yield f"table/{key}", history.to_arrow()
    for number, query in enumerate(database.queries.values()):
        running = query.running
        for name, table in running.circuit.save().items():
            yield f"query/{number}/state/{name}", table
        for name, waiting in running.waiting.items():
            yield from _waiting_section(f"query/{number}/waiting/{name}", waiting)
        if running.restart is not None:
            yield f"query/{number}/restart", running.restart


def _stream_facts(inflow: Inflow) -> dict[str, Any]:
    counts = {name: getattr(inflow, name) for name in _INFLOW}
    return {**counts, "frontier": inflow.clock.frontier, "idle": inflow.clock.idle}


def _restore_stream(
    inflow: Inflow, facts: Mapping[str, Any], sections: Mapping[str, pa.Table], at: str
) -> None:
    for name in _INFLOW:
        setattr(inflow, name, facts[name])
    inflow.clock = replace(inflow.clock, frontier=facts["frontier"], idle=facts["idle"])
    inflow.waiting = _waiting_from(sections.get(f"{at}/waiting"))
    if (late := sections.get(f"{at}/late")) is not None:
        inflow.late_rows = [tuple(_arrays(late))]


def _query_facts(query: Query) -> dict[str, Any]:
    running = query.running
    facts = {name: getattr(running, name) for name in _RUNNING}
    return {
        **facts, "name": running.name, "text": query.text, "kind": running.kind, "since": running.since,
        "plan": fingerprint(running.plan), "faults": dict(running.circuit.faults.counts),
    }  # fmt: skip


def _restore_query(
    database: Database, facts: Mapping[str, Any], sections: Mapping[str, pa.Table], at: str, path: Path
) -> None:
    planned = database.planned(facts["text"])
    if fingerprint(planned.optimized) != facts["plan"]:
        raise SashError(
            "SASH-STATE-008",
            f"The snapshot '{path}' holds query '{facts['name']}' under a plan unlike today's.",
            remedy="Load it with the Sash and the rules it was saved with.",
        )
    running = database.prepared(facts["name"], planned, facts["kind"], facts["since"])
    state = f"{at}/state/"
    running.circuit.load({n.removeprefix(state): t for n, t in sections.items() if n.startswith(state)})
    running.circuit.faults.counts.update(facts["faults"])
    for name in running.waiting:
        running.waiting[name] = _waiting_from(sections.get(f"{at}/waiting/{name}"))
    for name in _RUNNING:
        setattr(running, name, facts[name])
    running.restart = sections.get(f"{at}/restart")
    database.queries[running.name] = Query(database, facts["text"], planned.plan, running)


def _define(definition: Definition) -> dict[str, Any]:
    match definition:
        case StreamDefinition():
            return {
                "kind": "stream", "name": definition.name, "fields": _pack(definition.fields),
                "time": definition.time, "lateness": definition.lateness, "options": definition.options,
            }  # fmt: skip
        case TableDefinition():
            return {
                "kind": "table", "name": definition.name, "fields": _pack(definition.fields),
                "key": definition.key, "retroactive": definition.retroactive, "options": definition.options,
            }  # fmt: skip
        case _:
            return {"kind": "view", "text": definition.text}


def _defined(saved: Mapping[str, Any]) -> Definition:
    if saved["kind"] == "view":
        statement = parse(saved["text"])[0]
        assert isinstance(statement, CreateView)
        return statement.definition
    fields = _unpack(saved["fields"])
    options = tuple((name, value) for name, value in saved["options"])
    if saved["kind"] == "stream":
        return StreamDefinition(saved["name"], fields, saved["time"], saved["lateness"], options)
    return TableDefinition(saved["name"], fields, tuple(saved["key"]), saved["retroactive"], options)


def _pack(fields: Schema) -> str:
    schema = pa.schema([(field.name, field.type) for field in fields])
    return base64.b64encode(schema.serialize()).decode()


def _unpack(text: str) -> Schema:
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
    return tuple(Field(field.name, field.type) for field in schema)


def _waiting_section(name: str, waiting: Waiting) -> Iterator[tuple[str, pa.Table]]:
    changes = waiting.everything()
    if changes is not None:
        lifetimes = [pa.array(side) for side in (changes.begin, changes.until, changes.weight)]
        names = [f"c{i}" for i in range(len(changes.columns))] + ["begin", "until", "weight"]
        yield name, pa.Table.from_arrays([*changes.columns, *lifetimes], names=names)


def _waiting_from(table: pa.Table | None) -> Waiting:
    if table is None:
        return Waiting()
    *columns, begin, until, weight = _arrays(table)
    return Waiting([Changes(tuple(columns), begin.to_numpy(), until.to_numpy(), weight.to_numpy())])


def _arrays(table: pa.Table) -> list[pa.Array]:
    """Each column as one array."""
    batches = table.combine_chunks().to_batches()
    return list(batches[0].columns) if batches else [pa.array([], field.type) for field in table.schema]
