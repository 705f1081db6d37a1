"""The dictionary of functions: each with its name, an example, its meaning and the rule of its types.

docs/language.md prints it; `functions.py` looks calls up in it; `engine/expressions.py` evaluates
what they resolve to.
"""

from __future__ import annotations

__all__ = ["FUNCTIONS", "Function"]

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from sash.language.coercion import ArgumentMismatch, common_type
from sash.language.signatures import (
    ANY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTEGRAL,
    MOMENT,
    NUMBER,
    TEXT,
    TEXT_OR_BYTES,
    TIMESTAMP,
    Arguments,
    Resolved,
    Rule,
    alike,
    arithmetic,
    becomes,
    case,
    casting,
    comparison,
    division,
    integer_division,
    rounding,
    takes,
    whole_part,
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the row, as the dictionary shows it, with the rule that types its calls."""

    name: str
    example: str
    meaning: str
    rule: Rule
    aliases: tuple[str, ...] = ()


_BOOL, _INT, _BIGINT, _DOUBLE = pa.bool_(), pa.int32(), pa.int64(), pa.float64()
_STRING, _DATE, _TIMESTAMP = pa.string(), pa.date32(), pa.timestamp("us")


def _first(types: Sequence[pa.DataType]) -> pa.DataType:
    return types[0]


def _number(name: str, meaning: str, *aliases: str) -> Function:
    return Function(name, f"{name}(x)", meaning, takes(_DOUBLE, DOUBLE), aliases)


def _part(name: str, meaning: str, *aliases: str) -> Function:
    return Function(name, f"{name}(d)", meaning, takes(_INT, MOMENT), aliases)


def _concat(arguments: Arguments) -> Resolved:
    if arguments.types and all(kinds.is_binary(type_) for type_ in arguments.types):
        return Resolved("concat", arguments.types, pa.binary())
    return takes(_STRING, TEXT, optional=1, more=True)(arguments)


def _choice(arguments: Arguments) -> Resolved:
    if len(arguments.types) not in (2, 3):
        raise arguments.mismatch("a condition and two values")
    return case(arguments)


def _choice_of_null(arguments: Arguments) -> Resolved:
    if len(arguments.types) != 3:
        raise arguments.mismatch("three arguments")
    type_ = common_type(arguments.types[1:])
    return Resolved("nvl2", (arguments.types[0], type_, type_), type_)


def _pattern(rule: Rule) -> Rule:
    """A rule whose second argument, if constant, must be a regular expression."""

    def checked(arguments: Arguments) -> Resolved:
        pattern = (*arguments.constants, None, None)[1]
        if isinstance(pattern, str):
            try:
                pc.match_substring_regex(pa.array([""]), pattern)
            except pa.ArrowInvalid as trouble:
                reason = str(trouble).removeprefix("Invalid regular expression: ")
                raise ArgumentMismatch(
                    f"{pattern!r} is not a regular expression: {reason}.",
                    "Write it as RE2 reads it (no look-around, no back-references).",
                ) from trouble
        return rule(arguments)

    return checked


def _nullif(arguments: Arguments) -> Resolved:
    """They are compared in their common type, the first comes out as it is."""
    _, both = comparison(arguments).coercions
    first = both if kinds.is_null(arguments.types[0]) else arguments.types[0]
    return Resolved("nullif", (first, both), first)


def _two(rule: Rule) -> Rule:
    def checked(arguments: Arguments) -> Resolved:
        if len(arguments.types) != 2:
            raise arguments.mismatch("two arguments")
        return rule(arguments)

    return checked


_SIGNED = takes(_first, NUMBER)


def _bits(arguments: Arguments) -> Resolved:
    resolved = takes(common_type, INTEGRAL, INTEGRAL)(arguments)
    return Resolved(arguments.name, (resolved.type, resolved.type), resolved.type)


def _negation(arguments: Arguments) -> Resolved:
    if len(arguments.types) == 1 and kinds.is_duration(arguments.types[0]):
        return Resolved(arguments.name, arguments.types, arguments.types[0])
    return _SIGNED(arguments)


def _shifted(arguments: Arguments) -> Resolved:
    resolved = takes(_first, INTEGRAL, INTEGER)(arguments)
    type_ = _BIGINT if resolved.type == _BIGINT else _INT
    return Resolved(arguments.name, (type_, _BIGINT), type_)


_OPERATORS = (
    Function("add", "a + b", "Sum; also a date plus days, a timestamp plus an INTERVAL.",
             arithmetic, ("try_add",)),
    Function("subtract", "a - b", "Difference; also of dates and timestamps.", arithmetic, ("try_subtract",)),
    Function("multiply", "a * b", "Product.", arithmetic, ("try_multiply",)),
    Function("divide", "a / b", "Quotient, DOUBLE or DECIMAL; NULL if b is 0.", division, ("try_divide",)),
    Function("int_divide", "a DIV b", "Quotient cut towards 0; NULL if b is 0.", integer_division),
    Function("modulo", "a % b", "Remainder, with the sign of a; NULL if b is 0.",
             arithmetic, ("mod", "try_mod")),
    Function("pmod", "pmod(a, b)", "Remainder that is not negative for b above 0.", arithmetic),
    Function("negate", "-a", "The opposite number.", _negation, ("negative",)),
    Function("eq", "a = b", "Equal; NaN equals NaN.", _two(comparison)),
    Function("ne", "a <> b", "Not equal.", _two(comparison)),
    Function("lt", "a < b", "Less; NaN is above all numbers.", _two(comparison)),
    Function("le", "a <= b", "Less or equal.", _two(comparison)),
    Function("gt", "a > b", "Greater.", _two(comparison)),
    Function("ge", "a >= b", "Greater or equal.", _two(comparison)),
    Function("eq_null_safe", "a <=> b", "Equal, NULL being equal to NULL; never NULL.", _two(comparison)),
    Function("and", "p AND q", "Both; false beats NULL.", takes(_BOOL, BOOLEAN, more=True)),
    Function("or", "p OR q", "Either; true beats NULL.", takes(_BOOL, BOOLEAN, more=True)),
    Function("not", "NOT p", "The opposite; NULL of NULL.", takes(_BOOL, BOOLEAN)),
    Function("is_null", "a IS NULL", "Whether a is NULL.", takes(_BOOL, ANY), ("isnull",)),
    Function("is_not_null", "a IS NOT NULL", "Whether a is not NULL.", takes(_BOOL, ANY), ("isnotnull",)),
    Function("in_list", "a IN (1, 2)", "Equal to one of them; NULL if that hangs on a NULL.", comparison),
    Function("like", "s LIKE 'a%'", "Matches: % any text, _ any character, \\ escapes.",
             takes(_BOOL, TEXT, TEXT, TEXT, optional=1)),
    Function("ilike", "s ILIKE 'a%'", "LIKE in any case.", takes(_BOOL, TEXT, TEXT, TEXT, optional=1)),
    Function("rlike", "s RLIKE 'a+'", "A part of s matches the regular expression.",
             _pattern(takes(_BOOL, TEXT, TEXT)), ("regexp_like", "regexp")),
    Function("bitwise_and", "a & b", "Bits in both.", _bits, ("bit_and",)),
    Function("bitwise_or", "a | b", "Bits in either.", _bits, ("bit_or",)),
    Function("bitwise_xor", "a ^ b", "Bits in one of them.", _bits, ("bit_xor",)),
    Function("bitwise_not", "~a", "The other bits.", takes(_first, INTEGRAL), ("bit_not",)),
    Function("shiftleft", "shiftleft(a, 2)", "Bits moved up.", _shifted, ("bitwise_left_shift",)),
    Function("shiftright", "shiftright(a, 2)", "Bits moved down, the sign kept.", _shifted,
             ("bitwise_right_shift",)),
    Function("cast", "CAST(a AS INT)", "The value in another type; NULL if it has none there.",
             casting(), ("try_cast",)),
)  # fmt: skip

_CONDITIONALS = (
    Function("case", "CASE WHEN p THEN a ELSE b END", "The first result whose condition is true.", case),
    Function("if", "if(p, a, b)", "a where p is true, else b.", _choice, ("iff",)),
    Function("coalesce", "coalesce(a, b)", "The first that is not NULL.", alike(nested=True)),
    Function("nvl", "nvl(a, b)", "a, or b where a is NULL.",
             becomes(_two(alike(nested=True)), "coalesce"), ("ifnull",)),
    Function("nvl2", "nvl2(a, b, c)", "b where a is not NULL, else c.", _choice_of_null),
    Function("nullif", "nullif(a, b)", "a, but NULL where it equals b.", _two(_nullif)),
    Function("isnan", "isnan(x)", "Whether x is NaN; false of NULL.", takes(_BOOL, DOUBLE), ("is_nan",)),
    Function("nanvl", "nanvl(x, y)", "x, or y where x is NaN.", takes(_DOUBLE, DOUBLE, DOUBLE)),
    Function("greatest", "greatest(a, b)", "The greatest that is not NULL.", alike(least=2)),
    Function("least", "least(a, b)", "The least that is not NULL.", alike(least=2)),
)  # fmt: skip

_NUMBERS = (
    Function("abs", "abs(a)", "Without its sign.", _negation),
    Function("ceil", "ceil(x)", "The next whole number up.", whole_part, ("ceiling",)),
    Function("floor", "floor(x)", "The next whole number down.", whole_part),
    Function("round", "round(x, 2)", "Rounded to so many places, halves away from 0.", rounding),
    _number("sign", "-1.0, 0.0 or 1.0.", "signum"),
    _number("sqrt", "Square root; NaN below 0."),
    _number("cbrt", "Cube root."),
    _number("exp", "e to the power of x."),
    _number("ln", "Natural logarithm; NULL unless x is above 0."),
    _number("log10", "Logarithm to base 10; NULL unless x is above 0."),
    _number("log2", "Logarithm to base 2; NULL unless x is above 0."),
    Function("log", "log(2, x)", "Logarithm to a base; natural without one.",
             takes(_DOUBLE, DOUBLE, DOUBLE, optional=1)),
    Function("power", "power(x, y)", "x to the power of y.", takes(_DOUBLE, DOUBLE, DOUBLE), ("pow",)),
    _number("sin", "Sine."), _number("cos", "Cosine."), _number("tan", "Tangent."),
    _number("asin", "Inverse sine."), _number("acos", "Inverse cosine."), _number("atan", "Inverse tangent."),
    Function("atan2", "atan2(y, x)", "Angle of the point (x, y).", takes(_DOUBLE, DOUBLE, DOUBLE)),
    _number("sinh", "Hyperbolic sine."), _number("cosh", "Hyperbolic cosine."),
    _number("tanh", "Hyperbolic tangent."),
    _number("degrees", "Radians in degrees."), _number("radians", "Degrees in radians."),
    Function("pi", "pi()", "3.141592653589793.", takes(_DOUBLE)),
    Function("e", "e()", "2.718281828459045.", takes(_DOUBLE)),
)  # fmt: skip

_STRINGS = (
    Function("upper", "upper(s)", "In capitals.", takes(_STRING, TEXT), ("ucase",)),
    Function("lower", "lower(s)", "In small letters.", takes(_STRING, TEXT), ("lcase",)),
    Function("initcap", "initcap(s)", "Each word with one capital.", takes(_STRING, TEXT)),
    Function("length", "length(s)", "How many characters (or bytes of a BINARY).",
             takes(_INT, TEXT_OR_BYTES), ("char_length", "character_length", "len")),
    Function("octet_length", "octet_length(s)", "How many bytes.", takes(_INT, TEXT_OR_BYTES)),
    Function("substring", "substring(s, 2, 3)", "Characters from a place (1 the first, -1 the last).",
             takes(_first, TEXT_OR_BYTES, INTEGER, INTEGER, optional=1), ("substr",)),
    Function("left", "left(s, 2)", "The first characters.", takes(_STRING, TEXT, INTEGER)),
    Function("right", "right(s, 2)", "The last characters.", takes(_STRING, TEXT, INTEGER)),
    Function("trim", "trim(s)", "Without spaces (or given characters) at both ends.",
             takes(_STRING, TEXT, TEXT, optional=1), ("btrim",)),
    Function("ltrim", "ltrim(s)", "Without spaces at the front.", takes(_STRING, TEXT, TEXT, optional=1)),
    Function("rtrim", "rtrim(s)", "Without spaces at the end.", takes(_STRING, TEXT, TEXT, optional=1)),
    Function("lpad", "lpad(s, 5, '0')", "Filled up at the front to a length, or cut to it.",
             takes(_STRING, TEXT, INTEGER, TEXT, optional=1)),
    Function("rpad", "rpad(s, 5, '.')", "Filled up at the end to a length, or cut to it.",
             takes(_STRING, TEXT, INTEGER, TEXT, optional=1)),
    Function("repeat", "repeat(s, 3)", "So many times over.", takes(_STRING, TEXT, INTEGER)),
    Function("reverse", "reverse(s)", "Backwards.", takes(_STRING, TEXT)),
    Function("concat", "s || t", "One after the other; NULL if any is.", _concat),
    Function("concat_ws", "concat_ws('-', s, t)", "One after the other with a separator, NULLs left out.",
             takes(_STRING, TEXT, TEXT, optional=1, more=True)),
    Function("replace", "replace(s, 'a', 'b')", "Each occurrence replaced.",
             takes(_STRING, TEXT, TEXT, TEXT, optional=1)),
    Function("instr", "instr(s, 'a')", "Place of the first occurrence, 0 if none.", takes(_INT, TEXT, TEXT)),
    Function("locate", "locate('a', s, 3)", "Place of the first occurrence from a place on, 0 if none.",
             takes(_INT, TEXT, TEXT, INTEGER, optional=1), ("position",)),
    Function("startswith", "startswith(s, 'a')", "Whether s begins with it.",
             takes(_BOOL, TEXT, TEXT), ("starts_with",)),
    Function("endswith", "endswith(s, 'a')", "Whether s ends with it.",
             takes(_BOOL, TEXT, TEXT), ("ends_with",)),
    Function("contains", "contains(s, 'a')", "Whether s holds it.", takes(_BOOL, TEXT, TEXT)),
    Function("split_part", "split_part(s, ',', 2)", "The part between separators, -1 the last; '' if none.",
             takes(_STRING, TEXT, TEXT, INTEGER)),
    Function("ascii", "ascii(s)", "Code of the first character, 0 of ''.", takes(_INT, TEXT)),
    Function("regexp_replace", "regexp_replace(s, '(a)b', '$1')", "Each match replaced.",
             _pattern(takes(_STRING, TEXT, TEXT, TEXT))),
    Function("regexp_extract", "regexp_extract(s, 'a(b)', 1)", "A group of the first match; '' if none.",
             _pattern(takes(_STRING, TEXT, TEXT, INTEGER, optional=1))),
)  # fmt: skip

_MOMENTS = (
    _part("year", "Year."), _part("quarter", "Quarter, 1 to 4."), _part("month", "Month, 1 to 12."),
    _part("day", "Day of the month.", "dayofmonth", "day_of_month"),
    _part("dayofweek", "1 for Sunday to 7 for Saturday.", "day_of_week"),
    _part("weekday", "0 for Monday to 6 for Sunday."),
    _part("dayofyear", "Day of the year.", "day_of_year"),
    _part("weekofyear", "Week of the year (ISO).", "week_of_year"),
    Function("hour", "hour(t)", "Hour.", takes(_INT, TIMESTAMP)),
    Function("minute", "minute(t)", "Minute.", takes(_INT, TIMESTAMP)),
    Function("second", "second(t)", "Second, without its fraction.", takes(_INT, TIMESTAMP)),
    Function("date_trunc", "date_trunc('hour', t)", "The start of the year, quarter, month, week, day, hour.",
             takes(_TIMESTAMP, TEXT, TIMESTAMP)),
    Function("trunc", "trunc(d, 'month')", "The first day of the year, quarter, month or week.",
             takes(_DATE, DATE, TEXT)),
    Function("to_date", "to_date(s)", "As a DATE, from ISO text.", casting(_DATE), ("ts_or_ds_to_date",)),
    Function("to_timestamp", "to_timestamp(s)", "As a TIMESTAMP, from ISO text.", casting(_TIMESTAMP)),
    Function("date_add", "date_add(d, 7)", "So many days later.", takes(_DATE, DATE, INTEGER), ("dateadd",)),
    Function("date_sub", "date_sub(d, 7)", "So many days earlier.", takes(_DATE, DATE, INTEGER)),
    Function("datediff", "datediff(d, e)", "Days from e to d.", takes(_INT, DATE, DATE), ("date_diff",)),
    Function("make_date", "make_date(2026, 2, 28)", "A DATE; NULL if there is no such day.",
             takes(_DATE, INTEGER, INTEGER, INTEGER)),
    Function("unix_seconds", "unix_seconds(t)", "Whole seconds since 1970.",
             takes(_BIGINT, TIMESTAMP), ("unix_timestamp", "to_unix_timestamp")),
    Function("unix_millis", "unix_millis(t)", "Whole milliseconds since 1970.", takes(_BIGINT, TIMESTAMP)),
    Function("unix_micros", "unix_micros(t)", "Microseconds since 1970.", takes(_BIGINT, TIMESTAMP)),
    Function("unix_date", "unix_date(d)", "Days since 1970.", takes(_INT, DATE)),
    Function("timestamp_seconds", "timestamp_seconds(n)", "A TIMESTAMP from seconds since 1970.",
             takes(_TIMESTAMP, NUMBER)),
    Function("timestamp_millis", "timestamp_millis(n)", "A TIMESTAMP from milliseconds since 1970.",
             takes(_TIMESTAMP, INTEGER)),
    Function("timestamp_micros", "timestamp_micros(n)", "A TIMESTAMP from microseconds since 1970.",
             takes(_TIMESTAMP, INTEGER)),
)  # fmt: skip

FUNCTIONS: tuple[Function, ...] = (*_OPERATORS, *_CONDITIONALS, *_NUMBERS, *_STRINGS, *_MOMENTS)
