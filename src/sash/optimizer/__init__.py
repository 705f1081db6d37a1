"""The optimizer: a visible tuple of rules, each a function from plan to plan that changes no answer.

The rules are applied in turn until none changes anything; the plan is verified after each.
"""

from __future__ import annotations

__all__ = ["RULES", "Rule", "optimize"]

from collections.abc import Callable, Sequence

from sash.errors import SashError
from sash.optimizer.merge_projects import merge_projects
from sash.optimizer.merge_selects import merge_selects
from sash.optimizer.push_down_predicates import push_down_predicates
from sash.optimizer.push_down_projections import push_down_projections
from sash.optimizer.remove_distinct import remove_distinct
from sash.optimizer.remove_trivial_projects import remove_trivial_projects
from sash.plan.nodes import Node
from sash.plan.verify import verify

Rule = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    merge_selects,
    push_down_predicates,
    remove_distinct,
    push_down_projections,
    merge_projects,
    remove_trivial_projects,
)

_ROUNDS = 10  # two or three are enough; more would mean that rules undo each other's work


def optimize(plan: Node, rules: Sequence[Rule] = RULES) -> Node:
    """The plan after all rules, with the same answer and the same columns.

    >>> import pyarrow as pa
    >>> from sash.language.expressions import Call, Column, Field, Literal
    >>> from sash.language.windows import Window
    >>> from sash.plan.explain import explain
    >>> from sash.plan.nodes import Select, Source, Windowed
    >>> packets = Source("packets", (Field("ts", pa.int64()),), 0)
    >>> late = Call("gt", (Column(0, pa.int64(), "ts"), Literal(9, pa.int64())), pa.bool_())
    >>> print(explain(optimize(Select(Windowed(packets, Window("range", length=60)), late))))
    range 60 [WKS] state=none
    └─ select ts > 9 [MON] state=none
       └─ stream packets [MON] state=none
    """
    verify(plan)
    for _ in range(_ROUNDS):
        before = plan
        for rule in rules:
            plan = _applied(rule, plan)
        if plan == before:
            break
    return plan


def _applied(rule: Rule, plan: Node) -> Node:
    changed = rule(plan)
    if changed.schema != plan.schema:
        raise SashError(
            "SASH-PLAN-198",
            f"Internal: the rule {getattr(rule, '__name__', rule)} changed the columns of the answer.",
            remedy="Please report it with the query; this is a mistake in Sash.",
        )
    verify(changed)
    return changed
