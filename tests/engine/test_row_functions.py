"""Functions of numbers, text, dates and timestamps: each with its edges, NULLs and faults."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from calling import apply, bound, column, rows_of
from sash.language.expressions import Call, Column, Literal

I8, I32, I64, F32, F64 = pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()
BOOL, STRING, DATE, TIMESTAMP = pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us")
NAN, INF = float("nan"), float("inf")
DAY = 86_400_000_000


def text(value: str | None) -> Literal:
    return Literal(value, STRING)


def number(value: int) -> Literal:
    return Literal(value, I32)


@pytest.mark.parametrize(
    ("given", "places", "wanted"),
    [
        (2.5, 0, 3.0),
        (-2.5, 0, -3.0),
        (1.005, 2, 1.01),
        (2.675, 2, 2.68),
        (1.004999, 2, 1.0),
        (1234.5, -2, 1200.0),
        (1250.0, -2, 1300.0),
        (0.1, 5, 0.1),
        (1e300, 2, 1e300),
        (INF, 1, INF),
        (0.5, 0, 1.0),
        (0.49999999999999994, 0, 0.0),
        (-0.3, 0, -0.0),
        (5e-324, 300, 0.0),
        (1.5, 400, 1.5),
        (1.5, -400, 0.0),
    ],
)
def test_rounding_of_doubles_is_by_their_decimal_text(given, places, wanted):
    assert repr(apply("round", column(F64, given, None), number(places))[0]) == repr([wanted, None])


def test_rounding_of_other_numbers():
    assert apply("round", column(F32, 1.005, 2.5))[0] == [1.0, 3.0]
    assert apply("round", column(I32, 15, -25, None), number(-1)) == ([20, -30, None], {})
    assert apply("round", column(I8, 127), number(-1)) == ([None], {"overflow": 1})
    assert apply("round", column(I64, 2**63 - 1), number(-19)) == ([None], {"overflow": 1})
    assert apply("round", column(I64, 5, None), number(-30)) == ([0, None], {})
    price = column(pa.decimal128(6, 3), Decimal("1.255"), Decimal("-1.255"), Decimal("999.999"))
    assert apply("round", price, number(2))[0] == [Decimal("1.26"), Decimal("-1.26"), Decimal("1000.00")]
    assert apply("round", price)[0] == [Decimal(1), Decimal(-1), Decimal(1000)]
    assert apply("round", price, number(-2))[0] == [Decimal(0), Decimal(0), Decimal(1000)]
    assert apply("round", column(F64, 1.25, 1.25), column(I32, 1, 0))[0] == [1.3, 1.0]


def test_whole_parts():
    assert apply("ceil", column(F64, 1.2, -1.2, 1e30, NAN, None))[0] == [2, -1, 2**63 - 1, 0, None]
    assert apply("floor", column(F64, 1.2, -1.2, -1e30, None))[0] == [1, -2, -(2**63), None]
    assert apply("ceil", column(I32, 7, None))[0] == [7, None]
    price = column(pa.decimal128(5, 2), Decimal("1.20"), Decimal("-1.20"), Decimal("2.00"), Decimal("999.99"))
    assert apply("ceil", price)[0] == [Decimal(2), Decimal(-1), Decimal(2), Decimal(1000)]
    assert apply("floor", price)[0] == [Decimal(1), Decimal(-2), Decimal(2), Decimal(999)]


def test_roots_powers_and_logarithms():
    assert repr(apply("sqrt", column(F64, 4.0, -1.0, None))[0]) == "[2.0, nan, None]"
    assert apply("cbrt", column(F64, -8.0))[0] == [-2.0]
    assert apply("power", column(I32, 2), number(10))[0] == [1024.0]
    assert apply("ln", column(F64, math.e, 0.0, -1.0, None)) == ([1.0, None, None, None], {})
    assert apply("log", column(F64, 8.0)) == ([math.log(8)], {})
    assert apply("log", number(2), column(F64, 8.0, 0.0))[0] == [3.0, None]
    assert apply("log10", column(I32, 1000))[0] == [3.0]
    assert apply("log2", column(I32, 8))[0] == [3.0]
    assert apply("exp", column(I32, 0))[0] == [1.0]
    assert apply("sign", column(I32, -5, 0, 5, None))[0] == [-1.0, 0.0, 1.0, None]
    assert apply("degrees", column(F64, math.pi))[0] == [180.0]
    assert apply("radians", column(F64, 180.0))[0] == [math.pi]
    assert apply("atan2", column(F64, 1.0), column(F64, 1.0))[0] == [math.pi / 4]
    assert repr(apply("asin", column(F64, 2.0))[0]) == "[nan]"
    assert apply("pi") == ([math.pi], {})


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("upper", ["é", None], ["É", None]),
        ("lower", ["ÀB"], ["àb"]),
        ("initcap", ["hello wORLD o'neil", "", None, " a"], ["Hello World O'neil", "", None, " A"]),
        ("length", ["héé", "", None], [3, 0, None]),
        ("octet_length", ["hé", None], [3, None]),
        ("reverse", ["añb"], ["bña"]),
        ("ascii", ["abc", "", "é", None], [97, 0, 233, None]),
        ("trim", ["  a\t ", None], ["a\t", None]),
        ("ltrim", ["  a "], ["a "]),
        ("rtrim", ["  a "], ["  a"]),
    ],
)
def test_functions_of_one_text(name, arguments, wanted):
    assert apply(name, column(STRING, *arguments)) == (wanted, {})


def test_parts_of_text():
    word = column(STRING, "Spark", "ñandú", "", None)
    assert apply("substring", word, number(2), number(3))[0] == ["par", "and", "", None]
    assert apply("substring", word, number(0), number(2))[0] == ["Sp", "ña", "", None]
    assert apply("substring", word, number(-3))[0] == ["ark", "ndú", "", None]
    assert apply("substring", word, number(-7), number(4))[0] == ["Sp", "ña", "", None]
    assert apply("substring", word, number(-3), number(2))[0] == ["ar", "nd", "", None]
    assert apply("substring", word, number(2), number(-1))[0] == ["", "", "", None]
    assert apply("substring", word, column(I32, 1, 2, 3, 4), number(1))[0] == ["S", "a", "", None]
    assert apply("substring", column(pa.binary(), b"abc"), number(2))[0] == [b"bc"]
    assert apply("left", word, number(2))[0] == ["Sp", "ña", "", None]
    assert apply("right", word, number(2))[0] == ["rk", "dú", "", None]
    assert apply("right", word, number(0))[0] == ["", "", "", None]
    assert apply("split_part", column(STRING, "a,b,c", "a", None), text(","), number(2))[0] == ["b", "", None]
    assert apply("split_part", column(STRING, "a,b,c", "a", None), text(","), number(-1))[0] == [
        "c",
        "a",
        None,
    ]
    assert apply("trim", column(STRING, "xxaxy"), text("xy"))[0] == ["a"]


def test_padding_and_repeating():
    word = column(STRING, "ab", "añb", "abcdef", None)
    assert apply("lpad", word, number(5), text("xy"))[0] == ["xyxab", "xyañb", "abcde", None]
    assert apply("rpad", word, number(5), text("xy"))[0] == ["abxyx", "añbxy", "abcde", None]
    assert apply("lpad", word, number(4))[0] == ["  ab", " añb", "abcd", None]
    assert apply("lpad", word, number(3), text(""))[0] == ["ab", "añb", "abc", None]
    assert apply("rpad", word, number(-1))[0] == ["", "", "", None]
    assert apply("repeat", column(STRING, "ab", "ab", None), column(I32, 2, -1, 2))[0] == ["abab", "", None]


def test_joining_and_replacing():
    a, b = column(STRING, "x", None), column(STRING, "y", "z")
    assert apply("concat", a, text("-"), b)[0] == ["x-y", None]
    assert apply("concat", a, number(1))[0] == ["x1", None]
    assert apply("concat_ws", text("-"), a, b)[0] == ["x-y", "z"]
    assert apply("concat_ws", text("--"), a, a)[0] == ["x--x", ""]
    assert apply("concat_ws", text(None), a, b)[0] == [None, None]
    assert apply("concat_ws", a, b, b)[0] == ["yxy", None]
    assert apply("concat_ws", text("-"))[0] == [""]
    assert apply("concat", column(pa.binary(), b"a"), column(pa.binary(), b"b"))[0] == [b"ab"]
    assert apply("replace", column(STRING, "abab", None), text("a"), text("c"))[0] == ["cbcb", None]
    assert apply("replace", column(STRING, "abab"), text("a"))[0] == ["bb"]
    assert apply("replace", column(STRING, "abab"), text(""), text("c"))[0] == ["abab"]


def test_searching():
    word = column(STRING, "héllo", "l", "", None)
    assert apply("instr", word, text("l"))[0] == [3, 1, 0, None]
    assert apply("instr", word, text(""))[0] == [1, 1, 1, None]
    assert apply("locate", text("l"), word)[0] == [3, 1, 0, None]
    assert apply("locate", text("l"), word, number(4))[0] == [4, 0, 0, None]
    assert apply("locate", text("l"), word, number(0))[0] == [0, 0, 0, None]
    assert apply("instr", word, column(STRING, "o", "x", "", "y"))[0] == [5, 0, 1, None]
    assert apply("startswith", word, text("hé"))[0] == [True, False, False, None]
    assert apply("endswith", word, text("lo"))[0] == [True, False, False, None]
    assert apply("contains", word, text("él"))[0] == [True, False, False, None]
    assert apply("contains", word, column(STRING, "h", None, "", "x"))[0] == [True, None, True, None]


def test_like():
    word = column(STRING, "a_b", "axb", "a\nb", "A%", None)
    assert apply("like", word, text("a_b"))[0] == [True, True, True, False, None]
    assert apply("like", word, text("a\\_b"))[0] == [True, False, False, False, None]
    assert apply("like", word, text("a^_b"), text("^"))[0] == [True, False, False, False, None]
    assert apply("like", word, text("%b"))[0] == [True, True, True, False, None]
    assert apply("ilike", word, text("A%"))[0] == [True, True, True, True, None]
    assert apply("like", word, text(None))[0] == [None] * 5
    assert apply("like", column(STRING, "a.c", "abc"), text("a.c"))[0] == [True, False]
    assert apply("like", column(STRING, "ab", "cd"), column(STRING, "a%", "a%"))[0] == [True, False]


def test_regular_expressions():
    word = column(STRING, "ab12", "x", None)
    assert apply("rlike", word, text("[0-9]+"))[0] == [True, False, None]
    assert apply("regexp_replace", word, text("([a-z])(\\d)"), text("$2$1"))[0] == ["a1b2", "x", None]
    assert apply("regexp_replace", word, text("x"), text("\\$"))[0] == ["ab12", "$", None]
    assert apply("regexp_extract", word, text("([a-z]+)(\\d+)"), number(2))[0] == ["12", "", None]
    assert apply("regexp_extract", word, text("[a-z]+(\\d)?"))[0] == ["1", "", None]
    assert apply("regexp_extract", word, text("[(a-z]+"), number(0))[0] == ["ab", "x", None]
    assert apply("rlike", word, column(STRING, "(", "x", "x")) == ([None, True, None], {"cast": 1})


def test_parts_of_a_moment():
    moment = column(TIMESTAMP, 1_709_212_455_678_000, -1_000_000, None)
    wanted = {
        "year": [2024, 1969],
        "quarter": [1, 4],
        "month": [2, 12],
        "day": [29, 31],
        "dayofweek": [5, 4],
        "weekday": [3, 2],
        "dayofyear": [60, 365],
        "weekofyear": [9, 1],
        "hour": [13, 23],
        "minute": [14, 59],
        "second": [15, 59],
        "unix_seconds": [1709212455, -1],
        "unix_millis": [1709212455678, -1000],
        "unix_micros": [1709212455678000, -1000000],
        "unix_date": [19782, -1],
    }
    for name, values in wanted.items():
        assert apply(name, moment) == ([*values, None], {}), name
    assert apply("year", column(DATE, 0, -1))[0] == [1970, 1969]
    assert apply("year", column(STRING, "2020-05-01", "x")) == ([2020, None], {"cast": 1})


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [
        ("year", "2024-01-01 00:00:00"),
        ("QUARTER", "2024-04-01 00:00:00"),
        ("mon", "2024-05-01 00:00:00"),
        ("week", "2024-05-13 00:00:00"),
        ("DD", "2024-05-15 00:00:00"),
        ("hour", "2024-05-15 13:00:00"),
        ("minute", "2024-05-15 13:14:00"),
        ("second", "2024-05-15 13:14:15"),
        ("fortnight", None),
    ],
)
def test_date_trunc(unit, wanted):
    values = apply(
        "date_trunc", text(unit), column(TIMESTAMP, datetime.datetime(2024, 5, 15, 13, 14, 15, 9), None)
    )
    assert values == ([wanted and datetime.datetime.fromisoformat(wanted), None], {})


def test_moving_dates_and_timestamps():
    day = column(DATE, 0, 59, None)
    assert apply("date_sub", day, number(1))[0] == [
        datetime.date(1969, 12, 31),
        datetime.date(1970, 2, 28),
        None,
    ]
    assert apply("add", day, number(7)) == ([datetime.date(1970, 1, 8), datetime.date(1970, 3, 8), None], {})
    assert apply("datediff", column(DATE, 10, None), column(TIMESTAMP, 3 * DAY + 5, 0)) == ([7, None], {})
    assert apply("trunc", column(DATE, 45), text("month"))[0] == [datetime.date(1970, 2, 1)]
    call = Call("date_add", (Column(0, DATE, "d"), Literal(1, I64)), DATE)
    assert rows_of(call, [column(DATE, 2**31 - 1)], 1) == ([None], {"overflow": 1})
    hour = Literal(datetime.timedelta(hours=1), pa.duration("us"))
    assert apply("add", column(TIMESTAMP, 0, None), hour)[0] == [datetime.datetime(1970, 1, 1, 1), None]
    assert apply("add", hour, column(TIMESTAMP, 0))[0] == [datetime.datetime(1970, 1, 1, 1)]
    assert apply("subtract", column(TIMESTAMP, 0), hour)[0] == [datetime.datetime(1969, 12, 31, 23)]
    assert apply("add", column(DATE, 0), hour)[0] == [datetime.datetime(1970, 1, 1, 1)]
    week = Literal(datetime.timedelta(days=7), pa.duration("us"))
    assert apply("add", column(DATE, 0), week)[0] == [datetime.date(1970, 1, 8)]
    gap = bound("subtract", Column(0, TIMESTAMP, "a"), Column(1, TIMESTAMP, "b"))
    pair = [column(TIMESTAMP, 0, 0), column(TIMESTAMP, -3_600_000_000, -3_600_000_001)]
    assert rows_of(bound("le", gap, hour), pair, 2) == ([True, False], {})
    far = Call("timestamp_add", (Column(0, TIMESTAMP, "t"), hour), TIMESTAMP)
    assert rows_of(far, [pa.array([2**63 - 1, 0]).view(TIMESTAMP)], 2)[1] == {"overflow": 1}


def test_making_dates_and_timestamps():
    assert apply("make_date", column(I32, 2024, 2023, None), number(2), number(29)) == (
        [datetime.date(2024, 2, 29), None, None],
        {"cast": 1},
    )
    assert apply("timestamp_seconds", column(I64, 1, 2**62)) == (
        [datetime.datetime(1970, 1, 1, 0, 0, 1), None],
        {"overflow": 1},
    )
    assert apply("timestamp_seconds", column(F64, 1.5))[0] == [datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)]
    assert apply("timestamp_millis", column(I64, 1500))[0] == [datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)]
    assert apply("timestamp_micros", column(I64, -1))[0] == [
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)
    ]
    parsed = bound("to_timestamp", Column(0, STRING, "s"))
    assert rows_of(parsed, [column(STRING, "1970-01-01", "x")], 2)[1] == {"cast": 1}


def test_dates_beyond_the_years_that_arrow_counts():
    days = pa.array([0, 11_248_738, 50_000_000, -50_000_000, 2**31 - 1, -(2**31), None], DATE)
    moments = pa.array([2**63 - 1, -(2**63), None], TIMESTAMP)
    day, moment = Column(0, DATE, "c"), Column(0, TIMESTAMP, "c")
    years = [1970, 32_768, 138_865, -134_926, 5_881_580, -5_877_641, None]
    assert rows_of(bound("year", day), [days], 7) == (years, {})
    assert rows_of(bound("dayofyear", day), [days], 7)[0] == [1, 1, 128, 238, 193, 174, None]
    assert rows_of(bound("weekofyear", day), [days], 7)[0] == [1, 1, 19, 35, 28, 26, None]
    starts = [0, 11_248_738, 49_999_993, -50_000_025, 2_147_483_637, None, None]
    trunc = bound("unix_date", bound("trunc", day, text("month")))
    assert rows_of(trunc, [days], 7) == (starts, {"overflow": 1})
    assert rows_of(bound("year", moment), [moments], 3)[0] == [294_247, -290_308, None]
    hours = bound("unix_micros", bound("date_trunc", text("hour"), moment))
    assert rows_of(hours, [moments], 3) == ([9_223_372_036_800_000_000, None, None], {"overflow": 1})


def test_rounding_far_to_the_left_of_the_point():
    most = Decimal("9" * 38)
    whole = column(pa.decimal128(38, 0), most, most.copy_negate(), Decimal(4) * 10**37, None)
    assert apply("round", whole, number(-38)) == ([None, None, Decimal(0), None], {"overflow": 2})
    assert apply("round", whole, number(-39)) == ([Decimal(0)] * 3 + [None], {})
    price = column(pa.decimal128(10, 0), Decimal("9999999999"))
    assert apply("round", price, number(-38)) == ([Decimal(0)], {})
    assert repr(apply("round", column(F64, NAN, INF, 1.5), number(-400))[0]) == repr([NAN, INF, 0.0])


def test_powers_and_angles_as_java_has_them():
    base, power = column(F64, 1.0, -1.0, 1.0, NAN, 2.0, None), column(F64, NAN, INF, -INF, 0.0, INF, NAN)
    assert repr(apply("power", base, power)[0]) == repr([NAN, NAN, NAN, 1.0, INF, None])
    assert apply("atan2", column(F64, -0.0, 0.0, None), column(F64, -1.0, -0.0, 1.0))[0] == [
        math.pi,
        0.0,
        None,
    ]


def test_whole_parts_of_decimals_without_a_fraction_keep_their_type():
    whole, price = Column(0, pa.decimal128(38, 0), "a"), Column(0, pa.decimal128(5, 2), "b")
    assert bound("floor", whole).type == whole.type
    assert bound("ceil", price).type == pa.decimal128(4, 0)


def test_divisions_that_arrow_gets_wrong_by_far():
    whole = column(I64, 2**63 - 1, -(2**63 - 1), None)
    step = column(pa.decimal128(38, 18), Decimal(1), Decimal("2.000000000000000005"), Decimal(1))
    assert apply("modulo", whole, step)[0] == [Decimal(0), Decimal("-1.941569907863060545"), None]
    assert apply("int_divide", whole, step)[0] == [2**63 - 1, -4611686018427387891, None]
    exact = [Decimal("9223372036854775807.000000"), Decimal("-4611686018427387891.970785"), None]
    assert apply("divide", whole, step)[0] == exact


def test_letters_that_become_several_and_the_sigma_at_the_end():
    words = column(STRING, "straße", "ﬁn", "abc", None, "é")
    assert apply("upper", words)[0] == ["STRASSE", "FIN", "ABC", None, "É"]
    assert apply("lower", column(STRING, "ΑΣ ΣΑΣ", "İ", "ABC", None))[0] == ["ας σας", "i̇", "abc", None]
