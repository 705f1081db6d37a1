"""Every fixture that can be played on Spark, through packers, buckets and stages, without Spark itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.errors import SashError
from sash.language.expressions import Field, Schema
from sash.language.windows import Window
from sash.plan.nodes import Distinct, Exchange, Node, Source, Windowed
from sash.spark.metrics import read_metrics
from sash.spark.pipelines.pipeline import StreamSpec, make_pipeline, with_id
from sash.spark.pipelines.placement import place, stage_of
from sash.spark.settings import settings_from

from .plays import Play, cut_rows, net_changes, plays, said_in_process
from .simulation import Simulation

PLAYS = plays()
WAYS = [(1, 1), (4, 3), (7, 10)]


def played(play: Play, folder: Path, buckets: int, cuts: int, *, forget: bool) -> dict[str, pa.Table]:
    """Every query's changes, of all queries in one pipeline per kind of time."""
    with sash.connect(allow_unbounded=True) as db:
        for statement in play.statements:
            db.execute(statement)
        queries = {name: db.query(text, name=name) for name, text in play.queries.items()}
        streams = [StreamSpec(definition) for definition in play.streams]
        said = {}
        for name, query in queries.items():
            kind = query.running.kind
            pipeline = make_pipeline(
                streams, {name: query.optimized}, kind, str(folder / name), tables=db.tables, buckets=buckets,
                one_node=forget,
            )  # fmt: skip
            simulation = Simulation(pipeline)
            read = {spec.definition.name for spec in pipeline.streams}
            parts = {n: cut_rows(table, cuts) for n, table in play.rows.items() if n in read}
            given = []
            for i in range(cuts):
                if forget and i % 2:
                    simulation.forget()
                given.append(simulation.step({n: some[i] for n, some in parts.items()}))
            given.append(simulation.step({}, end=True))
            said[name] = pa.concat_tables(given)
        return said


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_says_the_same_as_in_process(play: Play, tmp_path: Path) -> None:
    expected = said_in_process(play)
    for buckets, cuts in WAYS:
        said = played(play, tmp_path / f"{buckets}", buckets, cuts, forget=buckets == 4)
        for name in play.queries:
            way = f"{name}, {buckets} buckets, {cuts} cuts"
            assert net_changes(said[name]) == net_changes(expected[name]), way


def test_a_column_may_be_called_query_where_there_is_one(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, query STRING) TIME ts")
        plan = db.query("SELECT query FROM s [RANGE 5]").optimized
        specs = [StreamSpec(definition) for definition in db.catalog.streams]
    simulation = Simulation(make_pipeline(specs, {"one": plan}, "integer", str(tmp_path)))
    said = simulation.step({"s": pa.table({"ts": [1], "query": ["select"]})}, end=True)
    assert said.to_pylist() == [{"query": "select", "at": 1, "change": 1}]


def test_late_rows_are_kept_whole_where_asked(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, note STRING) TIME ts")
        plan = db.query("SELECT k FROM s [RANGE 5] WHERE k > 3").optimized
        specs = [StreamSpec(definition) for definition in db.catalog.streams]
    late = tmp_path / "late"
    place = str(tmp_path / "state")
    pipeline = make_pipeline(specs, {"q": plan}, "integer", place, late=str(late), buckets=3)
    simulation = Simulation(pipeline)
    simulation.step({"s": pa.table({"ts": [10, 20], "k": [7, 8], "note": ["a", "b"]})})
    simulation.step({"s": pa.table({"ts": [5, 30, 6], "k": [1, 9, 9], "note": ["c", "d", "e"]})})
    kept = [row for path in (late / "s").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    assert sorted(kept, key=lambda row: row["ts"]) == [
        {"ts": 5, "k": 1, "note": "c"},
        {"ts": 6, "k": 9, "note": "e"},
    ]
    assert read_metrics(pipeline.checkpoint)["late"] == {"s": 2}


def test_late_rows_without_a_place_are_told_by_its_name(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIME ts")
        plan = db.query("SELECT k FROM s [RANGE 5]").optimized
        specs = [StreamSpec(definition) for definition in db.catalog.streams]
    late = tmp_path / "late"
    late.write_text("a file where the folder should be")
    pipeline = make_pipeline(specs, {"q": plan}, "integer", str(tmp_path / "c"), late=str(late), buckets=1)
    simulation = Simulation(pipeline)
    simulation.step({"s": pa.table({"ts": [10, 20], "k": [7, 8]})})
    with pytest.raises(SashError, match=rf"SASH-SPARK-089.*'{late}'.*Let late name a folder"):
        simulation.step({"s": pa.table({"ts": [5], "k": [9]})})


def test_late_rows_of_several_runs_stand_side_by_side(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIME ts")
        plan = db.query("SELECT k FROM s [RANGE 5]").optimized
        specs = [StreamSpec(definition) for definition in db.catalog.streams]
    late = tmp_path / "late"
    for run in ("one", "two"):
        place = str(tmp_path / run)
        pipeline = make_pipeline(specs, {"q": plan}, "integer", place, late=str(late), buckets=1)
        simulation = Simulation(with_id(pipeline, f"id of {run}"))
        simulation.step({"s": pa.table({"ts": [10, 20], "k": [7, 8]})})
        simulation.step({"s": pa.table({"ts": [5], "k": [len(run)]})})
    kept = [row for path in (late / "s").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    assert len(kept) == 2


def test_late_rows_go_where_the_driver_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings_from({"late": "late"}).late == str(tmp_path / "late")


ZEROS_AS_TEXT = {
    "window": "SELECT CAST(x AS STRING) AS c, COUNT(*) AS n FROM s [PARTITION BY x ROWS 2] "
    "GROUP BY CAST(x AS STRING)",
    "distinct": "SELECT c, COUNT(*) AS n FROM "
    "(SELECT CAST(x AS STRING) AS c FROM (SELECT DISTINCT x FROM s [RANGE 9])) GROUP BY c",
    "group": "SELECT CAST(x AS STRING) AS c, SUM(n) AS n FROM "
    "(SELECT x, COUNT(*) AS n FROM s [RANGE 9] GROUP BY x) GROUP BY CAST(x AS STRING)",
    "set": "SELECT CAST(x AS STRING) AS c, COUNT(*) AS n FROM "
    "(SELECT x FROM s [RANGE 9] INTERSECT SELECT x FROM s [RANGE 5]) GROUP BY CAST(x AS STRING)",
    "join": "SELECT CAST(l.x AS STRING) AS c, COUNT(*) AS n "
    "FROM s [RANGE 9] l JOIN s [RANGE 4] r ON l.x = r.x GROUP BY CAST(l.x AS STRING)",
}


@pytest.mark.parametrize("text", ZEROS_AS_TEXT.values(), ids=ZEROS_AS_TEXT)
@pytest.mark.parametrize("seed", range(5))
def test_equal_values_meet_though_a_key_tells_them_apart(text: str, seed: int, tmp_path: Path) -> None:
    """0.0 and -0.0 are equal to all operators here, and two texts to the group above them."""
    random = Random(seed)
    rows = {"ts": list(range(1, 25)), "x": [random.choice([0.0, -0.0, 0.0, -0.0, 1.5]) for _ in range(24)]}
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, x DOUBLE) TIME ts")
        query = db.query(text)
        specs = [StreamSpec(definition) for definition in db.catalog.streams]
        db.push("s", pa.table(rows))
        db.advance(24)
        expected = query.changes()
    for buckets in (1, 5):
        place = str(tmp_path / str(buckets))
        simulation = Simulation(
            make_pipeline(specs, {"q": query.optimized}, "integer", place, buckets=buckets), tasks=1
        )
        said = simulation.step({"s": pa.table(rows)}, end=True)
        assert net_changes(said) == net_changes(expected), f"{buckets} buckets"


@dataclass(frozen=True)
class Unheard(Node):
    """An operator that placement does not know."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return Unheard(*inputs)


def test_what_is_not_known_gets_all_rows_in_one_bucket() -> None:
    packets = Source("packets", (Field("ts", pa.int64()), Field("src", pa.string())), 0)
    recent = Windowed(packets, Window("range", length=60))
    assert place(Unheard(recent)) == Unheard(Windowed(Exchange(packets, ()), recent.window))
    behind = place(Unheard(Distinct(recent)))
    assert behind.inputs == (Exchange(place(Distinct(recent)), ()),)
    assert stage_of(place(Distinct(Unheard(recent)))) == 1
