"""JOIN ... USING: one column for two, first in the order of `*`, found without a table's name.

Inner and left joins give the left side's column, a right join the right side's; a full join gives
whichever is not NULL. `a.k` and `b.k` still find each side's own.
"""

from __future__ import annotations

__all__ = ["common_names", "paired"]

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sash.language.binder import Binder
from sash.language.expressions import Expression
from sash.language.scope import Name, Scope


def common_names(left: Sequence[Name], right: Sequence[Name]) -> list[exp.Identifier]:
    """The columns that NATURAL compares: those both sides have."""
    theirs = {name.column.lower() for name in right if not name.qualified_only}
    mine = dict.fromkeys(name.column for name in left if not name.qualified_only)
    return [exp.to_identifier(column) for column in mine if column.lower() in theirs]


def paired(
    left: Sequence[Name], right: Sequence[Name], columns: Sequence[exp.Identifier], kind: str, binder: Binder
) -> tuple[tuple[Name, ...], list[Expression]]:
    """The names after a join with USING, and the conditions that its columns are equal."""
    merged: list[Name] = []
    conjuncts: list[Expression] = []
    for column in columns:
        node = exp.Column(this=column)
        mine = Scope(tuple(left)).resolve(node, binder.text)
        theirs = Scope(tuple(right)).resolve(node, binder.text)
        conjuncts.append(binder.call("eq", [mine, theirs], column))
        shown = mine
        if kind == "RIGHT":
            shown = theirs
        elif kind == "FULL":
            shown = binder.call("coalesce", [mine, theirs], column)
        merged.append(Name(None, column.name, shown, merged=True))
    used = {column.name.lower() for column in columns}
    rest = [_set_aside(name, used) for name in (*left, *right)]
    return (*merged, *(name for name in rest if name is not None)), conjuncts


def _set_aside(name: Name, used: set[str]) -> Name | None:
    if name.column.lower() not in used or name.qualified_only:
        return name
    return None if name.merged else replace(name, qualified_only=True)
