"""Plans in words, for people: durations, expressions, windows.

Durations are in units where time is a timestamp and plain numbers where it is an integer column.
"""

from __future__ import annotations

__all__ = ["counted", "duration", "is_timestamped", "listing", "phrase", "window_phrase"]

from collections.abc import Iterable

import pyarrow as pa

from sash.language.expressions import Call, Column, Expression, Literal, Schema
from sash.language.signatures import SIGNS
from sash.language.windows import Window
from sash.plan.nodes import Node, Source

_SECOND = 1_000_000
_UNITS = (
    (86_400 * _SECOND, 1, "d"),
    (3_600 * _SECOND, 1, "h"),
    (60 * _SECOND, 2, "min"),  # one minute reads better as 60 s, beside the other seconds
    (_SECOND, 1, "s"),
    (1_000, 1, "ms"),
)


def counted(number: int, noun: str) -> str:
    """A number and what it counts.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def is_timestamped(node: Node) -> bool:
    """Whether the time below a node is a timestamp (in microseconds) and not a plain number."""
    return any(
        isinstance(below, Source) and pa.types.is_timestamp(below.fields[below.time].type)
        for below in node.walk()
    )


def duration(ticks: int, timestamped: bool) -> str:
    """A length of time, in the largest unit that divides it.

    >>> duration(60_000_000, True), duration(600_000_000, True), duration(60, False)
    ('60 s', '10 min', '60')
    """
    if not timestamped:
        return str(ticks)
    for size, least, unit in _UNITS:
        if ticks % size == 0 and ticks // size >= least:
            return f"{ticks // size} {unit}"
    return f"{ticks} us"


def listing(schema: Schema, positions: Iterable[int]) -> str:
    """The names of some columns, with commas."""
    return ", ".join(schema[position].name for position in positions)


def phrase(expression: Expression) -> str:
    """An expression as one would write it.

    >>> a = Column(0, pa.int64(), "a")
    >>> phrase(Call("gt", (Call("add", (a, Literal(1, pa.int64())), pa.int64()), a), pa.bool_()))
    '(a + 1) > a'
    """
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Literal):
        return _constant(expression.value)
    arguments = expression.arguments
    if expression.function in SIGNS and len(arguments) > 1:
        sign = f" {SIGNS[expression.function]} "
        return sign.join(_nested(argument, expression.function) for argument in arguments)
    match expression.function:
        case "not":
            return f"NOT {_nested(arguments[0])}"
        case "negate":
            return f"-{_nested(arguments[0])}"
        case "is_null":
            return f"{_nested(arguments[0])} IS NULL"
        case "is_not_null":
            return f"{_nested(arguments[0])} IS NOT NULL"
        case "in_list":
            return f"{_nested(arguments[0])} IN ({', '.join(map(phrase, arguments[1:]))})"
        case "cast":
            return f"cast({phrase(arguments[0])} as {expression.type})"
        case name:
            return f"{name}({', '.join(map(phrase, arguments))})"


def window_phrase(window: Window, schema: Schema, timestamped: bool) -> str:
    """A window as it is written, in small letters.

    >>> window_phrase(Window("range", length=60, slide=10), (), False)
    'range 60 slide 10'
    """
    words = []
    if window.partition:
        words.append(f"partition by {listing(schema, window.partition)}")
    if window.kind == "rows":
        words.append(f"rows {window.rows}")
        if window.slide is not None:
            words.append(f"slide {window.slide}")
        if window.length is not None:
            words.append(f"range {duration(window.length, timestamped)}")
    elif window.kind == "range":
        words.append(f"range {duration(window.length or 0, timestamped)}")
        if window.slide is not None:
            words.append(f"slide {duration(window.slide, timestamped)}")
    elif window.kind == "until":
        words.append(f"until {listing(schema, (window.until or 0,))}")
    else:
        words.append(window.kind)
    if window.internal:
        words.append("internal")
    return " ".join(words)


def _nested(expression: Expression, within: str | None = None) -> str:
    text = phrase(expression)
    loose = isinstance(expression, Call) and (
        expression.function in SIGNS or expression.function in ("not", "in_list", "is_null", "is_not_null")
    )
    same = isinstance(expression, Call) and expression.function == within and within in ("and", "or")
    return f"({text})" if loose and not same and not _tight(expression, within) else text


def _tight(expression: Expression, within: str | None) -> bool:
    """Whether AND and OR need no parentheses round this: it binds more tightly than they do."""
    looser = ("and", "or")
    return within in looser and isinstance(expression, Call) and expression.function not in (*looser, "not")


def _constant(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return repr(value) if isinstance(value, (str, bytes, int, float)) else f"'{value}'"
