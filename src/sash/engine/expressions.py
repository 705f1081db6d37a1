"""Evaluates bound expressions over columns, with Arrow's kernels.

Every function is a kernel by its canonical name, but for those that must not look at all rows: CASE,
IF, COALESCE and their kin evaluate a branch only on the rows that take it, so that a division by
zero in a branch not taken is no fault. AND and OR do so where the right side could fault.
"""

from __future__ import annotations

__all__ = ["Faults", "can_fault", "evaluate"]

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine import arithmetic, casts, comparisons, dates, mathematics, strings
from sash.engine.values import Faults, Kernel, Mask, Numbers, Value, as_array, assemble, numbers
from sash.language.expressions import Call, Column, Expression, Literal, columns_of

KERNELS: Mapping[str, Kernel] = {
    **arithmetic.KERNELS,
    **comparisons.KERNELS,
    **mathematics.KERNELS,
    **strings.KERNELS,
    **dates.KERNELS,
    "cast": casts.cast,
}


def evaluate(expression: Expression, columns: Sequence[pa.Array], length: int, faults: Faults) -> pa.Array:
    """The column of the expression's values over rows given as columns of the same length.

    >>> amount = Column(0, pa.int64(), "amount")
    >>> half = Call("int_divide", (amount, Literal(2, pa.int64())), pa.int64())
    >>> evaluate(half, [pa.array([7, None])], 2, Faults()).to_pylist()
    [3, None]
    """
    return as_array(_evaluate(expression, _Rows(columns, length), faults), length)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The input's columns, of which only those that are read need be there."""

    columns: Sequence[pa.Array | None]
    length: int

    def take(self, rows: Numbers, expressions: Sequence[Expression]) -> _Rows:
        """Some of the rows, with the columns that the expressions read."""
        if len(rows) == self.length:
            return self
        read = frozenset().union(*(columns_of(expression) for expression in expressions))
        positions = pa.array(rows)
        kept = [
            c.take(positions) if i in read and c is not None else None for i, c in enumerate(self.columns)
        ]
        return _Rows(kept, len(rows))


def _evaluate(expression: Expression, rows: _Rows, faults: Faults) -> Value:
    if isinstance(expression, Column):
        return rows.columns[expression.index]
    if isinstance(expression, Literal):
        return pa.scalar(expression.value, expression.type)
    lazy = LAZY.get(expression.function)
    if lazy is not None:
        return lazy(expression, rows, faults)
    arguments = [_evaluate(argument, rows, faults) for argument in expression.arguments]
    return _call(expression, arguments, rows.length, faults)


def _call(call: Call, arguments: Sequence[Value], length: int, faults: Faults) -> Value:
    kernel = KERNELS[call.function]
    if not all(isinstance(argument, pa.Scalar) for argument in arguments):
        return kernel(arguments, call.type, faults)
    # Constants: one row is computed, its faults count for every row.
    alone = Faults()
    first = [as_array(argument, 1) for argument in arguments[:1]]
    result = kernel([*first, *arguments[1:]], call.type, alone)
    for cause, count in alone.counts.items():
        faults.add(cause, count * length)
    return result if isinstance(result, pa.Scalar) else result[0]


def _true(value: Value, length: int) -> Mask:
    """Where a condition holds: not false, not NULL."""
    return numbers(as_array(value, length))


def _case(call: Call, rows: _Rows, faults: Faults) -> Value:
    """Conditions and results by turns, then what else: each on the rows that are still undecided."""
    branches = list(zip(call.arguments[0::2], call.arguments[1::2], strict=False))
    otherwise = call.arguments[-1] if len(call.arguments) % 2 else Literal(None, call.type)
    if not any(can_fault(argument) for argument in call.arguments[1:]):
        return _case_at_once(branches, otherwise, call.type, rows, faults)
    left = np.arange(rows.length)
    pieces: list[tuple[Numbers, pa.Array]] = []
    for condition, result in branches:
        here = rows.take(left, (condition,))
        holds = _true(_evaluate(condition, here, faults), len(left))
        pieces.append(_piece(result, left[holds], rows, faults))
        left = left[~holds]
    pieces.append(_piece(otherwise, left, rows, faults))
    return assemble(pieces, rows.length, call.type)


def _piece(expression: Expression, chosen: Numbers, rows: _Rows, faults: Faults) -> tuple[Numbers, pa.Array]:
    """The expression's values on the chosen rows."""
    if not len(chosen):
        return chosen, pa.nulls(0, expression.type)
    here = rows.take(chosen, (expression,))
    return chosen, as_array(_evaluate(expression, here, faults), len(chosen))


def _case_at_once(
    branches: Sequence[tuple[Expression, Expression]],
    otherwise: Expression,
    type_: pa.DataType,
    rows: _Rows,
    faults: Faults,
) -> Value:
    """Every branch on every row, where none of them can fault."""
    result = _evaluate(otherwise, rows, faults)
    for condition, branch in reversed(branches):
        holds = as_array(_evaluate(condition, rows, faults), rows.length).fill_null(False)
        result = pc.if_else(holds, _evaluate(branch, rows, faults), result)
    return result


def _if(call: Call, rows: _Rows, faults: Faults) -> Value:
    return _case(Call("case", call.arguments, call.type), rows, faults)


def _nvl2(call: Call, rows: _Rows, faults: Faults) -> Value:
    first, *results = call.arguments
    known = Call("is_not_null", (first,), pa.bool_())
    return _case(Call("case", (known, *results), call.type), rows, faults)


def _first_good(bad: Callable[[Value], Value]) -> Callable[[Call, _Rows, Faults], Value]:
    """The first argument that is not bad, each evaluated only where those before it were."""

    def lazy(call: Call, rows: _Rows, faults: Faults) -> Value:
        left = np.arange(rows.length)
        pieces: list[tuple[Numbers, pa.Array]] = []
        for place, argument in enumerate(call.arguments):
            _, values = _piece(argument, left, rows, faults)
            if place == len(call.arguments) - 1:
                pieces.append((left, values))
                break
            wanting = _true(bad(values), len(left))
            if not wanting.any():
                pieces.append((left, values))
                break
            pieces.append((left[~wanting], values.filter(pa.array(~wanting))))
            left = left[wanting]
        return assemble(pieces, rows.length, call.type)

    return lazy


def _coalesce(call: Call, rows: _Rows, faults: Faults) -> Value:
    if any(can_fault(argument) for argument in call.arguments[1:]) or pa.types.is_nested(call.type):
        return _first_good(pc.is_null)(call, rows, faults)
    return pc.coalesce(*(_evaluate(argument, rows, faults) for argument in call.arguments))


def _and_or(name: str, call: Call, rows: _Rows, faults: Faults) -> Value:
    """Kleene's AND and OR; a side that can fault is evaluated only where those before do not decide."""
    kernel, decided = (pc.and_kleene, False) if name == "and" else (pc.or_kleene, True)
    result = _evaluate(call.arguments[0], rows, faults)
    for argument in call.arguments[1:]:
        if not can_fault(argument):
            result = kernel(result, _evaluate(argument, rows, faults))
            continue
        column = as_array(result, rows.length)
        known = _true(column if decided else pc.invert(column), rows.length)
        open_rows = np.flatnonzero(~known)
        chosen, values = _piece(argument, open_rows, rows, faults)
        settled = np.flatnonzero(known)
        rest = pa.repeat(pa.scalar(decided), len(settled))
        result = kernel(column, assemble([(chosen, values), (settled, rest)], rows.length, pa.bool_()))
    return result


LAZY: Mapping[str, Callable[[Call, _Rows, Faults], Value]] = {
    "case": _case,
    "if": _if,
    "nvl2": _nvl2,
    "coalesce": _coalesce,
    "nanvl": _first_good(pc.is_nan),
    "and": lambda call, rows, faults: _and_or("and", call, rows, faults),
    "or": lambda call, rows, faults: _and_or("or", call, rows, faults),
}

FAULTING = frozenset([
    "add", "subtract", "multiply", "divide", "int_divide", "modulo", "pmod", "negate", "abs", "round",
    "ceil", "floor", "cast", "date_add", "date_sub", "timestamp_add", "timestamp_subtract",
    "timestamp_difference", "make_date", "timestamp_seconds", "timestamp_millis", "timestamp_micros",
    "rlike", "regexp_replace", "regexp_extract", "lpad", "rpad", "repeat",
])  # fmt: skip
"""Functions that may make a row NULL and count it."""

HARMLESS_ON_DOUBLES = frozenset(("add", "subtract", "multiply", "negate", "abs", "round"))


def can_fault(expression: Expression) -> bool:
    """Whether evaluating the expression may count a fault."""
    if not isinstance(expression, Call):
        return False
    if any(can_fault(argument) for argument in expression.arguments):
        return True
    if expression.function == "nullif":  # it casts the first to compare it with the other
        return not _always_fits(*(argument.type for argument in expression.arguments))
    if expression.function not in FAULTING:
        return False
    if expression.function in HARMLESS_ON_DOUBLES and pa.types.is_floating(expression.type):
        return False
    return not (expression.function == "cast" and _always_fits(expression.arguments[0].type, expression.type))


def _always_fits(source: pa.DataType, target: pa.DataType) -> bool:
    kinds = pa.types
    if kinds.is_null(source) or source == target:
        return True
    if kinds.is_string(target):
        return not kinds.is_binary(source)
    if kinds.is_string(source):
        return False
    if kinds.is_floating(target) or kinds.is_boolean(target):
        return True
    small = kinds.is_boolean(source) or kinds.is_integer(source)
    return bool(small and kinds.is_integer(target) and source.bit_width <= target.bit_width)
