"""Random streams and random queries meet the oracle, cut at random, saved and loaded in between.

SASH_RANDOM_PAIRS says how many (1,000 unless told), SASH_SEED where to start. A failure prints the
pair as a fixture, with as few rows as still fail.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
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


def reading_of(number: int) -> Reading:
    """How a pair is read: cut at random, every third also saved and loaded between the cuts."""
    return Reading("random", "random", seed=number, saves=number % 3 == 0)


def meet(pair: Pair, reading: Reading, sessions: Any) -> Judge:
    """The pair against the oracle, in a reading."""
    connect, load = sessions
    return judge(parse_fixture(pair.fixture()), connect, reading, load)[1]


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_pairs_equal_the_oracle(group: int, sessions: Any, record_property: Any) -> None:
    met = spoke = refused = 0
    for number, pair in pairs(group):
        try:
            spoke += meet(pair, reading_of(number), sessions).nonempty()
            met += 1
        except Exception as error:
            if is_refusal(error):
                refused += 1  # the language refuses some combinations, with the reason
                continue
            failure = f"seed {SEED}, pair {number}: {type(error).__name__}: {error}"
            pytest.fail(f"{failure}\n{shrunk(pair, reading_of(number), sessions)}")
    record_property("pairs", met)
    assert refused <= 0.05 * (met + refused), f"{refused} of {met + refused} pairs were refused"
    assert spoke >= 0.6 * met, f"only {spoke} of {met} pairs had an answer that was not empty"


def is_refusal(error: Exception) -> bool:
    """True if the planner said no; everything else is a failure."""
    return isinstance(error, SashError) and error.code.startswith("SASH-PLAN")


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


def shrunk(pair: Pair, reading: Reading, sessions: Any) -> str:
    """The pair as a fixture to keep, with as few rows as still fail, in the simplest reading that does."""

    def failure(candidate: Pair, how: Reading) -> Exception | None:
        try:
            meet(candidate, how, sessions)
        except Exception as error:
            return None if is_refusal(error) else error
        return None

    simple = [
        Reading("as written, unchecked"),
        Reading("in one step", "once"),
        Reading("one step per instant", "instants"),
        reading,
    ]
    how, error = next((how, found) for how in simple if (found := failure(pair, how)) or how is reading)
    smaller = error is not None
    while smaller:
        smaller = False
        for candidate in _without_one(pair):
            still = failure(candidate, how)
            if still is not None:
                pair, error, smaller = candidate, still, True
                break
    return f"Read {how.name}, with fewer rows: {type(error).__name__}: {error}\n\n{pair.fixture()}"


def _without_one(pair: Pair) -> Iterator[Pair]:
    """The pair with one row, or one change of a table, left out."""
    for stream, rows in pair.pushes.items():
        for i in range(len(rows)):
            left = {**pair.pushes, stream: rows[:i] + rows[i + 1 :]}
            yield replace(pair, pushes=left)
    for i in range(len(pair.tables)):
        yield replace(pair, tables=pair.tables[:i] + pair.tables[i + 1 :])
