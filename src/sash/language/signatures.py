"""Typing rules: from a function's argument types to the casts it needs and the type it gives.

A kind says which types a parameter takes and what each is cast to; `takes` makes a rule of kinds,
and the operators whose result depends on their arguments have rules of their own.
"""

from __future__ import annotations

__all__ = [
    "ANY", "BOOLEAN", "DATE", "DOUBLE", "INTEGER", "INTEGRAL", "MOMENT", "NUMBER", "SIGNS", "TEXT",
    "TEXT_OR_BYTES", "TIMESTAMP", "Arguments", "Kind", "Resolved", "Rule", "alike", "arithmetic", "becomes",
    "can_cast", "case", "casting", "comparison", "division", "integer_division", "rounding", "takes",
    "whole_part",
]  # fmt: skip

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import types as kinds

from sash.language.coercion import (
    ArgumentMismatch,
    bounded_decimal,
    common_type,
    decimal_of,
    is_decimal,
    is_floating,
    is_integer,
    is_nested,
    is_numeric,
    is_simple,
    wider,
)
from sash.language.types import sql_name

_DAY = 86_400_000_000

SIGNS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "int_divide": "DIV", "modulo": "%",
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq_null_safe": "<=>",
    "and": "AND", "or": "OR", "like": "LIKE", "ilike": "ILIKE", "rlike": "RLIKE",
}  # fmt: skip
"""The operators that stand between their operands, as they are written."""

_WRITTEN = {
    **SIGNS, "negate": "-", "not": "NOT", "in_list": "IN", "case": "CASE", "is_null": "IS NULL",
    "is_not_null": "IS NOT NULL", "bit_and": "&", "bit_or": "|", "bit_xor": "^", "bit_not": "~",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Resolved:
    """A call with its types: what to call, what to cast each argument to, what comes out."""

    function: str
    coercions: tuple[pa.DataType, ...]
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a rule looks at: the canonical name, the types, and the values of constants (else None)."""

    name: str
    types: tuple[pa.DataType, ...]
    constants: tuple[object, ...]

    def mismatch(self, wanted: str) -> ArgumentMismatch:
        """The error that says what the function takes."""
        given = ", ".join(map(sql_name, self.types)) or "nothing"
        name = _WRITTEN.get(self.name, self.name)
        return ArgumentMismatch(f"'{name}' does not take ({given}).", f"It takes {wanted}.")


Rule = Callable[[Arguments], Resolved]


@dataclass(frozen=True, slots=True)
class Kind:
    """A parameter: its name for people, and the type it casts a given type to (None: it does not)."""

    name: str
    cast: Callable[[pa.DataType], pa.DataType | None]


def _fixed(name: str, target: pa.DataType, takes_type: Callable[[pa.DataType], bool]) -> Kind:
    def cast(type_: pa.DataType) -> pa.DataType | None:
        known = type_ == target or kinds.is_null(type_) or kinds.is_string(type_) or takes_type(type_)
        return target if known else None

    return Kind(name, cast)


def _kept(name: str, default: pa.DataType, keeps: Callable[[pa.DataType], bool]) -> Kind:
    """Types that are left alone; a NULL or a string becomes the default."""

    def cast(type_: pa.DataType) -> pa.DataType | None:
        if keeps(type_):
            return type_
        return default if kinds.is_null(type_) or kinds.is_string(type_) else None

    return Kind(name, cast)


def _is_moment(type_: pa.DataType) -> bool:
    return bool(kinds.is_date32(type_) or kinds.is_timestamp(type_))


ANY = Kind("anything", lambda type_: type_)
BOOLEAN = _fixed("a boolean", pa.bool_(), lambda _: False)
DOUBLE = _fixed("a number", pa.float64(), is_numeric)
INTEGER = _fixed("an integer", pa.int64(), is_integer)
TEXT = _fixed("a string", pa.string(), lambda t: is_simple(t) and not kinds.is_duration(t))
DATE = _fixed("a date", pa.date32(), _is_moment)
TIMESTAMP = _fixed("a timestamp", pa.timestamp("us"), _is_moment)
TEXT_OR_BYTES = Kind("a string or bytes", lambda t: t if kinds.is_binary(t) else TEXT.cast(t))
NUMBER = _kept("a number", pa.float64(), is_numeric)
INTEGRAL = _kept("an integer", pa.int64(), is_integer)
MOMENT = _kept("a date or timestamp", pa.date32(), _is_moment)


def takes(result: Any, *parameters: Kind, optional: int = 0, more: bool = False) -> Rule:
    """A function of these kinds; the last `optional` may be left out, with `more` the last repeats.

    `result` is its type, or says it from the types its arguments are cast to.
    """
    wanted = ", ".join(kind.name for kind in parameters) + (", ..." if more else "")
    if optional:
        wanted += f" (the last {optional} may be left out)" if optional > 1 else " (the last may be left out)"

    def rule(arguments: Arguments) -> Resolved:
        count = len(arguments.types)
        if count < len(parameters) - optional or (count > len(parameters) and not more):
            raise arguments.mismatch(wanted or "no arguments")
        spread = [parameters[min(i, len(parameters) - 1)] for i in range(count)]
        coercions = [kind.cast(type_) for kind, type_ in zip(spread, arguments.types, strict=True)]
        if any(type_ is None for type_ in coercions):
            raise arguments.mismatch(wanted)
        return Resolved(arguments.name, tuple(coercions), result(coercions) if callable(result) else result)

    return rule


def becomes(rule: Rule, function: str) -> Rule:
    """The rule of a function that is another one under a different name."""

    def renamed(arguments: Arguments) -> Resolved:
        resolved = rule(arguments)
        return Resolved(function, resolved.coercions, resolved.type)

    return renamed


def alike(result: pa.DataType | None = None, least: int = 1, nested: bool = False) -> Rule:
    """All arguments meet in their common type, which is also the result's unless one is given."""

    def rule(arguments: Arguments) -> Resolved:
        if len(arguments.types) < least:
            raise arguments.mismatch(f"at least {least} arguments" if least > 1 else "at least one argument")
        type_ = common_type(arguments.types)
        if is_nested(type_) and not nested:
            raise arguments.mismatch("values that can be compared, not nested ones")
        return Resolved(arguments.name, (type_,) * len(arguments.types), result or type_)

    return rule


def comparison(arguments: Arguments) -> Resolved:
    """=, <, IN and their kin: both sides in their common type."""
    if len(arguments.types) < 2:
        raise arguments.mismatch("two arguments")
    return alike(pa.bool_(), 2)(arguments)


def case(arguments: Arguments) -> Resolved:
    """CASE: conditions and results by turns, then what else."""
    types = arguments.types
    if len(types) < 2:
        raise arguments.mismatch("a condition and a result")
    pairs = len(types) // 2
    conditions = [BOOLEAN.cast(types[2 * i]) for i in range(pairs)]
    if any(type_ is None for type_ in conditions):
        raise arguments.mismatch("conditions that are booleans")
    results = [types[2 * i + 1] for i in range(pairs)] + list(types[2 * pairs :])
    type_ = common_type(results)
    coercions = tuple(pa.bool_() if i < 2 * pairs and i % 2 == 0 else type_ for i in range(len(types)))
    return Resolved(arguments.name, coercions, type_)


def arithmetic(arguments: Arguments) -> Resolved:
    """+, -, *, %: numbers widen, decimals follow their formulas, dates and timestamps move."""
    if len(arguments.types) != 2:
        raise arguments.mismatch("two arguments")
    moved = _moved(arguments)
    if moved is not None:
        return moved
    left, right = _numbers(arguments, "two numbers")
    if is_decimal(left) and is_decimal(right):
        return Resolved(arguments.name, (left, right), _decimal_result(arguments.name, left, right))
    return Resolved(arguments.name, (left, right), left)


def _numbers(arguments: Arguments, wanted: str) -> tuple[pa.DataType, pa.DataType]:
    """Both sides as numbers: the same type, unless they are decimals."""
    left, right = arguments.types
    both = wider(left, right)
    if both is None or not (is_numeric(both) or kinds.is_null(both) or kinds.is_string(both)):
        raise arguments.mismatch(wanted)
    if not is_numeric(both):  # two strings, or NULLs
        return pa.float64(), pa.float64()
    if is_decimal(both):
        constants = (*arguments.constants, None, None)
        sides = (right if kinds.is_null(left) else left, left if kinds.is_null(right) else right)
        return decimal_of(sides[0], constants[0]), decimal_of(sides[1], constants[1])
    return both, both


def _decimal_result(name: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    whole_left, whole_right = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    if name == "multiply":
        return bounded_decimal(left.precision + right.precision + 1, left.scale + right.scale)
    if name in ("modulo", "pmod"):
        return bounded_decimal(max(1, min(whole_left, whole_right) + scale), scale)
    return bounded_decimal(max(whole_left, whole_right) + scale + 1, scale)


def _moved(arguments: Arguments) -> Resolved | None:
    """Dates and timestamps plus or minus days, intervals and each other; None for other arguments."""
    left, right = arguments.types
    if arguments.name == "add" and _is_moment(right) and not _is_moment(left):
        turned = _moved(Arguments("add", (right, left), (*arguments.constants, None, None)[1::-1]))
        return turned and Resolved(turned.function, turned.coercions[::-1], turned.type)
    if arguments.name not in ("add", "subtract") or not (_is_moment(left) or kinds.is_duration(left)):
        return None
    adding = arguments.name == "add"
    if kinds.is_duration(left):
        if kinds.is_duration(right):
            return Resolved(arguments.name, (left, right), left)
    elif kinds.is_duration(right):
        interval = (*arguments.constants, None, None)[1]
        days = kinds.is_date32(left) and interval is not None and _microseconds(interval) % _DAY == 0
        target = pa.date32() if days else pa.timestamp("us")
        return Resolved(f"timestamp_{arguments.name}", (pa.timestamp("us"), right), target)
    elif is_integer(right) and kinds.is_date32(left):
        return Resolved("date_add" if adding else "date_sub", (left, pa.int64()), left)
    elif _is_moment(right) and not adding:
        both = (pa.timestamp("us"),) * 2
        return Resolved("timestamp_difference", both, pa.duration("us"))
    raise arguments.mismatch("a date and days, a date or timestamp and an interval, or two numbers")


def _microseconds(interval: object) -> int:
    return int(pa.scalar(interval, pa.duration("us")).cast(pa.int64()).as_py())


def division(arguments: Arguments) -> Resolved:
    """/: DOUBLE, or DECIMAL if a decimal meets a decimal or an integer."""
    if len(arguments.types) != 2:
        raise arguments.mismatch("two numbers")
    left, right = _numbers(arguments, "two numbers")
    if not is_decimal(left):
        return Resolved(arguments.name, (pa.float64(), pa.float64()), pa.float64())
    scale = max(6, left.scale + right.precision + 1)
    type_ = bounded_decimal(left.precision - left.scale + right.scale + scale, scale)
    return Resolved(arguments.name, (left, right), type_)


def integer_division(arguments: Arguments) -> Resolved:
    """DIV: integers or decimals in, BIGINT out."""
    wanted = "two integers or decimals"
    if len(arguments.types) != 2 or any(is_floating(type_) for type_ in arguments.types):
        raise arguments.mismatch(wanted)
    left, right = _numbers(arguments, wanted)
    if not is_decimal(left):
        left = right = pa.int64()
    return Resolved(arguments.name, (left, right), pa.int64())


def whole_part(arguments: Arguments) -> Resolved:
    """CEIL and FLOOR: BIGINT, or a decimal without a fraction."""
    resolved = takes(pa.int64(), NUMBER)(arguments)
    (type_,) = resolved.coercions
    if is_decimal(type_):
        more = 1 if type_.scale else 0
        return Resolved(arguments.name, (type_,), bounded_decimal(type_.precision - type_.scale + more, 0))
    return Resolved(arguments.name, (pa.int64() if is_integer(type_) else pa.float64(),), pa.int64())


def rounding(arguments: Arguments) -> Resolved:
    """ROUND: the number's own type; of a decimal, with the scale that is asked for if it is constant."""
    resolved = takes(lambda types: types[0], NUMBER, INTEGER, optional=1)(arguments)
    type_ = resolved.coercions[0]
    if not is_decimal(type_):
        return resolved
    digits = 0 if len(arguments.types) == 1 else (*arguments.constants, None, None)[1]
    wanted = digits if isinstance(digits, int) else type_.scale
    whole = type_.precision - type_.scale + 1
    scale = max(0, min(type_.scale, wanted))
    precision = max(whole, 1 - wanted) if wanted < 0 else whole + scale
    return Resolved(arguments.name, resolved.coercions, pa.decimal128(min(precision, 38), scale))


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether CAST knows the way from one type to another.

    >>> can_cast(pa.string(), pa.date32()), can_cast(pa.date32(), pa.int32())
    (True, False)
    """
    if source == target or kinds.is_null(source):
        return True
    if not all(is_simple(type_) and not kinds.is_duration(type_) for type_ in (source, target)):
        return False
    if kinds.is_string(source) or kinds.is_string(target):
        return not kinds.is_null(target)
    ways = {
        "boolean": is_numeric(target) and kinds.is_boolean(source),
        "number": is_numeric(source) and (is_numeric(target) or target in (pa.bool_(), pa.timestamp("us"))),
        "timestamp": kinds.is_timestamp(source) and (is_numeric(target) or kinds.is_date32(target)),
        "date": kinds.is_date32(source) and kinds.is_timestamp(target),
    }
    return any(ways.values())


def casting(target: pa.DataType | None = None) -> Rule:
    """A cast to the target; without one, `CAST` itself, which is given as (source, target)."""

    def rule(arguments: Arguments) -> Resolved:
        types = arguments.types
        if len(types) != (2 if target is None else 1):
            raise arguments.mismatch("one argument")
        wanted = types[1] if target is None else target
        if not can_cast(types[0], wanted):
            raise ArgumentMismatch(
                f"{sql_name(types[0])} cannot be cast to {sql_name(wanted)}.",
                "Use a function that takes it apart."
                if kinds.is_string(wanted)
                else "Cast to STRING, or use a function that takes it apart.",
            )
        return Resolved("cast", types[:1], wanted)

    return rule
