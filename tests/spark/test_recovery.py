"""Killed at any moment and started again, a run gives what an uninterrupted one gives: no more, no less."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash

from .plays import net_changes
from .processes import kill_family
from .recovery_child import QUERIES, SNAPSHOT

CHILD = Path(__file__).parent / "recovery_child.py"
FILES, ROWS, KEYS = 14, 3000, 1500
VALUES = 2**40
"""Wide enough for logs to be merged, and for what was merged to be removed, within so few rows."""

INSERTED = ["changes", *(f"changes_{i}" for i in range(2, len(QUERIES) + 1))]
"""What the queries of several INSERT INTO are called."""

pytestmark = pytest.mark.slow


def write_data(folder: Path, seed: int) -> dict[str, pa.Table]:
    """Two streams in files, in time order."""
    rng = np.random.default_rng(seed)
    streams = {}
    for name in ("l", "r"):
        (folder / name).mkdir(parents=True)
        tables = []
        for i in range(FILES):
            ts = np.sort(rng.integers(i * 100, (i + 1) * 100, ROWS))
            keys, values = rng.integers(0, KEYS, ROWS), rng.integers(0, VALUES, ROWS)
            table = pa.table({"ts": ts, "k": keys, "v": values})
            pq.write_table(table, folder / name / f"{i:03d}.parquet")
            tables.append(table)
        streams[name] = pa.concat_tables(tables)
    return streams


def uninterrupted(streams: dict[str, pa.Table]) -> tuple[dict[str, Counter], Counter]:
    """Every query's net changes, and the last answer of the snapshot's query, in-process."""
    with sash.connect() as db:
        db.execute("CREATE STREAM l (ts BIGINT, k BIGINT, v BIGINT) TIME ts")
        db.execute("CREATE STREAM r (ts BIGINT, k BIGINT, v BIGINT) TIME ts")
        queries = {name: db.query(text, name=name) for name, text in QUERIES.items()}
        latest = db.query(SNAPSHOT, name="latest")
        for name, rows in streams.items():
            db.push(name, rows)
        db.advance(max(rows.column("ts")[-1].as_py() for rows in streams.values()))
        said = {name: net_changes(query.changes()) for name, query in queries.items()}
        return said, Counter(map(str, latest.answer().to_pylist()))


def committed(folder: Path) -> list[Path]:
    """The files of a sink; of Spark's own those that its log names, as Spark reads it."""
    log = folder / "_spark_metadata"
    if not log.is_dir():
        return sorted(folder.glob("*.parquet"))
    batches = [path for path in log.iterdir() if path.name.removesuffix(".compact").isdigit()]
    lines = {line for path in batches for line in path.read_text().splitlines()[1:]}
    return sorted({Path(json.loads(line)["path"].removeprefix("file://")) for line in lines})


def written(folder: Path, names: dict[str, str]) -> dict[str, Counter]:
    """What the file sink holds, by query; `names` are the queries' names there."""
    table = pa.concat_tables(pq.read_table(path) for path in committed(folder / "changes"))
    said = {}
    for name, there in names.items():
        own = table.filter(pa.compute.equal(table.column("query"), there))
        with sash.connect() as db:
            db.execute("CREATE STREAM l (ts BIGINT, k BIGINT, v BIGINT) TIME ts")
            db.execute("CREATE STREAM r (ts BIGINT, k BIGINT, v BIGINT) TIME ts")
            columns = db.query(QUERIES[name]).schema.names
        said[name] = net_changes(own.select([*columns, "at", "change"]))
    return said


def start_child(
    folder: Path, sinks: str, environment: dict[str, str] | None = None, master: str = "local[2]"
) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(CHILD), str(folder), master, sinks]
    root = CHILD.parent.parent.parent
    return subprocess.Popen(
        command, cwd=root, start_new_session=True, env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL, stderr=open(folder / "stderr.txt", "ab"),
    )  # fmt: skip


class Reader(threading.Thread):
    """Reads the snapshot again and again: it must be whole at every moment.

    It opens the file once: what is read by one footer must be there, however long the reader is kept
    waiting. (Who opens it twice, and how many batches may come in between: `test_sinks.py`.)
    """

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path, self.reads, self.failures, self.over = path, 0, [], False

    def run(self) -> None:
        while not self.over:
            if (self.path / "answer.parquet").exists():
                try:
                    with open(self.path / "answer.parquet", "rb") as file:
                        pq.read_table(file)
                    self.reads += 1
                except Exception as error:
                    self.failures.append(error)
            time.sleep(0.02)


FEW = [("spark", 2), ("sash", 2)]
MANY = [pytest.param(sinks, kills, marks=pytest.mark.long) for sinks, kills in (("spark", 13), ("sash", 12))]


@pytest.mark.parametrize(("sinks", "kills"), [*FEW, *MANY])
def test_killed_at_random_moments(tmp_path: Path, sinks: str, kills: int) -> None:
    streams = write_data(tmp_path / "data", seed=kills)
    chance = random.Random(kills)
    reader = Reader(tmp_path / "latest")
    reader.start()
    killed = 0
    while killed < kills:
        child = start_child(tmp_path, sinks)
        if reached(child, tmp_path) and outlives(child, chance.uniform(0, 2.5)):
            kill_family(child)
            killed += 1
            continue
        assert child.returncode == 0, (tmp_path / "stderr.txt").read_text()[-3000:]
        more_data(tmp_path / "data", streams, chance)
    said, latest = uninterrupted(streams)
    child = start_child(tmp_path, sinks)
    assert child.wait(240) == 0, (tmp_path / "stderr.txt").read_text()[-3000:]
    reader.over = True
    reader.join()
    names = list(QUERIES) if sinks == "spark" else INSERTED
    assert written(tmp_path, dict(zip(QUERIES, names, strict=True))) == said
    if sinks == "sash":
        assert not reader.failures
        assert reader.reads > 0
        assert Counter(map(str, pq.read_table(tmp_path / "latest" / "answer.parquet").to_pylist())) == latest


def reached(child: subprocess.Popen[bytes], folder: Path) -> bool:
    """Whether the run goes on from where the last one was killed; False if it ends before that."""
    logs = [folder / "checkpoint" / name for name in ("offsets", "commits")]
    before = [_names(log) for log in logs]
    while child.poll() is None:
        if [_names(log) for log in logs] != before:
            return True
        time.sleep(0.05)
    return False


def _names(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.is_dir() else set()


def outlives(child: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def more_data(folder: Path, streams: dict[str, pa.Table], chance: random.Random) -> None:
    """A run came to its end before it was killed: there is more to read."""
    rng = np.random.default_rng(chance.randrange(2**32))
    start = max(rows.column("ts")[-1].as_py() for rows in streams.values()) + 1
    for name in ("l", "r"):
        for i in range(FILES):
            ts = np.sort(rng.integers(start + i * 100, start + (i + 1) * 100, ROWS))
            keys, values = rng.integers(0, KEYS, ROWS), rng.integers(0, VALUES, ROWS)
            table = pa.table({"ts": ts, "k": keys, "v": values})
            number = len(list((folder / name).glob("*.parquet")))
            pq.write_table(table, folder / name / f"{number:03d}.parquet")
            streams[name] = pa.concat_tables([streams[name], table])


PLACES = ["step-written:5", "merging:2", "cleaning:3", "sink-noted:4", "sink-moved:3", "brought:4", "taken:3"]
LATER = [pytest.param(place, marks=pytest.mark.long) for place in PLACES if not place.startswith("merging")]


@pytest.mark.parametrize("place", ["merging:2", *LATER])
def test_dies_at_a_critical_place(tmp_path: Path, place: str) -> None:
    streams = write_data(tmp_path / "data", seed=7)
    said, latest = uninterrupted(streams)
    environment = {"SASH_FAILPOINT": place, "SASH_FAILPOINT_ONCE": str(tmp_path / "died")}
    for _ in range(3):
        child = start_child(tmp_path, "sash", environment)
        if child.wait(240) == 0:
            break
        kill_family(child)
    assert (tmp_path / "died").exists(), "the place was never passed"
    assert written(tmp_path, dict(zip(QUERIES, INSERTED, strict=True))) == said
    assert Counter(map(str, pq.read_table(tmp_path / "latest" / "answer.parquet").to_pylist())) == latest
