"""Random streams and random queries meet the oracle, cut at random, saved and loaded in between.

SASH_RANDOM_PAIRS says how many (1,000 unless told), SASH_SEED where to start. A failure prints the
pair as a fixture, with as few rows as still fail.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from judging import Judge, judge
from random_queries import OPERATORS, Pair, draw_pair
from sash.errors import SashError
from sash.testing import Reading, parse_fixture

PAIRS = int(os.environ.get("SASH_RANDOM_PAIRS", "1000"))
SEED = int(os.environ.get("SASH_SEED", "1"))
GROUPS = 10

LEAST = 20
"""How often every operator must stand at the top and below another one, in 1,000 pairs."""


def pairs(group: int) -> Iterator[tuple[int, Pair]]:
    """Every tenth pair, each with a number that, with the seed, makes it again."""
    names = list(OPERATORS)
    for number in range(group, PAIRS, GROUPS):
        top, below = names[number % len(names)], names[(number // len(names) + number) % len(names)]
        yield number, draw_pair(Random(f"{SEED}:{number}"), top, below)


def meet(pair: Pair, number: int, sessions: Any) -> Judge:
    """The pair against the oracle, in a reading that its number decides."""
    reading = Reading("random", "random", seed=number, saves=number % 3 == 0)
    connect, load = sessions
    return judge(parse_fixture(pair.fixture()), connect, reading, load)[1]


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_pairs_equal_the_oracle(group: int, sessions: Any, record_property: Any) -> None:
    met = spoke = refused = 0
    for number, pair in pairs(group):
        try:
            spoke += meet(pair, number, sessions).nonempty()
            met += 1
        except SashError as error:
            if not error.code.startswith("SASH-PLAN"):
                pytest.fail(told(pair, number, error))
            refused += 1  # the language refuses some combinations, with the reason
        except Exception as error:
            smaller, last = shrink(pair, error, lambda p, n=number: meet(p, n, sessions))
            pytest.fail(told(smaller, number, last))
    record_property("pairs", met)
    assert refused <= 0.05 * (met + refused), f"{refused} of {met + refused} pairs were refused"
    assert spoke >= 0.6 * met, f"only {spoke} of {met} pairs had an answer that was not empty"


def test_every_operator_stands_at_the_top_and_below() -> None:
    top: Counter[str] = Counter()
    below: Counter[str] = Counter()
    for group in range(GROUPS):
        for _, pair in pairs(group):
            top[pair.operators[0]] += 1
            below.update(set(pair.operators[1:]))
    least = LEAST * min(1000, PAIRS) // 1000
    for name in OPERATORS:
        assert top[name] >= least, f"{name} stood at the top only {top[name]} times"
        assert below[name] >= least, f"{name} stood below another operator only {below[name]} times"


def shrink(pair: Pair, error: Exception, fails: Callable[[Pair], object]) -> tuple[Pair, Exception]:
    """The pair with rows, and then changes of tables, left out for as long as it still fails."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _without_one(pair):
            try:
                fails(candidate)
            except SashError:
                continue
            except Exception as still:
                pair, error, smaller = candidate, still, True
                break
    return pair, error


def _without_one(pair: Pair) -> Iterator[Pair]:
    for stream, rows in pair.pushes.items():
        for i in range(len(rows)):
            left = {**pair.pushes, stream: rows[:i] + rows[i + 1 :]}
            yield Pair(pair.sql, pair.operators, pair.setup, left, pair.tables)
    for i in range(len(pair.tables)):
        yield Pair(pair.sql, pair.operators, pair.setup, pair.pushes, pair.tables[:i] + pair.tables[i + 1 :])


def told(pair: Pair, number: int, error: Exception) -> str:
    """The failure, with the pair as a fixture to keep."""
    return f"seed {SEED}, pair {number}\n{pair.fixture()}\n{type(error).__name__}: {error}"
