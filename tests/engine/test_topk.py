"""Top-k against a slow reading of its definition: all types, orders, limits, random rows and cuts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cmp_to_key
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from random_lifetimes import Life, alive_at, changes_of_lives, instants_of, plain, play, random_lives
from sash.engine.operators.aggregate import GroupAggregate
from sash.engine.operators.topk import TopRows
from sash.engine.values import Faults
from sash.language.expressions import AggregateCall, Column
from sash.lifetimes import FOREVER, Changes
from sash.plan.nodes import SortKey
from sash.plan.patterns import Pattern

VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [-(2**63), -1, 0, 1, 255, 256, 2**63 - 1]),
    (pa.int8(), [-128, -1, 0, 127]),
    (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan]),
    (pa.string(), ["", "a", "a\x00", "a\x00b", "ab", "eightbytes", "eightbytes too", "ä"]),
    (pa.binary(), [b"", b"\x00", b"\x00\xff", b"\xff", b"\xff\x00"]),
    (pa.bool_(), [False, True]),
    (pa.date32(), [date(1970, 1, 1) + timedelta(days) for days in (-2, 0, 3)]),
    (pa.timestamp("us"), [datetime(1970, 1, 1) + timedelta(microseconds=micros) for micros in (-2, 0, 3)]),
    (pa.decimal128(38, 2), [Decimal(n).scaleb(-2) for n in (-(10**37), -5, 0, 5, 2**63, 2**64, 10**37)]),
]


def compare(a: tuple[Any, ...], b: tuple[Any, ...], order: Sequence[SortKey]) -> int:
    for key in order:
        x, y = plain(a[key.index]), plain(b[key.index])
        if x == y:
            continue
        if x is None or y is None:
            return -1 if (x is None) == key.nulls_first else 1
        lower = y == "NaN" if isinstance(a[key.index], float) and "NaN" in (x, y) else x < y
        return -1 if lower != key.descending else 1
    return 0


def expected(bag: Counter[Any], order: Sequence[SortKey], limit: int, offset: int, width: int) -> Any:
    named = {key.index for key in order}
    full = [*order, *(SortKey(i, False, True) for i in range(width) if i not in named)]
    rows = sorted(bag.elements(), key=cmp_to_key(lambda a, b: compare(a, b, full)))
    return Counter(tuple(map(plain, row)) for row in rows[offset : offset + limit])


def check(
    lives: list[Life], types: tuple[pa.DataType, ...], order: tuple[SortKey, ...], limit: int, offset: int,
    random: Random, monotonic: bool, most: int,
) -> None:  # fmt: skip
    instants = instants_of(lives)
    cuts = random.sample(instants, min(len(instants), random.randint(1, most)))
    frontiers = sorted({*cuts, instants[-1] + 1})
    out = play(lambda: TopRows(types, order, limit, offset, monotonic), [(lives, types)], frontiers, random)
    for at in instants:
        assert alive_at(out, at) == expected(alive_at(lives, at), order, limit, offset, len(types)), at


@pytest.mark.parametrize("pattern", ["mon", "wk", "str"])
@pytest.mark.parametrize("seed", range(25))
def test_rows_of_all_types_in_any_order(seed: int, pattern: str) -> None:
    random = Random(f"{seed}{pattern}")
    chosen = random.sample(VALUES, random.randint(1, 3))
    types = tuple(type_ for type_, _ in chosen)
    indices = random.sample(range(len(types)), random.randint(1, len(types)))
    order = tuple(SortKey(i, random.random() < 0.5, random.random() < 0.5) for i in indices)
    lives = random_lives(
        random, lambda: tuple(random.choice([None, *values]) for _, values in chosen), 80,
        random.choice((15, 60, 300)), pattern,
    )  # fmt: skip
    check(lives, types, order, random.randint(1, 6), random.choice((0, 0, 2)), random, pattern == "mon", 12)


@pytest.mark.parametrize("pattern", ["mon", "wk", "str"])
@pytest.mark.parametrize("seed", range(4))
def test_more_rows_than_are_kept_in_order(seed: int, pattern: str) -> None:
    random = Random(f"{seed}{pattern}")
    lives = random_lives(random, lambda: (random.randint(0, 2000), random.choice("abc")), 1500, 60, pattern)
    types = (pa.int64(), pa.string())
    check(lives, types, (SortKey(0, True, False),), 5, seed % 2, random, pattern == "mon", 20)


def test_rows_left_out_come_back_when_the_first_ones_go() -> None:
    types = (pa.int64(),)
    top = TopRows(types, (SortKey(0, False, True),), 2, 0, False)
    lives: list[Life] = [((n,), 1, 50, 1) for n in range(400)]
    top.step([changes_of_lives(lives, types)], 10)
    short: list[Life] = [((1000 + n,), 20 + n % 30, 70 + n % 5, 1) for n in range(300)]
    short += [((2000,), 45, FOREVER, 1), ((999,), 48, 60, 1)]
    short.sort(key=lambda life: life[1])
    given = top.step([changes_of_lives(short, types)], 100)
    out = [
        ((row,), begin, until, weight)
        for row, begin, until, weight in zip(
            given.columns[0].to_pylist(), given.begin, given.until, given.weight, strict=True
        )
    ]
    for at in range(50, 100):
        assert alive_at(out, at) - Counter({(0,): 1}) == expected(alive_at(short, at), top.order, 2, 0, 1), at


def test_rows_that_are_gone_are_forgotten() -> None:
    types = (pa.int64(), pa.string())
    top = TopRows(types, (SortKey(0, True, False),), 3, 0, False)
    largest = 0
    for step in range(80):
        numbers = np.arange(400)
        begin = np.full(400, 10 * step + 1)
        columns = pa.array(numbers), pa.array([f"{step} {n}" for n in numbers])
        rows = Changes(columns, begin, begin + 25, np.ones(400, np.int64))
        given = top.step([rows], 10 * step + 10)
        assert len(given) <= 20
        largest = max(largest, top.nbytes)
    assert largest < 1_500_000


@pytest.mark.parametrize("limit", [0, 10**9])
def test_a_limit_of_nothing_and_one_of_everything(limit: int) -> None:
    random = Random(limit)
    lives = random_lives(random, lambda: (random.randint(0, 9),), 60, 40, "str")
    check(lives, (pa.int64(),), (SortKey(0, False, True),), limit, 0, random, False, 10)


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_an_aggregate_follow_one_another_by_key(seed: int) -> None:
    random = Random(seed)
    most = random.choice((300, 1200))
    value = (lambda: random.randint(0, 3)) if seed % 2 else (lambda: random.randint(-500, 500))
    lives = random_lives(random, lambda: (random.randint(0, most), value()), 3000, 90, "wk")
    instants = instants_of(lives)
    frontiers = sorted({*random.sample(instants, random.randint(3, 12)), instants[-1] + 1})
    check_over_an_aggregate(lives, frontiers, SortKey(1, seed % 4 < 2, False), seed % 3, random)


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_follow_one_another_may_be_equal(seed: int) -> None:
    """Where HAVING or an expression hides what has changed."""
    random = Random(seed)
    groups, most = random.choice((3, 40, 400)), random.choice((2, 30))
    lives = random_lives(random, lambda: (random.randint(0, groups), random.randint(0, most)), 900, 60, "wk")
    instants = instants_of(lives)
    frontiers = sorted({*random.sample(instants, random.randint(1, 5)), instants[-1] + 1})
    check_over_an_aggregate(lives, frontiers, SortKey(1, seed % 2 < 1, False), seed % 3, random, coarse=20)


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_let_in_again_and_again_while_all_sums_fall(seed: int, monkeypatch: Any) -> None:
    let_in, calls = TopRows._let_in, []
    monkeypatch.setattr(TopRows, "_let_in", lambda *given: calls.append(0) or let_in(*given))
    random = Random(seed)
    ends = (60, 160) if seed % 2 else (60, 90)
    lives: list[Life] = [
        ((k, random.randint(1, 100)), random.randint(1, 30), random.randint(*ends), 1)
        for k in range(1500)
        for _ in range(random.randint(1, 6))
    ]
    lives += [((random.randint(0, 1600), random.randint(1, 60)), n, n + 20, 1) for n in range(40, 160)]
    lives.sort(key=lambda life: life[1])
    frontiers = [40, 200] if seed < 6 else [40, 80, 200]
    check_over_an_aggregate(lives, frontiers, SortKey(1, True, False), seed % 3, random)
    assert len(calls) > 1


def check_over_an_aggregate(
    lives: list[Life], frontiers: list[int], first: SortKey, offset: int, random: Random, coarse: int = 1
) -> None:
    """The first five sums by key of some rows, divided by `coarse`, at every instant."""
    types, groups = (pa.int64(), pa.int64()), (Column(0, pa.int64(), "k"),)
    calls = (AggregateCall("sum", Column(1, pa.int64(), "v"), False, pa.int64()),)
    aggregate = GroupAggregate(types, groups, calls, types, Faults(), Pattern.STR)
    rows = [
        ((key, total // coarse), begin, until, weight)
        for (key, total), begin, until, weight in play(
            lambda: replace(aggregate), [(lives, types)], frontiers, random
        )
    ]
    top = (first,), 5, offset, False, (0,)
    out = play(lambda: TopRows(types, *top), [(rows, types)], frontiers, random, net=coarse == 1)
    for at in instants_of(lives):
        assert alive_at(out, at) == expected(alive_at(rows, at), (first,), 5, offset, 2), at
