"""Tables in a session: rows meet them as of their own timestamps; changes take effect after the frontier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sash
from sash.errors import SashError
from sash.session.database import Database
from sash.session.query import Query

JOIN = "SELECT p.src, h.owner FROM packets [RANGE 100] p JOIN hosts h ON p.src = h.ip"


@pytest.fixture
def db() -> Iterator[Database]:
    with sash.connect() as database:
        database.execute("CREATE STREAM packets (ts BIGINT, src STRING) TIME ts")
        database.execute("CREATE TABLE hosts (ip STRING, owner STRING, PRIMARY KEY (ip))")
        database.execute("CREATE TABLE bans (ip STRING, score BIGINT) RETROACTIVE")
        yield database


def push(db: Database, *rows: tuple[int, str]) -> None:
    db.push("packets", [{"ts": ts, "src": src} for ts, src in rows])


def gained(query: Query) -> list[tuple[Any, ...]]:
    table = query.changes().to_pylist()
    return sorted(tuple(row.values()) for row in table)


def test_rows_meet_the_table_as_of_their_own_timestamp(db: Database) -> None:
    query = db.query(JOIN)
    db.execute("INSERT INTO hosts VALUES ('a', 'ann'), ('b', 'bob')")
    push(db, (1, "a"), (5, "a"))
    db.execute("UPDATE hosts SET owner = 'abe' WHERE ip = 'a'")
    push(db, (6, "a"))
    db.advance(10)
    assert gained(query) == [("a", "abe", 5, 1), ("a", "abe", 6, 1), ("a", "ann", 1, 1)]


def test_a_change_may_wait_for_its_instant(db: Database) -> None:
    query = db.query(JOIN)
    db.execute("INSERT INTO hosts VALUES ('a', 'ann') AT 5")
    push(db, (4, "a"), (5, "a"), (6, "b"))
    assert gained(query) == [("a", "ann", 5, 1)]
    for statement in ("INSERT INTO hosts VALUES ('c', 'x') AT 5", "DELETE FROM hosts AT 3"):
        with pytest.raises(SashError, match="SASH-TIME-006"):
            db.execute(statement)


def test_updates_come_after_what_is_there(db: Database) -> None:
    db.execute("INSERT INTO hosts VALUES ('a', 'ann') AT 50")
    with pytest.raises(SashError, match="SASH-TABLE-006"):
        db.execute("DELETE FROM hosts")
    db.execute("DELETE FROM hosts AT 60")
    db.execute("INSERT INTO hosts VALUES ('b', 'bob')")


def test_retroactive_tables_change_answers(db: Database) -> None:
    query = db.query("SELECT p.src, b.score FROM packets [RANGE 100] p JOIN bans b ON p.src = b.ip")
    push(db, (1, "a"), (5, "b"))
    db.execute("INSERT INTO bans VALUES ('a', 7)")
    db.advance(6)
    assert gained(query) == [("a", 7, 5, 1)]
    db.execute("DELETE FROM bans WHERE score > 5")
    db.advance(8)
    assert gained(query) == [("a", 7, 7, -1)]


def test_a_new_query_knows_the_table(db: Database) -> None:
    db.execute("INSERT INTO hosts VALUES ('a', 'ann'), ('b', 'bob')")
    db.execute("INSERT INTO bans VALUES ('a', 1)")
    push(db, (1, "a"), (5, "a"))
    db.execute("DELETE FROM hosts WHERE ip = 'b'")
    query, banned = db.query(JOIN), db.query("SELECT ip FROM bans")
    push(db, (6, "b"), (7, "a"))
    db.advance(7)
    assert gained(query) == [("a", "ann", 5, 1), ("a", "ann", 7, 1)]
    assert gained(banned) == [("a", 4, 1)]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO hosts VALUES ('a')", "SASH-TABLE-001"),
        ("INSERT INTO hosts (ip, ip) VALUES ('a', 'b')", "SASH-TABLE-001"),
        ("INSERT INTO hosts (ip, name) VALUES ('a', 'b')", "SASH-TABLE-002"),
        ("UPDATE hosts SET name = 'b'", "SASH-TABLE-002"),
        ("INSERT INTO hosts VALUES ('a', 'ann'), ('a', 'abe')", "SASH-TABLE-003"),
        ("INSERT INTO hosts (owner) VALUES ('ann')", "SASH-TABLE-004"),
        ("INSERT INTO bans VALUES ('a', 'x')", "SASH-TABLE-005"),
        ("INSERT INTO bans VALUES ('a', 1 DIV 0)", "SASH-TABLE-005"),
        ("INSERT INTO nothing VALUES (1)", "SASH-SESSION-001"),
        ("INSERT INTO packets VALUES (1, 'a')", "SASH-SESSION-003"),
    ],
)
def test_bad_changes_leave_the_table_alone(db: Database, statement: str, code: str) -> None:
    with pytest.raises(SashError) as caught:
        db.execute(statement)
    assert caught.value.code == code
    assert db.metrics()["tables"]["hosts"]["rows"] == 0
    assert db.metrics()["tables"]["bans"]["rows"] == 0


def test_computed_updates(db: Database) -> None:
    db.execute("INSERT INTO bans VALUES ('a', 1), ('b', 2), ('c', NULL)")
    db.execute("UPDATE bans SET score = score * 10 WHERE score > 1")
    history = db.tables["bans"]
    rows = [(history.columns[0][i].as_py(), history.columns[1][i].as_py()) for i in history.latest]
    assert sorted(rows) == [("a", 1), ("b", 20), ("c", None)]


def test_old_versions_are_forgotten(db: Database) -> None:
    db.execute("INSERT INTO bans VALUES ('a', 1)")
    for instant in range(1, 20):
        db.advance(instant)
        db.execute("UPDATE bans SET score = score + 1")
    assert db.metrics()["tables"]["bans"]["versions"] <= 3


def test_a_query_over_tables_alone_takes_the_time_of_the_first_stream() -> None:
    db = sash.connect()
    db.execute("CREATE TABLE bans (ip STRING) RETROACTIVE; INSERT INTO bans VALUES ('a')")
    query = db.query("SELECT ip FROM bans")
    db.execute("CREATE STREAM packets (ts BIGINT, src STRING) TIME ts")
    db.advance(5)
    assert query.answer().to_pylist() == [{"ip": "a"}]


def test_time_that_was_final_stays_final_when_its_stream_is_dropped(db: Database) -> None:
    query = db.query("SELECT ip FROM bans")
    db.advance(10)
    db.execute("DROP STREAM packets; INSERT INTO bans VALUES ('a', 1)")
    db.execute("CREATE STREAM packets (ts BIGINT, src STRING) TIME ts")
    db.advance(20)
    assert gained(query) == [("a", 11, 1)]


@pytest.mark.parametrize(
    "window", ["[ROWS 3]", "[PARTITION BY src ROWS 1]", "[PARTITION BY src ROWS 2 RANGE 9]"]
)
def test_versions_that_no_living_row_saw_are_forgotten(db: Database, window: str) -> None:
    query = db.query(f"SELECT p.ts, p.src, h.owner FROM packets {window} p LEFT JOIN hosts h ON p.src = h.ip")
    db.execute("INSERT INTO hosts VALUES ('a', '0'), ('b', '0')")
    push(db, (0, "b"))
    for ts in range(1, 300):
        push(db, (ts, "a"))
        db.execute(f"UPDATE hosts SET owner = '{ts}'")
    db.advance(300)
    operators = db.metrics()["queries"][query.name]["operators"]
    (held,) = [each["rows"] for each in operators if each["operator"] == "TableLookup"]
    assert held < 60
    kept: dict[tuple[Any, ...], int] = {}
    for *row, _, change in gained(query):
        kept[tuple(row)] = kept.get(tuple(row), 0) + change
    rows = sorted(tuple(row.values()) for row in query.answer().to_pylist())
    assert rows == sorted(row for row, count in kept.items() if count)
    assert (299, "a", "299") in rows, "the last change took effect one tick after the frontier, 298"
    assert ((0, "b", "0") in rows) == (window == "[PARTITION BY src ROWS 1]")
