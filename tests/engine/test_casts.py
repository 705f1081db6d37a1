"""Casts: how Spark reads and prints values, and what is NULL and counted because it has no value there."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from calling import column, rows_of
from sash.language.expressions import Call, Column
from sash.language.readable import is_readable

I8, I32, I64, F32, F64 = pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()
BOOL, STRING, DATE, TIMESTAMP = pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us")
NAN, INF = float("nan"), float("inf")


def cast(array: pa.Array, target: pa.DataType):
    """The column cast, over itself and over a slice of a longer one."""
    call = Call("cast", (Column(0, array.type, "c"),), target)
    sliced = pa.concat_arrays([array[-1:], array, array[:1]]).slice(1, len(array))
    result = rows_of(call, [array], len(array))
    assert repr(result) == repr(rows_of(call, [sliced], len(array)))
    assert rows_of(call, [array[:0]], 0) == ([], {})
    return result


@pytest.mark.parametrize(
    ("source", "target", "given", "wanted", "faults"),
    [
        (
            STRING,
            I64,
            ["1", " 2 ", "+3", "-4", "1.5", "x", "", None],
            [1, 2, 3, -4, None, None, None, None],
            3,
        ),
        (STRING, I64, ["9223372036854775807", "9223372036854775808"], [2**63 - 1, None], 1),
        (STRING, I8, ["127", "128", "-128", "-129", "9" * 50], [127, None, -128, None, None], 3),
        (
            STRING,
            F64,
            ["1e3", ".5", "1.", "INF", "-infinity", "1d", "0x1", ""],
            [1e3, 0.5, 1.0, INF, -INF, 1.0, None, None],
            2,
        ),
        (
            STRING,
            BOOL,
            ["t", "YES", " 1 ", "f", "no", "0", "maybe"],
            [True, True, True, False, False, False, None],
            1,
        ),
        (
            F64,
            I8,
            [1.7, -1.7, 127.9, 128.0, -128.9, -129.0, NAN, None],
            [1, -1, 127, None, -128, None, None, None],
            3,
        ),
        (F64, I64, [9.3e18, -(2.0**63), INF], [None, -(2**63), None], 2),
        (F64, F32, [1e300, 0.5], [INF, 0.5], 0),
        (F64, BOOL, [0.0, -0.0, 0.1, NAN, None], [False, False, True, True, None], 0),
        (I64, I8, [127, 128, -129, None], [127, None, None, None], 2),
        (I64, BOOL, [0, 5, None], [False, True, None], 0),
        (BOOL, I32, [True, False, None], [1, 0, None], 0),
        (BOOL, STRING, [True, False, None], ["true", "false", None], 0),
        (I64, STRING, [0, -5], ["0", "-5"], 0),
        (
            F64,
            STRING,
            [1.0, 1e10, 1e7, 9999999.5, 1e-3, 1e-4, -0.0, NAN, -INF],
            ["1.0", "1.0E10", "1.0E7", "9999999.5", "0.001", "1.0E-4", "-0.0", "NaN", "-Infinity"],
            0,
        ),
        (F32, STRING, [0.1, 16777216.0], ["0.1", "1.6777216E7"], 0),
        (TIMESTAMP, I64, [1_500_000, -1, None], [1, -1, None], 0),
        (TIMESTAMP, F64, [1_500_000], [1.5], 0),
        (
            TIMESTAMP,
            STRING,
            [0, 1_500_000, -1],
            ["1970-01-01 00:00:00", "1970-01-01 00:00:01.5", "1969-12-31 23:59:59.999999"],
            0,
        ),
        (DATE, STRING, [0, -1], ["1970-01-01", "1969-12-31"], 0),
        (STRING, pa.binary(), ["é", None], ["é".encode(), None], 0),
        (pa.binary(), STRING, [b"a", b"\xff", None], ["a", None, None], 1),
    ],
)
def test_casts(source, target, given, wanted, faults):
    assert cast(pa.array(given, source), target) == (wanted, {"cast": faults} if faults else {})


def test_casts_to_decimals_round_half_up():
    given = [
        "1.005",
        "-1.005",
        "99999.994",
        "99999.995",
        "1e2",
        "1.5e-1",
        ".",
        "e5",
        "x",
        "0",
        "1" * 50,
        None,
    ]
    wanted = ["1.01", "-1.01", "99999.99", None, "100.00", "0.15", None, None, None, "0.00", None, None]
    decimals = [None if each is None else Decimal(each) for each in wanted]
    assert cast(pa.array(given), pa.decimal128(7, 2)) == (decimals, {"cast": 5})
    assert cast(column(F64, 1.005, 2.675, 1e20, NAN), pa.decimal128(12, 2)) == (
        [Decimal("1.01"), Decimal("2.68"), None, None],
        {"cast": 2},
    )
    assert cast(column(F32, 1.005, 0.1), pa.decimal128(12, 2))[0] == [Decimal("1.00"), Decimal("0.10")]
    assert cast(column(F32, 0.1), pa.decimal128(18, 10))[0] == [Decimal("0.1000000015")]
    narrow = column(pa.decimal128(5, 3), Decimal("1.255"), Decimal("-1.255"), Decimal("99.995"))
    assert cast(narrow, pa.decimal128(4, 2)) == ([Decimal("1.26"), Decimal("-1.26"), None], {"cast": 1})
    assert cast(column(I32, 5, 123), pa.decimal128(4, 2)) == ([Decimal("5.00"), None], {"cast": 1})


def test_casts_from_decimals():
    given = column(pa.decimal128(5, 1), Decimal("1.9"), Decimal("-1.9"), Decimal("300.0"), None)
    assert cast(given, I8) == ([1, -1, None, None], {"cast": 1})
    assert cast(given, F64) == ([1.9, -1.9, 300.0, None], {})
    assert cast(given, STRING) == (["1.9", "-1.9", "300.0", None], {})
    assert cast(given, BOOL) == ([True, True, True, None], {})
    small = column(pa.decimal128(38, 12), Decimal("1E-10"), Decimal("-12.5"))
    assert cast(small, STRING) == (["0.000000000100", "-12.500000000000"], {})
    assert cast(column(pa.decimal128(38, 0), Decimal(10) ** 25), I64) == ([None], {"cast": 1})


def test_dates_are_read_from_iso_text():
    given = [
        "2024-2-29",
        "2023-02-29",
        "2020",
        "2020-02",
        "2020-01-01T10:00",
        " 2020-01-01 ",
        "2020-13-01",
        "x",
        None,
    ]
    values, faults = cast(pa.array(given), DATE)
    shown = [value and value.isoformat() for value in values]
    assert shown == [
        "2024-02-29",
        None,
        "2020-01-01",
        "2020-02-01",
        "2020-01-01",
        "2020-01-01",
        None,
        None,
        None,
    ]
    assert faults == {"cast": 3}


def test_timestamps_are_read_from_iso_text():
    given = {
        "2020-01-01 10:11:12.123456": "2020-01-01 10:11:12.123456",
        "2020-01-01T10:11:12Z": "2020-01-01 10:11:12",
        "2020-01-01 10:11:12+02:00": "2020-01-01 08:11:12",
        "2020-01-01 10:00:00-0830": "2020-01-01 18:30:00",
        "2020-01-01 10:00:00 UTC": "2020-01-01 10:00:00",
        "2020-1-1 1:2:3.5": "2020-01-01 01:02:03.5",
        "2020-01-01 10:11:12.1234567": "2020-01-01 10:11:12.123456",
        "2020-01-01": "2020-01-01 00:00:00",
        "2020-01-01 25:00:00": None,
        "yesterday": None,
    }
    stamps = pa.array(list(given))
    call = Call("cast", (Call("cast", (Column(0, STRING, "s"),), TIMESTAMP),), STRING)
    assert rows_of(call, [stamps], len(given)) == (list(given.values()), {"cast": 2})


def test_numbers_are_seconds_as_timestamps():
    assert cast(column(I64, 5, -1, 2**62), TIMESTAMP)[1] == {"cast": 1}
    assert cast(column(F64, 1.5, NAN), TIMESTAMP)[0] == [datetime.datetime(1970, 1, 1, 0, 0, 1, 500000), None]
    assert cast(column(DATE, 1), TIMESTAMP)[0] == [datetime.datetime(1970, 1, 2)]
    assert cast(column(TIMESTAMP, -1), DATE)[0] == [datetime.date(1969, 12, 31)]


def test_what_a_query_may_write_is_what_a_cast_reads() -> None:
    digits, days = ["0", "12", "-7", "9" * 19, "9" * 18, "1e3", "1.5", ".5", ".", ""], ["2024", "2024-2-29"]
    days += ["2023-02-29", "2024-00-01", "2024-01-01 10", "2024-01-01T24:00", "2024-01-01 1:2:3.4Z", "24-1-1"]
    words = ["x", "Y", "no", "maybe", "nan", "-Inf", "1d", "+", "1 2", "2024-01-01x", "2024-01-01 x"]
    texts = [
        f"{blank}{text}{blank}" for text in digits + days + words for blank in ("", " ", "\t\n", "\0\x1f\x7f")
    ]
    for target in (I8, I32, I64, F32, F64, BOOL, DATE, TIMESTAMP):
        read = [value is not None for value in cast(column(STRING, *texts), target)[0]]
        assert [is_readable(text, target) for text in texts] == read, target


def test_numbers_that_leave_no_room_for_the_digits_of_a_scale_are_null_and_counted():
    below_one, below_ten = pa.decimal128(38, 38), pa.decimal128(38, 37)
    half = Decimal("0.5")
    assert cast(column(F64, 0.5, 5.0, -5e300, None), below_one) == ([half, None, None, None], {"cast": 2})
    texts = column(STRING, "5e-1", "1e0", "-1", "0e9", "9" * 40)
    assert cast(texts, below_one) == ([half, None, None, Decimal(0), None], {"cast": 3})
    assert cast(texts, below_ten) == ([half, Decimal(1), Decimal(-1), Decimal(0), None], {"cast": 1})


def test_dates_beyond_the_years_that_arrow_counts_as_text():
    days = pa.array([0, 11_248_738, 50_000_000, -50_000_000, None], DATE)
    texts = ["1970-01-01", "+32768-01-01", "+138865-05-08", "-134926-08-26", None]
    assert cast(days, STRING) == (texts, {})
    assert cast(pa.array([2**63 - 1, -(2**63)], TIMESTAMP), STRING) == (
        ["+294247-01-10 04:00:54.775807", "-290308-12-21 19:59:05.224192"],
        {},
    )
