"""FROM and WHERE: the rows that a query block works on.

Plain conditions join the chain of FROM. EXISTS and IN become semi- and anti-joins above it, or
look-ups at the edge of a stream where they ask a non-retroactive table.
"""

from __future__ import annotations

__all__ = ["Filtered", "filtered_from"]

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.language.binder import Binder
from sash.language.definitions import TableDefinition
from sash.language.expressions import Expression, columns_of
from sash.language.scope import Name, Scope
from sash.plan.chains import Chain, closed, look_up
from sash.plan.context import Context
from sash.plan.from_clause import conjuncts_of, from_clause
from sash.plan.from_items import from_item
from sash.plan.internal_windows import Traits, mixed
from sash.plan.joining import may_agree, moved
from sash.plan.nodes import Node
from sash.plan.subqueries import Condition, compared_pairs, conditions_of, has_subquery, with_condition
from sash.plan.table_edges import Kind


@dataclass(frozen=True)
class Filtered:
    """The rows of a block, its names, and the conditions that also read the query around it.

    Those read the node's columns, then the outer ones.
    """

    node: Node
    scope: Scope
    correlated: tuple[Expression, ...]
    traits: Traits


def filtered_from(select: exp.Select, context: Context, outer: Sequence[Name] = ()) -> Filtered:
    """A block's FROM and WHERE; `outer` are the names of the query around a subquery of WHERE."""
    chain, traits = from_clause(select, context)
    width = len(chain.slots)
    around = Scope(tuple(outer)).rewritten(lambda e: moved(e, lambda i: i + width)).names
    scope = Scope(chain.scope.names, around, context.beyond)
    where = select.args.get("where")
    plain, conditions = _split(where.this, context) if where is not None else ([], [])
    binder = Binder(scope, context.text, "WHERE")
    bound = [binder.predicate(each) for each in plain]
    correlated = [each for each in bound if any(i >= width for i in columns_of(each))]
    chain = chain.with_conjuncts([each for each in bound if each not in correlated])
    inner = context.inside(outer)
    waiting: list[Condition] = []
    for condition in conditions:
        asked = _asked_table(condition, chain, inner)
        if asked is None:
            waiting.append(condition)
        else:
            chain = asked
    traits += Traits(nested=bool(waiting and traits.internal))
    flags = mixed(traits, [(part.node, part.internal) for part in chain.parts], context)
    node, scope, positions = closed(chain, context, flags=flags)
    scope = replace(scope, beyond=inner.beyond)

    def settled(slot: int) -> int:
        return min(columns_of(positions[slot])) if slot < width else slot

    for condition in waiting:
        node, more = with_condition(condition, node, scope, filtered_from, inner)
        traits += more
    mixed(traits, [], context)
    return Filtered(node, scope, tuple(moved(each, settled) for each in correlated), traits)


def _split(where: exp.Expr, context: Context) -> tuple[list[exp.Expr], list[Condition]]:
    """Plain conditions, and those with a subquery."""
    plain: list[exp.Expr] = []
    conditions: list[Condition] = []
    for conjunct in conjuncts_of(where):
        found: Iterator[exp.Expr | Condition] = iter((conjunct,))
        if has_subquery(conjunct):
            found = conditions_of(conjunct, context)
        for each in found:
            if isinstance(each, Condition):
                conditions.append(each)
            else:
                plain.append(each)
    return plain, conditions


def _asked_table(condition: Condition, chain: Chain, context: Context) -> Chain | None:
    """The chain with the condition as a look-up, if it asks one non-retroactive table and no more."""
    select = condition.query
    if not isinstance(select, exp.Select) or not _is_plain(select):
        return None
    item = select.args["from_"].this
    if not isinstance(item, exp.Table) or item.name.lower() in context.local or item.args.get("joins"):
        return None
    definition = context.names.lookup(item.name)
    if not isinstance(definition, TableDefinition) or definition.retroactive:
        return None
    table, _ = from_item(item, context)
    width, outer_width = len(table.slots), len(chain.slots)

    def outside(expression: Expression) -> Expression:
        return moved(expression, lambda i: i + width)

    def chain_first(expression: Expression) -> Expression:
        return moved(expression, lambda i: i + outer_width if i < width else i - width)

    scope = Scope(table.scope.names, chain.scope.rewritten(outside).names, context.beyond)
    binder = Binder(scope, context.text, "WHERE")
    where = select.args.get("where")
    bound = [binder.predicate(each) for each in conjuncts_of(where.this)] if where is not None else []
    if condition.compared:
        outer_binder = replace(binder, scope=Scope(chain.scope.names, (), context.beyond))
        values = [outside(outer_binder.bind(each)) for each in condition.compared]
        outputs = [binder.bind(each) for each in _outputs(select, table)]
        for pair in compared_pairs(condition, values, outputs, binder):
            bound.append(may_agree(*pair) if condition.negated else binder.call("eq", pair, condition.node))
    kind: Kind = "anti" if condition.negated else "semi"
    return look_up(chain, table, [chain_first(each) for each in bound], kind, context)


def _outputs(select: exp.Select, table: Chain) -> list[exp.Expr]:
    outputs: list[exp.Expr] = []
    for each in select.expressions:
        if each.is_star:
            outputs += [exp.column(name.column) for name in table.scope.star(None)]
        else:
            outputs.append(each)
    return outputs


def _is_plain(select: exp.Select) -> bool:
    """SELECT, FROM one item, perhaps WHERE: nothing else, and no subquery in it."""
    known = {"expressions", "from_", "where", "distinct", "kind", "operation_modifiers"}
    if any(value for key, value in select.args.items() if key not in known):
        return False
    where = select.args.get("where")
    aggregated = any(each.find(exp.AggFunc) for each in select.expressions)
    return (
        bool(select.args.get("from_")) and not aggregated and (where is None or not has_subquery(where.this))
    )
