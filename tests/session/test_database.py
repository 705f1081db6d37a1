"""The session: time moves by data, queries come and go, what is refused leaves everything as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.errors import SashError
from sash.session.database import Database
from sash.session.query import Query

PACKETS = "CREATE STREAM packets (ts BIGINT, src STRING, bytes BIGINT) TIME ts"


@pytest.fixture
def db() -> Iterator[Database]:
    with sash.connect() as database:
        database.execute(PACKETS)
        yield database


def push(db: Database, *rows: tuple[int, str, int], stream: str = "packets") -> None:
    db.push(stream, [{"ts": ts, "src": src, "bytes": bytes_} for ts, src, bytes_ in rows])


def changes(query: Query) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in query.changes().columns]
    return sorted(zip(*columns, strict=True), key=lambda row: (row[-2], str(row)))


def refused(code: str, act: Callable[[], object]) -> SashError:
    with pytest.raises(SashError) as caught:
        act()
    assert caught.value.code == code, str(caught.value)
    assert caught.value.remedy
    return caught.value


def test_changes_are_given_up_to_the_frontier_and_drained(db: Database) -> None:
    query = db.query("SELECT src FROM packets [RANGE 10]")
    push(db, (1, "a", 1), (5, "b", 1))
    assert changes(query) == [("a", 1, 1)]
    push(db, (12, "c", 1))
    assert changes(query) == [("b", 5, 1), ("a", 11, -1)]
    assert changes(query) == []
    db.advance(30)
    assert changes(query) == [("c", 12, 1), ("b", 15, -1), ("c", 22, -1)]


def test_answers_at_the_frontier_and_provisionally_beyond(db: Database) -> None:
    query = db.query("SELECT src, SUM(bytes) AS bytes FROM packets [RANGE 10] GROUP BY src")
    push(db, (1, "a", 5), (2, "b", 7), (3, "a", 1))
    assert query.frontier == 2
    final = query.answer()
    assert sorted(final.to_pylist(), key=str) == [{"src": "a", "bytes": 5}, {"src": "b", "bytes": 7}]
    assert b"sash.provisional" not in final.schema.metadata
    guess = query.answer(at=11)
    assert sorted(guess.to_pylist(), key=str) == [{"src": "a", "bytes": 1}, {"src": "b", "bytes": 7}]
    assert guess.schema.metadata[b"sash.provisional"] == b"true"
    assert query.frontier == 2
    refused("SASH-TIME-005", lambda: query.answer(at=1))
    push(db, (20, "c", 1))
    assert query.answer().num_rows == 0


def test_provisional_answers_see_rows_within_the_lateness() -> None:
    db = sash.connect()
    db.execute(PACKETS + " LATENESS 100")
    query = db.query("SELECT COUNT(*) AS n FROM packets [RANGE 50]")
    push(db, (9, "a", 1), (4, "b", 1))
    assert query.answer().num_rows == 0
    assert query.answer(at=9).to_pylist() == [{"n": 2}]
    assert query.answer(at=8).to_pylist() == [{"n": 1}]


def test_a_query_goes_as_far_as_its_slowest_stream(db: Database) -> None:
    db.execute("CREATE STREAM other (ts BIGINT, src STRING, bytes BIGINT) TIME ts")
    query = db.query("SELECT p.src FROM packets [RANGE 10] p, other [RANGE 10] o WHERE p.src = o.src")
    push(db, (1, "a", 1), (50, "b", 1))
    assert query.frontier is None
    assert db.metrics()["queries"]["q1"]["waiting"] == 1
    push(db, (5, "a", 1), (7, "z", 1), stream="other")
    assert query.frontier == 6
    assert changes(query) == [("a", 5, 1)]
    db.idle("other")
    assert query.frontier == 49
    assert changes(query) == [("a", 11, -1)]


def test_a_stream_that_comes_back_from_idleness_is_late_where_others_went(db: Database) -> None:
    db.execute("CREATE STREAM other (ts BIGINT, src STRING, bytes BIGINT) TIME ts")
    query = db.query("SELECT src FROM packets [RANGE 10] UNION ALL SELECT src FROM other [RANGE 10]")
    db.idle("other")
    push(db, (1, "a", 1), (20, "b", 1))
    push(db, (15, "x", 1), (25, "y", 1), stream="other")
    assert db.late("other").to_pylist() == [{"ts": 15, "src": "x", "bytes": 1}]
    db.advance(40)
    assert [row[0] for row in changes(query) if row[2] > 0] == ["a", "b", "y"]


def test_empty_streams_can_be_left_out_by_a_setting() -> None:
    db = sash.connect(wait_for_empty_streams=False)
    db.execute(PACKETS + "; CREATE STREAM other (ts BIGINT, src STRING, bytes BIGINT) TIME ts")
    query = db.query("SELECT src FROM packets [RANGE 10] UNION ALL SELECT src FROM other [RANGE 10]")
    push(db, (1, "a", 1), (5, "b", 1))
    assert query.frontier == 4


def test_advance_never_goes_back(db: Database) -> None:
    push(db, (10, "a", 1))
    refused("SASH-TIME-004", lambda: db.advance(8))
    db.advance(9)
    db.advance(9)
    refused("SASH-TIME-001", lambda: db.advance("2024-01-01"))
    refused("SASH-TIME-008", lambda: sash.connect().advance(1))


def test_both_kinds_of_time_in_one_session(db: Database) -> None:
    db.execute("CREATE STREAM ticks (ts TIMESTAMP, price DOUBLE) TIME ts LATENESS 1 SECOND")
    numbers, times = db.query("SELECT src FROM packets [RANGE 10]"), db.query("SELECT price FROM ticks [NOW]")
    db.push("ticks", [{"ts": "2024-01-01", "price": 1.0}, {"ts": datetime(2024, 1, 2), "price": 2}])
    assert times.frontier == datetime(2024, 1, 1, 23, 59, 58, 999999)
    db.advance(7)
    assert (numbers.frontier, times.frontier.day) == (7, 1)
    db.advance("2024-01-03")
    assert (numbers.frontier, times.frontier) == (7, datetime(2024, 1, 3))
    table = times.changes()
    assert table.schema.field("at").type == pa.timestamp("us")
    assert table["at"].to_pylist()[0] == datetime(2024, 1, 1)


def test_a_push_is_all_or_nothing(db: Database) -> None:
    query = db.query("SELECT src FROM packets [RANGE 10]")
    push(db, (1, "a", 1))
    before = db.metrics()
    refused(
        "SASH-DATA-004",
        lambda: db.push("packets", [{"ts": 5, "src": "b", "bytes": 1}, {"ts": 6, "src": 7, "bytes": 1}]),
    )
    assert db.metrics() == before
    push(db, (2, "b", 1))
    db.advance(2)
    assert changes(query) == [("a", 1, 1), ("b", 2, 1)]


def test_late_rows_are_counted_and_handed_out(db: Database) -> None:
    push(db, (10, "a", 1))
    push(db, (3, "late", 1), (11, "b", 1))
    assert db.metrics()["streams"]["packets"]["late"] == 1
    assert db.late("PACKETS").to_pylist() == [{"ts": 3, "src": "late", "bytes": 1}]
    assert db.late("packets").num_rows == 0


def test_a_query_added_later_is_filling_until_its_window_is_full(db: Database) -> None:
    push(db, (1, "a", 1), (10, "b", 1))
    query = db.query("SELECT src FROM packets [RANGE 10]")
    assert query.filling
    assert "filling" in repr(query)
    db.advance(18)
    assert query.filling
    assert changes(query) == [("b", 10, 1)]
    db.advance(19)
    assert not query.filling
    assert not db.query("ISTREAM(SELECT src FROM packets [NOW])").filling
    assert db.query("SELECT COUNT(*) AS n FROM packets").filling


def test_a_query_added_early_is_not_filling(db: Database) -> None:
    assert not db.query("SELECT src FROM packets [RANGE 10]").filling


def test_count_windows_fill_by_rows(db: Database) -> None:
    push(db, (1, "a", 1), (2, "b", 1))
    query = db.query("SELECT src FROM packets [ROWS 2]")
    assert query.filling
    push(db, *((ts, "c", 1) for ts in range(3, 7)))
    assert not query.filling


def test_streams_have_changes_but_no_answer(db: Database) -> None:
    query = db.query("ISTREAM(SELECT src FROM packets [RANGE 10])")
    push(db, (1, "a", 1), (2, "b", 1))
    assert query.is_stream
    refused("SASH-SESSION-010", query.answer)
    assert changes(query) == [("a", 1, 1)]


def test_each_next_gives_what_is_new(db: Database) -> None:
    query = db.query("SELECT src FROM packets [RANGE 10]")
    following = query.stream_changes()
    push(db, (1, "a", 1), (2, "b", 1))
    assert next(following).num_rows == 1
    assert next(following).num_rows == 0
    query.drop()
    assert list(following) == []


def test_changes_that_nobody_drains_are_capped_and_begin_again() -> None:
    db = sash.connect(max_pending_changes=3)
    db.execute(PACKETS)
    query = db.query("SELECT src FROM packets [RANGE 100]")
    push(db, *((ts, "a", 1) for ts in range(1, 7)))
    push(db, (10, "a", 1), (11, "b", 1), (12, "c", 1))
    error = refused("SASH-SESSION-011", query.changes)
    assert "8 changes" in error.message
    push(db, (13, "d", 1))
    assert changes(query) == [("a", 11, 7), ("b", 11, 1), ("c", 12, 1)]


def test_definitions_from_python(db: Database) -> None:
    db.create_stream(
        "a", pa.schema([("ts", pa.timestamp("ns")), ("v", pa.large_string())]), time="ts", lateness="2 s"
    )
    db.create_stream("b", {"ts": "BIGINT", "v": pa.float32()}, time="ts", lateness=3)
    db.push("b", [{"ts": 1, "v": 1.5}])
    assert db.inflows["a"].clock.lateness == 2_000_000
    for schema, time in [
        ({"ts": "BIGINT"}, "t"),
        ({"ts": "STRING"}, "ts"),
        ({"ts": "THING"}, "ts"),
        ([], "ts"),
    ]:
        refused("SASH-SESSION-015", lambda schema=schema, time=time: db.create_stream("c", schema, time=time))  # type: ignore[misc]
    refused("SASH-TIME-003", lambda: db.create_stream("c", {"ts": "BIGINT"}, time="ts", lateness="2 seconds"))
    refused("SASH-SESSION-002", lambda: db.create_stream("Packets", {"ts": "BIGINT"}, time="ts"))


def test_names_and_drops(db: Database) -> None:
    db.execute("CREATE VIEW big AS SELECT src FROM packets [RANGE 10] WHERE bytes > 5")
    first, second = db.query("SELECT src FROM big"), db.query("SELECT src FROM packets [NOW]", name="now")
    assert (first.name, second.name) == ("q1", "now")
    refused("SASH-SESSION-009", lambda: db.query("SELECT src FROM big", name="now"))
    refused("SASH-SESSION-004", lambda: db.execute("DROP STREAM packets"))
    refused("SASH-SESSION-004", lambda: db.execute("DROP VIEW big"))
    first.drop()
    refused("SASH-SESSION-012", first.changes)
    db.execute("DROP VIEW big")
    second.drop()
    db.execute("DROP STREAM packets")
    refused("SASH-SESSION-001", lambda: push(db, (1, "a", 1)))


def test_views_are_checked_when_they_are_made(db: Database) -> None:
    with pytest.raises(SashError, match="SASH-BIND"):
        db.execute("CREATE VIEW bad AS SELECT nothing FROM packets [RANGE 10]")
    assert db.catalog.lookup("bad") is None


def test_what_execute_refuses(db: Database) -> None:
    refused("SASH-SESSION-007", lambda: db.execute("SELECT src FROM packets [RANGE 10]"))
    refused("SASH-SESSION-008", lambda: db.execute("CREATE SINK alerts WITH (format = 'parquet')"))
    refused("SASH-SESSION-008", lambda: db.execute("INSERT INTO alerts SELECT src FROM packets [RANGE 10]"))


def test_a_closed_database_says_so(db: Database) -> None:
    query = db.query("SELECT src FROM packets [RANGE 10]")
    db.close()
    for act in (
        query.changes,
        query.answer,
        lambda: push(db, (1, "a", 1)),
        db.metrics,
        lambda: db.advance(1),
    ):
        refused("SASH-SESSION-006", act)
    assert "closed" in repr(db)
    assert "closed" in db._repr_html_()


def test_settings_and_targets() -> None:
    refused("SASH-SESSION-005", lambda: sash.connect(alow_unbounded=True))
    refused("SASH-SESSION-005", lambda: sash.connect(max_pending_changes=-1))


def test_unbounded_state_is_refused_unless_allowed(db: Database) -> None:
    with pytest.raises(SashError, match="SASH-PLAN"):
        db.query("SELECT DISTINCT src FROM packets")
    other = sash.connect(allow_unbounded=True)
    other.execute(PACKETS)
    other.query("SELECT DISTINCT src FROM packets")


def test_one_failing_query_does_not_take_the_others_along(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = db.query("SELECT src FROM packets [RANGE 10]"), db.query("SELECT src FROM packets [RANGE 10]")

    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(bad.running.circuit, "step", fail)
    refused("SASH-SESSION-013", lambda: push(db, (1, "a", 1), (2, "b", 1)))
    push(db, (3, "c", 1))
    assert changes(good) == [("a", 1, 1), ("b", 2, 1)]
    refused("SASH-SESSION-013", bad.changes)
    bad.drop()
    assert list(db.queries) == ["q2"]


def test_what_a_notebook_shows(db: Database) -> None:
    query = db.query("SELECT src, SUM(bytes) AS bytes FROM packets [RANGE 10] GROUP BY src", name="talkers")
    push(db, (1, "<a>", 1), (2, "b", 1))
    assert "&lt;a&gt;" in query._repr_html_()
    assert "talkers" in db._repr_html_()
    assert repr(db) == "<sash database: 1 stream, 0 tables, 1 query>"
    assert query.explain()._repr_html_().startswith("<pre>")
    assert query.schema == pa.schema([("src", pa.string()), ("bytes", pa.int64())])


def test_metrics_count_and_are_json(db: Database) -> None:
    import json

    query = db.query("SELECT src, 1 DIV (bytes - 1) AS x FROM packets [RANGE 10]")
    push(db, (1, "a", 1), (2, "b", 2), (3, "c", 3))
    query.changes()
    metrics = json.loads(json.dumps(db.metrics()))
    assert metrics["streams"]["packets"] == {
        "pushed": 3,
        "late": 0,
        "waiting": 1,
        "frontier": 2,
        "idle": False,
    }
    counted = metrics["queries"]["q1"]
    assert (counted["rows_in"], counted["changes_out"], counted["drained"], counted["pending"]) == (
        2,
        2,
        2,
        0,
    )
    assert sum(counted["faults"].values()) == 1


def a_thousand(term: str, between: str) -> str:
    """One term for each of 0, 1, 2 ..."""
    return between.join(term.format(i) for i in range(1000))


def test_conditions_of_a_thousand_terms_are_no_trouble(db: Database) -> None:
    some, none = a_thousand("p.bytes = {}", " OR "), a_thousand("p.bytes <> {}", " AND ")
    both = f"p.src = 'a' AND ({some}) AND {a_thousand('p.bytes < {} + 10', ' AND ')}"
    queries = [db.query(f"SELECT src FROM packets [RANGE 9] p WHERE {each}") for each in (some, none, both)]
    pairs = "packets [RANGE 9] p JOIN packets [RANGE 9] q ON q.src = p.src"
    queries.append(db.query(f"SELECT p.src FROM {pairs} AND {both}"))
    push(db, (1, "a", 3), (2, "b", 4))
    db.advance(2)
    assert [query.answer()["src"].to_pylist() for query in queries] == [["a", "b"], [], ["a"], ["a"]]


def test_what_is_nested_too_deeply_is_refused_in_words(db: Database) -> None:
    texts = (
        f"SELECT {a_thousand('bytes', ' + ')} AS sum FROM packets [RANGE 9]",
        a_thousand("SELECT src FROM packets [RANGE 9] WHERE bytes = {}", " UNION "),
        a_thousand("SELECT src FROM packets [RANGE 9] WHERE bytes = {}", " EXCEPT ALL "),
    )
    for text in texts:
        refused("SASH-PARSE-005", lambda text=text: db.query(text))

    def pile() -> None:
        db.execute("CREATE VIEW v0 AS SELECT src, bytes FROM packets [RANGE 9]")
        for i in range(300):
            db.execute(f"CREATE VIEW v{i + 1} AS SELECT src, bytes + 1 AS bytes FROM v{i}")

    refused("SASH-PARSE-005", pile)


@pytest.mark.parametrize(
    ("query", "remedy"),
    [
        ("SELECT bytes AS b, b + 1 AS c FROM packets [RANGE 9]", "write out what it stands for"),
        ("SELECT COUNT(*) AS n FROM packets [RANGE 9] WHERE n > 5", "put this SELECT into FROM"),
        ("SELECT * FROM packets [RANGE 9] p JOIN packets [NOW] q ON p.src = q.src", "instead of the star"),
        ("SELECT src AS at FROM packets [RANGE 9]", "Give it another name with AS, such as AS my_at."),
        ("SELECT * FROM (SELECT src AS at FROM packets [RANGE 9])", "instead of the star"),
        ("SELECT src FROM packets [RANGE 9] WHERE bytes > 'abc'", "CAST what stands beside it"),
        ("SELECT year('abc') AS y FROM packets [RANGE 9]", "such as DATE '2024-01-31'."),
    ],
)
def test_remedies_speak_of_the_mistake(db: Database, query: str, remedy: str) -> None:
    with pytest.raises(SashError) as caught:
        db.query(query)
    assert remedy in caught.value.remedy


def test_a_query_tells_which_stream_holds_it_back(db: Database) -> None:
    db.execute(PACKETS.replace("packets", "others"))
    query = db.query("SELECT src FROM packets [RANGE 9] JOIN others [RANGE 9] USING (src)", name="q")
    assert repr(query) == "<sash query 'q': relation, frontier -, running>"
    push(db, (1, "a", 1), (5, "a", 1))
    assert repr(query) == "<sash query 'q': relation, frontier -, waiting for stream 'others'>"
    db.idle("others")
    assert repr(query) == "<sash query 'q': relation, frontier 4, running>"
    query.drop()
    assert "dropped" in repr(query)
