"""A saved session goes on exactly as the one that was never interrupted."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.errors import SashError
from sash.session.database import Database

DEFINITIONS = """
CREATE STREAM packets (ts BIGINT, src STRING, bytes BIGINT) TIME ts LATENESS 5;
CREATE STREAM ticks (ts BIGINT, src STRING, note MAP<STRING, INT>) TIME ts;
CREATE TABLE hosts (ip STRING, owner STRING, PRIMARY KEY (ip));
CREATE TABLE bans (ip STRING) RETROACTIVE;
CREATE VIEW big AS SELECT src, bytes FROM packets [RANGE 10] WHERE bytes > 3;
"""
QUERIES = {
    "view": "SELECT src FROM big",
    "join": "SELECT p.src, t.note FROM packets [RANGE 10] p JOIN ticks [RANGE 20] t ON p.src = t.src",
    "table": "SELECT p.src, h.owner FROM packets [RANGE 10] p JOIN hosts h ON p.src = h.ip",
    "banned": "SELECT p.src, p.bytes FROM packets [RANGE 10] p JOIN bans b ON p.src = b.ip",
    "distinct": "SELECT DISTINCT src FROM packets [RANGE 7]",
    "rows": "SELECT src, bytes FROM packets [PARTITION BY src ROWS 2]",
    "stream": "ISTREAM(SELECT src FROM packets [RANGE 4])",
    "sums": "SELECT src, SUM(bytes) AS bytes FROM packets [RANGE 10] GROUP BY src",
}


def events(seed: int) -> list[tuple[str, Any]]:
    """What happens to a session, in order."""
    random, found, now = Random(seed), [], 0
    for step in range(40):
        now += random.randint(0, 3)
        rows = [
            {
                "ts": max(0, now - random.randint(0, 7)),
                "src": random.choice("abc"),
                "bytes": random.randint(0, 9),
            }
            for _ in range(random.randint(0, 4))
        ]
        found.append(("packets", rows))
        if random.random() < 0.5:
            found.append(("ticks", [{"ts": now, "src": random.choice("abc"), "note": {"n": step}}]))
        if random.random() < 0.2:
            at = f" AT {now + 30}" if step < 20 and random.random() < 0.3 else ""
            found.append(("execute", f"INSERT INTO bans VALUES ('{random.choice('abc')}'){at}"))
        if step == 5:
            found.append(("execute", "INSERT INTO hosts VALUES ('a', 'ann'), ('b', 'bob')"))
        if step == 30:
            found.append(("execute", "UPDATE hosts SET owner = 'new' WHERE ip = 'a'"))
    return [*found, ("advance", now + 50)]


def happen(db: Database, event: tuple[str, Any]) -> None:
    kind, what = event
    if kind == "execute":
        db.execute(what)
    elif kind == "advance":
        db.advance(what)
    else:
        db.push(kind, what)


def start() -> Database:
    db = sash.connect()
    db.execute(DEFINITIONS)
    for name, text in QUERIES.items():
        db.query(text, name=name)
    return db


def drained(db: Database) -> dict[str, list[dict[str, Any]]]:
    return {name: sorted(query.changes().to_pylist(), key=str) for name, query in db.queries.items()}


@pytest.mark.parametrize("seed", range(3))
def test_going_on_after_a_load_is_as_if_nothing_happened(seed: int, tmp_path: Path) -> None:
    whole, cut, path = start(), start(), tmp_path / "db.sash"
    random = Random(seed)
    for number, event in enumerate(events(seed)):
        happen(whole, event)
        happen(cut, event)
        if random.random() < 0.4:
            assert drained(cut) == drained(whole)
        if number % 4 == 0:
            cut.save(path)
            cut.close()
            cut = sash.load(path)
            assert cut.metrics()["streams"] == whole.metrics()["streams"]
    assert drained(cut) == drained(whole)
    for name in ("view", "join", "sums"):
        assert sorted(cut.queries[name].answer().to_pylist(), key=str) == sorted(
            whole.queries[name].answer().to_pylist(), key=str
        )
    assert cut.late("packets").equals(whole.late("packets"))
    counted = {
        name: (q["rows_in"], q["changes_out"], q["drained"]) for name, q in cut.metrics()["queries"].items()
    }
    assert counted == {
        name: (q["rows_in"], q["changes_out"], q["drained"]) for name, q in whole.metrics()["queries"].items()
    }


def test_settings_and_names_come_back(tmp_path: Path) -> None:
    db = sash.connect(allow_unbounded=True, max_late_rows=7)
    db.execute("CREATE STREAM s (ts TIMESTAMP, v DECIMAL(10, 2)) TIME ts LATENESS 2 SECONDS")
    db.query("SELECT DISTINCT v FROM s")
    db.query("SELECT v FROM s [NOW]").drop()
    db.save(tmp_path / "db")
    again = sash.load(str(tmp_path / "db"), max_late_rows=9)
    assert (again.settings.allow_unbounded, again.settings.max_late_rows) == (True, 9)
    assert again.catalog.stream("s") == db.catalog.stream("s")
    assert list(again.queries) == ["q1"]
    assert again.query("SELECT v FROM s [NOW]").name == "q3"


def test_what_was_thrown_away_is_still_told_after_a_load(tmp_path: Path) -> None:
    db = sash.connect(max_pending_changes=1)
    db.execute("CREATE STREAM s (ts BIGINT) TIME ts")
    db.query("SELECT ts FROM s [RANGE 100]")
    db.push("s", pa.table({"ts": [1, 2, 3, 4]}))
    db.save(tmp_path / "db")
    again = sash.load(tmp_path / "db")
    with pytest.raises(SashError, match="SASH-SESSION-011"):
        again.queries["q1"].changes()
    again.save(tmp_path / "db")
    assert sash.load(tmp_path / "db").queries["q1"].changes().to_pydict() == {
        "ts": [1, 2, 3], "at": [3, 3, 3], "change": [1, 1, 1],
    }  # fmt: skip


def test_a_plan_made_by_other_rules_does_not_take_the_state(tmp_path: Path) -> None:
    db = start()
    db.save(tmp_path / "db")
    with pytest.raises(SashError, match="SASH-STATE-008"):
        sash.load(tmp_path / "db", rules=())


def test_a_full_disk_keeps_the_old_snapshot_and_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, path = start(), tmp_path / "db"
    db.save(path)
    before = path.read_bytes()
    db.push("packets", [{"ts": 1, "src": "a", "bytes": 5}])

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(SashError, match="SASH-STATE-001"):
            db.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["db"]
    db.advance(20)
    assert db.queries["view"].changes().num_rows == 2
    db.save(path)


def test_a_failed_query_is_not_saved_over_a_good_snapshot(tmp_path: Path) -> None:
    db = start()
    db.queries["view"].running.failure = RuntimeError("no")
    with pytest.raises(SashError, match="SASH-SESSION-013"):
        db.save(tmp_path / "db")
    assert os.listdir(tmp_path) == []
