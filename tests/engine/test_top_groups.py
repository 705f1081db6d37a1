"""The top groups of an aggregate against the aggregate's rows sorted at every instant."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sash
import sash.engine.operators.top_groups as top_groups
from random_lifetimes import Life, alive_at, changes_of_lives, instants_of, play, random_lives
from sash.engine.circuit import Circuit
from sash.engine.operators.aggregate import GroupAggregate
from sash.engine.operators.top_groups import TopGroups
from sash.engine.operators.topk import TopRows
from sash.engine.values import Faults
from sash.language.expressions import AggregateCall, Column
from sash.plan.nodes import SortKey
from sash.plan.patterns import Pattern

from .test_topk import expected

INPUT = (pa.string(), pa.int64(), pa.int64())
GROUPS = (Column(0, INPUT[0], "name"), Column(1, INPUT[1], "k"))
V = Column(2, INPUT[2], "v")
CALLS = (
    AggregateCall("sum", V, False, pa.int64()),
    AggregateCall("count", None, False, pa.int64()),
    AggregateCall("count", V, True, pa.int64()),
    AggregateCall("max", V, False, pa.int64()),
)
ROW = (pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.int64(), pa.int64())


def aggregate(pattern: Pattern = Pattern.STR) -> GroupAggregate:
    return GroupAggregate(ROW, GROUPS, CALLS, INPUT, Faults(), pattern)


def check(lives: list[Life], random: Random, selected: tuple[int, ...], first: int, **how: Any) -> None:
    """`first` of the selected columns orders, the keys decide ties in the order of their columns."""
    offset, limit = random.choice((0, 0, 1, 4)), random.choice((1, 3, 10))
    order = (SortKey(first, random.random() < 0.5, False), *how.get("then", ()))
    types = tuple(ROW[i] for i in selected)
    ties = how.get("ties", tuple(SortKey(i, False, True) for i in selected if i < 2))

    def made() -> TopGroups:
        top = TopRows(types, order, limit, offset, False, None)
        below = aggregate(how.get("pattern", Pattern.STR))
        return TopGroups(types, below, top, selected, CALLS[selected[first] - 2], ties)

    instants = instants_of(lives)
    frontiers = sorted({*random.sample(instants, min(len(instants), random.randint(1, 9))), instants[-1] + 1})
    rows = play(aggregate, [(lives, INPUT)], frontiers, random)
    out = play(made, [(lives, INPUT)], frontiers, random)
    for at in instants:
        bag = type(alive_at(rows, at))(
            {tuple(row[i] for i in selected): n for row, n in alive_at(rows, at).items()}
        )
        assert alive_at(out, at) == expected(bag, order, limit, offset, len(types)), at


def some_lives(random: Random, value: Any, rows: int, pattern: str) -> list[Life]:
    keys = random.choice((4, 40, 400))
    names = [None, "a", "b", "a long name of a group", "a long name of another group"]

    def row() -> tuple[Any, ...]:
        return random.choice(names), random.choice([None, *range(keys)]), value()

    return random_lives(random, row, rows, random.choice((10, 60)), pattern)


@pytest.mark.parametrize("pattern", ["wks", "wk", "str"])
@pytest.mark.parametrize("seed", range(12))
def test_groups_by_any_count_or_sum(seed: int, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(f"{seed}{pattern}")
    monkeypatch.setattr(top_groups, "_LEAST_SPARE", random.choice((1, 2, 128)))
    monkeypatch.setattr(top_groups, "_GROUPS_PER_SPARE", 1000)
    values = random.choice(([1], [1, 2, 3], range(-500, 500)))
    lives = some_lives(random, lambda: random.choice(values), random.choice((60, 600)), pattern)
    selected, first = random.choice((((0, 1, 2), 2), ((3, 0, 1), 0), ((1, 0, 4, 2), 2), ((0, 2, 1, 5), 1)))
    check(lives, random, selected, first, pattern=Pattern[pattern.upper()])


@pytest.mark.parametrize("seed", range(6))
def test_keys_in_the_order_decide_ties_their_own_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(top_groups, "_LEAST_SPARE", 2)
    lives = some_lives(random, lambda: random.choice((1, 2)), 300, "wk")
    then = (SortKey(2, True, random.random() < 0.5),)
    check(
        lives,
        random,
        (2, 0, 1),
        0,
        then=then,
        ties=(SortKey(1, True, then[0].nulls_first), SortKey(0, False, True)),
    )


@pytest.mark.parametrize("late", [None, 2**62])
@pytest.mark.parametrize("seed", range(6))
def test_what_lanes_cannot_say_is_said_all_the_same(
    seed: int, late: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A NULL, or sums beyond 64 bits in between: from some instant on, or at once."""
    random = Random(f"{seed}{late}")
    monkeypatch.setattr(top_groups, "_LEAST_SPARE", 2)
    lives = some_lives(random, lambda: random.randint(-9, 9), 200, "wk")
    middle = lives[len(lives) // 2][1] if seed % 3 else 0
    lives = [
        ((*row[:2], late if begin >= middle and random.random() < 0.3 else row[2]), begin, until, weight)
        for row, begin, until, weight in lives
    ]
    check(lives, random, (0, 1, 2), 2)


GROUPED = "FROM s [RANGE 9] GROUP BY k, name"


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        (f"SELECT k, name, SUM(v) AS total {GROUPED} ORDER BY total DESC LIMIT 3", True),
        (
            f"SELECT COUNT(*) AS n, name, k, MIN(v) AS least {GROUPED} ORDER BY n, k DESC LIMIT 3 OFFSET 1",
            True,
        ),
        (f"SELECT name, COUNT(DISTINCT v) AS n, k {GROUPED} ORDER BY n LIMIT 3", True),
        (f"SELECT name {GROUPED} ORDER BY SUM(v) LIMIT 3", False),
        (f"SELECT k, name, AVG(v) AS mean {GROUPED} ORDER BY mean LIMIT 3", False),
        (f"SELECT k, name, MAX(v) AS most {GROUPED} ORDER BY most LIMIT 3", False),
        (f"SELECT k, COUNT(*) AS n, SUM(v) AS total, name {GROUPED} ORDER BY n LIMIT 3", False),
        (f"SELECT k, name, COUNT(*) AS n {GROUPED} ORDER BY k, n LIMIT 3", False),
        (f"SELECT k, name, COUNT(*) AS n {GROUPED} HAVING COUNT(*) > 1 ORDER BY n LIMIT 3", False),
    ],
)
def test_it_is_chosen_where_lanes_say_the_order(query: str, chosen: bool) -> None:
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, name VARCHAR, v BIGINT) TIME ts")
        circuit = Circuit(db.query(query).optimized)
    assert ("TopGroups" in [measure.operator for measure in circuit.measure()]) == chosen


def test_there_is_room_for_all_numbers_after_a_burst_of_groups_has_gone() -> None:
    def made() -> TopGroups:
        top = TopRows(ROW[:3], (SortKey(2, True, False),), 3, 0, False, None)
        ties = (SortKey(0, False, True), SortKey(1, False, True))
        return TopGroups(ROW[:3], aggregate(), top, (0, 1, 2), CALLS[0], ties)

    burst: list[Life] = [(("a", n, 1), 1, 5, 1) for n in range(5000)]
    later: list[Life] = [(("b", n, 1), 10 + n, 40 + n, 1) for n in range(9000)]
    before, after = made(), made()
    for frontier in (1, *range(100, 9000, 100)):
        some = [life for life in [*burst, *later] if frontier - 100 < life[1] <= frontier]
        before.step([changes_of_lives(some, INPUT)], frontier)
    after.load(before.save())
    size = after.aggregate.keys.size
    assert len(after.aggregate.keys) < 2000 < size
    assert len(after._order.words) >= size
    assert after.contents(8900).columns[1].to_pylist() == before.contents(8900).columns[1].to_pylist()
