"""WITH: common table expressions are views that only one query knows, built where they are used."""

from __future__ import annotations

__all__ = ["with_local_views"]

from dataclasses import replace

from sqlglot import exp

from sash.plan.context import Context, LocalView


def with_local_views(query: exp.Expr, context: Context) -> Context:
    """The context in which a query's own WITH is known; each may use those before it."""
    clause = query.args.get("with_")
    if clause is None:
        return context
    if clause.args.get("recursive"):
        raise context.error(
            "SASH-PLAN-017",
            "WITH RECURSIVE is not supported.",
            "Write out as many steps as are needed.",
            clause.expressions[0].args["alias"],
        )
    for view in clause.expressions:
        local = LocalView(view.this, view.args["alias"], context)
        context = replace(context, local={**context.local, view.alias.lower(): local})
    return context
