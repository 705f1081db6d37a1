"""From a parsed query to a logical plan: names bound, joins gathered, refusals made.

`build` is the front door. A query is a SELECT, a set operation, or a relation-to-stream operator
around one; each kind has its own file, and comes back here for the queries inside it.
"""

from __future__ import annotations

__all__ = ["Names", "build"]

from sqlglot import exp

from sash.language.statements import too_deep
from sash.language.syntax import RelationToStream
from sash.plan.context import Built, Context, Names
from sash.plan.internal_windows import refuse_monotonic
from sash.plan.local_views import with_local_views
from sash.plan.nodes import Node
from sash.plan.relation_to_stream import relation_to_stream
from sash.plan.select_block import select_block
from sash.plan.set_operations import set_operation
from sash.plan.top_k import ordered_outputs


def build(query: exp.Expr, names: Names, *, text: str, is_view: bool = False) -> Node:
    """The logical plan of a query over the streams, tables and views that `names` knows.

    A view may have columns that are called as those of changes are, which an answer may not.

    >>> import pyarrow as pa
    >>> from sash.language.definitions import StreamDefinition
    >>> from sash.language.expressions import Field
    >>> from sash.language.statements import parse_query
    >>> class Catalog:
    ...     def lookup(self, name):
    ...         fields = (Field("ts", pa.int64()), Field("src", pa.string()))
    ...         return StreamDefinition("packets", fields, 0) if name == "packets" else None
    ...     def all_names(self):
    ...         return ["packets"]
    >>> text = "SELECT DISTINCT src FROM packets [RANGE 60]"
    >>> plan = build(parse_query(text), Catalog(), text=text)
    >>> " <- ".join(type(node).__name__ for node in plan.walk())
    'Distinct <- Project <- Windowed <- Source'
    """
    context = Context(names, text, _built)
    try:
        node = _built(query, context).node
    except RecursionError:
        raise too_deep(text) from None
    seen: set[str] = set()
    for field in node.schema:
        if field.name.lower() in seen:
            item = _naming(query, field.name)
            raise context.error(
                "SASH-BIND-014",
                f"Two columns of the answer are called '{field.name}'.",
                "Name the columns instead of the star, one of these with AS."
                if item.is_star
                else "Give one of them another name with AS.",
                item,
            )
        seen.add(field.name.lower())
        if field.name.lower() in ("at", "change") and not is_view:
            item = _naming(query, field.name)
            raise context.error(
                "SASH-BIND-019",
                f"A column of the answer is called '{field.name}', and so is one that changes have besides.",
                f"Name the columns instead of the star, this one with AS, such as AS my_{field.name.lower()}."
                if item.is_star
                else f"Give it another name with AS, such as AS my_{field.name.lower()}.",
                item,
            )
    return node


def _built(query: exp.Expr, context: Context) -> Built:
    if isinstance(query, exp.Select):
        return select_block(query, context)
    if isinstance(query, exp.SetOperation):
        return set_operation(query, context)
    if isinstance(query, RelationToStream):
        return relation_to_stream(query, context)
    if isinstance(query, exp.Subquery | exp.Paren):
        context = with_local_views(query, context)
        built = _built(query.this, context)
        negations = built.negations
        if query.args.get("limit"):
            negations |= {"top-k"}
            refuse_monotonic(built.monotonic, negations, context)
        return Built(ordered_outputs(built.node, query, context), negations, built.monotonic)
    raise context.error(
        "SASH-PLAN-017",
        f"{query.key.upper()} is not a query that Sash can answer.",
        "Use SELECT, UNION, EXCEPT or INTERSECT.",
        query,
    )


def _naming(query: exp.Expr, name: str) -> exp.Expr:
    """The last item of the outermost SELECT list that gives a column of that name, or a star that may."""
    select = query if isinstance(query, exp.Select) else query.find(exp.Select)
    items: list[exp.Expr] = [] if select is None else select.expressions
    named = [item for item in items if item.alias_or_name.lower() == name.lower()]
    stars = [item for item in items if item.is_star]
    return (named or stars or items or [query])[-1]
