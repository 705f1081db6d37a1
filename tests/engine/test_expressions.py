"""What expressions mean: Spark SQL in its try_ forms, over columns, slices, constants and no rows at all."""

from __future__ import annotations

import datetime
import random
from contextlib import suppress
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from calling import apply, bound, column, rows_of
from sash.engine.expressions import KERNELS, LAZY, Faults, evaluate
from sash.language.expressions import Call, Column, Literal
from sash.language.functions import FUNCTIONS, ArgumentMismatch, can_cast, resolve

I8, I16, I32, I64 = pa.int8(), pa.int16(), pa.int32(), pa.int64()
F32, F64, BOOL, STRING = pa.float32(), pa.float64(), pa.bool_(), pa.string()
DECIMAL = pa.decimal128(38, 10)
NAN, INF = float("nan"), float("inf")


def test_every_function_of_the_dictionary_can_be_evaluated():
    aliases = {"nvl", "to_date", "to_timestamp"}  # they resolve to others
    assert {function.name for function in FUNCTIONS} - set(KERNELS) - set(LAZY) == aliases


EDGES = {
    I8: [0, -128, 127, None, 5, None, -1],
    I64: [0, -(2**63), 2**63 - 1, None, 3, None, 1],
    F32: [0.5, -0.0, NAN, None, 1e30, None, -2.5],
    F64: [0.0, NAN, -INF, None, 1e7, None, 2.675],
    BOOL: [True, False, True, None, False, None, True],
    STRING: ["", "a b", "2024-02-29", None, "(é", None, "12"],
    pa.binary(): [b"", b"a", b"\xff", None, b"bc", None, b"d"],
    pa.decimal128(38, 10): [
        Decimal(0),
        Decimal("9" * 28),
        Decimal("-1.5"),
        None,
        Decimal("1E-10"),
        None,
        Decimal(7),
    ],
    pa.date32(): [0, -1, 19782, None, 40000, None, 1],
    pa.timestamp("us"): [0, -1, 1_709_212_455_678_000, None, 10**15, None, 1],
    pa.null(): [None] * 7,
}


def _calls(name):
    """Some of the argument types that a function takes."""
    some = random.Random(name)
    for count in range(4):
        suited = []
        for types in product(EDGES, repeat=count):
            with suppress(ArgumentMismatch):
                resolve(name, types)
                suited.append(types)
        yield from some.sample(suited, min(4, len(suited)))


@pytest.mark.parametrize("name", [function.name for function in FUNCTIONS if function.name != "cast"])
def test_every_function_takes_edges_and_nulls(name):
    calls = list(_calls(name))
    assert calls
    for types in calls:
        columns = [pa.array(EDGES[type_][i:] + EDGES[type_][:i], type_) for i, type_ in enumerate(types)]
        apply(name, *columns)
        apply(name, *(pa.nulls(2, type_) for type_ in types))


@pytest.mark.parametrize("source", list(EDGES))
def test_every_cast_takes_edges_and_nulls(source):
    for target in [*EDGES, pa.decimal128(3, 1)]:
        if can_cast(source, target) and not pa.types.is_null(target):
            call = Call("cast", (Column(0, source, "a"),), target)
            values = rows_of(call, [pa.array(EDGES[source], source)], 7)
            assert repr(values) == repr(rows_of(call, [pa.array([None, *EDGES[source]], source)[1:]], 7))
            assert rows_of(call, [pa.nulls(3, source)], 3) == ([None] * 3, {})


def test_a_column_is_given_back_without_a_copy():
    array = pa.array([1, 2, 3])
    assert evaluate(Column(0, I64, "a"), [array], 3, Faults()) is array


def test_a_literal_is_as_long_as_the_rows():
    assert evaluate(Literal(5, I32), [], 3, Faults()).to_pylist() == [5, 5, 5]
    assert evaluate(Literal(None, STRING), [], 2, Faults()).to_pylist() == [None, None]
    assert evaluate(Literal(5, I32), [], 0, Faults()).to_pylist() == []


@pytest.mark.parametrize("type_", [I8, I16, I32, I64])
def test_integers_that_overflow_are_null_and_counted(type_):
    high = 2 ** (type_.bit_width - 1) - 1
    low = -high - 1
    a = column(type_, high, low, 5, None, high, low, 0)
    b = column(type_, 1, -1, 6, 1, high, 1, low)
    assert apply("add", a, b) == ([None, None, 11, None, None, low + 1, low], {"overflow": 3})
    assert apply("subtract", a, b) == ([high - 1, low + 1, -1, None, 0, None, None], {"overflow": 2})
    assert apply("multiply", a, b) == ([high, None, 30, None, None, low, 0], {"overflow": 2})
    assert apply("negate", a) == ([-high, None, -5, None, -high, None, 0], {"overflow": 2})
    assert apply("abs", a) == ([high, None, 5, None, high, None, 0], {"overflow": 2})


def test_multiplication_of_64_bits_finds_each_overflow():
    random = np.random.default_rng(3)
    a = random.integers(-(2**40), 2**40, 500) >> random.integers(0, 40, 500)
    b = random.integers(-(2**40), 2**40, 500) >> random.integers(0, 40, 500)
    wanted = [
        x * y if -(2**63) <= x * y < 2**63 else None for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    values, faults = rows_of(
        bound("multiply", Column(0, I64, "a"), Column(1, I64, "b")), [pa.array(a), pa.array(b)], 500
    )
    assert values == wanted
    assert faults == {"overflow": wanted.count(None)}


def test_widths_widen_and_integers_meet_doubles():
    assert apply("add", column(I8, 127), column(I32, 1)) == ([128], {})
    assert apply("add", column(I32, 1), column(F64, 0.5)) == ([1.5], {})
    assert apply("add", column(STRING, "2", "x"), column(I32, 1, 1)) == ([3, None], {"cast": 1})
    assert apply("add", column(F64, 1e308, NAN), column(F64, 1e308, 1.0))[0][0] == INF


def test_division_is_of_doubles_and_by_zero_is_null():
    assert apply("divide", column(I32, 7, 1, None, 0), column(I32, 2, 0, 0, 0)) == (
        [3.5, None, None, None],
        {"division": 2},
    )
    assert apply("divide", column(F64, 1.0, -1.0), column(F64, 0.0, -0.0)) == ([None, None], {"division": 2})
    assert apply("divide", column(I32, 7, None), Literal(0, I32)) == ([None, None], {"division": 1})
    assert apply("divide", Literal(1, I32), column(I32, 0, 4, None)) == ([None, 0.25, None], {"division": 1})


def test_div_cuts_towards_zero():
    a, b = column(I64, 7, -7, 7, -7, 5, None, -(2**63)), column(I64, 2, 2, -2, -2, 0, 0, -1)
    assert apply("int_divide", a, b) == ([3, -3, -3, 3, None, None, None], {"division": 1, "overflow": 1})
    assert apply("int_divide", column(pa.decimal128(5, 2), Decimal("7.50")), column(I32, 2)) == ([3], {})


def test_modulo_has_the_sign_of_the_dividend():
    a, b = column(I32, 7, -7, 7, -7, 5, None), column(I32, 3, 3, -3, -3, 0, 0)
    assert apply("modulo", a, b) == ([1, -1, 1, -1, None, None], {"division": 1})
    assert apply("pmod", a, b) == ([1, 2, 1, -1, None, None], {"division": 1})
    assert apply("modulo", column(F64, -7.5, 1.0), column(F64, 2.0, 0.0)) == ([-1.5, None], {"division": 1})
    assert apply("pmod", column(F64, -7.5), column(F64, 2.0)) == ([0.5], {})
    assert apply("modulo", column(I64, -(2**63)), column(I64, -1)) == ([0], {})
    assert apply("pmod", column(I8, -100), column(I8, 120)) == ([20], {})


@pytest.mark.parametrize(
    ("name", "a", "b", "wanted", "type_"),
    [
        ("add", "1.50", "2.25", "3.75", (6, 2)),
        ("subtract", "1.50", "2.25", "-0.75", (6, 2)),
        ("multiply", "1.50", "2.25", "3.3750", (11, 4)),
        ("divide", "1.00", "3.00", "0.33333333", (13, 8)),
        ("divide", "2.00", "-3.00", "-0.66666667", (13, 8)),
        ("modulo", "-7.50", "2.00", "-1.50", (5, 2)),
    ],
)
def test_decimals_follow_the_formulas(name, a, b, wanted, type_):
    decimal = pa.decimal128(5, 2)
    call = bound(name, Column(0, decimal, "a"), Column(1, decimal, "b"))
    assert call.type == pa.decimal128(*type_)
    assert apply(name, column(decimal, Decimal(a)), column(decimal, Decimal(b))) == ([Decimal(wanted)], {})


def test_decimals_of_38_digits_lose_scale_before_they_overflow():
    wide = pa.decimal128(38, 10)
    most = Decimal("9" * 28 + "." + "9" * 10)
    assert bound("multiply", Column(0, wide, "a"), Column(1, wide, "b")).type == pa.decimal128(38, 6)
    assert apply("multiply", column(wide, most, Decimal(2)), column(wide, most, Decimal("1.5"))) == (
        [None, Decimal("3.000000")],
        {"overflow": 1},
    )
    assert apply("add", column(wide, most), column(wide, Decimal("0.0000000001"))) == (
        [Decimal(10) ** 28],
        {},
    )


def test_a_quotient_of_many_nines_is_exact():
    nines = Decimal("9" * 26 + "." + "9" * 11)
    tiny = column(pa.decimal128(34, 28), Decimal(0))
    assert apply("add", column(pa.decimal128(37, 11), nines), tiny) == ([nines], {})


def test_an_integer_constant_takes_only_the_digits_it_has():
    price = Column(0, pa.decimal128(10, 2), "price")
    assert bound("multiply", price, Literal(2, I32)).type == pa.decimal128(12, 2)
    assert bound("multiply", price, Column(1, I32, "n")).type == pa.decimal128(21, 2)


@pytest.mark.parametrize("type_", [F32, F64])
def test_nan_equals_itself_and_is_above_all_numbers(type_):
    a = column(type_, NAN, NAN, 1.0, INF, -0.0, None, NAN)
    b = column(type_, NAN, INF, NAN, NAN, 0.0, NAN, None)
    wanted = {
        "eq": [True, False, False, False, True],
        "ne": [False, True, True, True, False],
        "lt": [False, False, True, True, False],
        "le": [True, False, True, True, True],
        "gt": [False, True, False, False, False],
        "ge": [True, True, False, False, True],
    }
    for name, values in wanted.items():
        assert apply(name, a, b) == ([*values, None, None], {}), name
    assert apply("eq_null_safe", a, b) == ([*wanted["eq"], False, False], {})


def test_comparisons_meet_in_a_common_type():
    assert apply("lt", column(STRING, "9", "x"), column(I32, 10, 10)) == ([True, None], {"cast": 1})
    assert apply("eq", column(STRING, "1.0"), column(F64, 1.0)) == ([True], {})
    assert apply("eq", column(pa.decimal128(3, 1), Decimal("1.0")), column(I64, 1)) == ([True], {})
    assert apply("eq", column(pa.date32(), 1), column(pa.timestamp("us"), 86_400_000_000)) == ([True], {})
    assert apply("ge", column(pa.timestamp("us"), 0), Literal("1970-01-01", STRING)) == ([True], {})
    assert apply("lt", column(STRING, "Z", "a"), column(STRING, "a", "é")) == ([True, True], {})
    assert apply("gt", column(BOOL, True), column(BOOL, False)) == ([True], {})
    assert apply("eq_null_safe", column(I32, None, None, 1), column(I32, None, 1, 1)) == (
        [True, False, True],
        {},
    )


def test_logic_has_three_values():
    p = column(BOOL, *[True] * 3, *[False] * 3, *[None] * 3)
    q = column(BOOL, *[True, False, None] * 3)
    assert apply("and", p, q)[0] == [True, False, None, False, False, False, None, False, None]
    assert apply("or", p, q)[0] == [True, True, True, True, False, None, True, None, None]
    assert apply("not", p)[0] == [False] * 3 + [True] * 3 + [None] * 3


def test_in_lists_know_about_null():
    a = column(I32, 1, 3, None)
    one, two, nothing = Literal(1, I32), Literal(2, I32), Literal(None, pa.null())
    assert apply("in_list", a, one, two) == ([True, False, None], {})
    assert apply("in_list", a, one, nothing) == ([True, None, None], {})
    assert apply("in_list", a, nothing) == ([None, None, None], {})
    assert apply("in_list", a, column(I32, 1, None, 1), two) == ([True, None, None], {})
    assert apply("in_list", column(F64, -0.0, NAN, 2.0), Literal(0.0, F64), Literal(NAN, F64)) == (
        [True, True, False],
        {},
    )
    assert apply("in_list", column(STRING, "a", "b"), Literal("b", STRING)) == ([False, True], {})


def case(*arguments):
    return bound("case", *arguments)


def test_case_takes_the_first_true_branch():
    a, p = Column(0, I32, "a"), Column(1, BOOL, "p")
    columns = [column(I32, 1, 2, 3), column(BOOL, True, None, False)]
    assert rows_of(case(p, a), columns, 3) == ([1, None, None], {})
    assert rows_of(case(p, a, Literal(0, I32)), columns, 3) == ([1, 0, 0], {})
    assert rows_of(case(p, Literal("x", STRING), Literal(None, pa.null())), columns, 3) == (
        ["x", None, None],
        {},
    )
    assert rows_of(case(Literal(True, BOOL), a, Literal(7, I32)), columns, 3) == ([1, 2, 3], {})
    assert rows_of(case(p, a, Literal(2.5, F64)), columns, 3) == ([1.0, 2.5, 2.5], {})


def test_faults_count_only_where_a_branch_is_taken():
    a, b = Column(0, I32, "a"), Column(1, I32, "b")
    columns = [column(I32, 8, 8, 8, None), column(I32, 0, 2, None, 0)]
    quotient, zero = bound("divide", a, b), Literal(0, I32)
    guarded = case(bound("ne", b, zero), quotient, Literal(-1.0, F64))
    assert rows_of(guarded, columns, 4) == ([-1.0, 4.0, -1.0, -1.0], {})
    assert rows_of(case(bound("eq", b, zero), quotient, Literal(-1.0, F64)), columns, 4) == (
        [None, -1.0, -1.0, None],
        {"division": 1},
    )
    chosen = bound("if", bound("eq", b, zero), Literal(-1.0, F64), quotient)
    assert rows_of(chosen, columns, 4) == ([-1.0, 4.0, None, -1.0], {})
    assert rows_of(bound("coalesce", Literal(1.0, F64), quotient), columns, 4) == ([1.0] * 4, {})
    assert rows_of(bound("coalesce", b, bound("int_divide", a, zero)), columns, 4) == (
        [0, 2, None, 0],
        {"division": 1},
    )
    assert rows_of(bound("nvl2", b, Literal(1.0, F64), quotient), columns, 4) == ([1.0, 1.0, None, 1.0], {})
    nested = case(bound("is_null", a), Literal(0.0, F64), guarded)
    assert rows_of(nested, columns, 4) == ([-1.0, 4.0, -1.0, 0.0], {})


def test_and_and_or_do_not_fault_where_the_left_side_decides():
    a, b = Column(0, I32, "a"), Column(1, I32, "b")
    columns = [column(I32, 8, 8, 8), column(I32, 0, 2, None)]
    large = bound("gt", bound("divide", a, b), Literal(1.0, F64))
    zero = Literal(0, I32)
    assert rows_of(bound("and", bound("ne", b, zero), large), columns, 3) == ([False, True, None], {})
    assert rows_of(bound("or", bound("eq", b, zero), large), columns, 3) == ([True, True, None], {})
    assert rows_of(bound("and", large, bound("ne", b, zero)), columns, 3) == (
        [False, True, None],
        {"division": 1},
    )


def test_a_constant_fault_counts_for_every_row():
    call = bound("divide", Literal(1, I32), Literal(0, I32))
    assert rows_of(call, [], 4) == ([None] * 4, {"division": 4})
    assert rows_of(call, [], 0) == ([], {})


def test_coalesce_and_its_kin():
    a, b = column(I32, 1, None, None), column(I64, 7, 8, None)
    assert apply("coalesce", a, b) == ([1, 8, None], {})
    assert apply("nvl", a, Literal(0, I32)) == ([1, 0, 0], {})
    assert apply("nvl2", a, Literal("y", STRING), Literal("n", STRING)) == (["y", "n", "n"], {})
    assert apply("nullif", b, Literal(8, I32)) == ([7, None, None], {})
    assert apply("nullif", column(F64, NAN, 1.0), Literal(NAN, F64)) == ([None, 1.0], {})
    day, noon = datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1, 12)
    assert apply("nullif", column(pa.date32(), day), column(pa.timestamp("us"), noon))[0] == [day]
    assert apply("nullif", column(pa.string(), "x", "0", "5"), Literal(0, I32)) == (
        ["x", None, "5"],
        {"cast": 1},
    )
    assert bound("nullif", Column(0, pa.decimal128(5, 2), "c"), Literal(0, I32)).type == pa.decimal128(5, 2)
    assert apply("nanvl", column(F64, NAN, 1.0, None), Literal(0.0, F64)) == ([0.0, 1.0, None], {})
    assert apply("isnan", column(F64, NAN, 1.0, None)) == ([True, False, False], {})
    assert apply("is_null", a) == ([False, True, True], {})
    assert apply("is_not_null", a) == ([True, False, False], {})
    lists = column(pa.list_(I32), [1], None)
    assert apply("coalesce", lists, column(pa.list_(I32), [2], [3])) == ([[1], [3]], {})
    assert rows_of(
        case(Column(1, BOOL, "p"), Column(0, pa.list_(I32), "l")), [lists, column(BOOL, True, True)], 2
    ) == (
        [[1], None],
        {},
    )


def test_greatest_and_least_leave_nulls_out():
    a, b = column(F64, 1.0, NAN, None, None), column(F64, 2.0, 5.0, 3.0, None)
    assert repr(apply("greatest", a, b)[0]) == "[2.0, nan, 3.0, None]"
    assert apply("least", a, b)[0] == [1.0, 5.0, 3.0, None]
    assert apply("greatest", column(STRING, "a"), column(STRING, "b"), column(STRING, None))[0] == ["b"]
    assert apply("least", column(BOOL, True, None), column(BOOL, False, True))[0] == [False, True]
    assert apply("greatest", column(pa.decimal128(4, 1), Decimal("1.5")), column(I32, 1))[0] == [
        Decimal("1.5")
    ]
    assert apply("greatest", column(pa.date32(), 1), column(pa.date32(), 2))[0][0].isoformat() == "1970-01-03"


def test_bits():
    a, b = column(I32, 12, -1, None), column(I32, 10, 7, 1)
    assert apply("bitwise_and", a, b)[0] == [8, 7, None]
    assert apply("bitwise_or", a, b)[0] == [14, -1, None]
    assert apply("bitwise_xor", a, b)[0] == [6, -8, None]
    assert apply("bitwise_not", a)[0] == [-13, 0, None]
    assert apply("shiftleft", a, Literal(33, I32))[0] == [24, -2, None]
    assert apply("shiftright", column(I64, -8, 8), Literal(1, I32))[0] == [-4, 4]
