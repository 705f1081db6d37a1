"""Bound expressions: every name resolved to a column's position, every type known.

There are three kinds: a column, a literal, a call. Operators, CASE, CAST, IN lists and LIKE are
calls like any other, by the canonical names that `functions.py` lists.
"""

from __future__ import annotations

__all__ = [
    "AggregateCall", "Call", "Column", "Expression", "Field", "Literal", "Schema", "all_of", "columns_of",
    "remap",
]  # fmt: skip

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation: its name and type."""

    name: str
    type: pa.DataType


Schema = tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """The input's column at a position; the name is for people."""

    index: int
    type: pa.DataType
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, as the Python value that Arrow gives for its type; None for NULL."""

    value: object
    type: pa.DataType

    def __str__(self) -> str:
        return "NULL" if self.value is None else repr(self.value)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the row, by its canonical name (see `functions.py`); a cast's target is `type`."""

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


Expression = Column | Literal | Call


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate: `count`, `sum`, `avg`, `min`, `max`, `stddev_samp`, `stddev_pop`, `var_samp`, `var_pop`.

    COUNT(*) is `count` without an argument.
    """

    function: str
    argument: Expression | None
    distinct: bool
    type: pa.DataType

    def __str__(self) -> str:
        inner = "*" if self.argument is None else str(self.argument)
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{inner})"


_LONG = 16


def all_of(conditions: Sequence[Expression]) -> Expression | None:
    """Conditions joined by AND, from the left; many by halves, so that none is nested deeply.

    >>> a, b = Column(0, pa.bool_(), "a"), Column(1, pa.bool_(), "b")
    >>> str(all_of([a, b, a]))
    'and(and(a, b), a)'
    """
    if not conditions:
        return None
    if len(conditions) > _LONG:
        middle = len(conditions) // 2
        conditions = [each for half in (conditions[:middle], conditions[middle:]) if (each := all_of(half))]
    return reduce(lambda left, right: Call("and", (left, right), pa.bool_()), conditions)


def columns_of(expression: Expression) -> frozenset[int]:
    """The positions of the columns an expression reads.

    >>> a, b = Column(0, pa.int64(), "a"), Column(3, pa.int64(), "b")
    >>> sorted(columns_of(Call("add", (a, b), pa.int64())))
    [0, 3]
    """
    if isinstance(expression, Column):
        return frozenset((expression.index,))
    if isinstance(expression, Literal):
        return frozenset()
    return frozenset().union(*(columns_of(argument) for argument in expression.arguments))


def remap(expression: Expression, positions: Mapping[int, Expression]) -> Expression:
    """The expression with each column replaced by what stands at its position in `positions`.

    >>> a = Column(0, pa.int64(), "a")
    >>> str(remap(Call("neg", (a,), pa.int64()), {0: Column(2, pa.int64(), "b")}))
    'neg(b)'
    """
    if isinstance(expression, Column):
        return positions[expression.index]
    if isinstance(expression, Literal):
        return expression
    arguments = tuple(remap(argument, positions) for argument in expression.arguments)
    return Call(expression.function, arguments, expression.type)
