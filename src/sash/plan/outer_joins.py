"""Outer joins: the pairs that match, and the rows without a match padded with NULLs.

Both sides of that union are exact at every instant: a row is padded for just as long as the
anti-join finds no match for it.
"""

from __future__ import annotations

__all__ = ["outer_join"]

from collections.abc import Sequence
from typing import Literal as OneOf

from sash.language.expressions import Column, Expression, Literal
from sash.plan.joining import join, moved, semi_join
from sash.plan.nodes import Node, Project, Union


def outer_join(
    left: Node, right: Node, conjuncts: Sequence[Expression], side: OneOf["LEFT", "RIGHT", "FULL"]
) -> Node:
    """The outer join; the conditions read the left side's columns, then the right side's."""
    width = len(left.schema)
    parts = [join((left, right), conjuncts)]
    if side in ("LEFT", "FULL"):
        lonely = semi_join(left, right, conjuncts, anti=True)
        parts.append(_padded(lonely, left, right, 0))
    if side in ("RIGHT", "FULL"):
        total = width + len(right.schema)
        swapped = [moved(each, lambda i: (i - width) % total) for each in conjuncts]
        lonely = semi_join(right, left, swapped, anti=True)
        parts.append(_padded(lonely, left, right, width))
    return Union(tuple(parts))


def _padded(kept: Node, left: Node, right: Node, start: int) -> Node:
    """The kept side's columns at their place in the join's schema, NULLs for the other side's."""
    fields = left.schema + right.schema
    expressions: list[Expression] = []
    for position, field in enumerate(fields):
        own = position - start
        if 0 <= own < len(kept.schema):
            expressions.append(Column(own, field.type, field.name))
        else:
            expressions.append(Literal(None, field.type))
    return Project(kept, tuple(expressions), tuple(field.name for field in fields))
