"""The database on Spark: the same names and texts as in-process; queries run when they are started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import InheritableThread
from pyspark.errors import StreamingQueryException

import sash
from sash.errors import SashError
from sash.spark.database import SparkDatabase
from sash.spark.failures import sash_error
from sash.spark.runs import trigger_of
from sash.spark.settings import settings_from

COLUMNS = "(ts BIGINT, src STRING, bytes BIGINT) TIME ts"
TALKERS = "SELECT src, SUM(bytes) AS bytes FROM packets [RANGE 5] GROUP BY src"
SEEN = "SELECT DISTINCT src FROM packets [RANGE 3]"
ROWS = [{"ts": ts, "src": "abc"[ts % 3], "bytes": ts} for ts in range(12)]


@pytest.fixture
def db(spark: Any) -> Iterator[SparkDatabase]:
    with SparkDatabase(spark, settings=settings_from({"buckets": 2})) as database:
        yield database


def refused(code: str, act: Callable[[], object]) -> SashError:
    with pytest.raises(SashError) as caught:
        act()
    assert caught.value.code == code, str(caught.value)
    assert caught.value.remedy
    return caught.value


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")


def packets(db: SparkDatabase, folder: Path, **options: str) -> None:
    given = "".join(f", {name} = '{value}'" for name, value in options.items())
    db.execute(f"CREATE STREAM packets {COLUMNS} WITH (format = 'parquet', path = '{folder}'{given})")


def in_process(*texts: str) -> list[list[tuple[Any, ...]]]:
    """What the same queries say in this process when the stream has ended."""
    with sash.connect() as db:
        db.execute(f"CREATE STREAM packets {COLUMNS}")
        queries = [db.query(text) for text in texts]
        db.push("packets", ROWS)
        db.advance(ROWS[-1]["ts"])
        return [sorted(_tuples(query.changes().to_pylist())) for query in queries]


def _tuples(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows]


def collected(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


# Without running anything


def test_what_one_can_connect_to() -> None:
    refused("SASH-SPARK-009", lambda: sash.connect("flink"))
    refused("SASH-SPARK-009", lambda: sash.connect(5))
    refused("SASH-SESSION-005", lambda: sash.connect("spark", bukets=3))


def test_connect_takes_a_session_and_leaves_it_running(spark: Any) -> None:
    with sash.connect(spark, buckets=3) as db:
        assert isinstance(db, SparkDatabase)
        assert db.settings.buckets == 3
    assert spark.range(1).count() == 1
    refused("SASH-SESSION-006", lambda: db.execute("DROP STREAM s"))
    assert repr(db) == "<sash database on Spark, closed>"
    refused("SASH-SPARK-008", lambda: sash.connect(spark, master="local[1]"))


@pytest.mark.parametrize(
    "given",
    [
        {"buckets": 0}, {"partitions": True}, {"hosts": "2"}, {"low_latency": 1}, {"late": 5}, {"rules": 5},
        {"idle_timeout": "soon"}, {"heartbeat": -1}, {"low_latency": True, "buckets": 4}, {"retain": 0},
        {"late": "s3://bucket/late"}, {"late": ""},
    ],
)  # fmt: skip
def test_settings_that_cannot_be(given: dict[str, Any]) -> None:
    refused("SASH-SESSION-005", lambda: settings_from(given))


def test_a_query_has_the_plan_it_has_in_process_with_exchanges(db: SparkDatabase, tmp_path: Path) -> None:
    packets(db, tmp_path)
    query = db.query(TALKERS, name="talkers")
    assert (query.name, query.text, query.is_stream) == ("talkers", TALKERS, False)
    assert query.schema.names == ["src", "bytes"]
    assert "stage 1: 2 buckets" in query.explain()
    assert "exchange by src" in query.explain()
    assert db.query("SELECT src FROM packets").is_stream
    assert "q1:" in db.explain()
    assert repr(db) == "<sash database on Spark: 1 stream, 0 tables, 2 queries>"
    assert repr(query) == "<sash query 'talkers' on Spark: relation>"
    assert "talkers" in db._repr_html_()
    query.drop()
    refused("SASH-SESSION-012", query.explain)


def test_what_a_session_in_process_refuses_is_refused_alike(db: SparkDatabase) -> None:
    db.execute(f"CREATE STREAM packets {COLUMNS}; CREATE STREAM clock (ts TIMESTAMP, src STRING) TIME ts")
    texts = [
        "SELECT p.src FROM packets [RANGE 5] p, clock [RANGE 5 SECONDS] c WHERE p.src = c.src",
        "SELECT DISTINCT src FROM packets",
        "SELECT nothing FROM packets",
    ]
    with sash.connect() as other:
        other.execute(
            f"CREATE STREAM packets {COLUMNS}; CREATE STREAM clock (ts TIMESTAMP, src STRING) TIME ts"
        )
        for text in texts:
            with pytest.raises(SashError) as caught:
                other.query(text)
            assert str(refused(caught.value.code, lambda text=text: db.query(text))) == str(caught.value)  # type: ignore[misc]
    refused("SASH-SESSION-007", lambda: db.execute(TALKERS))
    refused("SASH-SESSION-002", lambda: db.execute(f"CREATE STREAM Packets {COLUMNS}"))


def test_what_spark_does_otherwise(db: SparkDatabase) -> None:
    db.execute(f"CREATE STREAM packets {COLUMNS}")
    query = db.query(TALKERS)
    calls: list[Callable[[], object]] = [
        lambda: db.push("packets", ROWS), lambda: db.advance(5), lambda: db.idle("packets"),
        lambda: db.late("packets"), lambda: db.save("here"), query.changes, query.answer,
    ]  # fmt: skip
    for call in calls:
        refused("SASH-SPARK-077", call)


def test_tables_are_filled_before_the_start(db: SparkDatabase, tmp_path: Path) -> None:
    db.execute("CREATE TABLE hosts (ip STRING, owner STRING, PRIMARY KEY (ip))")
    db.execute("INSERT INTO hosts VALUES ('a', 'ann'), ('b', 'bob'); DELETE FROM hosts WHERE ip = 'a'")
    db.execute("UPDATE hosts SET owner = 'ben' WHERE ip = 'b'")
    assert len(db.tables["hosts"].latest) == 1
    refused("SASH-TABLE-003", lambda: db.execute("INSERT INTO hosts VALUES ('b', 'eve')"))
    write(tmp_path, "hosts", [{"ip": "a", "owner": "ann"}, {"ip": None, "owner": None}])
    options = f"WITH (format = 'parquet', path = '{tmp_path}')"
    db.execute(f"CREATE TABLE loaded (ip STRING, owner STRING) {options}")
    assert len(db.tables["loaded"].latest) == 2
    refused(
        "SASH-TABLE-004", lambda: db.execute(f"CREATE TABLE keyed (ip STRING, PRIMARY KEY (ip)) {options}")
    )
    error = refused("SASH-SPARK-071", lambda: db.execute("CREATE TABLE later (ip STRING) RETROACTIVE"))
    assert "RETROACTIVE" in error.message
    assert db.catalog.all_names() == ["hosts", "loaded"]


def test_a_table_whose_header_names_other_columns_is_refused(db: SparkDatabase, tmp_path: Path) -> None:
    (tmp_path / "hosts.csv").write_text("owner,ip\nann,10.0.0.1\n")
    options = f"WITH (format = 'csv', header = 'true', path = '{tmp_path}/hosts.csv')"
    error = refused(
        "SASH-SPARK-040", lambda: db.execute(f"CREATE TABLE hosts (ip STRING, owner STRING) {options}")
    )
    assert "header" in error.message.lower()  # by position they would have changed places in silence
    db.execute(f"CREATE TABLE hosts (owner STRING, ip STRING) {options}")
    assert len(db.tables["hosts"].latest) == 1


def test_lines_of_a_table_that_cannot_be_read_are_told_of(db: SparkDatabase, tmp_path: Path) -> None:
    (tmp_path / "hosts.csv").write_text("ip,port\na,80\nb,eighty\nc\n")
    (tmp_path / "hosts.json").write_text('{"ip": "a", "port": 80}\n{"ip": "b", "port": "eighty"}\n{"ip": \n')
    for format, header in (("csv", "header = 'true', "), ("json", "")):
        source = f"format = '{format}', {header}path = '{tmp_path}/hosts.{format}'"
        options = f"(ip STRING, port INT) WITH ({source}"
        with pytest.warns(RuntimeWarning, match=f"2 of 3 rows of table '{format}_hosts'.*NULL"):
            db.execute(f"CREATE TABLE {format}_hosts {options})")
        assert len(db.tables[f"{format}_hosts"].latest) == 3
        strict = f"CREATE TABLE {format}_strict {options}, mode = 'FAILFAST')"
        refused("SASH-SPARK-040", partial(db.execute, strict))
        db.execute(f"CREATE TABLE {format}_few {options}, mode = 'DROPMALFORMED')")
        assert len(db.tables[f"{format}_few"].latest) == 1


def test_streams_and_their_sources(db: SparkDatabase, spark: Any, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").load()
    db.create_stream("ticks", rate, time="timestamp", lateness="2 seconds")
    assert db.catalog.stream("ticks").lateness == 2_000_000
    assert db.feeds["ticks"].frame is rate
    refused("SASH-SPARK-046", lambda: db.create_stream("x", spark.range(3), time="id"))
    refused("SASH-SESSION-015", lambda: db.create_stream("x", rate, time="nothing"))
    refused("SASH-SESSION-002", lambda: db.create_stream("ticks", rate, time="timestamp"))
    db.create_stream("files", {"ts": "BIGINT"}, time="ts", format="json", path=tmp_path, maxFilesPerTrigger=2)
    assert db.feeds["files"].spec.format == "json"
    assert db.feeds["files"].frame is None
    db.execute("CREATE STREAM more (timestamp TIMESTAMP, value BIGINT) TIME timestamp WITH (format = 'rate')")
    assert db.feeds["more"].frame is not None
    fixed = "TIME timestamp WITH (format = 'rate', rowsPerSecond = 5)"
    error = refused(
        "SASH-SPARK-048", lambda: db.execute(f"CREATE STREAM y (timestamp TIMESTAMP, n INT) {fixed}")
    )
    assert "'timestamp', 'value'" in error.message
    error = refused("SASH-SPARK-048", lambda: db.execute(f"CREATE STREAM y (timestamp BIGINT) {fixed}"))
    assert "TIMESTAMP there, not BIGINT" in error.message
    refused(
        "SASH-SPARK-045", lambda: db.execute("CREATE STREAM y (ts INT) TIME ts WITH (format = 'pulsaar')")
    )
    refused("SASH-SPARK-047", lambda: db.execute("CREATE STREAM y (ts INT) TIME ts WITH (path = 'here')"))
    db.execute("DROP STREAM more")
    assert list(db.feeds) == ["ticks", "files"]


def test_sinks_have_names_and_queries_go_there(db: SparkDatabase, tmp_path: Path) -> None:
    packets(db, tmp_path)
    refused("SASH-SPARK-062", lambda: db.execute("CREATE SINK alerts"))
    refused("SASH-SPARK-062", lambda: db.execute("CREATE SINK alerts WITH (format = 'snapshot')"))
    db.execute(f"CREATE SINK alerts WITH (format = 'snapshot', path = '{tmp_path}/alerts')")
    refused("SASH-SESSION-002", lambda: db.execute("CREATE SINK Alerts WITH (format = 'noop')"))
    refused("SASH-SESSION-002", lambda: db.execute("CREATE SINK packets WITH (format = 'noop')"))
    refused("SASH-SESSION-002", lambda: db.execute("CREATE TABLE alerts (a INT)"))
    refused("SASH-SESSION-001", lambda: db.execute(f"INSERT INTO alarms {SEEN}"))
    refused("SASH-SESSION-003", lambda: db.execute(f"INSERT INTO packets {SEEN}"))
    refused("SASH-SESSION-003", lambda: db.execute("INSERT INTO alerts VALUES (1)"))
    refused("SASH-SPARK-067", lambda: db.execute("INSERT INTO alerts SELECT src FROM packets"))
    assert db.queries == {}
    db.execute(f"INSERT INTO alerts {TALKERS};\n  INSERT INTO alerts {SEEN}")
    assert list(db.queries) == ["alerts", "alerts_2"]
    assert db.queries["alerts_2"].text.strip() == SEEN
    refused("SASH-SESSION-004", lambda: db.execute("DROP SINK alerts"))
    refused("SASH-SPARK-078", lambda: db.start("noop"))
    for query in list(db.queries.values()):
        query.drop()
    db.execute("DROP SINK alerts")
    refused("SASH-SESSION-001", lambda: db.execute("DROP SINK alerts"))


def test_starts_that_cannot_be(db: SparkDatabase, tmp_path: Path) -> None:
    refused("SASH-SPARK-064", lambda: db.start("noop"))
    db.execute(f"CREATE STREAM packets {COLUMNS}; CREATE STREAM clock (ts TIMESTAMP, src STRING) TIME ts")
    query = db.query(TALKERS, name="talkers")
    refused("SASH-SPARK-078", lambda: db.start())
    assert "exchange by src" in query.explain()  # which needs no source
    error = refused("SASH-SPARK-075", lambda: query.start("noop"))
    assert "'packets'" in error.message
    refused("SASH-SPARK-063", lambda: query.start(5))
    refused("SASH-SPARK-076", lambda: query.start("noop", trigger=-1))


def test_columns_stand_side_by_side(db: SparkDatabase, tmp_path: Path) -> None:
    packets(db, tmp_path)
    folder = tmp_path / "clock"
    db.execute(
        f"CREATE STREAM clock (ts TIMESTAMP, src STRING) TIME ts WITH (format = 'json', path = '{folder}')"
    )
    db.query(TALKERS, name="talkers")
    other = db.query("SELECT src, COUNT(*) AS bytes FROM packets [RANGE 5] GROUP BY src", name="counts")
    assert "talkers:" in db.explain()  # the same names and types: that is one column
    other.drop()
    for text, code, words in [
        (
            "SELECT src AS bytes FROM packets [RANGE 5]",
            "SASH-SPARK-073",
            "a BIGINT in query 'talkers' and a STRING",
        ),
        ("SELECT bytes AS Bytes FROM packets [RANGE 5]", "SASH-SPARK-073", "one name to Spark"),
        ("SELECT ts AS query FROM packets [RANGE 5]", "SASH-SPARK-072", "'query'"),
        ("SELECT src FROM clock [RANGE 5 SECONDS]", "SASH-SPARK-074", "plain numbers"),
    ]:
        query = db.query(text, name="other")
        assert words in refused(code, db.explain).message
        query.drop()


def test_triggers() -> None:
    assert trigger_of(2) == {"processingTime": "2000 milliseconds"}
    assert trigger_of("1 minute 30 seconds") == {"processingTime": "1 minute 30 seconds"}
    both = {"availableNow": True, "processingTime": "1 s"}
    for wrong in (-1, True, "", "5 parsecs", "5", {"continuous": "1 second"}, both):
        refused("SASH-SPARK-076", lambda wrong=wrong: trigger_of(wrong))  # type: ignore[misc]


# Running


def test_all_queries_in_one_run_and_each_into_its_sink(db: SparkDatabase, tmp_path: Path) -> None:
    write(tmp_path / "in", "1", ROWS[:7])
    write(tmp_path / "in", "2", ROWS[7:])
    packets(db, tmp_path / "in")
    db.execute(f"CREATE SINK answers WITH (format = 'snapshot', path = '{tmp_path}/answers')")
    db.execute(f"CREATE SINK files WITH (format = 'parquet', path = '{tmp_path}/files')")
    db.execute(f"INSERT INTO answers {SEEN}; INSERT INTO files {TALKERS}")
    run = db.start(checkpoint=tmp_path / "c", until_end=True)
    run.awaitTermination()
    (talkers,) = in_process(TALKERS)
    assert collected(db.spark.read.parquet(str(tmp_path / "files"))) == talkers
    assert collected(db.spark.read.parquet(str(tmp_path / "answers"))) == [("a",), ("b",), ("c",)]
    assert not run.isActive
    assert run.exception() is None
    assert list(db.metrics()) == ["sash"]


def test_files_may_come_after_the_start(db: SparkDatabase, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    packets(db, tmp_path / "in")
    run = db.query(TALKERS, name="talkers").start("memory", checkpoint=tmp_path / "c")
    run.processAllAvailable()
    for name, rows in (("1", ROWS[:7]), ("2", ROWS[7:])):
        write(tmp_path / "in", name, rows)
        run.processAllAvailable()
    assert run.metrics()["rows"] == {"packets": len(ROWS)}
    run.stop()


def test_a_run_goes_on_from_its_checkpoint_and_from_no_other(db: SparkDatabase, tmp_path: Path) -> None:
    write(tmp_path / "in", "1", ROWS[:5])
    packets(db, tmp_path / "in")
    query = db.query(TALKERS, name="talkers")
    out, checkpoint = tmp_path / "out", tmp_path / "c"
    run = query.start("parquet", path=out, checkpoint=checkpoint, trigger="1 second")
    run.processAllAvailable()
    refused("SASH-SPARK-061", lambda: query.start("noop", checkpoint=checkpoint))
    refused("SASH-SPARK-079", lambda: _edit_while_running(db))
    run.stop()
    longer = db.query(TALKERS.replace("5", "6"), name="longer")
    refused("SASH-SPARK-052", lambda: longer.start("noop", checkpoint=checkpoint))
    write(tmp_path / "in", "2", ROWS[5:])
    again = query.start("parquet", path=out, checkpoint=checkpoint, until_end=True)
    again.awaitTermination()
    assert collected(db.spark.read.parquet(str(out))) == in_process(TALKERS)[0]


def test_a_later_run_over_a_dataframe_comes_to_its_own_end(db: SparkDatabase, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    packets(db, tmp_path / "in", latestFirst="false")  # an option that lets Spark read the files
    query = db.query(TALKERS, name="talkers")
    for name, rows in (("1", ROWS[:5]), ("2", ROWS[5:])):
        write(tmp_path / "in", name, rows)
        run = query.start("parquet", path=tmp_path / "out", checkpoint=tmp_path / "c", until_end=True)
        run.awaitTermination()
    assert collected(db.spark.read.parquet(str(tmp_path / "out"))) == in_process(TALKERS)[0]


def _edit_while_running(db: SparkDatabase) -> None:
    db.execute("CREATE TABLE hosts (ip STRING)")
    db.query("SELECT src FROM packets [RANGE 5], hosts WHERE src = ip", name="owned")
    try:
        db.execute("INSERT INTO hosts VALUES ('a')")
    finally:
        db.queries["owned"].drop()
        db.execute("DROP TABLE hosts")


def test_a_frame_of_changes_for_ones_own_query(db: SparkDatabase, spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "1", ROWS)
    reader = spark.readStream.schema("ts bigint, src string, bytes bigint")
    db.create_stream("packets", reader.parquet(str(tmp_path / "in")), time="ts")
    frame = db.query(TALKERS).to_spark(checkpoint=tmp_path / "c")
    assert frame.isStreaming
    assert frame.dtypes == [("src", "string"), ("bytes", "bigint"), ("at", "bigint"), ("change", "bigint")]
    writer = frame.writeStream.format("memory").queryName("own").trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination()
    final = [row for row in in_process(TALKERS)[0] if row[-2] < ROWS[-1]["ts"]]  # its last instant is open
    assert collected(spark.table("own")) == final
    assert db.query(SEEN).to_spark().columns == ["src", "at", "change"]


def _coalesced(batch: Any) -> list[tuple[Any, ...]]:
    return collected(batch.coalesce(1))


def _united(batch: Any) -> list[tuple[Any, ...]]:
    one, two = batch.where("src < 'b'"), batch.where("src >= 'b'")
    return collected(one.union(two))


def _in_a_thread_that_inherits(batch: Any) -> list[tuple[Any, ...]]:
    given: list[tuple[Any, ...]] = []
    thread = InheritableThread(target=lambda: given.extend(collected(batch)))
    thread.start()
    thread.join()
    return given


@pytest.mark.parametrize("look", [_coalesced, _united, _in_a_thread_that_inherits])
def test_a_batch_of_ones_own_may_be_evaluated_in_many_ways(
    db: SparkDatabase, tmp_path: Path, look: Callable[[Any], list[tuple[Any, ...]]]
) -> None:
    """Tasks then have other numbers than the partitions of the frame, and some have several of them."""
    for i in range(3):
        write(tmp_path / "in", str(i), ROWS[i * 4 : i * 4 + 4])
        os.utime(tmp_path / "in" / f"{i}.parquet", (1_700_000_000 + i,) * 2)
    packets(db, tmp_path / "in", maxFilesPerTrigger="1")
    frame = db.query(TALKERS + " ORDER BY bytes DESC LIMIT 2").to_spark(checkpoint=tmp_path / "c")
    given: list[tuple[Any, ...]] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: given.extend(look(batch)))
    writer = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    writer.start().awaitTermination()
    (said,) = in_process(TALKERS + " ORDER BY bytes DESC LIMIT 2")
    assert sorted(given) == [row for row in said if row[-2] < ROWS[-1]["ts"]]


def test_a_thread_that_does_not_know_the_batch_is_refused(db: SparkDatabase, tmp_path: Path) -> None:
    """It would take every batch for the first one, and give wrong rows."""
    write(tmp_path / "in", "0", ROWS)
    packets(db, tmp_path / "in")
    frame = db.query(TALKERS).to_spark(checkpoint=tmp_path / "c")

    def apart(batch: Any, number: int) -> None:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(batch.collect).result()

    writer = frame.writeStream.foreachBatch(apart).option("checkpointLocation", str(tmp_path / "c"))
    run = writer.trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException) as caught:
        run.awaitTermination()
    error = sash_error(caught.value)
    assert error.code == "SASH-SPARK-091"
    assert "persist()" in str(error.remedy)


def test_a_folder_has_one_sink_and_is_not_read_by_the_same_run(db: SparkDatabase, tmp_path: Path) -> None:
    write(tmp_path / "in", "0", ROWS)
    db.execute(f"CREATE STREAM s {COLUMNS} WITH (format = 'parquet', path = '{tmp_path}/in')")
    db.execute(f"CREATE SINK one WITH (format = 'parquet', path = '{tmp_path}/out')")
    db.execute(f"CREATE SINK two WITH (format = 'snapshot', path = 'file:{tmp_path}/./out/')")
    db.execute("INSERT INTO one SELECT src FROM s [RANGE 9]")
    db.execute("INSERT INTO two SELECT bytes FROM s [RANGE 9]")
    error = refused("SASH-SPARK-087", lambda: db.start(checkpoint=tmp_path / "c"))
    assert "'one' and 'two'" in error.message
    query = db.query("SELECT src FROM s [RANGE 9]", name="q")
    error = refused("SASH-SPARK-087", lambda: query.start("parquet", path=tmp_path / "in"))
    assert "stream 's'" in error.message
    assert not (tmp_path / "c").exists()
    db.execute(f"CREATE STREAM next {COLUMNS} WITH (format = 'parquet', path = '{tmp_path}/next')")
    query.start("parquet", path=tmp_path / "next", until_end=True).awaitTermination()  # for another run


def test_rows_of_a_frame_without_a_usable_timestamp_are_left_out_and_counted(
    db: SparkDatabase, spark: Any, tmp_path: Path
) -> None:
    """They would stop the stream for good, or drive its clock so far that all other rows are late."""
    odd = [{"ts": ts, "src": "z", "bytes": 1} for ts in (None, 2**62, -(2**63))]
    write(tmp_path / "in", "0", [*ROWS[:4], *odd, *ROWS[4:]])
    reader = spark.readStream.schema("ts bigint, src string, bytes bigint")
    db.create_stream("packets", reader.parquet(str(tmp_path / "in")), time="ts")
    given: list[tuple[Any, ...]] = []
    handle = db.query(TALKERS).start(lambda batch, number: given.extend(collected(batch)), until_end=True)
    assert handle.awaitTermination(60)
    assert sorted(given) == in_process(TALKERS)[0]
    metrics = handle.metrics()
    assert (metrics["malformed"], metrics["late"]) == ({"packets": 3}, {"packets": 0})
    assert metrics["rows"] == {"packets": len(ROWS)}


def test_a_frame_whose_state_is_lost_is_refused(db: SparkDatabase, spark: Any, tmp_path: Path) -> None:
    """Also after a batch of files without a byte, for which Spark makes no task that could read."""
    folder, checkpoint = tmp_path / "in", tmp_path / "c"
    folder.mkdir()
    texts = ['{"ts": 1, "src": "a", "bytes": 1}\n', "", '{"ts": 2, "src": "b", "bytes": 2}\n']
    for i, text in enumerate(texts):
        (folder / f"{i}.json").write_text(text)
        os.utime(folder / f"{i}.json", (1_700_000_000 + i,) * 2)
    reader = spark.readStream.schema("ts bigint, src string, bytes bigint").option("maxFilesPerTrigger", 1)
    db.create_stream("packets", reader.json(str(folder)), time="ts")
    query = db.query(TALKERS)
    query.start("noop", checkpoint=checkpoint, trigger={"availableNow": True}).awaitTermination(60)
    steps = {int(path.stem) for path in (checkpoint / "sash" / "state" / "1-1").glob("*.step")}
    assert steps == {0, 1, 2}
    shutil.rmtree(checkpoint / "sash" / "state" / "1-1")
    (folder / "3.json").write_text(texts[2])
    again = query.start("noop", checkpoint=checkpoint, trigger={"availableNow": True})
    assert "checkpoint is damaged" in refused("SASH-SPARK-086", lambda: again.awaitTermination(60)).message


def test_columns_of_a_frame_may_have_any_name(db: SparkDatabase, spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "0", ROWS)
    reader = spark.readStream.schema("ts bigint, src string, bytes bigint").parquet(str(tmp_path / "in"))
    names = {"ts": "t.s", "src": "the source", "bytes": "by`tes"}
    db.create_stream("odd", reader.withColumnsRenamed(names), time="t.s")
    db.execute("CREATE SINK one WITH (format = 'noop')")
    db.execute(f"CREATE SINK two WITH (format = 'snapshot', path = '{tmp_path}/two')")
    db.execute("INSERT INTO one SELECT `t.s` FROM odd [RANGE 100]")
    db.execute("INSERT INTO two SELECT `the source`, `by``tes` AS `b``y.t` FROM odd [RANGE 100]")
    db.start(checkpoint=tmp_path / "c", until_end=True).awaitTermination()
    answer = pq.read_table(tmp_path / "two" / "answer.parquet")
    assert answer.column_names == ["the source", "b`y.t"]
    assert sorted(answer["b`y.t"].to_pylist()) == sorted(row["bytes"] for row in ROWS)


def test_frames_are_read_to_their_end_before_time_moves_there(
    db: SparkDatabase, spark: Any, tmp_path: Path
) -> None:
    """One stream from a frame, one from files: both are through before the last instant is told of."""
    hosts = [{"ts": ts, "src": "ab"[ts % 2], "bytes": -ts} for ts in range(9)]
    for name, rows in (("in", ROWS), ("other", hosts)):
        for start in range(0, len(rows), 4):
            write(tmp_path / name, str(start), rows[start : start + 4])
            os.utime(tmp_path / name / f"{start}.parquet", (1_700_000_000 + start,) * 2)  # Spark reads by age
    joined = "SELECT p.ts, h.bytes FROM packets [RANGE 4] p, hosts [RANGE 4] h WHERE p.src = h.src"
    reader = spark.readStream.schema("ts bigint, src string, bytes bigint").option("maxFilesPerTrigger", 1)
    db.create_stream("packets", reader.parquet(str(tmp_path / "in")), time="ts")
    db.execute(
        f"CREATE STREAM hosts {COLUMNS} WITH (format = 'parquet', path = '{tmp_path / 'other'}', "
        "maxFilesPerTrigger = 1)"
    )
    checkpoint, out = tmp_path / "c", tmp_path / "out"
    handle = db.query(joined).start("parquet", path=out, checkpoint=checkpoint, until_end=True)
    handle.awaitTermination()
    with sash.connect() as local:
        for name in ("packets", "hosts"):
            local.execute(f"CREATE STREAM {name} {COLUMNS}")
        query = local.query(joined)
        local.push("packets", ROWS)
        local.push("hosts", hosts)
        local.advance(ROWS[-1]["ts"])
        assert collected(spark.read.parquet(str(out))) == sorted(_tuples(query.changes().to_pylist()))
    assert not (checkpoint / "sash" / "end").exists()
