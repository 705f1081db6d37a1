"""Random queries and streams through packers, buckets and stages say what they say in-process.

Batches are cut at random, some buckets come back from disk in between, and in every other pair streams
fall idle while others go on. SASH_RANDOM_PIPELINES says how many (400 unless told), SASH_SEED where to start.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import sash
from random_queries import OPERATORS, Pair, draw_pair
from sash.errors import SashError
from sash.plan.nodes import Source, TableScan
from sash.session.query import Query
from sash.spark.pipelines.pipeline import StreamSpec, make_pipeline

from .plays import net_changes
from .simulation import Simulation

PIPELINES = int(os.environ.get("SASH_RANDOM_PIPELINES", "400"))
SEED = int(os.environ.get("SASH_SEED", "1"))
GROUPS = 8

pytestmark = pytest.mark.slow


@dataclass
class Batch:
    """Rows by stream, and the streams that are idle meanwhile."""

    rows: dict[str, pa.Table]
    idle: set[str]


def batches(random: Random, rows: dict[str, pa.Table], *, idle: bool) -> list[Batch]:
    """Each stream's rows in a random number of parts; a stream that has none may fall idle.

    No two come back in one batch: to a bucket that is one moment, but a session takes one push after another.
    """
    count = random.choice([1, 2, 4, 8])
    ends = {
        name: [0, *sorted(random.randint(0, len(table)) for _ in range(count - 1)), len(table)]
        for name, table in rows.items()
    }
    resting: set[str] = set()
    made = []
    for i in range(count):
        own = {name: table[ends[name][i] : ends[name][i + 1]] for name, table in rows.items()}
        silent = {name for name, table in own.items() if not len(table)}
        if len(resting - silent) > 1:
            return batches(random, rows, idle=idle)
        resting = {name for name in silent if name in resting or (idle and random.random() < 0.5)}
        made.append(Batch(own, set(resting)))
    return made


def taken_in(db: sash.Database, batch: Batch) -> None:
    """A batch is one moment: rows of streams that were idle come first, as they do in a bucket."""
    order = sorted(batch.rows, key=lambda name: not db.inflows[name].clock.idle)
    for name in order:
        if len(batch.rows[name]):
            db.push(name, batch.rows[name])
    for name in batch.idle:
        db.idle(name)


def asked(db: sash.Database, pair: Pair) -> Query | None:
    """The pair's query, if it can run on Spark."""
    for statement in [*pair.setup.split(";"), *(change for change in pair.tables if " u " not in change)]:
        if statement.strip():
            db.execute(statement)
    try:
        query = db.query(pair.sql)
    except SashError:
        return None
    nodes = list(query.optimized.walk())
    retroactive = any(isinstance(node, TableScan) and node.retroactive for node in nodes)
    return query if any(isinstance(node, Source) for node in nodes) and not retroactive else None


def met(number: int, folder: Path) -> bool:
    """Whether a pair could be played; it fails where the two differ."""
    random = Random(f"pipelines {SEED}:{number}")
    names = list(OPERATORS)
    pair = draw_pair(random, random.choice(names), random.choice(names))
    with sash.connect(allow_unbounded=True) as db:
        query = asked(db, pair)
        if query is None:
            return False
        streams = [StreamSpec(definition) for definition in db.catalog.streams]
        buckets = random.choice([1, 2, 3, 5])
        pipeline = make_pipeline(
            streams, {"q": query.optimized}, "integer", str(folder), tables=dict(db.tables), buckets=buckets,
            retain=random.choice([1, 100]), partitions=random.choice([1, 2, 3]),
            one_node=random.choice([False, True]),
        )  # fmt: skip
        definitions = [spec.definition for spec in pipeline.streams]
        schemas = {one.name: pa.schema([(f.name, f.type) for f in one.fields]) for one in definitions}
        rows = {name: pa.Table.from_pylist(pair.pushes[name], schema) for name, schema in schemas.items()}
        simulation = Simulation(pipeline, tasks=random.choice([1, 2, 3]))
        given = []
        resting: set[str] = set()
        for batch in batches(random, rows, idle=number % 2 == 1):
            if random.random() < 0.3:
                simulation.forget()
            given.append(simulation.step(batch.rows, idle=batch.idle))
            taken_in(db, batch)
            resting = batch.idle
        given.append(simulation.step({}, idle=resting, end=True))
        db.advance(max(table.column("ts")[-1].as_py() for table in rows.values()))
        said = net_changes(pa.concat_tables(given))
        expected = net_changes(query.changes())
        told = f"seed {SEED}, pipeline {number}, {buckets} buckets, {len(pipeline.stages)} stages: {pair.sql}"
        assert said == expected, told
        return True


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_queries_through_buckets(group: int, tmp_path: Path) -> None:
    numbers = range(group, PIPELINES, GROUPS)
    played = sum(met(number, tmp_path / str(number)) for number in numbers)
    assert played >= 0.7 * len(numbers)
