"""[NOT] EXISTS and [NOT] IN (SELECT ...) in WHERE, made into semi- and anti-joins.

The conditions of a subquery that read the query around it become the join's: equalities as its
keys, others by way of the matching pairs. NOT IN has three values: a NULL on either side leaves a
row out, unless the subquery is empty for it.
"""

from __future__ import annotations

__all__ = ["Condition", "compared_pairs", "conditions_of", "has_subquery", "with_condition"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sash.language.binder import Binder
from sash.language.expressions import Call, Column, Expression, columns_of
from sash.language.scope import Name, Scope
from sash.language.syntax import RelationToStream
from sash.plan.context import Context
from sash.plan.internal_windows import Traits
from sash.plan.joining import moved, not_in_join, semi_join
from sash.plan.local_views import with_local_views
from sash.plan.nodes import Node
from sash.plan.patterns import is_stream
from sash.plan.select_list import is_aggregated, select_list

if TYPE_CHECKING:
    from sash.plan.filtering import Filtered

FilteredFrom = Callable[[exp.Select, Context, Sequence[Name]], "Filtered"]


@dataclass(frozen=True)
class Condition:
    """One EXISTS or IN; `compared` are the values before IN."""

    node: exp.Expr
    query: exp.Expr
    compared: tuple[exp.Expr, ...]
    negated: bool


def has_subquery(node: exp.Expr) -> bool:
    """Whether a query stands anywhere in an expression."""
    return node.find(exp.Query, exp.Exists, RelationToStream) is not None


def conditions_of(node: exp.Expr, context: Context, negated: bool = False) -> Iterator[exp.Expr | Condition]:
    """The conditions that a condition with subqueries is the conjunction of."""
    inner = node.unnest()
    if isinstance(inner, exp.Not):
        yield from conditions_of(inner.this, context, not negated)
    elif not has_subquery(inner):
        yield exp.Not(this=inner.copy()) if negated else inner
    elif isinstance(inner, exp.Exists):
        yield Condition(inner, _opened(inner.this), (), negated)
    elif isinstance(inner, exp.In) and inner.args.get("query") is not None and not has_subquery(inner.this):
        value = inner.this.unnest()
        compared = tuple(value.expressions) if isinstance(value, exp.Tuple) else (value,)
        yield Condition(inner, _opened(inner.args["query"]), compared, negated)
    elif isinstance(inner, exp.Or if negated else exp.And):
        yield from conditions_of(inner.this, context, negated)
        yield from conditions_of(inner.expression, context, negated)
    else:
        yield inner  # the binder says why not


def _opened(query: exp.Expr) -> exp.Expr:
    """A query without the parentheses around it."""
    while isinstance(query, exp.Subquery) and not any(v for k, v in query.args.items() if k != "this"):
        query = query.this
    return query


@dataclass(frozen=True)
class _Relation:
    """A subquery's rows, the columns it selects, and its conditions over them and the outer columns."""

    node: Node
    outputs: Sequence[Expression]
    correlated: Sequence[Expression]
    traits: Traits


def with_condition(
    condition: Condition, node: Node, scope: Scope, filtered_from: FilteredFrom, context: Context
) -> tuple[Node, Traits]:
    """The rows of `node` that meet the condition, and what its subquery is made of."""
    relation = _relation(condition, scope, filtered_from, context)
    width, inner_width = len(node.schema), len(relation.node.schema)

    def node_first(expression: Expression) -> Expression:
        return moved(expression, lambda i: i + width if i < inner_width else i - inner_width)

    conjuncts = [node_first(each) for each in relation.correlated]
    traits = relation.traits
    if condition.negated:
        traits += Traits(negations=frozenset({"negation"}))
    if not condition.compared:
        return semi_join(node, relation.node, conjuncts, anti=condition.negated), traits
    binder = Binder(scope, context.text, "WHERE")
    values = [binder.bind(each) for each in condition.compared]
    outputs = [moved(each, lambda i: i + width) for each in relation.outputs]
    pairs = compared_pairs(condition, values, outputs, binder)
    if condition.negated:
        return not_in_join(node, relation.node, conjuncts, pairs), traits
    conjuncts += [binder.call("eq", pair, condition.node) for pair in pairs]
    return semi_join(node, relation.node, conjuncts, anti=False), traits


def compared_pairs(
    condition: Condition, values: Sequence[Expression], outputs: Sequence[Expression], binder: Binder
) -> list[tuple[Expression, Expression]]:
    """The values before IN beside the subquery's columns, each pair in its common type."""
    if len(values) != len(outputs):
        raise binder.error(
            "SASH-BIND-015",
            f"IN compares {len(values)} values with {len(outputs)} columns.",
            "Let the subquery select as many columns as there are values.",
            condition.node,
        )
    pairs: list[tuple[Expression, Expression]] = []
    for value, output in zip(values, outputs, strict=True):
        equality = binder.call("eq", (value, output), condition.node)
        assert isinstance(equality, Call)
        pairs.append((equality.arguments[0], equality.arguments[1]))
    return pairs


def _relation(condition: Condition, scope: Scope, filtered_from: FilteredFrom, context: Context) -> _Relation:
    query = condition.query
    if not isinstance(query, exp.Select) or query.args.get("limit") or query.args.get("order"):
        node = context.query(query, context.inside(scope.names)).node
        traits = Traits() if is_stream(node) else Traits(external=(condition.node,))
        return _Relation(node, _columns(node), (), traits)
    context = with_local_views(query, context)
    rows = filtered_from(query, context, scope.names)
    if is_aggregated(query):
        return _aggregated(condition, query, rows, context)
    outputs: Sequence[Expression] = ()
    if condition.compared:
        selected = select_list(query, rows.node, rows.scope, context)
        outputs = [expression for _, expression in selected.columns]
    return _Relation(rows.node, outputs, rows.correlated, replace(rows.traits, nested=True))


def _aggregated(condition: Condition, query: exp.Select, rows: Filtered, context: Context) -> _Relation:
    """A subquery with GROUP BY: what ties it to the outer query becomes part of its groups."""
    width = len(rows.node.schema)
    sides = [_inner_and_outer(each, width) for each in rows.correlated]
    grouped = query.args.get("group") is not None
    if (not grouped and (sides or not condition.compared)) or any(side is None for side in sides):
        raise context.error(
            "SASH-PLAN-018",
            "A subquery with aggregates goes with EXISTS, or with columns of the query around it, "
            "only if it has GROUP BY and is tied to that query by equalities.",
            "Add a GROUP BY to the subquery, with HAVING to choose groups, or join with it in FROM.",
            condition.node,
        )
    known = [side for side in sides if side is not None]
    selected = select_list(query, rows.node, rows.scope, context, keys=[inner for inner, _ in known])
    new_width = len(selected.node.schema)
    correlated = [
        Call("eq", (key, moved(outer, lambda i: i - width + new_width)), each.type)
        for key, (_, outer), each in zip(selected.keys, known, rows.correlated, strict=True)
    ]
    outputs = [expression for _, expression in selected.columns]
    return _Relation(selected.node, outputs, correlated, replace(rows.traits, nested=True))


def _inner_and_outer(conjunct: Expression, width: int) -> tuple[Expression, Expression] | None:
    if not isinstance(conjunct, Call) or conjunct.function != "eq":
        return None
    left, right = conjunct.arguments
    for inner, outer in ((left, right), (right, left)):
        if all(i < width for i in columns_of(inner)) and all(i >= width for i in columns_of(outer)):
            return inner, outer
    return None


def _columns(node: Node) -> list[Expression]:
    return [Column(i, field.type, field.name) for i, field in enumerate(node.schema)]
