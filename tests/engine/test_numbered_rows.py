"""State that points at rows by number: rows that move, numbers that begin anew, ends in any order."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash.engine.operators import last_rows, semi_join
from sash.engine.operators.last_rows import LastRows
from sash.engine.state import keyed_rows
from sash.language.windows import Window
from sash.lifetimes import FOREVER, Changes

STREAMS = "".join(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, ends BIGINT) TIME ts;" for name in ("a", "b"))
JOINED = ["a.k = b.k", "a.k = b.k AND a.ts % 3 < b.ts % 5"]


def batch(begins: np.ndarray, keys: np.ndarray, first: int) -> Changes:
    """Rows (key, number) of a stream."""
    n = len(begins)
    columns = (pa.array(keys), pa.array(np.arange(first, first + n)))
    return Changes(columns, begins, np.full(n, FOREVER), np.ones(n, np.int64))


@pytest.mark.parametrize("length", [None, 700])
@pytest.mark.parametrize("highest", [1 << 30, 5_000])
@pytest.mark.parametrize("at_once", [500, 32_768])
def test_last_rows_are_right_and_few_while_old_ones_move(
    length: int | None, highest: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_rows, "_AT_ONCE", at_once)
    monkeypatch.setattr(last_rows, "_HIGHEST", highest)
    random = np.random.default_rng(7)
    window = Window("rows", rows=3, length=length, partition=(0,))

    def make() -> LastRows:
        return LastRows((pa.int64(), pa.int64()), window, False)

    operator, rings = make(), defaultdict[int, deque[tuple[int, int]]](lambda: deque(maxlen=3))
    lives: Counter[tuple[int, int]] = Counter()
    for step in range(40):
        begins = np.sort(random.integers(step * 1000 + 1, step * 1000 + 1001, 1000))
        keys = np.minimum(random.integers(0, 400, 1000), random.integers(0, 400, 1000))
        keys[keys > 380] += step  # partitions that fall silent
        first, frontier = step * 1000, step * 1000 + 1000
        given = operator.step([batch(begins, keys, first)], frontier)
        rows = zip(*(column.to_pylist() for column in given.columns), strict=True)
        for row, until, weight in zip(rows, given.until.tolist(), given.weight.tolist(), strict=True):
            if until > frontier:
                lives[row] += weight
        for number, (begin, key) in enumerate(zip(begins.tolist(), keys.tolist(), strict=True), first):
            rings[key].append((begin, number))
        expected = {
            (key, number)
            for key, ring in rings.items()
            for begin, number in ring
            if length is None or begin + length > frontier
        }
        told = operator.contents(frontier)
        assert set(zip(*(column.to_pylist() for column in told.columns), strict=True)) == expected
        if length is None:
            assert {row for row, weight in lives.items() if weight} == expected
        if step % 7 == 6:
            saved, operator = operator.save(), make()
            operator.load(saved)
        assert operator.rows <= sum(map(len, rings.values()))
        assert operator.nbytes < 500_000


def test_rows_that_end_before_they_are_pushed_out_do_not_pile_up() -> None:
    operator = LastRows((pa.int64(), pa.int64()), Window("rows", rows=3, length=50, partition=(0,)), False)
    for row in range(10_000):
        operator.step([batch(np.array([20 * row + 1]), np.array([row % 5]), row)], 20 * row + 20)
    assert operator.rows <= 15
    assert operator.nbytes < 50_000


def pushed(sessions: Any, query: str, seed: int, cuts: int, path: Path | None = None) -> Counter[Any]:
    """All changes of a query over random rows that come in so many pushes; with `path`, it is saved and
    loaded on the way."""
    connect, load = sessions
    random, db = Random(seed), connect()
    db.execute(STREAMS)
    answer = db.query(query, name="q")
    rows = [(random.choice("ab"), ts, random.randrange(300)) for ts in range(1, 12_001)]
    rows = [(name, ts, k, ts + random.randrange(1, 900)) for name, ts, k in rows]
    seen: Counter[Any] = Counter()
    for cut in range(cuts):
        part = rows[cut * len(rows) // cuts : (cut + 1) * len(rows) // cuts]
        for name in "ab":
            db.push(name, [{"ts": ts, "k": k, "ends": ends} for own, ts, k, ends in part if own == name])
        db.advance(part[-1][1])
        if path is not None and cut == cuts // 2:
            db.save(path)
            db.close()
            db = load(path)
            answer = db.queries["q"]
        for change in answer.changes().to_pylist():
            seen[tuple(sorted(change.items()))] += 1
    return seen


@pytest.mark.parametrize("on", JOINED)
@pytest.mark.parametrize("window", ["RANGE 400", "UNTIL ends"])
def test_a_join_whose_numbers_begin_anew_says_the_same(
    on: str, window: str, sessions: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    query = f"SELECT a.ts, b.ts AS other, a.k FROM a [{window}], b [{window}] WHERE {on}"
    whole = pushed(sessions, query, 3, 1)
    monkeypatch.setattr(keyed_rows, "_HIGHEST", 1_000)
    assert whole
    assert pushed(sessions, query, 3, 40, tmp_path / "half") == whole


@pytest.mark.parametrize("negation", ["", "NOT "])
@pytest.mark.parametrize("left", ["RANGE 400", "UNTIL ends"])
@pytest.mark.parametrize("right", ["RANGE 400", "UNTIL ends"])
def test_a_semi_join_says_the_same_in_one_push_and_in_many(
    negation: str, left: str, right: str, sessions: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    query = (
        f"SELECT a.ts, a.k FROM a [{left}] WHERE {negation}EXISTS (SELECT * FROM b [{right}] WHERE b.k = a.k)"
    )
    whole = pushed(sessions, query, 5, 1)
    monkeypatch.setattr(semi_join, "_HIGHEST", 1_000)
    assert whole
    assert pushed(sessions, query, 5, 40, tmp_path / "half") == whole
