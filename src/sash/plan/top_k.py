"""ORDER BY with LIMIT: a relation has no order, but it has first rows, and they are kept up to date."""

from __future__ import annotations

__all__ = ["ordered_outputs", "refuse_half", "sort_keys", "top_k"]

from collections.abc import Sequence

from sqlglot import exp

from sash.language.expressions import Column
from sash.language.scope import Scope, names_of
from sash.plan.context import Context
from sash.plan.nodes import Node, SortKey, TopK


def refuse_half(query: exp.Expr, context: Context) -> None:
    """ORDER BY and LIMIT stand together or not at all."""
    order, limit, offset = (query.args.get(key) for key in ("order", "limit", "offset"))
    if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Var):
        limit = None  # LIMIT ALL
    if order is not None and limit is None:
        raise context.error(
            "SASH-PLAN-003",
            "ORDER BY without LIMIT has no meaning: an answer that changes has no order.",
            "Add LIMIT to keep the first rows, or sort the answer where it is read.",
            order,
        )
    if (limit is not None or offset is not None) and order is None:
        raise context.error(
            "SASH-PLAN-004",
            "LIMIT without ORDER BY does not say which rows to keep.",
            "Add ORDER BY.",
            limit or offset,
        )


def sort_keys(query: exp.Expr, positions: Sequence[int]) -> tuple[SortKey, ...]:
    """The terms of ORDER BY, given the columns they stand for; a column counts once."""
    keys: dict[int, SortKey] = {}
    for position, term in zip(positions, query.args["order"].expressions, strict=True):
        descending = bool(term.args.get("desc"))
        nulls_first = term.args.get("nulls_first")
        first = not descending if nulls_first is None else bool(nulls_first)
        keys.setdefault(position, SortKey(position, descending, first))
    return tuple(keys.values())


_MOST = 2**31 - 1


def top_k(node: Node, query: exp.Expr, order: Sequence[SortKey], context: Context) -> Node:
    """The first rows that LIMIT and OFFSET speak of."""
    limit, offset = query.args["limit"], query.args.get("offset")
    skipped = 0 if offset is None else _whole_number(offset.expression, "OFFSET", 0, context)
    return TopK(node, tuple(order), _whole_number(limit.expression, "LIMIT", 1, context), skipped)


def _whole_number(node: exp.Expr, word: str, least: int, context: Context) -> int:
    written = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    if not written.isdigit() or int(written) < least:
        raise context.error(
            "SASH-PLAN-005",
            f"{word} needs a whole number, {least} or more.",
            f"Write for example {word} 10.",
            node,
        )
    if int(written) > _MOST:
        raise context.error(
            "SASH-PLAN-005",
            f"{word} takes numbers up to {_MOST}.",
            f"Write a smaller one; without {word} and ORDER BY the answer has all rows.",
            node,
        )
    return int(written)


def ordered_outputs(node: Node, query: exp.Expr, context: Context) -> Node:
    """ORDER BY and LIMIT after a whole query, such as a UNION: the terms are its columns."""
    refuse_half(query, context)
    if query.args.get("limit") is None:
        return node
    scope = Scope(names_of(None, node.schema))
    positions: list[int] = []
    for term in query.args["order"].expressions:
        column = term.this
        if isinstance(column, exp.Literal) and str(column.this).isdigit():
            position = int(str(column.this)) - 1
            if not 0 <= position < len(node.schema):
                raise context.error(
                    "SASH-BIND-017",
                    f"ORDER BY {column.this} is not the position of a column: there are {len(node.schema)}.",
                    f"Use a number from 1 to {len(node.schema)}, or a name.",
                    column,
                )
        elif isinstance(column, exp.Column):
            bound = scope.resolve(column, context.text)
            assert isinstance(bound, Column)
            position = bound.index
        else:
            raise context.error(
                "SASH-PLAN-021",
                "After a set operation, ORDER BY can use only its columns.",
                "Put the set operation into a subquery in FROM.",
                column,
            )
        positions.append(position)
    return top_k(node, query, sort_keys(query, positions), context)
