"""One SELECT: FROM, WHERE, GROUP BY, HAVING, the SELECT list, DISTINCT, ORDER BY with LIMIT."""

from __future__ import annotations

__all__ = ["select_block"]

from collections.abc import Sequence

from sqlglot import exp

from sash.language.expressions import Column, Expression
from sash.plan.context import Built, Context
from sash.plan.filtering import filtered_from
from sash.plan.internal_windows import Traits, monotonic
from sash.plan.local_views import with_local_views
from sash.plan.nodes import Distinct, Node, Project
from sash.plan.select_list import Selected, select_list
from sash.plan.top_k import refuse_half, sort_keys, top_k


def select_block(select: exp.Select, context: Context) -> Built:
    """The plan of one SELECT."""
    refuse_half(select, context)
    context = with_local_views(select, context)
    rows = filtered_from(select, context)
    selected = select_list(select, rows.node, rows.scope, context)
    negations: set[str] = set()
    if select.args.get("distinct") is not None:
        negations.add("DISTINCT")
    if select.args.get("limit") is not None:
        negations.add("top-k")
    node = _finished(select, selected, context)
    traits = rows.traits + Traits(negations=frozenset(negations))
    return Built(monotonic(node, traits, context), traits.negations, traits.internal + traits.output_windows)


def _finished(select: exp.Select, selected: Selected, context: Context) -> Node:
    """The selected columns, made distinct, and the first of them.

    A term of ORDER BY that is not selected is carried along behind the selected columns and dropped
    after the choice. Such terms are all sort keys, so ties are still broken by the selected columns.
    """
    distinct = select.args.get("distinct")
    shown = [expression for _, expression in selected.columns]
    hidden: list[Expression] = []
    for term in selected.order:
        if term not in shown and term not in hidden:
            hidden.append(term)
    if hidden and distinct is not None:
        raise context.error(
            "SASH-PLAN-021",
            "With DISTINCT, ORDER BY can use only what is selected.",
            "Select the expression too, or leave DISTINCT out.",
            select.args["order"],
        )
    names = [name for name, _ in selected.columns]
    node = _projected(selected.node, [*shown, *hidden], [*names, *map(str, hidden)])
    if distinct is not None:
        node = Distinct(node)
    if select.args.get("limit") is None:
        return node
    positions = [[*shown, *hidden].index(term) for term in selected.order]
    node = top_k(node, select, sort_keys(select, positions), context)
    if hidden:
        fields = node.schema[: len(shown)]
        columns = [Column(i, field.type, field.name) for i, field in enumerate(fields)]
        node = Project(node, tuple(columns), tuple(names))
    return node


def _projected(node: Node, expressions: Sequence[Expression], names: Sequence[str]) -> Node:
    """The expressions as columns; the node itself where they are just its columns."""
    same = len(expressions) == len(node.schema) and all(
        isinstance(expression, Column) and expression.index == i and names[i] == field.name
        for i, (expression, field) in enumerate(zip(expressions, node.schema, strict=True))
    )
    return node if same else Project(node, tuple(expressions), tuple(names))
