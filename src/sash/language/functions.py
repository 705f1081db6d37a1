"""The functions of the row: their names, what they mean, and how a call is typed.

`FUNCTIONS` is the dictionary from which docs/language.md is written. A call is resolved to a
canonical name that `engine/expressions.py` evaluates, the casts of its arguments, and its type.
"""

from __future__ import annotations

__all__ = [
    "FUNCTIONS", "ArgumentMismatch", "Function", "FunctionError", "NotAFunctionOfTheRow", "Resolved",
    "UnknownFunction", "can_cast", "common_type", "describe", "function_names", "is_known", "resolve",
    "resolve_aggregate", "stranger",
]  # fmt: skip

import difflib
from collections.abc import Mapping, Sequence
from functools import cache

import pyarrow as pa
from pyarrow import types as kinds

from sash.language.coercion import (
    ArgumentMismatch,
    FunctionError,
    common_type,
    is_decimal,
    is_floating,
    is_integer,
    is_nested,
)
from sash.language.dictionary import FUNCTIONS, Function
from sash.language.signatures import Arguments, Resolved, can_cast
from sash.language.types import sql_name

NOT_OF_THE_ROW = frozenset([
    "now", "current_timestamp", "current_date", "current_time", "localtimestamp", "current_timezone",
    "curdate", "rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id",
    "spark_partition_id", "input_file_name", "current_user", "user", "session_user", "current_database",
    "current_catalog", "current_schema", "version",
])  # fmt: skip


class UnknownFunction(FunctionError):
    """There is no function of that name."""


class NotAFunctionOfTheRow(FunctionError):
    """The function's value depends on more than the row: the clock, chance, where it runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"'{name}' is not a function of the row: its value depends on when or where it is asked.",
            "Use the columns of the row, such as the stream's time column.",
        )


@cache
def _dictionary() -> Mapping[str, Function]:
    return {name: function for function in FUNCTIONS for name in (function.name, *function.aliases)}


def function_names() -> tuple[str, ...]:
    """Every name a function of the row answers to, in order.

    >>> function_names()[:3]
    ('abs', 'acos', 'add')
    """
    return tuple(sorted(_dictionary()))


def resolve(name: str, types: Sequence[pa.DataType], constants: Sequence[object] = ()) -> Resolved:
    """What a call means: the canonical function, the casts of its arguments, its type.

    `constants` holds the values of the arguments that are literals, None for the others; with them
    an integer literal takes no more digits of a decimal than it has. A cast is asked for as
    `resolve("cast", (source, target))`.

    >>> resolved = resolve("divide", [pa.int32(), pa.int64()])
    >>> resolved.function, resolved.coercions, resolved.type
    ('divide', (DataType(double), DataType(double)), DataType(double))
    """
    key = name.lower()
    function = _dictionary().get(key)
    if function is None or (key == "unix_timestamp" and not types):
        raise stranger(name)
    known = tuple(constants) if len(constants) == len(types) else (None,) * len(types)
    return function.rule(Arguments(function.name, tuple(types), known))


def is_known(name: str) -> bool:
    """Whether there is a function of the row, or an aggregate, of that name.

    >>> is_known("Upper"), is_known("sum"), is_known("frobnicate")
    (True, True, False)
    """
    return name.lower() in _dictionary() or name.lower() in AGGREGATES


_WINDOWS = ("window", "session_window", "tumble", "tumbling", "hop", "hopping")


def stranger(name: str) -> FunctionError:
    key = name.lower()
    if key in NOT_OF_THE_ROW or key == "unix_timestamp":
        return NotAFunctionOfTheRow(name)
    if key in _WINDOWS:
        remedy = (
            "Put the window after the stream's name in FROM, such as [RANGE 10 MINUTES SLIDE 10 MINUTES]."
        )
        return UnknownFunction(f"There is no function '{name}'.", remedy)
    names = [each for each in function_names() if each != "ts_or_ds_to_date"]  # sqlglot's own word
    near = difflib.get_close_matches(key, [*names, *AGGREGATES], n=3)
    choices = " or ".join(f"'{one}'" for one in near)
    remedy = f"Did you mean {choices}?" if near else "See docs/language.md for all."
    return UnknownFunction(f"There is no function '{name}'.", remedy)


AGGREGATES: Mapping[str, str] = {
    "count": "count", "sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max",
    "stddev": "stddev_samp", "std": "stddev_samp", "stddev_samp": "stddev_samp", "stddev_pop": "stddev_pop",
    "variance": "var_samp", "var_samp": "var_samp", "var_pop": "var_pop",
}  # fmt: skip


def resolve_aggregate(name: str, type_: pa.DataType | None, distinct: bool = False) -> Resolved:
    """What an aggregate means: its canonical name, the cast of its argument (none for `*`), its type.

    >>> resolve_aggregate("mean", pa.int32()).function, resolve_aggregate("sum", pa.decimal128(10, 2)).type
    ('avg', Decimal128Type(decimal128(20, 2)))
    """
    function = AGGREGATES.get(name.lower())
    if function is None:
        raise stranger(name)
    if type_ is None:
        if function != "count" or distinct:
            raise ArgumentMismatch(f"'{name}(*)' has no meaning.", "Name a column; only COUNT takes a star.")
        return Resolved("count", (), pa.int64())
    if is_nested(type_) and (function != "count" or distinct):
        raise _not_aggregated(name, type_)
    if function == "count":
        return Resolved("count", (type_,), pa.int64())
    if function in ("min", "max"):
        return Resolved(function, (type_,), type_)
    return _summed(name, function, type_)


def _summed(name: str, function: str, type_: pa.DataType) -> Resolved:
    if kinds.is_string(type_) or kinds.is_null(type_):
        type_ = pa.float64()
    if not (is_integer(type_) or is_floating(type_) or is_decimal(type_)):
        raise _not_aggregated(name, type_)
    if function == "sum" and is_integer(type_):
        return Resolved(function, (type_,), pa.int64())
    if is_decimal(type_) and function == "sum":
        return Resolved(function, (type_,), pa.decimal128(min(38, type_.precision + 10), type_.scale))
    if is_decimal(type_) and function == "avg":
        scale = min(38, type_.scale + 4)
        return Resolved(function, (type_,), pa.decimal128(min(38, type_.precision + 4), scale))
    return Resolved(function, (type_,), pa.float64())


def _not_aggregated(name: str, type_: pa.DataType) -> ArgumentMismatch:
    return ArgumentMismatch(f"'{name}' does not take {sql_name(type_)}.", _remedy(type_))


def _remedy(type_: pa.DataType) -> str:
    return "Take a part of it." if pa.types.is_nested(type_) else "Cast the argument to a number."


def describe() -> str:
    """The dictionary as a Markdown table.

    >>> print(describe().splitlines()[2])
    | `add` | `a + b` | Sum; also a date plus days, a timestamp plus an INTERVAL. |
    """
    rows = ["| function | example | meaning |", "| --- | --- | --- |"]
    for function in FUNCTIONS:
        example = function.example.replace("|", "\\|")
        rows.append(f"| `{function.name}` | `{example}` | {function.meaning} |")
    return "\n".join(rows)
