"""Which names a query may say at a place, and what each means.

A scope is the list of columns that the FROM clause brought, in the order in which `*` gives them;
a subquery's scope lies inside its outer query's. Names are case-insensitive; an unknown or an
ambiguous one is an error that shows the place and the names that were meant.
"""

from __future__ import annotations

__all__ = ["Name", "Scope", "names_of", "suggestion"]

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from sqlglot import exp

from sash.errors import SashError
from sash.language.coercion import is_nested
from sash.language.expressions import Column, Expression, Schema
from sash.language.syntax import place_of


@dataclass(frozen=True)
class Name:
    """A column that a query may name, with or without its table's name before it.

    `qualified_only`: one of the two columns that USING made one; it is found only as `table.column`.
    `merged`: the one column that they became; it is found only without a table's name.
    """

    table: str | None
    column: str
    expression: Expression
    qualified_only: bool = False
    merged: bool = False

    def __str__(self) -> str:
        return self.column if self.table is None else f"{self.table}.{self.column}"


@dataclass(frozen=True)
class Scope:
    """The names of one query block, and those of the query around it (at positions after ours)."""

    names: tuple[Name, ...]
    outer: tuple[Name, ...] = ()
    beyond: tuple[Name, ...] = ()
    """Names of queries further out, or out of reach: known, so that the error can say so."""

    def resolve(self, column: exp.Column, text: str) -> Expression:
        """What a column's name means here; an error with its place if nothing, or several things."""
        table, wanted = column.table, column.name
        for names in (self.names, self.outer):
            found = _matching(names, table, wanted)
            if len({name.expression for name in found}) == 1:
                return found[0].expression
            if found:
                raise SashError(
                    "SASH-BIND-003",
                    f"The name '{_written(column)}' may mean {_listed(str(name) for name in found)}.",
                    remedy="Write the table's name before it, or give the tables different aliases.",
                    place=place_of(column, text),
                )
        if _matching(self.beyond, table, wanted):
            raise SashError(
                "SASH-PLAN-012",
                f"'{_written(column)}' belongs to a query around this one and cannot be used here.",
                remedy="Use it in the WHERE of a subquery of EXISTS or IN, one level in, without LIMIT.",
                place=place_of(column, text),
            )
        raise self._unknown(column, text)

    def _unknown(self, column: exp.Column, text: str) -> SashError:
        visible = self.names + self.outer
        tables = sorted({name.table for name in visible if name.table is not None})
        if column.table and column.table.lower() not in {table.lower() for table in tables}:
            if any(is_nested(name.expression.type) for name in _matching(visible, None, column.table)):
                return SashError(
                    "SASH-PLAN-017",
                    "Nested values are carried along, not looked into.",
                    remedy="Select the whole column.",
                    place=place_of(column, text),
                )
            return SashError(
                "SASH-BIND-002",
                f"There is no '{column.table}' in this query's FROM.",
                remedy=suggestion(column.table, tables),
                place=place_of(column.args["table"], text),
            )
        of_table = _matching(visible, column.table, None)
        return SashError(
            "SASH-BIND-001",
            f"There is no column '{_written(column)}'.",
            remedy=_alias_remedy(column) or suggestion(column.name, (name.column for name in of_table)),
            place=place_of(column, text),
        )

    def star(self, table: str | None) -> tuple[Name, ...]:
        """What `*` or `table.*` gives, in order; nothing if there is no such table."""
        if table is None:
            return tuple(name for name in self.names if not name.qualified_only)
        return tuple(sorted(_matching(self.names, table, None), key=_position))

    def rewritten(self, rewrite: Callable[[Expression], Expression]) -> Scope:
        """The same names over other columns."""
        return replace(
            self, names=tuple(replace(name, expression=rewrite(name.expression)) for name in self.names)
        )


def names_of(table: str | None, schema: Schema, start: int = 0) -> tuple[Name, ...]:
    """The names of a FROM item whose columns begin at position `start`."""
    return tuple(
        Name(table, field.name, Column(start + i, field.type, field.name)) for i, field in enumerate(schema)
    )


def _matching(names: Iterable[Name], table: str | None, column: str | None) -> list[Name]:
    """The names that fit what was written, `None` and the empty text standing for anything."""
    return [
        name
        for name in names
        if (column is None or name.column.lower() == column.lower())
        and not (name.merged if table else name.qualified_only)
        and (not table or (name.table is not None and name.table.lower() == table.lower()))
    ]


def _position(name: Name) -> int:
    return name.expression.index if isinstance(name.expression, Column) else -1


def _alias_remedy(column: exp.Column) -> str:
    """What to do about a name that the SELECT list gives, used where it is not there yet."""
    select = None if column.table else column.find_ancestor(exp.Select)
    given = {item.alias.lower() for item in select.expressions} if select is not None else set()
    if column.name.lower() not in given:
        return ""
    return "It is a name of the answer: write out what it stands for here, or put this SELECT into FROM."


def _written(column: exp.Column) -> str:
    return f"{column.table}.{column.name}" if column.table else column.name


def _listed(words: Iterable[str]) -> str:
    quoted = [f"'{word}'" for word in dict.fromkeys(words)]
    return quoted[0] + " twice" if len(quoted) == 1 else ", ".join(quoted[:-1]) + f" or {quoted[-1]}"


def suggestion(word: str, known: Iterable[str]) -> str:
    """What was probably meant, for the remedy of an error about a name.

    >>> suggestion("srx", ["src", "dst"])
    "Did you mean 'src'?"
    >>> suggestion("port", ["src", "dst"])
    "Choose from 'src', 'dst'."
    """
    names = list(dict.fromkeys(known))
    lowered = {name.lower(): name for name in reversed(names)}
    close = get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"Did you mean '{lowered[close[0]]}'?"
    if not names:
        return "There is nothing to choose from here."
    shown = ", ".join(f"'{name}'" for name in names[:8])
    return f"Choose from {shown}{' ...' if len(names) > 8 else ''}."
