"""The data source `sash`: every row of every file once, in order, whatever happens between two batches."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

import sash
from sash.errors import SashError
from sash.language.statements import CreateStream, parse
from sash.spark.buckets.packs import Pack, read_pack
from sash.spark.pipelines.pipeline import Pipeline, StreamSpec, make_pipeline
from sash.spark.source import source
from sash.spark.source.files import Slice
from sash.spark.source.source import SashSource, SashStreamReader, SourcePartition, pack_option, spread

STREAMS = (
    "CREATE STREAM link1 (ts BIGINT, src STRING, bytes BIGINT) TIME ts",
    "CREATE STREAM link2 (ts BIGINT, src STRING, bytes BIGINT) TIME ts",
)
QUERY = "SELECT src, bytes FROM link1 [RANGE 10] UNION ALL SELECT src, bytes FROM link2 [RANGE 10]"


def put(folder: Path, name: str, first: int, rows: int = 100) -> Path:
    """A file whose rows have the numbers from `first` as their bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(first, first + rows)
    table = pa.table({"ts": numbers, "src": [f"h{n % 7}" for n in numbers], "bytes": numbers})
    unfinished = folder / f".{name}"
    pq.write_table(table, unfinished)
    unfinished.rename(folder / name)
    return folder / name


def pipeline(tmp_path: Path, format: str = "parquet", **settings: Any) -> Pipeline:
    """A query over two folders; other settings than the pipeline's are options of both streams."""
    own = {name: settings.pop(name) for name in set(settings) & set(Pipeline.__dataclass_fields__)}
    with sash.connect() as db:
        specs = []
        for text in STREAMS:
            db.execute(text)
            (statement,) = parse(text)
            assert isinstance(statement, CreateStream)
            folder = tmp_path / statement.definition.name
            folder.mkdir(exist_ok=True)
            specs.append(StreamSpec(statement.definition, format, {"path": str(folder), **settings}))
        plan = db.query(QUERY).optimized
    return make_pipeline(specs, {"q": plan}, "integer", str(tmp_path / "checkpoint"), **own)


def unpacked(made: Pipeline, batch: pa.RecordBatch | pa.Table) -> Iterator[Pack]:
    flows = {
        name: pa.schema([pa.field(one.name, one.type) for one in flow.schema])
        for name, flow in made.stages[0].flows.items()
    }
    for pack in batch.column("pack"):
        yield read_pack(pack.as_buffer(), flows)


def numbers(made: Pipeline, batches: list[pa.RecordBatch]) -> list[int]:
    """The numbers in the rows of some packs, in the order of their tasks."""
    packs = sorted((pack for batch in batches for pack in unpacked(made, batch)), key=lambda pack: pack.order)
    return [n for pack in packs for rows in pack.rows.values() for n in rows.columns[-1].to_pylist()]


class Run:
    """A run of a pipeline's source as Spark would make it: plan, read, commit."""

    def __init__(self, made: Pipeline, start: int = 0) -> None:
        self.made = made
        self.reader = SashStreamReader(pack_option(made))
        self.at = {"seq": start}

    def plan(self) -> dict[str, int]:
        return self.reader.latestOffset(self.at, self.reader.getDefaultReadLimit())

    def read(self, end: dict[str, int]) -> list[pa.RecordBatch]:
        worker = pickle.loads(pickle.dumps(self.reader))
        parts = self.reader.partitions(self.at, end)
        return [batch for part in parts for batch in worker.read(pickle.loads(pickle.dumps(part)))]

    def step(self) -> list[int] | None:
        """The numbers of the next batch; None if there is none."""
        end = self.plan()
        if end == self.at:
            return None
        given = numbers(self.made, self.read(end))
        self.reader.commit(end)
        self.at = end
        return given


def test_rows_arrive_once_and_in_order(tmp_path: Path) -> None:
    made = pipeline(tmp_path, maxFilesPerTrigger="2", buckets=1)
    for i in range(5):
        put(tmp_path / "link1", f"{i}", i * 100)
    run = Run(made)
    assert run.step() == list(range(200))
    assert run.step() == list(range(200, 400))
    assert run.step() == list(range(400, 500))
    assert run.step() is None
    put(tmp_path / "link2", "x", 500)
    assert run.step() == list(range(500, 600))


def test_a_batch_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    put(tmp_path / "link1", "a", 0)
    first = Run(made)
    end = first.plan()
    packs = first.read(end)
    put(tmp_path / "link1", "b", 100)
    again = Run(made)
    assert again.plan() == end, "a step that is noted is not made anew"
    assert again.read(end) == packs
    again.at = end
    assert again.step() == list(range(100, 200))


def test_every_batch_reaches_all_buckets_with_its_time(tmp_path: Path) -> None:
    made = pipeline(tmp_path, until_end=True, heartbeat=60.0, buckets=3)
    put(tmp_path / "link1", "a", 0)
    run = Run(made)
    run.step()
    end = run.plan()
    (batch,) = run.read(end)
    assert batch.column("bucket").to_pylist() == [0, 1, 2]
    packs = list(unpacked(made, batch))
    assert all(pack.control.end and pack.control.now and not pack.rows for pack in packs)
    run.at = end
    assert run.plan() == end


def test_without_a_heartbeat_the_clock_on_the_wall_moves_nothing(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    put(tmp_path / "link1", "a", 0)
    run = Run(made)
    (batch, *_) = run.read(run.plan())
    assert all(pack.control.now is None for pack in unpacked(made, batch))


def test_offsets_may_span_several_steps(tmp_path: Path) -> None:
    made = pipeline(tmp_path, maxFilesPerTrigger="1", buckets=1)
    for i in range(3):
        put(tmp_path / "link1", f"{i}", i * 100)
    run = Run(made)
    for number in (1, 2, 3):
        assert run.reader.latestOffset({"seq": number - 1}, ReadMaxFiles(2**31 - 1)) == {"seq": number}
    assert numbers(made, run.read({"seq": 3})) == list(range(300))
    assert run.reader.latestOffset({"seq": 0}, ReadAllAvailable()) == {"seq": 3}
    (nothing,) = run.reader.partitions({"seq": 3}, {"seq": 3})  # every batch reaches every bucket
    assert nothing.parts == ()


def test_a_trigger_without_limits_takes_all(tmp_path: Path) -> None:
    made = pipeline(tmp_path, maxFilesPerTrigger="1")
    for i in range(3):
        put(tmp_path / "link1", f"{i}", i * 100)
    reader = SashStreamReader(pack_option(made))
    end = reader.latestOffset({"seq": 0}, ReadAllAvailable())
    assert sum(len(part.parts) for part in reader.partitions({"seq": 0}, end)) == 3


def test_malformed_rows_are_counted_in_the_packs(tmp_path: Path) -> None:
    made = pipeline(tmp_path, format="csv")
    (tmp_path / "link1" / "a.csv").write_text("1,a,5\n2,b,x\nsoon,c,7\n")
    run = Run(made)
    seen = [pack.seen["link1"] for batch in run.read(run.plan()) for pack in unpacked(made, batch)]
    assert {(one.rows, one.malformed, one.greatest) for one in seen} == {(2, 2, 2)}


def test_a_batch_too_large_for_one_column_comes_in_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_LARGEST", 3000)
    made = pipeline(tmp_path, buckets=1, tasks=1)
    put(tmp_path / "link1", "a", 0)
    put(tmp_path / "link1", "b", 100)
    run = Run(made)
    batches = run.read(run.plan())
    assert len(batches) > 3
    assert numbers(made, batches) == list(range(200))


def test_a_log_that_is_behind_spark(tmp_path: Path) -> None:
    run = Run(pipeline(tmp_path), start=7)
    with pytest.raises(SashError, match=r"SASH-SOURCE-010.*come to step 7.*ends at 0"):
        run.plan()


class TestSpread:
    def test_in_runs_of_equal_bytes(self) -> None:
        parts = [("s", Slice(f"{i}", size, 0)) for i, size in enumerate([30, 10, 10, 10, 40, 20])]
        assert [[one.path for _, one in run] for run in spread(parts, 2)] == [list("0123"), list("45")]

    def test_a_large_parquet_slice_is_divided(self) -> None:
        whole = Slice("a", 1000, 0, 100_000, 400_000, 500_000)
        runs = spread([("s", whole)], 3)
        assert [[(one.start, one.stop) for _, one in run] for run in runs] == [
            [(100_000, 200_000)], [(200_000, 300_000)], [(300_000, 400_000)]
        ]  # fmt: skip

    def test_no_more_runs_than_parts_and_never_none(self) -> None:
        assert spread([], 4) == [[]]
        assert spread([("s", Slice("a", 5, 0))], 4) == [[("s", Slice("a", 5, 0))]]
        assert spread([("s", Slice("a", 5, 0, 0, 0, 0))], 4) == [[]]

    @pytest.mark.parametrize("tasks", [1, 2, 3, 7])
    def test_order_and_rows_are_kept(self, tasks: int) -> None:
        sizes = [90_000, 10, 250_000, 1, 40_000, 40_000]
        parts = [("s", Slice(f"{i}", n * 8, 0, 0, n, n)) for i, n in enumerate(sizes)]
        flat = [one for run in spread(parts, tasks) for _, one in run]
        rows = [(one.path, row) for one in flat for row in (one.start, one.stop)]
        assert rows == sorted(rows)
        assert sum(one.taken or 0 for one in flat) == sum(sizes)


@pytest.fixture(scope="module")
def packed(spark: Any) -> Any:
    """How to run a pipeline's source into a folder of packs, and what is in it."""
    spark.dataSource.register(SashSource)

    def run(made: Pipeline, out: Path) -> None:
        frame = spark.readStream.format("sash").option("pipeline", pack_option(made)).load()
        sink = frame.writeStream.format("parquet").option("path", str(out))
        query = sink.option("checkpointLocation", made.checkpoint).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def content(made: Pipeline, out: Path) -> list[int]:
        kept = spark.read.parquet(str(out)).toArrow()
        return sorted(n for n in numbers(made, [kept]))

    return run, content


@pytest.mark.slow
class TestOnSpark:
    def test_over_restarts_every_row_comes_once(self, packed: Any, tmp_path: Path) -> None:
        run, content = packed
        made = pipeline(tmp_path, maxRowsPerTrigger="150", until_end=True)
        for part in range(2):
            for i in range(2):
                put(tmp_path / "link1", f"{part}{i}", part * 1000 + i * 100)
                put(tmp_path / "link2", f"{part}{i}", part * 1000 + 500 + i * 100)
            run(made, tmp_path / "out")
        expected = [n for first in (0, 500, 1000, 1500) for n in range(first, first + 200)]
        assert content(made, tmp_path / "out") == expected
        run(made, tmp_path / "out")
        assert content(made, tmp_path / "out") == expected, "a run without new files adds nothing"

    def test_a_file_deleted_after_it_was_listed(self, packed: Any, tmp_path: Path) -> None:
        run, content = packed
        made = pipeline(tmp_path)
        path = put(tmp_path / "link1", "a", 0)
        kept = path.read_bytes()
        assert Run(made).plan() == {"seq": 1}
        path.unlink()
        with pytest.raises(Exception, match="SASH-SOURCE-005"):
            run(made, tmp_path / "out")
        path.write_bytes(kept)
        put(tmp_path / "link1", "b", 100)
        run(made, tmp_path / "out")
        run(made, tmp_path / "out")
        assert content(made, tmp_path / "out") == list(range(200))


def test_partitions_can_be_sent(tmp_path: Path) -> None:
    put(tmp_path / "link1", "a", 0)
    run = Run(pipeline(tmp_path))
    (part,) = run.reader.partitions({"seq": 0}, run.plan())
    assert isinstance(part, SourcePartition)
    assert pickle.loads(pickle.dumps(part)) == part
