"""The SELECT list, with GROUP BY, HAVING and the aggregates in them: what a block computes.

Expressions are bound over the rows of FROM; where the block aggregates, they are then rewritten over
the groups and the aggregates' results, and what is left over of the rows is an error.
"""

from __future__ import annotations

__all__ = ["Selected", "is_aggregated", "select_list"]

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sash.language.binder import Binder, has_aggregate
from sash.language.expressions import AggregateCall, Call, Column, Expression
from sash.language.scope import Name, Scope, suggestion
from sash.plan.context import Context
from sash.plan.nodes import Aggregate, Distinct, Node, Project, Select
from sash.plan.presence import presence


@dataclass(frozen=True)
class Selected:
    """What a block gives: expressions with names, over `node`; and other expressions over the same.

    `keys` are extra groups that were asked for, `order` the terms of ORDER BY.
    """

    node: Node
    columns: Sequence[tuple[str, Expression]]
    keys: Sequence[Expression]
    order: Sequence[Expression]


@dataclass(frozen=True)
class _Item:
    """One column of the SELECT list: its name, its syntax (for places), and its bound form."""

    name: str
    syntax: exp.Expr
    bound: Expression


def is_aggregated(select: exp.Select) -> bool:
    """Whether a block groups its rows."""
    clauses = [*select.expressions, *_order_terms(select)]
    return bool(select.args.get("group") or select.args.get("having")) or any(map(has_aggregate, clauses))


def select_list(
    select: exp.Select, node: Node, scope: Scope, context: Context, keys: Sequence[Expression] = ()
) -> Selected:
    """The block's columns over the given rows; `keys` are groups beside those of GROUP BY."""
    aggregates: list[AggregateCall] = []
    binder = Binder(scope, context.text, "SELECT", aggregates, base=len(node.schema))
    items = _items(select, scope, binder, context)
    order = [_order_term(term, items, binder, context) for term in _order_terms(select)]
    if not is_aggregated(select):
        columns = [(item.name, item.bound) for item in items]
        return Selected(node, columns, tuple(keys), order)
    grouping = _Grouping(select, node, scope, context, items, binder, tuple(keys))
    return grouping.selected(order)


def _items(select: exp.Select, scope: Scope, binder: Binder, context: Context) -> list[_Item]:
    items: list[_Item] = []
    for syntax in select.expressions:
        if isinstance(syntax, exp.Star) or (
            isinstance(syntax, exp.Column) and isinstance(syntax.this, exp.Star)
        ):
            items += [_Item(name.column, syntax, name.expression) for name in _star(syntax, scope, context)]
        elif isinstance(syntax, exp.Aliases):
            raise context.error(
                "SASH-PLAN-017", "One column takes one alias.", "Write AS and a single name.", syntax
            )
        else:
            items.append(_Item(_name_of(syntax), syntax, binder.bind(syntax)))
    return items


def _name_of(syntax: exp.Expr) -> str:
    """A column's name: its alias, its own, or its text."""
    if isinstance(syntax, exp.Alias | exp.Column):
        return syntax.alias_or_name
    return syntax.sql(dialect="spark", normalize_functions="lower")


def _star(syntax: exp.Expr, scope: Scope, context: Context) -> Sequence[Name]:
    table = syntax.table if isinstance(syntax, exp.Column) else ""
    names = scope.star(table or None)
    if not names:
        tables = sorted({name.table for name in scope.names if name.table is not None})
        raise context.error(
            "SASH-BIND-002",
            f"There is no '{table}' in this query's FROM.",
            suggestion(table, tables),
            syntax.args.get("table"),
        )
    return names


def _order_terms(select: exp.Select) -> list[exp.Expr]:
    order = select.args.get("order")
    return [term.this for term in order.expressions] if order is not None else []


def _order_term(term: exp.Expr, items: Sequence[_Item], binder: Binder, context: Context) -> Expression:
    """ORDER BY means an output column by position or by name, else an expression over the rows."""
    if isinstance(term, exp.Literal) and not term.is_string:
        return _at_position(term, items, "ORDER BY", context).bound
    if isinstance(term, exp.Literal):
        raise context.error(
            "SASH-BIND-017",
            f"ORDER BY '{term.this}' is a text, the same for every row.",
            f"Write a column's name, plainly or in backquotes: `{term.this}`.",
            term,
        )
    outputs = tuple(Name(None, item.name, item.bound) for item in items)
    shown = {item.name.lower() for item in items}
    if isinstance(term, exp.Column) and not term.table and term.name.lower() in shown:
        return Scope(outputs).resolve(term, context.text)
    first = Scope(outputs, binder.scope.names, binder.scope.beyond)
    return replace(binder, scope=first, clause="ORDER BY").bind(term)


def _at_position(term: exp.Literal, items: Sequence[_Item], clause: str, context: Context) -> _Item:
    written, one = str(term.this), len(items) == 1
    if not written.isdigit() or not 1 <= int(written) <= len(items):
        raise context.error(
            "SASH-BIND-017",
            f"{clause} {written} is not the position of a column: "
            f"there {'is' if one else 'are'} {len(items)}.",
            f"Use {'1' if one else f'a number from 1 to {len(items)}'}, or a name.",
            term,
        )
    return items[int(written) - 1]


@dataclass(frozen=True)
class _Grouping:
    """One block's groups and aggregates, and the way of its expressions onto them."""

    select: exp.Select
    rows: Node
    scope: Scope
    context: Context
    items: Sequence[_Item]
    binder: Binder
    keys: tuple[Expression, ...]
    groups: list[Expression] = field(default_factory=list)

    def selected(self, order: Sequence[Expression]) -> Selected:
        having = self.select.args.get("having")
        condition = None
        if having is not None:
            outputs = tuple(Name(None, item.name, item.bound) for item in self.items)
            # Spark looks among the rows' columns first, then among the aliases.
            scope = Scope(self.scope.names, outputs, self.scope.beyond)
            condition = replace(self.binder, scope=scope, clause="HAVING").predicate(having.this)
        own = self._group_by()
        for group in (*self.keys, *own):
            if group not in self.groups:
                self.groups.append(group)
        node = self._aggregate()
        if condition is not None:
            assert having is not None
            node = Select(node, self._over_groups(condition, having.this))
        terms = zip(order, _order_terms(self.select), strict=True)
        return Selected(
            node,
            [(item.name, self._over_groups(item.bound, item.syntax)) for item in self.items],
            [self._over_groups(key, self.select) for key in self.keys],
            [self._over_groups(term, syntax) for term, syntax in terms],
        )

    def _group_by(self) -> list[Expression]:
        clause = self.select.args.get("group")
        if clause is None:
            return []
        binder = replace(self.binder, aggregates=None, clause="GROUP BY")
        return [self._group(each, binder) for each in clause.expressions]

    def _group(self, term: exp.Expr, binder: Binder) -> Expression:
        if isinstance(term, exp.Literal) and not term.is_string:
            item = _at_position(term, self.items, "GROUP BY", self.context)
            return binder.bind(item.syntax) if not item.syntax.is_star else item.bound
        aliased = [item for item in self.items if isinstance(item.syntax, exp.Alias)]
        names = tuple(Name(None, item.name, item.bound) for item in aliased)
        # Spark looks among the rows' columns first, then among the aliases.
        bound = replace(binder, scope=Scope(self.scope.names, names, self.scope.beyond)).bind(term)
        if isinstance(term, exp.Column) and _reads_aggregates(bound, self.binder.base):
            item = next(item for item in aliased if item.name.lower() == term.name.lower())
            return binder.bind(item.syntax)  # which says that an aggregate cannot stand here
        return bound

    def _aggregate(self) -> Node:
        aggregates = tuple(self.binder.aggregates or ())
        names = tuple(self._result_name(i) for i in range(len(self.groups) + len(aggregates)))
        if self.groups and not aggregates:
            return Distinct(Project(self.rows, tuple(self.groups), names))
        if not aggregates:
            raise self.context.error(
                "SASH-BIND-009",
                "HAVING chooses groups, and there are none.",
                "Use WHERE to choose rows, or add GROUP BY.",
                self.select.args["having"],
            )
        present = () if self.groups else presence(self.rows)
        return Aggregate(self.rows, tuple(self.groups), aggregates, names, present)

    def _result_name(self, position: int) -> str:
        """The name by which the SELECT list knows a group or an aggregate, if it does."""
        count = len(self.groups)
        target = self.groups[position] if position < count else None
        for item in self.items:
            marker = (
                isinstance(item.bound, Column) and item.bound.index == self.binder.base + position - count
            )
            if item.bound == target if target is not None else marker:
                return item.name
        if target is not None:
            return str(target)
        return str((self.binder.aggregates or [])[position - count])

    def _over_groups(self, expression: Expression, syntax: exp.Expr) -> Expression:
        """An expression over the rows and the aggregates' marks, rewritten over groups and results."""
        if expression in self.groups:
            position = self.groups.index(expression)
            return Column(position, expression.type, self._result_name(position))
        if isinstance(expression, Column):
            if expression.index < self.binder.base:
                raise self._bare_column(expression, syntax)
            position = expression.index - self.binder.base + len(self.groups)
            return Column(position, expression.type, self._result_name(position))
        if isinstance(expression, Call):
            arguments = tuple(self._over_groups(each, syntax) for each in expression.arguments)
            return Call(expression.function, arguments, expression.type)
        return expression

    def _bare_column(self, column: Column, syntax: exp.Expr) -> Exception:
        named = () if syntax.is_star else syntax.find_all(exp.Column)
        bare = (each for each in named if each.name.lower() == column.name.lower())
        place = next((each for each in bare if not each.find_ancestor(exp.AggFunc)), syntax)
        name = column.name
        if self.select.args.get("group") is not None:
            message = f"Column '{name}' is neither in GROUP BY nor inside an aggregate."
            remedy = f"Add '{name}' to GROUP BY, or use it inside an aggregate such as MAX({name})."
        else:
            message = f"Column '{name}' stands beside an aggregate without GROUP BY."
            remedy = f"Add GROUP BY {name}, or use it inside an aggregate such as MAX({name})."
        return self.context.error("SASH-BIND-010", message, remedy, place)


def _reads_aggregates(expression: Expression, base: int) -> bool:
    if isinstance(expression, Column):
        return expression.index >= base
    return isinstance(expression, Call) and any(
        _reads_aggregates(each, base) for each in expression.arguments
    )
