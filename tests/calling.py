"""Calls a function of the row by name, in every way a query could: the answers must agree.

The arguments are columns or constants. The call is typed by `resolve`, evaluated over the columns,
over slices of longer columns, over no rows, and over each row as constants.
"""

from __future__ import annotations

__all__ = ["apply", "bound", "column", "rows_of"]

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sash.engine.expressions import Faults, evaluate
from sash.language.expressions import Call, Column, Expression, Literal
from sash.language.functions import resolve


def column(type_: pa.DataType, *values: object) -> pa.Array:
    """A column of the values."""
    return pa.array(values, type_)


def bound(name: str, *arguments: Expression) -> Expression:
    """The call as the binder would make it, casts and all."""
    types = [argument.type for argument in arguments]
    constants = [argument.value if isinstance(argument, Literal) else None for argument in arguments]
    resolved = resolve(name, types, constants)
    cast = [
        argument if argument.type == type_ else Call("cast", (argument,), type_)
        for argument, type_ in zip(arguments, resolved.coercions, strict=True)
    ]
    return Call(resolved.function, tuple(cast), resolved.type)


def rows_of(
    expression: Expression, columns: Sequence[pa.Array], length: int
) -> tuple[list[Any], dict[str, int]]:
    """The expression's values and faults."""
    faults = Faults()
    array = evaluate(expression, columns, length, faults)
    array.validate(full=True)
    assert isinstance(array, pa.Array), type(array)
    assert array.type == expression.type, f"{array.type} instead of {expression.type}"
    assert len(array) == length
    try:
        return array.to_pylist(), faults.counts
    except OverflowError:  # beyond the years that Python knows
        return array.view(pa.int64()).to_pylist(), faults.counts


def apply(name: str, *arguments: pa.Array | Literal) -> tuple[list[Any], dict[str, int]]:
    """The values and faults of a call over columns and constants."""
    columns = [argument for argument in arguments if isinstance(argument, pa.Array)]
    length = len(columns[0]) if columns else 1
    places = iter(range(len(columns)))
    expressions: list[Expression] = [
        argument if isinstance(argument, Literal) else Column(next(places), argument.type, "c")
        for argument in arguments
    ]
    expression = bound(name, *expressions)
    values, faults = rows_of(expression, columns, length)
    longer = [pa.concat_arrays([each[-1:], each[-1:], each, each[:1]]) for each in columns]
    sliced = [each.slice(min(2, 2 * length), length) for each in longer]
    assert repr((values, faults)) == repr(rows_of(expression, sliced, length)), "over slices"
    assert rows_of(expression, [each[:0] for each in columns], 0) == ([], {}), "over no rows"
    _over_constants(expression, columns, values, faults)
    return values, faults


def _over_constants(
    expression: Expression, columns: Sequence[pa.Array], values: list[Any], faults: dict[str, int]
) -> None:
    counted: dict[str, int] = {}
    for i, value in enumerate(values):
        constant = _constant(expression, [each[i].as_py() for each in columns])
        alone, more = rows_of(constant, [], 3)
        if type(alone[0]) is not type(value) and isinstance(value, int):
            alone = pa.array(alone, expression.type).cast(pa.int64()).to_pylist()
        assert repr(alone) == repr([value] * 3), f"row {i} as constants: {alone} instead of {value}"
        counted |= {cause: counted.get(cause, 0) + rows for cause, rows in more.items()}
    assert counted == {cause: 3 * rows for cause, rows in faults.items()}, "faults over constants"


def _constant(expression: Expression, row: Sequence[object]) -> Expression:
    if isinstance(expression, Column):
        return Literal(row[expression.index], expression.type)
    if isinstance(expression, Literal):
        return expression
    arguments = tuple(_constant(argument, row) for argument in expression.arguments)
    return Call(expression.function, arguments, expression.type)
