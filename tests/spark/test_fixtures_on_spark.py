"""Fixtures on Spark itself: many of them in one Spark query, in 1, 4 and 7 buckets and 1, 3 and 10 triggers.

Each says the same as in-process. Streams and columns carry the number of their fixture in their names,
so that they can run side by side.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.language.expressions import Column, Field
from sash.language.statements import StreamDefinition
from sash.plan.nodes import Node, Project, Source, TableScan
from sash.spark.buckets.assembly import assemble
from sash.spark.pipelines.pipeline import StreamSpec, make_pipeline
from sash.spark.source.source import SashSource, pack_option
from sash.spark.types import from_spark

from .plays import Play, cut_rows, net_changes, plays, said_in_process

pytestmark = pytest.mark.slow

WAYS = [(1, 1), (4, 3), (7, 10)]
TOGETHER = 24
GROUPS = 9


def groups() -> list[list[Play]]:
    """Some fixtures of every topic in each group; those of one kind of time go together.

    Time moves to the end of all that run together, so those whose rows lie far ahead are kept apart (they
    are few, and so come after the groups that are run): beside them an RSTREAM that slides never ends.
    """
    found: list[list[Play]] = []
    for kind in ("integer", "timestamp"):
        own = [play for play in plays() if {stream.timed for stream in play.streams} == {kind}]
        Random(5).shuffle(own)
        for some in ([play for play in own if not far(play)], [play for play in own if far(play)]):
            found += [some[i : i + TOGETHER] for i in range(0, len(some), TOGETHER)]
    return sorted(found, key=len, reverse=True)[:GROUPS]


def far(play: Play) -> bool:
    """Whether rows lie beyond all times that people live in."""
    columns = [play.rows[each.name].column(each.time).cast(pa.int64()) for each in play.streams]
    return any(instant > 2**53 for column in columns for instant in column.to_pylist())


def numbered(plan: Node, number: int, names: list[str]) -> Node:
    """The plan over streams whose names carry the fixture's number, with other names for its columns."""

    def renamed(node: Node) -> Node:
        if isinstance(node, Source):
            return Source(f"{node.name}_{number}", node.fields, node.time)
        if isinstance(node, TableScan):
            return replace(node, name=f"{node.name}_{number}")
        return node.with_inputs([renamed(child) for child in node.inputs]) if node.inputs else node

    columns = tuple(Column(i, field.type, field.name) for i, field in enumerate(plan.schema))
    return Project(renamed(plan), columns, tuple(names))


def write(play: Play, number: int, folder: Path, cuts: int) -> list[StreamSpec]:
    """A fixture's rows as files, one for each trigger."""
    specs = []
    for definition in play.streams:
        place = folder / f"{definition.name}_{number}"
        place.mkdir(parents=True)
        for i, part in enumerate(cut_rows(play.rows[definition.name], cuts)):
            pq.write_table(part, place / f"{i:02d}.parquet")
        renamed = StreamDefinition(
            f"{definition.name}_{number}", definition.fields, definition.time, definition.lateness
        )
        specs.append(StreamSpec(renamed, "parquet", {"path": str(place), "maxFilesPerTrigger": "1"}))
    return specs


@pytest.mark.parametrize("place", range(GROUPS))
def test_says_the_same_as_in_process(spark: Any, tmp_path: Path, place: int) -> None:
    buckets, cuts = WAYS[place % len(WAYS)]
    own = groups()[place]
    specs: list[StreamSpec] = []
    queries: dict[str, Node] = {}
    columns: dict[str, list[str]] = {}
    tables = {}
    for number, play in enumerate(own):
        specs += write(play, number, tmp_path / "data", cuts)
        with sash.connect(allow_unbounded=True) as db:
            for statement in play.statements:
                db.execute(statement)
            for name, text in play.queries.items():
                query = db.query(text)
                key = f"{number}_{name}"
                columns[key] = [f"{key}_{i}" for i in range(len(query.schema))]
                queries[key] = numbered(query.optimized, number, columns[key])
            tables |= {f"{name}_{number}": table for name, table in db.tables.items()}
    kind = own[0].streams[0].timed
    checkpoint = tmp_path / "checkpoint"
    pipeline = make_pipeline(
        specs, queries, kind, str(checkpoint), tables=tables, buckets=buckets, until_end=True, tasks=2,
        one_node=place % 2 == 1,
    )  # fmt: skip
    spark.dataSource.register(SashSource)
    packs = spark.readStream.format("sash").option("pipeline", pack_option(pipeline)).load()
    batches: list[pa.Table] = []
    frame = assemble(pipeline, packs)
    run = (
        frame.writeStream.foreachBatch(lambda batch, _: batches.append(batch.toArrow()))
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    try:
        run.processAllAvailable()
    finally:
        run.stop()
    assert len(batches) > cuts
    fields = [Field(field.name, field.type) for field in pipeline.schema]
    whole = pa.concat_tables(batches).combine_chunks()
    schema = pa.schema([(field.name, field.type) for field in fields])
    said = pa.Table.from_batches([from_spark(batch, fields) for batch in whole.to_batches()], schema)
    end = max(t for play in own for d in play.streams for t in play.rows[d.name].column(d.time).to_pylist())
    for number, play in enumerate(own):
        expected = said_in_process(play, end)
        for name in play.queries:
            key = f"{number}_{name}"
            mine = said.filter(pa.compute.equal(said.column("query"), key))
            mine = mine.select([*columns[key], "at", "change"])
            assert net_changes(mine) == net_changes(expected[name]), f"{play.name}: {name}"
