"""Random rows with lifetimes for operators' tests: making them, feeding them in cuts, reading answers."""

from __future__ import annotations

__all__ = ["Life", "alive_at", "changes_of_lives", "instants_of", "play", "plain", "random_lives"]

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.operator import Operator
from sash.lifetimes import BEGINNING, FOREVER, Changes

Life = tuple[tuple[Any, ...], int, int, int]
"""A row, its begin, its until, its weight."""


def plain(value: Any) -> Any:
    """NaN as something that equals itself, -0.0 as 0.0."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value


def random_lives(
    random: Random, row: Callable[[], tuple[Any, ...]], count: int, span: int, pattern: str
) -> list[Life]:
    """Rows in order of begin: "mon" never end, "wks" end in that order too, "wk" end as foretold, "str" may
    be taken back early."""
    lives: list[Life] = []
    length = random.randint(1, span // 2) if pattern == "wks" else None
    for _ in range(count):
        begin = random.randrange(1, span)
        until = FOREVER if pattern == "mon" or random.random() < 0.1 else begin + random.randint(1, span // 2)
        if length is not None:
            until = begin + length
        weight = random.choice((1, 1, 1, 2, 3))
        values = row()
        lives.append((values, begin, until, weight))
        if pattern == "str" and random.random() < 0.5:
            early = random.randint(begin, min(until - 1, begin + span // 2))
            lives.append((values, early, until, -random.randint(1, weight)))
    return sorted(lives, key=lambda life: (life[1], -life[3]))


def changes_of_lives(lives: Sequence[Life], types: Sequence[pa.DataType]) -> Changes:
    """The same as columns."""
    columns = [pa.array([life[0][i] for life in lives], type_) for i, type_ in enumerate(types)]
    begin, until, weight = (np.array([life[k] for life in lives], np.int64) for k in (1, 2, 3))
    for part in (begin, until, weight):
        part.flags.writeable = False  # as what comes from Arrow
    return Changes(tuple(columns), begin, until, weight)


def alive_at(lives: Sequence[Life], at: int) -> Counter[tuple[Any, ...]]:
    """The relation at an instant."""
    bag: Counter[tuple[Any, ...]] = Counter()
    for row, begin, until, weight in lives:
        if begin <= at < until:
            bag[row] += weight
    return Counter({row: count for row, count in bag.items() if count})


def instants_of(lives: Sequence[Life]) -> list[int]:
    """Every instant at which something begins or ends."""
    return sorted({at for life in lives for at in life[1:3] if at != FOREVER})


def play(
    make: Callable[[], Operator], inputs: Sequence[tuple[Sequence[Life], Sequence[pa.DataType]]],
    frontiers: Sequence[int], random: Random, *, net: bool = True,
) -> list[Life]:  # fmt: skip
    """Feed the inputs up to each frontier in turn, now and then saving into a new operator.

    What comes out is held to the contract of an edge, and (`net`) no row may leave and enter at once.
    """
    operator = make()
    out: list[Life] = []
    before = BEGINNING
    for frontier in frontiers:
        parts = [
            changes_of_lives([life for life in lives if before < life[1] <= frontier], types)
            for lives, types in inputs
        ]
        given = operator.step(parts, frontier)
        assert tuple(column.type for column in given.columns) == operator.types
        assert (given.begin[1:] >= given.begin[:-1]).all()
        assert (given.begin > before).all()
        assert (given.begin <= frontier).all()
        assert (given.begin < given.until).all()
        assert (given.weight != 0).all()
        rows = zip(*([plain(v) for v in column.to_pylist()] for column in given.columns), strict=True)
        lifetimes = zip(given.begin.tolist(), given.until.tolist(), given.weight.tolist(), strict=True)
        out += [(row, *lifetime) for row, lifetime in zip(rows, lifetimes, strict=True)]
        before = frontier
        if random.random() < 0.3:
            saved = operator.save()
            assert operator.rows >= 0
            assert operator.nbytes >= 0
            operator = make()
            operator.load(saved)
    if net:
        _never_out_and_in(out)
    return out


def _never_out_and_in(lives: Sequence[Life]) -> None:
    """No row may leave and enter at one instant."""
    come: Counter[tuple[Any, ...]] = Counter()
    go: Counter[tuple[Any, ...]] = Counter()
    for row, begin, until, weight in lives:
        (come if weight > 0 else go)[begin, row] += abs(weight)
        if until != FOREVER:
            (go if weight > 0 else come)[until, row] += abs(weight)
    assert not come.keys() & go.keys()
