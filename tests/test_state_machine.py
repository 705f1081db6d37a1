"""A session under random treatment: rows good, late and bad, time, queries that come and go, save and load.

After every step the changes of each query are those of the oracle. Hypothesis draws the steps and prints
the shortest failing sequence; SASH_SEED makes it draw others.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import sash
from oracle.world import World
from sash.language.statements import parse
from sash.testing import Contract, Troublemaker, assert_same_rows

DEFINITIONS = [
    "CREATE STREAM r (ts BIGINT, k INT, x DOUBLE) TIME ts LATENESS 2",
    "CREATE STREAM p (ts BIGINT, k INT, x DOUBLE) TIME ts",
    "CREATE TABLE t (k INT, name STRING)",
    "CREATE TABLE u (k INT, name STRING) RETROACTIVE",
]

QUERIES = [
    "SELECT k, x FROM r [RANGE 4]",
    "SELECT DISTINCT k FROM r [RANGE 5]",
    "SELECT k, COUNT(*) AS n, SUM(x) AS total, MIN(x) AS least FROM r [RANGE 6] GROUP BY k",
    "SELECT COUNT(*) AS n, MAX(x) AS most FROM p [RANGE 6 SLIDE 4]",
    "SELECT r.k, p.x FROM r [RANGE 5], p [RANGE 3] WHERE r.k = p.k",
    "SELECT r.ts, p.ts AS other FROM r [ROWS 3] LEFT JOIN p [RANGE 4] ON r.k = p.k",
    "SELECT k FROM r [RANGE 5] WHERE NOT EXISTS (SELECT * FROM p [RANGE 5] WHERE p.k = r.k)",
    "SELECT k, x FROM r [PARTITION BY k ROWS 2]",
    "SELECT k FROM r [RANGE 4] EXCEPT ALL SELECT k FROM p [RANGE 6]",
    "SELECT k, x FROM p [RANGE 6] ORDER BY x DESC LIMIT 2",
    "ISTREAM(SELECT k FROM r [RANGE 5])",
    "DSTREAM(SELECT DISTINCT k FROM p [RANGE 3])",
    "RSTREAM(SELECT k FROM r [RANGE 4 SLIDE 3])",
    "SELECT r.k, t.name FROM r [RANGE 5] JOIN t ON r.k = t.k",
    "SELECT p.k, u.name FROM p [RANGE 5] JOIN u ON p.k = u.k",
]

ROW = st.tuples(st.integers(-4, 5), st.sampled_from([0, 1, 2, None]), st.sampled_from([0.0, 1.0, 2.0, None]))


class Session(RuleBasedStateMachine):
    """A session and the oracle's world, told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.db: Any = None
        self.world = World()
        self.now = 0
        self.numbered = 0

    @initialize()
    def define(self) -> None:
        self.db = sash.connect(watch=Contract())
        for text in DEFINITIONS:
            self.tell(text)

    def tell(self, text: str) -> None:
        self.db.execute(text)
        for statement in parse(text):
            self.world.execute(statement, text)

    @rule(stream=st.sampled_from(["r", "p"]), drawn=st.lists(ROW, max_size=6))
    def push(self, stream: str, drawn: list[tuple[int, int | None, float | None]]) -> None:
        rows = [{"ts": self.now + step, "k": k, "x": x} for step, k, x in drawn]
        self.now = max([self.now, *(row["ts"] for row in rows)])
        self.db.push(stream, rows)
        self.world.push(stream, rows)
        self.compare()

    @rule(stream=st.sampled_from(["r", "p"]), number=st.integers(0, 99))
    def push_bad_rows(self, stream: str, number: int) -> None:
        maker = Troublemaker(
            Random(number), "ts", kinds=("null time", "surplus field", "missing field", "wrong type")
        )
        trouble = maker.spoil([{"ts": self.now + i, "k": i, "x": 1.0} for i in range(3)])
        with pytest.raises(sash.SashError) as caught:
            self.db.push(stream, trouble.rows)
        assert caught.value.code.startswith(("SASH-DATA", "SASH-TIME"))
        assert caught.value.remedy
        self.compare()

    @rule(ticks=st.integers(0, 6))
    def advance(self, ticks: int) -> None:
        self.now += ticks
        self.db.advance(self.now)
        self.world.advance(self.now, "integer")
        self.compare()

    @rule(stream=st.sampled_from(["r", "p"]))
    def idle(self, stream: str) -> None:
        self.db.idle(stream)
        self.world.idle(stream)
        self.compare()

    @rule(text=st.sampled_from(QUERIES))
    def add_query(self, text: str) -> None:
        if len(self.db.queries) < 5:
            self.numbered += 1
            query = self.db.query(text, name=f"q{self.numbered}")
            self.world.add_query(query.name, query.plan)
            self.compare()

    @precondition(lambda self: self.world.queries)
    @rule(which=st.integers(0, 9))
    def drop_query(self, which: int) -> None:
        name = list(self.world.queries)[which % len(self.world.queries)]
        self.db.queries[name].drop()
        del self.world.queries[name]

    @rule(
        text=st.sampled_from([
            "INSERT INTO t VALUES ({k}, 'n{now}')", "DELETE FROM t WHERE k = {k}",
            "INSERT INTO u VALUES ({k}, 'n{now}')", "DELETE FROM u WHERE k = {k}",
            "UPDATE u SET name = 'new' WHERE k = {k}",
        ]),
        k=st.integers(0, 2),
    )  # fmt: skip
    def edit_table(self, text: str, k: int) -> None:
        self.tell(text.format(k=k, now=self.now))
        self.compare()

    @rule()
    def save_and_load(self) -> None:
        path = Path(self.folder.name) / "saved"
        self.db.save(path)
        self.db.close()
        self.db = sash.load(path, watch=Contract())
        self.compare()

    def compare(self) -> None:
        """What is new in every query, and its answer, is what the oracle says."""
        for name in self.world.queries:
            query = self.db.queries[name]
            columns = query.changes().to_pydict()
            *_, at, change = columns.values()
            values = list(columns.values())[:-2]
            header = ("at", *columns)
            actual = [(at[i], *(column[i] for column in values), change[i]) for i in range(len(at))]
            expected = [(when, *row, n) for when, row, n in self.world.changes(name)]
            assert_same_rows(
                actual, expected, [*header[:-2], "change"], f"The changes of {name}: {query.text}"
            )
            if not query.is_stream:
                answer = [tuple(row.values()) for row in query.answer().to_pylist()]
                assert_same_rows(answer, self.world.answer(name).elements(), (), f"The answer of {name}")
        for name, stream in self.world.streams.items():
            assert self.db.metrics()["streams"][name]["late"] == stream.late

    def teardown(self) -> None:
        if self.db is not None:
            self.db.close()
        self.folder.cleanup()


Session.TestCase.settings = settings(
    max_examples=int(os.environ.get("SASH_MACHINES", "60")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    database=None,
)
TestSession = pytest.mark.slow(seed(int(os.environ.get("SASH_SEED", "1")))(Session.TestCase))
