"""How calls are typed: Spark's coercions and result types, and what is refused with which words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.language.functions import (
    FUNCTIONS,
    ArgumentMismatch,
    NotAFunctionOfTheRow,
    UnknownFunction,
    can_cast,
    common_type,
    describe,
    function_names,
    resolve,
    resolve_aggregate,
)

I8, I16, I32, I64, F32, F64 = pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()
BOOL, STRING, DATE, TIMESTAMP, NULL = pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us"), pa.null()
INTERVAL, LIST = pa.duration("us"), pa.list_(pa.int32())


def decimal(precision, scale):
    return pa.decimal128(precision, scale)


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        ([I8, I16], I16),
        ([I32, I64, I8], I64),
        ([I32, F32], F64),
        ([F32, F32], F32),
        ([I64, F64], F64),
        ([decimal(5, 2), I32], decimal(12, 2)),
        ([decimal(5, 2), decimal(10, 4)], decimal(10, 4)),
        ([decimal(38, 0), decimal(38, 10)], decimal(38, 0)),
        ([decimal(38, 10), decimal(30, 0), decimal(18, 2)], decimal(38, 8)),
        ([decimal(20, 19), pa.int64()], decimal(38, 18)),
        ([decimal(5, 2), F32], F64),
        ([STRING, I8], I64),
        ([STRING, decimal(5, 2)], F64),
        ([STRING, DATE], DATE),
        ([STRING, BOOL], BOOL),
        ([STRING, I32, F64], F64),
        ([DATE, TIMESTAMP], TIMESTAMP),
        ([NULL, STRING], STRING),
        ([NULL, NULL], NULL),
        ([LIST, NULL, LIST], LIST),
        ([STRING, STRING], STRING),
    ],
)
def test_common_types(types, wanted):
    assert common_type(types) == wanted
    assert common_type(types[::-1]) == wanted


@pytest.mark.parametrize(
    "types", [[BOOL, I32], [DATE, I32], [LIST, STRING], [pa.binary(), I64], [INTERVAL, STRING]]
)
def test_types_with_nothing_in_common(types):
    with pytest.raises(ArgumentMismatch, match="have no type in common"):
        common_type(types)


@pytest.mark.parametrize(
    ("name", "types", "coercions", "result"),
    [
        ("add", [I8, I8], [I8, I8], I8),
        ("add", [I32, F64], [F64, F64], F64),
        ("add", [STRING, I32], [I64, I64], I64),
        ("add", [STRING, STRING], [F64, F64], F64),
        ("add", [NULL, I32], [I32, I32], I32),
        ("add", [NULL, NULL], [F64, F64], F64),
        ("add", [decimal(10, 2), I32], [decimal(10, 2), decimal(10, 0)], decimal(13, 2)),
        ("add", [decimal(38, 10), decimal(38, 10)], [decimal(38, 10)] * 2, decimal(38, 9)),
        ("multiply", [decimal(20, 10), decimal(20, 10)], [decimal(20, 10)] * 2, decimal(38, 17)),
        ("divide", [I32, I32], [F64, F64], F64),
        ("divide", [F32, F32], [F64, F64], F64),
        ("divide", [decimal(10, 2), decimal(10, 2)], [decimal(10, 2)] * 2, decimal(23, 13)),
        ("modulo", [decimal(10, 2), decimal(5, 3)], [decimal(10, 2), decimal(5, 3)], decimal(5, 3)),
        ("int_divide", [I8, I32], [I64, I64], I64),
        ("int_divide", [decimal(5, 2), I32], [decimal(5, 2), decimal(10, 0)], I64),
        ("eq", [STRING, I32], [I64, I64], BOOL),
        ("lt", [DATE, STRING], [DATE, DATE], BOOL),
        ("in_list", [I32, I64, NULL], [I64, I64, I64], BOOL),
        ("case", [BOOL, I32, BOOL, F64, NULL], [BOOL, F64, BOOL, F64, F64], F64),
        ("case", [BOOL, I32], [BOOL, I32], I32),
        ("if", [NULL, I32, I64], [BOOL, I64, I64], I64),
        ("coalesce", [NULL, LIST], [LIST, LIST], LIST),
        ("ceil", [F64], [F64], I64),
        ("ceil", [decimal(5, 2)], [decimal(5, 2)], decimal(4, 0)),
        ("round", [decimal(5, 2)], [decimal(5, 2)], decimal(4, 0)),
        ("round", [I8], [I8], I8),
        ("upper", [I32], [STRING], STRING),
        ("length", [pa.binary()], [pa.binary()], I32),
        ("substring", [STRING, I8, I32], [STRING, I64, I64], STRING),
        ("year", [STRING], [DATE], I32),
        ("hour", [DATE], [TIMESTAMP], I32),
        ("shiftleft", [I8, I32], [I32, I64], I32),
        ("sqrt", [decimal(5, 2)], [F64], F64),
    ],
)
def test_calls(name, types, coercions, result):
    resolved = resolve(name.upper(), types)
    assert (resolved.function, list(resolved.coercions), resolved.type) == (name, coercions, result)


@pytest.mark.parametrize(
    ("name", "types", "function", "result"),
    [
        ("nvl", [I32, I64], "coalesce", I64),
        ("mod", [I32, I32], "modulo", I32),
        ("substr", [STRING, I32], "substring", STRING),
        ("to_date", [STRING], "cast", DATE),
        ("add", [DATE, I32], "date_add", DATE),
        ("add", [I32, DATE], "date_add", DATE),
        ("subtract", [DATE, I32], "date_sub", DATE),
        ("add", [TIMESTAMP, INTERVAL], "timestamp_add", TIMESTAMP),
        ("subtract", [TIMESTAMP, INTERVAL], "timestamp_subtract", TIMESTAMP),
        ("add", [INTERVAL, DATE], "timestamp_add", TIMESTAMP),
        ("subtract", [TIMESTAMP, DATE], "timestamp_difference", INTERVAL),
        ("cast", [STRING, I32], "cast", I32),
        ("bit_and", [I8, I32], "bitwise_and", I32),
        ("pow", [I32, I32], "power", F64),
    ],
)
def test_names_that_stand_for_others(name, types, function, result):
    resolved = resolve(name, types)
    assert (resolved.function, resolved.type) == (function, result)


def test_constants_make_types_narrower():
    assert resolve("multiply", [decimal(10, 2), I32], [None, 25]).type == decimal(13, 2)
    assert resolve("round", [decimal(10, 4), I32], [None, 2]).type == decimal(9, 2)
    assert resolve("round", [decimal(10, 4), I32], [None, -2]).type == decimal(7, 0)
    assert resolve("round", [decimal(10, 4), I32]).type == decimal(11, 4)


@pytest.mark.parametrize("name", ["now", "RAND", "current_timestamp", "uuid", "monotonically_increasing_id"])
def test_functions_that_are_not_of_the_row_are_refused(name):
    with pytest.raises(NotAFunctionOfTheRow, match="not a function of the row"):
        resolve(name, [])


def test_unix_timestamp_without_an_argument_is_the_clock():
    with pytest.raises(NotAFunctionOfTheRow):
        resolve("unix_timestamp", [])
    assert resolve("unix_timestamp", [TIMESTAMP]).function == "unix_seconds"


def test_an_unknown_function_is_told_its_neighbours():
    with pytest.raises(UnknownFunction) as caught:
        resolve("uper", [STRING])
    assert caught.value.message == "There is no function 'uper'."
    assert "'upper'" in caught.value.remedy
    with pytest.raises(UnknownFunction) as caught:
        resolve("zzzzzz", [])
    assert caught.value.remedy == "See docs/language.md for all."
    assert isinstance(caught.value, LookupError)


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("add", [BOOL, I32], "'+' does not take (BOOLEAN, INT)."),
        ("add", [DATE, DATE], "'+' does not take (DATE, DATE)."),
        ("int_divide", [F64, I32], "'DIV' does not take (DOUBLE, INT)."),
        ("upper", [], "'upper' does not take (nothing)."),
        ("upper", [STRING, STRING], "'upper' does not take (STRING, STRING)."),
        ("sqrt", [BOOL], "'sqrt' does not take (BOOLEAN)."),
        ("year", [I32], "'year' does not take (INT)."),
        ("and", [BOOL, I32], "'AND' does not take (BOOLEAN, INT)."),
        ("case", [I32, I32], "'CASE' does not take (INT, INT)."),
        ("eq", [LIST, LIST], "'=' does not take (ARRAY<INT>, ARRAY<INT>)."),
        ("eq", [BOOL, I32], "BOOLEAN and INT have no type in common."),
        ("shiftleft", [F64, I32], "'shiftleft' does not take (DOUBLE, INT)."),
        ("cast", [DATE, I32], "DATE cannot be cast to INT."),
        ("to_date", [I32], "INT cannot be cast to DATE."),
        ("greatest", [I32], "'greatest' does not take (INT)."),
        ("nvl", [I32], "'nvl' does not take (INT)."),
    ],
)
def test_arguments_that_do_not_suit(name, types, message):
    with pytest.raises(ArgumentMismatch) as caught:
        resolve(name, types)
    assert caught.value.message == message
    assert caught.value.remedy.endswith(".")


def test_a_constant_pattern_must_be_a_regular_expression():
    with pytest.raises(ArgumentMismatch, match="is not a regular expression"):
        resolve("rlike", [STRING, STRING], [None, "(a"])


@pytest.mark.parametrize(
    ("name", "type_", "function", "result"),
    [
        ("count", None, "count", I64),
        ("COUNT", LIST, "count", I64),
        ("sum", I8, "sum", I64),
        ("sum", F32, "sum", F64),
        ("sum", decimal(10, 2), "sum", decimal(20, 2)),
        ("sum", decimal(35, 2), "sum", decimal(38, 2)),
        ("sum", STRING, "sum", F64),
        ("avg", I32, "avg", F64),
        ("mean", decimal(10, 2), "avg", decimal(14, 6)),
        ("avg", decimal(38, 2), "avg", decimal(38, 6)),
        ("min", STRING, "min", STRING),
        ("max", DATE, "max", DATE),
        ("stddev", I32, "stddev_samp", F64),
        ("stddev_pop", F64, "stddev_pop", F64),
        ("variance", decimal(5, 2), "var_samp", F64),
        ("var_pop", I32, "var_pop", F64),
    ],
)
def test_aggregates(name, type_, function, result):
    resolved = resolve_aggregate(name, type_, False)
    assert (resolved.function, resolved.type) == (function, result)


@pytest.mark.parametrize(
    ("name", "type_", "distinct"),
    [
        ("sum", None, False),
        ("sum", BOOL, False),
        ("max", LIST, False),
        ("count", None, True),
        ("count", LIST, True),
        ("avg", DATE, False),
    ],
)
def test_aggregates_that_have_no_meaning(name, type_, distinct):
    with pytest.raises(ArgumentMismatch):
        resolve_aggregate(name, type_, distinct)


def test_an_unknown_aggregate():
    with pytest.raises(UnknownFunction):
        resolve_aggregate("median", I32)


def test_what_can_be_cast():
    simple = [BOOL, I8, I64, F32, F64, decimal(5, 2), STRING, DATE, TIMESTAMP]
    assert all(
        can_cast(type_, STRING) and can_cast(STRING, type_) and can_cast(NULL, type_) for type_ in simple
    )
    assert not any(can_cast(LIST, type_) or can_cast(type_, LIST) for type_ in simple)
    assert can_cast(LIST, LIST)
    assert not can_cast(BOOL, DATE)
    assert not can_cast(TIMESTAMP, BOOL)


def test_the_dictionary_prints_as_a_table():
    lines = describe().splitlines()
    assert len(lines) == len(FUNCTIONS) + 2
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines)
    names = [function.name for function in FUNCTIONS]
    assert len(set(names)) == len(names)
    assert set(names) <= set(function_names())
