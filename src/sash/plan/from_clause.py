"""FROM: its items joined from left to right.

Commas, INNER and CROSS joins grow one chain; an outer, semi- or anti-join closes the chain so far
and starts a new one with its result. Non-retroactive tables are looked up at the edge of a stream.
"""

from __future__ import annotations

__all__ = ["conjuncts_of", "from_clause"]

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from sqlglot import exp

from sash.language.binder import Binder
from sash.language.expressions import Expression, remap
from sash.language.scope import Name, Scope
from sash.language.syntax import place_of
from sash.plan.chains import Chain, Part, beside, chain_of, closed, look_up, placed
from sash.plan.context import Context
from sash.plan.from_items import from_item
from sash.plan.internal_windows import Traits
from sash.plan.joining import moved, semi_join
from sash.plan.outer_joins import outer_join
from sash.plan.table_edges import Kind
from sash.plan.using import common_names, paired

Names = tuple[Name, ...]
JoinKind = Literal["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"]


def from_clause(select: exp.Select, context: Context) -> tuple[Chain, Traits]:
    """All items of a SELECT's FROM, joined."""
    clause = select.args.get("from_")
    if clause is None:
        raise context.error(
            "SASH-PLAN-019",
            "The query has no FROM.",
            "Name the stream, table or view that it reads.",
            select,
        )
    chain, traits = _item(clause.this, context)
    joins = select.args.get("joins") or []
    for position, join in enumerate(joins):
        step = _Step(join, _kind_of(join, context), context)
        if step.kind in ("RIGHT", "FULL") and _after_comma(clause.this, joins[:position], context):
            raise context.error(
                "SASH-PLAN-020",
                f"A {step.kind} join after a comma binds to the item before it, not to all of them.",
                "Write the items before it in the order of the joins, with CROSS JOIN for the comma.",
                join.this,
            )
        chain, traits = step.apply(chain, traits)
    return chain, traits


def conjuncts_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins.

    >>> [each.sql() for each in conjuncts_of(exp.condition("a = 1 AND (b = 2 AND c = 3)"))]
    ['a = 1', 'b = 2', 'c = 3']
    """
    inner = node.unnest()
    if isinstance(inner, exp.And):
        yield from conjuncts_of(inner.this)
        yield from conjuncts_of(inner.expression)
    else:
        yield inner


def _item(item: exp.Expr, context: Context) -> tuple[Chain, Traits]:
    """An item, with the joins that are nested in it: `(a JOIN b ON ...)`."""
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table):
        if item.alias or item.args.get("cql_window"):
            raise context.error(
                "SASH-PLAN-017",
                "Joins in parentheses take no alias and no window.",
                "Give aliases and windows to the items inside, or write (SELECT ...) AS q.",
                item,
            )
        chain, traits = _item(item.this, context)
    else:
        chain, traits = from_item(item, context)
    for join in item.args.get("joins") or ():
        chain, traits = _Step(join, _kind_of(join, context), context).apply(chain, traits)
    return chain, traits


def _kind_of(join: exp.Join, context: Context) -> JoinKind:
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    if kind in ("SEMI", "ANTI") and side in ("", "LEFT"):
        return cast(JoinKind, kind)
    plain = (join.args.get("method") or "NATURAL").upper() == "NATURAL"
    if plain and kind in ("", "INNER", "CROSS", "OUTER") and side in ("", "LEFT", "RIGHT", "FULL"):
        return cast(JoinKind, side or "INNER")
    raise context.error(
        "SASH-PLAN-017",
        f"{join.args.get('method') or side} {kind} JOIN is not supported.".replace("  ", " "),
        "Use INNER, LEFT, RIGHT, FULL, CROSS, SEMI or ANTI.",
        join.this,
    )


def _after_comma(first: exp.Expr, joins: Sequence[exp.Join], context: Context) -> bool:
    """Whether an item before was added by a comma; the syntax tree shows it like a CROSS JOIN."""
    end = place_of(first, context.text)
    for join in joins:
        start, whole = place_of(join.this, context.text), place_of(join, context.text)
        if end and start and not re.search(r"\bjoin\b", context.text[end.end : start.start], re.IGNORECASE):
            return True
        end = whole
    return False


@dataclass(frozen=True)
class _Step:
    """One join of a FROM clause, applied to all that stands before it."""

    join: exp.Join
    kind: JoinKind
    context: Context

    def apply(self, left: Chain, traits: Traits) -> tuple[Chain, Traits]:
        right, right_traits = _item(self.join.this, self.context)
        traits += right_traits
        names, conjuncts = self._conditions(left, right)
        if self.kind == "INNER":
            chain = replace(beside(left, right), scope=Scope(names)).with_conjuncts(conjuncts)
            own_condition = self.join.args.get("on") or self.join.args.get("using")
            return (placed(chain, self.context, final=False) if own_condition else chain), traits
        table = self._table_look_up(left, right, names, conjuncts)
        if table is not None:
            return table, traits
        traits += Traits(nested=True)
        if self.kind in ("SEMI", "ANTI"):
            if self.kind == "ANTI":
                traits += Traits(negations=frozenset({"negation"}))
            return self._semi(left, right, conjuncts), traits
        return self._outer(left, right, names, conjuncts), traits + Traits(
            negations=frozenset({"an outer join"})
        )

    def _conditions(self, left: Chain, right: Chain) -> tuple[Names, list[Expression]]:
        """The names that the join leaves, and its conditions over both chains' slots."""
        both = beside(left, right)
        right_names = both.scope.names[len(left.scope.names) :]
        columns = list(self.join.args.get("using") or ())
        if self.join.args.get("method"):
            columns = common_names(left.scope.names, right_names)
        binder = Binder(both.scope, self.context.text, "ON")
        names, conjuncts = paired(left.scope.names, right_names, columns, self.kind, binder)
        on = self.join.args.get("on")
        if on is not None and not (isinstance(on, exp.Boolean) and on.this):
            conjuncts += [binder.predicate(each) for each in conjuncts_of(on)]
        return names, conjuncts

    def _table_look_up(
        self, left: Chain, right: Chain, names: Names, conjuncts: Sequence[Expression]
    ) -> Chain | None:
        """The join as a look-up in a non-retroactive table, if it is one."""
        if not left.streams and self.kind in ("RIGHT", "LEFT", "FULL"):
            if self.kind == "RIGHT" and len(left.parts) == 1 and right.streams:
                return self._swapped(left, right, names, conjuncts)
            raise self._padded_table(left)
        if not (len(right.parts) == 1 and right.parts[0].waits):
            return None
        if self.kind in ("RIGHT", "FULL"):
            raise self._padded_table(right)
        kind = cast(Kind, self.kind.lower())
        chain = look_up(left, right, conjuncts, kind, self.context)
        return chain if kind in ("semi", "anti") else replace(chain, scope=Scope(names))

    def _swapped(self, left: Chain, right: Chain, names: Names, conjuncts: Sequence[Expression]) -> Chain:
        """`table RIGHT JOIN stream` is the left join the other way round, but for the order of columns."""
        width, total = len(left.slots), len(left.slots) + len(right.slots)

        def swap(expression: Expression) -> Expression:
            return moved(expression, lambda slot: (slot - width) % total)

        chain = look_up(right, left, [swap(each) for each in conjuncts], "left", self.context)
        return replace(chain, scope=Scope(names).rewritten(swap))

    def _semi(self, left: Chain, right: Chain, conjuncts: Sequence[Expression]) -> Chain:
        left_node, left_scope, left_positions = closed(left, self.context)
        right_node, _, right_positions = closed(right, self.context)
        positions = _side_by_side(left_positions, right_positions, len(left_node.schema))
        bound = [remap(each, positions) for each in conjuncts]
        node = semi_join(left_node, right_node, bound, anti=self.kind == "ANTI")
        return chain_of(Part(node, self.join.this), left_scope.names)

    def _outer(self, left: Chain, right: Chain, names: Names, conjuncts: Sequence[Expression]) -> Chain:
        left_node, _, left_positions = closed(left, self.context)
        right_node, _, right_positions = closed(right, self.context)
        positions = _side_by_side(left_positions, right_positions, len(left_node.schema))
        bound = [remap(each, positions) for each in conjuncts]
        side = cast(Literal["LEFT", "RIGHT", "FULL"], self.kind)
        node = outer_join(left_node, right_node, bound, side)
        scope = Scope(names).rewritten(lambda e: remap(e, positions))
        return chain_of(Part(node, self.join.this), scope.names)

    def _padded_table(self, table: Chain) -> Exception:
        return self.context.error(
            "SASH-PLAN-010",
            "An outer join cannot keep the rows of a table that no row asked for: "
            "such a table is seen only by rows, each at its own time.",
            "Let the outer join keep the stream's rows, or create the table as RETROACTIVE.",
            table.parts[0].origin,
        )


def _side_by_side(
    left: Mapping[int, Expression], right: Mapping[int, Expression], width: int
) -> dict[int, Expression]:
    """Where the slots of two closed chains went, when the second chain's columns follow the first's."""
    positions = dict(left)
    for slot, column in right.items():
        positions[len(left) + slot] = moved(column, lambda i: i + width)
    return positions
