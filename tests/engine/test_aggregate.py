"""GROUP BY against a slow reading of its definition: all functions and types, random rows and cuts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from random_lifetimes import Life, alive_at, changes_of_lives, instants_of, plain, play, random_lives
from sash.engine.operators.aggregate import GroupAggregate
from sash.engine.values import Faults
from sash.language.expressions import AggregateCall, Column, Expression
from sash.lifetimes import FOREVER, Changes
from sash.plan.patterns import Pattern

NUMBERS: dict[str, tuple[pa.DataType, Any]] = {
    "int8": (pa.int8(), lambda r: r.randint(-128, 127)),
    "int64": (pa.int64(), lambda r: r.choice([r.randint(-3, 3), r.randint(-(2**63), 2**63 - 1)])),
    "float64": (pa.float64(), lambda r: r.choice([r.uniform(-5, 5), 1.5, -0.0, r.gauss(1e9, 1)])),
    "strange": (pa.float64(), lambda r: r.choice([1.0, 2.5, math.nan, math.inf, -math.inf])),
    "float32": (pa.float32(), lambda r: r.choice([0.5, -1.25, 3.0])),
    "decimal": (pa.decimal128(20, 2), lambda r: Decimal(r.randint(-(10**20) + 1, 10**20 - 1)).scaleb(-2)),
    "small": (pa.decimal128(6, 3), lambda r: Decimal(r.randint(-2000, 2000)).scaleb(-3)),
}
OTHERS: dict[str, tuple[pa.DataType, Any]] = {
    "string": (pa.string(), lambda r: r.choice(["", "a", "b", "ab", "longer than 8", "longer than 9", "ä"])),
    "binary": (
        pa.binary(),
        lambda r: r.choice([b"", b"\x00", b"\x00\x00", b"\xff", b"8 bytes.", b"8 bytes.\x00"]),
    ),
    "bool": (pa.bool_(), lambda r: r.random() < 0.5),
    "date": (pa.date32(), lambda r: date(1970, 1, 1) + timedelta(r.randint(-9, 9))),
    "timestamp": (pa.timestamp("us"), lambda r: datetime(1970, 1, 1) + timedelta(0, 0, r.randint(-9, 9))),
}
SUMS = ["count", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "min", "max"]


def result_type(function: str, type_: pa.DataType) -> pa.DataType:
    if function == "count" or (function == "sum" and pa.types.is_integer(type_)):
        return pa.int64()
    if function in ("min", "max"):
        return type_
    if pa.types.is_decimal(type_) and function == "sum":
        return pa.decimal128(min(38, type_.precision + 10), type_.scale)
    if pa.types.is_decimal(type_) and function == "avg":
        return pa.decimal128(min(38, type_.precision + 4), type_.scale + 4)
    return pa.float64()


def order(value: Any) -> Any:
    return (1, 0) if value != value else (0, value)


def expected(call: AggregateCall, values: Sequence[Any]) -> Any:
    """The aggregate of values by definition; a value stands in them as often as it is in the group."""
    if call.argument is None:
        return len(values)
    values = [value for value in values if value is not None]
    if call.distinct:
        values = list({plain(value): value for value in values}.values())
    if call.function == "count":
        return len(values)
    if not values:
        return None
    if call.function in ("min", "max"):
        return (min if call.function == "min" else max)(values, key=order)
    freedom = len(values) - 1 if call.function.endswith("_samp") else len(values)
    if call.function not in ("sum", "avg") and not freedom:
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return sum(values) if call.function in ("sum", "avg") else math.nan
    total = sum(map(Fraction, values), Fraction(0))
    if call.function == "sum" and pa.types.is_integer(call.type):
        return int(total) if -(2**63) <= total < 2**63 else None
    if call.function in ("sum", "avg"):
        exact = total if call.function == "sum" else total / len(values)
        if not pa.types.is_decimal(call.type):
            return float(exact)
        context = Context(prec=90, rounding=ROUND_HALF_UP)
        ratio = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        rounded = ratio.quantize(Decimal(1).scaleb(-call.type.scale), context=context)
        return rounded if abs(rounded.scaleb(call.type.scale, context)) < 10**call.type.precision else None
    mean = total / len(values)
    variance = sum(((Fraction(value) - mean) ** 2 for value in values), Fraction(0)) / freedom
    return math.sqrt(variance) if call.function.startswith("stddev") else float(variance)


def close(found: Any, wanted: Any) -> bool:
    found, wanted = plain(found), plain(wanted)
    if isinstance(found, float) and isinstance(wanted, float):
        return found == wanted or math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == wanted)


def operator(calls: Sequence[AggregateCall], keys: Sequence[Expression], types: Sequence[pa.DataType],
             pattern: Pattern = Pattern.STR, closes: bool = False) -> GroupAggregate:  # fmt: skip
    outputs = (*(key.type for key in keys), *(call.type for call in calls))
    return GroupAggregate(outputs, tuple(keys), tuple(calls), tuple(types), Faults(), pattern, closes)


def check(
    calls: Sequence[AggregateCall], keys: Sequence[Column], types: Sequence[pa.DataType],
    lives: list[Life], random: Random, pattern: Pattern = Pattern.STR,
) -> None:  # fmt: skip
    """Play the lives in random cuts and compare the answer at every instant of change."""
    instants = instants_of(lives)
    cuts = random.sample(instants, min(len(instants), random.randint(1, 12)))
    frontiers = sorted({*cuts, instants[-1] + 1})
    closes = random.random() < 0.5
    out = play(lambda: operator(calls, keys, types, pattern, closes), [(lives, types)], frontiers, random)
    assert not closes or all(until == FOREVER for _, _, until, _ in out)
    for at in instants:
        groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row, count in alive_at(lives, at).items():
            groups.setdefault(tuple(plain(row[key.index]) for key in keys), []).extend([row] * count)
        answer = alive_at(out, at)
        assert set(answer.values()) <= {1}
        found = {row[: len(keys)]: row[len(keys) :] for row in answer}
        assert len(found) == len(answer)
        if not keys and instants[0] <= at:
            groups.setdefault((), [])
        assert found.keys() == groups.keys()
        for key, rows in groups.items():
            for call, value in zip(calls, found[key], strict=True):
                column = call.argument
                wanted = expected(
                    call, [row[column.index] if isinstance(column, Column) else 1 for row in rows]
                )
                assert close(value, wanted), (at, key, str(call), value, wanted)


@pytest.mark.parametrize("pattern", list(Pattern))
@pytest.mark.parametrize("name", [*NUMBERS, *OTHERS])
@pytest.mark.parametrize("seed", range(3))
def test_every_function_of_every_type(name: str, pattern: Pattern, seed: int) -> None:
    random = Random(f"{name}{pattern}{seed}")
    type_, make = {**NUMBERS, **OTHERS}[name]
    functions = SUMS if name in NUMBERS else ["count", "min", "max"]
    column = Column(1, type_, "x")
    calls = [AggregateCall("count", None, False, pa.int64())]
    for function in functions:
        result = result_type(function, type_)
        calls += [AggregateCall(function, column, distinct, result) for distinct in (False, True)]
    pool = [make(random) for _ in range(6)]
    lives = random_lives(
        random,
        lambda: (random.randint(0, 3), random.choice([None, make(random), *pool])),
        60, random.choice((12, 60, 400)), pattern.lower(),
    )  # fmt: skip
    keys = [Column(0, pa.int64(), "k")] if seed else []
    check(random.sample(calls, len(calls)), keys, (pa.int64(), type_), lives, random, pattern)


@pytest.mark.parametrize("seed", range(6))
def test_keys_of_several_types_with_nulls(seed: int) -> None:
    random = Random(seed)
    types = (pa.string(), pa.float64(), pa.decimal128(5, 1), pa.int64())
    keys = [Column(i, types[i], str(i)) for i in range(3)]
    calls = [AggregateCall("sum", Column(3, pa.int64(), "x"), False, pa.int64())]

    def row() -> tuple[Any, ...]:
        return (
            random.choice([None, "a", "a string that is long"]), random.choice([None, 0.0, -0.0, math.nan]),
            random.choice([None, Decimal("1.5")]), random.choice([None, 1, -1]),
        )  # fmt: skip

    lives = random_lives(random, row, 150, 100, random.choice(("wk", "str")))
    check(calls, keys, types, lives, random)


def test_a_result_that_stays_the_same_is_not_given_again() -> None:
    total = AggregateCall("sum", Column(1, pa.int64(), "x"), False, pa.int64())
    aggregate = operator([total], [Column(0, pa.int64(), "k")], (pa.int64(), pa.int64()))
    lives = [((1, 5), 1, FOREVER, 1), ((1, 0), 2, 3, 1), ((1, 5), 4, FOREVER, -1), ((1, 5), 4, 9, 1)]
    given = aggregate.step([changes_of_lives(lives, aggregate.input_types)], 4)
    assert given.begin.tolist() == [1]
    given = aggregate.step([Changes.empty(aggregate.input_types)], 20)
    # At 9 the sum becomes 0 over one row less than nothing: the group has left with its last row.
    assert (given.begin.tolist(), given.weight.tolist()) == ([9], [-1])


def test_groups_are_forgotten_and_their_numbers_used_again() -> None:
    call = AggregateCall("max", Column(0, pa.int64(), "k"), False, pa.int64())
    distinct = AggregateCall("count", Column(0, pa.int64(), "k"), True, pa.int64())
    aggregate = operator([call, distinct], [Column(0, pa.int64(), "k")], (pa.int64(),))
    largest = 0
    for step in range(60):
        keys = np.arange(step * 500, step * 500 + 500)
        begin = np.full(500, step * 10 + 1)
        rows = Changes((pa.array(keys),), begin, begin + 10, np.ones(500, np.int64))
        given = aggregate.step([rows], step * 10 + 9)
        come = given.filter(given.weight > 0)
        assert sorted(come.columns[1].to_pylist()) == keys.tolist()
        largest = max(largest, aggregate.nbytes)
    assert aggregate.rows == 4 * 500 or aggregate.rows < 6000
    assert largest < 3_000_000


def test_sums_of_doubles_do_not_drift() -> None:
    random = Random(4)
    calls = [
        AggregateCall(function, Column(0, pa.float64(), "x"), False, pa.float64())
        for function in ("sum", "avg", "var_samp", "stddev_pop")
    ]
    aggregate = operator(calls, [], (pa.float64(),))
    numbers = [1e9 + random.uniform(-0.01, 0.01) for _ in range(20_000)]
    numbers[:5000] = [number + random.choice([0, 0, 1e15]) for number in numbers[:5000]]
    given = None
    for start in range(0, len(numbers), 500):
        begin = np.arange(start, start + 500)
        rows = Changes((pa.array(numbers[start : start + 500]),), begin, begin + 100, np.ones(500, np.int64))
        given = aggregate.step([rows], start + 499)
    assert given is not None
    for call, column in zip(calls, given.columns, strict=True):
        wanted = expected(call, numbers[-100:])
        assert math.isclose(column[-1].as_py(), wanted, rel_tol=1e-9), (str(call), column[-1].as_py(), wanted)


def test_sums_of_doubles_come_back_from_beyond_their_range() -> None:
    calls = [
        AggregateCall(function, Column(0, pa.float64(), "x"), distinct, pa.float64())
        for function in ("sum", "avg", "var_pop")
        for distinct in (False, True)
    ]
    lives: list[Life] = [
        ((1.5,), 1, 9, 1),
        ((1.7e308,), 2, 5, 1),
        ((1.6e308,), 3, 4, 1),
        ((-1e308,), 3, 6, 2),
    ]
    random = Random(2)
    for cuts in ([20], [1, 2, 3, 4, 5, 20], [2, 4, 20]):
        out = play(lambda: operator(calls, [], (pa.float64(),)), [(lives, (pa.float64(),))], cuts, random)
        rows = [next(iter(alive_at(out, at))) for at in (1, 2, 3, 5, 6)]
        assert rows[0] == (1.5, 1.5, 1.5, 1.5, 0.0, 0.0)
        assert rows[1] == (1.7e308, 1.7e308, 8.5e307, 8.5e307, math.inf, math.inf)
        assert rows[2][:4] == pytest.approx((1.3e308, math.inf, 2.6e307, 5.75e307))
        assert rows[3][:4] == (-math.inf, -1e308, -1e308 / 3 * 2, -5e307)
        assert rows[4] == rows[0]


def test_overflow_is_null_and_counted_and_passes() -> None:
    total = AggregateCall("sum", Column(0, pa.int64(), "x"), False, pa.int64())
    aggregate = operator([total], [], (pa.int64(),))
    lives = [((2**63 - 1,), 1, 10, 1), ((1,), 2, 3, 1)]
    given = aggregate.step([changes_of_lives(lives, (pa.int64(),))], 20)
    assert given.columns[0].to_pylist() == [2**63 - 1, None, 2**63 - 1, None]
    assert aggregate.faults.counts == {"overflow": 1}


def test_a_global_row_is_born_with_its_first_presence_and_stays() -> None:
    calls = [
        AggregateCall("count", None, False, pa.int64()),
        AggregateCall("max", Column(0, pa.int64(), "x"), False, pa.int64()),
    ]
    for seed in range(5):
        presence: list[Life] = [((0,), 3, 4, 1)]
        lives: list[Life] = [((7,), 5, 8, 1)]
        out = play(
            lambda: operator(calls, [], (pa.int64(),)),
            [(lives, (pa.int64(),)), (presence, (pa.int64(),)), ([], (pa.int64(),))],
            [[2, 6, 9], [9], [3, 5, 8], [4, 20], [1, 2, 3, 4, 5, 6, 7, 8]][seed], Random(seed),
        )  # fmt: skip
        assert [alive_at(out, at) for at in (2, 3, 5, 8)] == [
            Counter(), Counter({(0, None): 1}), Counter({(1, 7): 1}), Counter({(0, None): 1}),
        ]  # fmt: skip


def test_an_empty_step_gives_nothing() -> None:
    aggregate = operator([AggregateCall("count", None, False, pa.int64())], [], (pa.int64(),))
    assert len(aggregate.step([Changes.empty((pa.int64(),))], 5)) == 0
    restored = operator([AggregateCall("count", None, False, pa.int64())], [], (pa.int64(),))
    restored.load(aggregate.save())
    assert len(restored.step([Changes.empty((pa.int64(),))], 6)) == 0


def test_sums_of_the_longest_decimals_overflow_by_their_digits() -> None:
    type_ = pa.decimal128(38, 0)
    total = AggregateCall("sum", Column(0, type_, "x"), False, type_)
    for sign in (1, -1):
        aggregate = operator([total], [], (type_,))
        most, less = Decimal(sign * (10**38 - 1)), Decimal(sign * (10**38 - 2))
        lives = [
            ((most,), 1, 10, 1),
            ((Decimal(sign),), 2, 3, 1),
            ((Decimal(-sign),), 4, 5, 1),
            ((most,), 6, 7, 9),
        ]
        given = aggregate.step([changes_of_lives(lives, (type_,))], 8)
        assert given.columns[0].to_pylist() == [most, None, most, less, most, None, most]
        assert aggregate.faults.counts == {"overflow": 2}


@pytest.mark.parametrize("pattern", list(Pattern))
@pytest.mark.parametrize("late", [None, 2**62, -(2**63)])
@pytest.mark.parametrize("grouped", [True, False])
def test_lanes_widen_when_a_null_or_a_large_number_comes(
    late: int | None, pattern: Pattern, grouped: bool
) -> None:
    random = Random(f"{late}{pattern}{grouped}")
    column = Column(1, pa.int64(), "x")
    calls = [AggregateCall("count", None, False, pa.int64())]
    for function in random.sample(["count", "sum", "min", "max", "avg", "stddev_pop"], 3):
        calls.append(AggregateCall(function, column, False, result_type(function, pa.int64())))
    calls.append(AggregateCall("sum", column, True, pa.int64()))
    lives = [
        ((row[0], late if begin > 40 and random.random() < 0.2 else row[1]), begin, until, abs(weight))
        for row, begin, until, weight in random_lives(
            random, lambda: (random.randint(0, 3), random.randint(-5, 5)), 90, 80, pattern.lower()
        )
    ]
    keys = [Column(0, pa.int64(), "k")] if grouped else []
    check(calls, keys, (pa.int64(), pa.int64()), lives, random, pattern)
