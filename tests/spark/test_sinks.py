"""Sinks: where changes go, one or several; a batch that comes again never doubles a change.

The changes are hand-made: a folder with one Parquet file per batch, read as a stream.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem

from sash.catalog.names import Catalog
from sash.catalog.planning import Planned, plan_query
from sash.catalog.schema import stream_definition
from sash.errors import SashError
from sash.spark.checkpoints.checkpoint import Checkpoint
from sash.spark.handle import Handle
from sash.spark.sinks import Part, Run, resolve, start
from sash.spark.sinks.answer_files import AnswerFiles
from sash.spark.sinks.hadoop_folder import HadoopFolder
from sash.spark.sinks.ledger import Ledger

Row = tuple[Any, ...]

BATCHES: list[list[Row]] = [
    [("a", 1, 1, 1), ("b", 1, 2, 1), ("a", 1, 3, 1)],
    [("a", 1, 5, -1), ("c", None, 6, 2)],
    [],
    [("b", 1, 9, -1), ("c", None, 9, -1)],
]
ANSWERS: list[list[Row]] = [
    [("a", 1), ("a", 1), ("b", 1)],
    [("a", 1), ("b", 1), ("c", None), ("c", None)],
    [("a", 1), ("b", 1), ("c", None), ("c", None)],
    [("a", 1), ("c", None)],
]
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("at", pa.int64()), ("change", pa.int64())])
BOTH = pa.schema([pa.field("query", pa.string()), *SCHEMA])


def planned(text: str = "SELECT k, n FROM s [RANGE 5]") -> Planned:
    catalog = Catalog()
    catalog.add(stream_definition("s", {"ts": "BIGINT", "k": "STRING", "n": "BIGINT"}, "ts"))
    return plan_query(text, catalog)


class Bench:
    """One stream of hand-made changes with a checkpoint, to be started again and again."""

    def __init__(self, spark: Any, folder: Path, schema: pa.Schema = SCHEMA) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        (folder / "in").mkdir()
        self.count = 0

    def add(self, *batches: list[Row]) -> None:
        for rows in batches:
            columns = list(zip(*rows, strict=True)) or [()] * len(self.schema)
            arrays = [pa.array(c, t) for c, t in zip(columns, self.schema.types, strict=True)]
            file = self.folder / "in" / f"{self.count}.parquet"
            pq.write_table(pa.Table.from_arrays(arrays, schema=self.schema), file)
            os.utime(file, (self.count, self.count))  # Spark takes files in the order of their age
            self.count += 1

    def frame(self) -> Any:
        reader = self.spark.readStream.schema(_ddl(self.schema)).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / "in"))

    def begin(self, *parts: Part, frame: Any = None, name: str = "main", checkpoint: str = "c") -> Handle:
        held = Checkpoint(self.folder / checkpoint)
        try:
            held.settle(_record(held))
            now = {"availableNow": True}
            run = Run(self.spark, name, held.path, held.id, held.is_new, now)
            query = start(frame or self.frame(), parts, run)
        except BaseException:
            held.close()
            raise
        return Handle(query, held, [part.sink for part in parts])

    def run(self, *parts: Part, **options: Any) -> None:
        self.begin(*parts, **options).awaitTermination()

    def uncommit(self) -> None:
        """As if the process had died before Spark's commit of the newest batch."""
        commits = self.folder / "c" / "commits"
        newest = max(int(each.name) for each in commits.iterdir() if each.name.isdigit())
        (commits / str(newest)).unlink()
        (commits / f".{newest}.crc").unlink(missing_ok=True)


def _ddl(schema: pa.Schema) -> str:
    names = {pa.string(): "string", pa.int64(): "bigint", pa.timestamp("us", "UTC"): "timestamp"}
    return ", ".join(f"`{field.name}` {names[field.type]}" for field in schema)


def _record(held: Checkpoint) -> Any:
    from sash.spark.checkpoints.records import Record

    return held.recorded or Record(f"id{id(held)}", "0", "integer", 1, 1, 1, {}, {}, {})


@pytest.fixture
def bench(spark: Any, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


def part(sink: object, path: object = None, name: str = "main", **queries: Planned) -> Part:
    return Part(resolve(sink, None if path is None else str(path)), queries or {"q": planned()}, name)


def answer(path: Path) -> list[Row]:
    rows = pq.read_table(path / "answer.parquet").to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=str)


def changes(rows: list[Any]) -> list[Row]:
    return sorted((tuple(row) for row in rows), key=lambda row: (row[-2], str(row)))


def refused(code: str, act: Callable[[], object]) -> SashError:
    with pytest.raises(SashError) as caught:
        act()
    assert caught.value.code == code, str(caught.value)
    assert caught.value.remedy
    return caught.value


ALL = changes([row for batch in BATCHES for row in batch])


# One function


def test_a_function_gets_every_batch_and_computes_it_once(bench: Bench) -> None:
    bench.add(*BATCHES)
    log = bench.folder / "computed"

    def noted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with open(log, "a") as file:
            file.write("x")
        yield from batches

    seen: list[tuple[int, list[Row]]] = []

    def look(batch: Any, number: int) -> None:
        assert batch.count() == batch.count()
        seen.append((number, changes(batch.collect())))

    bench.run(part(look), frame=bench.frame().coalesce(1).mapInArrow(noted, _ddl(SCHEMA)))
    assert seen == [(number, changes(rows)) for number, rows in enumerate(BATCHES)]
    assert log.read_text() == "x" * len(BATCHES)


def test_a_batch_is_computed_even_if_the_function_does_not_look(bench: Bench) -> None:
    bench.add(*BATCHES[:2])
    log = bench.folder / "computed"

    def noted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with open(log, "a") as file:
            file.write("x")
        yield from batches

    bench.run(
        part(lambda batch, number: None), frame=bench.frame().coalesce(1).mapInArrow(noted, _ddl(SCHEMA))
    )
    assert log.read_text() == "xx"


def test_an_error_in_a_function_arrives_as_it_is(bench: Bench) -> None:
    bench.add(BATCHES[0])

    def fail(batch: Any, number: int) -> None:
        raise SashError("SASH-DATA-001", "Dr. Row is odd. Very.", remedy="Mend it.")

    handle = bench.begin(part(fail))
    error = refused("SASH-DATA-001", handle.awaitTermination)
    assert (error.message, error.remedy) == ("Dr. Row is odd. Very.", "Mend it.")
    told = handle.exception()
    assert told is not None
    assert told.message == error.message
    assert "failed" in repr(handle)
    Checkpoint(bench.folder / "c").close()  # given back

    def stumble(batch: Any, number: int) -> None:
        raise ZeroDivisionError("of all things")

    error = refused("SASH-SPARK-040", lambda: bench.run(part(stumble)))
    assert "ZeroDivisionError: of all things" in error.message

    def leave(batch: Any, number: int) -> None:
        sys.exit(3)

    error = refused("SASH-SPARK-040", lambda: bench.run(part(leave)))
    assert "SystemExit: 3" in error.message


# The snapshot


def test_a_snapshot_is_the_answer_after_every_batch(bench: Bench) -> None:
    path = bench.folder / "out"
    for rows, expected in zip(BATCHES, ANSWERS, strict=True):
        bench.add(rows)
        bench.run(part("snapshot", path))
        assert answer(path) == expected
        spark_rows = bench.spark.read.parquet(str(path)).collect()
        assert sorted((tuple(row) for row in spark_rows), key=str) == expected
    assert [each.name for each in path.iterdir() if each.name.startswith(".")] == []


def test_whoever_has_listed_or_opened_a_snapshot_reads_what_was_there_then(bench: Bench) -> None:
    path = bench.folder / "out"
    bench.add(BATCHES[0])
    bench.run(part("snapshot", path))
    listed = bench.spark.read.parquet(str(path))
    with open(path / "answer.parquet", "rb") as opened:
        bench.add(*BATCHES[1:])
        bench.run(part("snapshot", path))
        assert sorted((tuple(row) for row in listed.collect()), key=str) == ANSWERS[0]
        assert pq.read_table(opened).num_rows == len(ANSWERS[0])
    assert pq.read_table(path).num_rows == len(ANSWERS[3])  # a folder, to everyone but Spark


def test_old_versions_of_a_snapshot_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.spark.sinks.answer_files._SECONDS", -1.0)
    table = pa.table({"a": [1]})
    old = AnswerFiles(tmp_path, "old")
    old.put(0, table)
    old.close()
    files = AnswerFiles(tmp_path, "id")
    for number in range(10):
        files.put(number, None if number % 3 else table)
    for number in range(10, 20):
        files.put(number, None)
    assert sorted(tmp_path.glob("_answer*")) == [tmp_path / f"_answer=id-{n}.parquet" for n in range(16, 20)]


def test_versions_that_earlier_runs_left_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.spark.sinks.answer_files._SECONDS", 0.3)
    for number in range(12):  # each of a run of its own, over before its versions may go
        files = AnswerFiles(tmp_path, "id")
        files.put(number, pa.table({"a": [number]}))
        files.close()
        time.sleep(0.1)
    assert len(list(tmp_path.glob("_answer*"))) < 10


@pytest.mark.parametrize("seed", range(8))
def test_whoever_opens_a_snapshot_twice_reads_the_answer_opened_first(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    files, newest = AnswerFiles(tmp_path, "id"), tmp_path / "answer.parquet"
    opened: list[tuple[ds.Fragment, pa.Table]] = []
    for number in range(30):
        rows = 100_000 if number == 13 else chance.choice([0, 1, 7, 40, chance.randrange(3000)])
        answer = pa.table({"a": [chance.randrange(10**9) for _ in range(rows)], "b": [str(number)] * rows})
        files.put(number, answer if number == 0 or chance.random() < 0.8 else None)
        for fragment, expected in opened[-1:] if 13 <= number < 17 else opened[-3:]:
            assert fragment.to_table() == expected
        fragment = ds.ParquetFileFormat().make_fragment(str(newest), LocalFileSystem())
        assert fragment.physical_schema.names == ["a", "b"]  # the footer is read
        opened.append((fragment, pq.read_table(newest)))
    assert newest.stat().st_size < 1_000_000  # the place of the large one has been used again


def test_a_snapshot_is_rebuilt_when_a_batch_comes_again(bench: Bench) -> None:
    path = bench.folder / "out"
    for rows, expected in zip(BATCHES, ANSWERS, strict=True):
        bench.add(rows)
        bench.run(part("snapshot", path))
        bench.uncommit()
        bench.run(part("snapshot", path))
        assert answer(path) == expected


@pytest.mark.parametrize("damage", [lambda old: b"", lambda old: old[:99], lambda old: old[:9] * 99])
def test_a_damaged_answer_of_the_batch_before_is_told(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    files = AnswerFiles(tmp_path, "id")
    files.put(0, pa.table({"k": [1, 2]}))
    (version,) = tmp_path.glob("_answer=*")
    content = version.read_bytes()
    version.unlink()  # another name of answer.parquet, which stays whole
    version.write_bytes(damage(content))
    error = refused("SASH-SPARK-068", lambda: files.before(1))
    assert version.name in error.message


def test_a_new_checkpoint_starts_a_snapshot_anew_and_another_place_is_refused(bench: Bench) -> None:
    path = bench.folder / "out"
    bench.add(*BATCHES[:2])
    bench.run(part("snapshot", path))
    bench.run(part("snapshot", path), checkpoint="other")
    assert answer(path) == ANSWERS[1]
    bench.add(BATCHES[2])
    refused("SASH-SPARK-068", lambda: bench.run(part("snapshot", bench.folder / "elsewhere")))
    bench.run(part("snapshot", path))
    assert answer(path) == ANSWERS[2]  # while its versions are there, the first one can go on


def test_two_runs_cannot_fill_one_snapshot_at_a_time(spark: Any, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    bench.add([("one", "a", 1, 1, 1), ("two", "b", 2, 1, 1)])
    held = AnswerFiles(tmp_path / "out" / "two", "another")
    both = part("snapshot", tmp_path / "out", one=planned(), two=planned())
    error = refused("SASH-SPARK-061", lambda: bench.run(both))
    assert f"The snapshot '{tmp_path}/out/two' is in use by process {os.getpid()}" in str(error)
    held.close()
    AnswerFiles(tmp_path / "out" / "one", "another").close()  # what was refused holds nothing
    bench.run(part("snapshot", tmp_path / "out", one=planned(), two=planned()))
    assert answer(tmp_path / "out" / "one") == [("a", 1)]


def test_a_snapshot_keeps_time_as_spark_knows_it(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("at", pa.int64()), ("change", pa.int64())])
    bench = Bench(spark, tmp_path, schema)
    bench.add([(1_000_000, 1, 1), (None, 1, 2)])
    catalog = Catalog()
    catalog.add(stream_definition("s", {"ts": "BIGINT", "t": "TIMESTAMP"}, "ts"))
    bench.run(part("snapshot", tmp_path / "out", q=plan_query("SELECT t FROM s [RANGE 5]", catalog)))
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert frame.dtypes == [("t", "timestamp")]
    assert pq.read_table(tmp_path / "out" / "answer.parquet").num_rows == 3


def test_several_queries_have_a_snapshot_each(spark: Any, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    bench.add([("one", "a", 1, 1, 1), ("two", "b", 2, 1, 1)], [("one", "a", 1, 2, -1)])
    bench.run(part("snapshot", tmp_path / "out", one=planned(), two=planned()))
    assert answer(tmp_path / "out" / "one") == []
    assert answer(tmp_path / "out" / "two") == [("b", 2)]


def test_what_has_no_snapshot(bench: Bench) -> None:
    stream = planned("SELECT k, n FROM s")
    error = refused("SASH-SPARK-067", lambda: bench.begin(part("snapshot", bench.folder / "out", q=stream)))
    assert "'q'" in error.message
    refused("SASH-SPARK-070", lambda: resolve("snapshot", "s3://bucket/out"))
    refused("SASH-SPARK-062", lambda: resolve("snapshot"))
    (bench.folder / "file").write_text("x")
    refused("SASH-SPARK-070", lambda: bench.begin(part("snapshot", bench.folder / "file")))
    bench.add([("a", 1, 1, -1)])
    refused("SASH-SPARK-069", lambda: bench.run(part("snapshot", bench.folder / "out")))


# Spark's own


def test_sinks_of_sparks_own(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    bench.add(*BATCHES)
    bench.run(part("memory"), name="kept", checkpoint="m")
    assert changes(bench.spark.table("kept").collect()) == ALL
    refused("SASH-SPARK-066", lambda: bench.run(part("memory"), name="kept", checkpoint="m"))
    for name in ("my run-1", "a.b", "7"):
        refused("SASH-SPARK-090", lambda name=name: bench.run(part("memory"), name=name, checkpoint="v"))  # type: ignore[misc]
    bench.run(part("noop"), checkpoint="n")
    bench.run(part("parquet", bench.folder / "out"), checkpoint="p")
    assert changes(bench.spark.read.parquet(str(bench.folder / "out")).collect()) == ALL


def test_a_folder_of_another_checkpoint_is_refused(bench: Bench) -> None:
    """Spark would take the new batches for old ones and leave them out without a word."""
    bench.add(*BATCHES)
    out = bench.folder / "out"
    bench.run(part("json", out))
    refused("SASH-SPARK-065", lambda: bench.begin(part("json", out), checkpoint="d"))
    refused("SASH-SPARK-065", lambda: bench.begin(part("json", out), part("noop", name="b"), checkpoint="d"))
    bench.run(part("json", out))  # its own goes on


def test_a_format_that_spark_lacks(bench: Bench) -> None:
    from sash.spark.failures import sash_error

    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND") as caught:
        bench.begin(part("nosuchformat", bench.folder / "out"))
    error = sash_error(caught.value)
    assert error.code == "SASH-SPARK-045"
    assert "nosuchformat" in error.message


def test_what_is_no_sink() -> None:
    refused("SASH-SPARK-063", lambda: resolve(5))
    refused("SASH-SPARK-063", lambda: resolve("memory", "/somewhere"))
    refused("SASH-SPARK-063", lambda: resolve(print, None, {"header": True}))
    refused("SASH-SPARK-063", lambda: resolve("parquet", "/somewhere", {"partitionBy": "k"}))
    refused("SASH-SPARK-062", lambda: resolve("parquet"))


# Several


def several(bench: Bench, function: Callable[[Any, int], None], view: str = "seen") -> list[Part]:
    one, two = {"one": planned()}, {"two": planned("SELECT n FROM s [RANGE 5]")}
    return [
        Part(resolve("parquet", str(bench.folder / "parquet")), one, "a"),
        Part(resolve("json", str(bench.folder / "json")), two, "b"),
        Part(resolve(function), {**one, **two}, "c"),
        Part(resolve("noop"), one, "d"),
    ]


MIXED: list[list[Row]] = [
    [("one", "a", 1, 1, 1), ("two", None, 7, 1, 1)],
    [("one", "b", 2, 2, 1)],
    [("two", None, 7, 3, -1), ("one", "c", 3, 3, 1)],
]
ONES = [("a", 1, 1, 1), ("b", 2, 2, 1), ("c", 3, 3, 1)]
TWOS = [(7, 1, 1), (7, 3, -1)]


def files(bench: Bench) -> tuple[list[Row], list[Row]]:
    """What Spark and what everyone else reads, which must be the same."""
    spark = bench.spark
    ones = changes(spark.read.parquet(str(bench.folder / "parquet")).collect())
    plain = pq.read_table(bench.folder / "parquet").to_pylist()
    assert changes([tuple(row.values()) for row in plain]) == ones
    schema = "n bigint, at bigint, change bigint"
    return ones, changes(spark.read.schema(schema).json(str(bench.folder / "json")).collect())


def test_sinks_of_like_names_have_notes_of_their_own(spark: Any, tmp_path: Path) -> None:
    run = Run(spark, "main", tmp_path, "id", True)
    for name in ("a b", "a_b", "a/b", ".."):
        Ledger(run, name).note(len(name))
    assert [Ledger(run, name).has(3) for name in ("a b", "a_b", "a/b", "..")] == [True, True, True, False]
    assert len(list((tmp_path / "sash" / "sinks").iterdir())) == 4


@pytest.mark.parametrize("content", [b"", b"x", b"\xff"])
def test_a_damaged_note_of_a_sink_is_told(spark: Any, tmp_path: Path, content: bytes) -> None:
    run = Run(spark, "main", tmp_path, "id", True)
    Ledger(run, "one").note(3)
    (note,) = (tmp_path / "sash" / "sinks").iterdir()
    note.write_bytes(content)
    assert "sash/sinks/one" in refused("SASH-SPARK-050", lambda: Ledger(run, "one")).message


@pytest.mark.parametrize("format", ["csv", "json"])
def test_files_of_text_keep_microseconds(spark: Any, tmp_path: Path, format: str) -> None:
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("at", pa.int64()), ("change", pa.int64())])
    bench = Bench(spark, tmp_path, schema)
    bench.add([(1_767_225_600_000_100, 1, 1)])
    catalog = Catalog()
    catalog.add(stream_definition("s", {"ts": "BIGINT", "t": "TIMESTAMP"}, "ts"))
    bench.run(part(format, tmp_path / "out", q=plan_query("SELECT t FROM s [RANGE 5]", catalog)))
    written = "".join(each.read_text() for each in (tmp_path / "out").glob(f"part*.{format}"))
    assert "2026-01-01T00:00:00.000100" in written


def test_several_sinks_get_their_queries_rows(spark: Any, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    bench.add(*MIXED)
    seen: dict[int, int] = {}
    bench.run(*several(bench, lambda batch, number: seen.update({number: batch.count()})))
    assert seen == {0: 2, 1: 1, 2: 2}
    assert files(bench) == (ONES, TWOS)


def test_a_batch_that_comes_again_is_not_doubled(spark: Any, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    for batch in MIXED:
        bench.add(batch)
        bench.run(*several(bench, lambda batch, number: None))
        bench.uncommit()
        bench.run(*several(bench, lambda batch, number: None))
    assert files(bench) == (ONES, TWOS)


def test_a_sink_that_fails_does_not_double_what_the_others_have(spark: Any, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    failures = iter([True, False] * 10)

    def sometimes(batch: Any, number: int) -> None:
        if next(failures):
            raise OSError("no")

    for batch in MIXED:
        bench.add(batch)
        refused("SASH-SPARK-040", lambda: bench.run(*several(bench, sometimes)))
        bench.run(*several(bench, sometimes))
    assert files(bench) == (ONES, TWOS)


@pytest.mark.parametrize("step", ["rename", "touch", "delete"])
def test_files_that_were_moved_half_way_are_not_doubled(
    spark: Any, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    plain = getattr(HadoopFolder, step)
    left = 3

    def failing(self: HadoopFolder, *names: str) -> None:
        nonlocal left
        plain(self, *names)  # done, and then the process is gone
        left -= 1
        if left == 0:
            raise OSError("gone")

    bench.add(*MIXED)
    monkeypatch.setattr(HadoopFolder, step, failing)
    refused("SASH-SPARK-040", lambda: bench.run(*several(bench, lambda batch, number: None)))
    monkeypatch.undo()
    bench.run(*several(bench, lambda batch, number: None))
    assert files(bench) == (ONES, TWOS)


def test_memory_console_and_snapshot_beside_others(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    bench.add(*MIXED)
    one, two = {"one": planned()}, {"two": planned("SELECT n FROM s [RANGE 5]")}
    bench.run(
        Part(resolve("memory"), one, "ones_seen"),
        Part(resolve("snapshot", str(tmp_path / "snapshot")), two, "b"),
        Part(resolve("console"), two, "shown"),
    )
    assert changes(spark.table("ones_seen").collect()) == ONES
    assert answer(tmp_path / "snapshot") == []
    assert "shown, batch 2" in capsys.readouterr().out


def test_the_folder_may_be_moved_away_between_batches(spark: Any, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path, BOTH)
    bench.add(MIXED[0])
    bench.run(*several(bench, lambda batch, number: None))
    shutil.rmtree(tmp_path / "parquet")
    bench.add(*MIXED[1:])
    bench.run(*several(bench, lambda batch, number: None))
    assert files(bench) == (ONES[1:], TWOS)
