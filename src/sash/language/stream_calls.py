"""Operators written inside a SELECT list, made into operators around a query ([G06] §3.4).

`SELECT ISTREAM(a, b) FROM s` is `ISTREAM(SELECT a, b FROM s)`, and
`SELECT SUM(WSTREAM(SUM(a)) [ROWS 10]) FROM s` is
`SELECT SUM(_w) FROM (WSTREAM(SELECT SUM(a) AS _w FROM s) [ROWS 10])`.
"""

from __future__ import annotations

__all__ = ["lift_stream_calls"]

from sqlglot import exp

from sash.errors import SashError
from sash.language.syntax import RelationToStream, StreamCall, place_of


def lift_stream_calls(query: exp.Expr, text: str) -> exp.Expr:
    """The query with every operator around the query it speaks of; changes the tree it is given."""
    holder = exp.Paren(this=query)  # so that the root can be replaced like any other node
    while calls := list(query.find_all(StreamCall)):
        _lift(calls[-1], text)  # breadth first: the last is the innermost
        query = holder.this
    for membership in list(query.find_all(exp.In)):
        listed = membership.expressions
        if len(listed) == 1 and isinstance(listed[0], RelationToStream):
            membership.set("expressions", None)
            membership.set("query", exp.Subquery(this=listed[0]))
    _refuse_operators_in_expressions(query, text)
    return query.pop()


def _lift(call: StreamCall, text: str) -> None:
    select = call.find_ancestor(exp.Select)
    if select is None:
        raise _misplaced(call, text)
    projection: exp.Expr = call
    while projection.parent is not select and projection.parent is not None:
        projection = projection.parent
    if projection.arg_key != "expressions":
        raise _misplaced(call, text)
    if projection.unalias() is call:
        _around_select(call, projection, select, text)
    elif call.args["kind"] == "wstream":
        _inside_aggregate(select, text)
    else:
        raise _misplaced(call, text)


def _around_select(call: StreamCall, projection: exp.Expr, select: exp.Select, text: str) -> None:
    columns = call.expressions
    if len(select.expressions) > 1:
        raise _misplaced(call, text)
    if isinstance(projection, exp.Alias):
        if len(columns) > 1 or columns[0].is_star or isinstance(columns[0], exp.Alias):
            raise _misplaced(call, text)
        columns = [exp.Alias(this=columns[0], alias=projection.args["alias"])]
    operator = RelationToStream(
        kind=call.args["kind"], restore=call.args["restore"], window=call.args.get("window")
    ).update_positions(call)
    select.replace(operator)
    operator.set("this", select)
    select.set("expressions", columns)
    if call.args.get("distinct"):
        select.set("distinct", exp.Distinct())


def _inside_aggregate(select: exp.Select, text: str) -> None:
    """WSTREAM within expressions of a SELECT list: all that the SELECT reads moves below it."""
    calls = [call for call in select.find_all(StreamCall) if call.find_ancestor(exp.Select) is select]
    calls = [c for c in calls if c.args["kind"] == "wstream" and len(list(c.find_all(StreamCall))) == 1]
    first = calls[0]
    alike = all(
        call.args.get("window") == first.args.get("window") and len(call.expressions) == 1 for call in calls
    )
    clauses = ("group", "having", "order", "limit", "offset", "distinct")
    plain = not any(select.args.get(key) for key in clauses)
    if not alike or not plain or any(call.expressions[0].is_star for call in calls):
        raise _needs_subquery(first, text)
    inner = exp.Select()
    for key in ("from_", "joins", "where"):
        inner.set(key, select.args.get(key))
        select.set(key, None)
    for number, call in enumerate(calls, 1):
        name = "_w" if number == 1 else f"_w{number}"
        value = call.expressions[0].unalias()
        column = exp.Column(this=exp.Identifier(this=name, quoted=False).update_positions(call))
        column.meta["lifted"] = True
        call.replace(column)
        inner.append("expressions", exp.Alias(this=value, alias=exp.to_identifier(name)))
    stray = [c for p in select.expressions for c in p.find_all(exp.Column) if not c.meta.get("lifted")]
    if stray:
        raise _needs_subquery(stray[0], text)
    operator = RelationToStream(this=inner, kind="wstream", restore=False, window=first.args.get("window"))
    select.set("from_", exp.From(this=exp.Subquery(this=operator.update_positions(first))))


def _refuse_operators_in_expressions(query: exp.Expr, text: str) -> None:
    homes = (exp.Subquery, exp.SetOperation, exp.CTE, exp.Exists, RelationToStream)
    for operator in query.find_all(RelationToStream):
        if operator is not query and not isinstance(operator.parent, homes):
            raise _misplaced(operator, text)


def _misplaced(node: exp.Expr, text: str) -> SashError:
    name = node.args["kind"].upper() + ("-RESTORE" if node.args.get("restore") else "")
    return SashError(
        "SASH-PARSE-016",
        f"{name} cannot stand here.",
        remedy=f"Put it around the whole query, {name}(SELECT ...), or around the whole SELECT list, "
        f"SELECT {name}(a, b) FROM ...",
        place=place_of(node, text),
    )


def _needs_subquery(node: exp.Expr, text: str) -> SashError:
    return SashError(
        "SASH-PARSE-016",
        "WSTREAM inside an expression must be the only source of columns, without GROUP BY or the like.",
        remedy="Write the inner query out: FROM (WSTREAM(SELECT ...) [...]).",
        place=place_of(node, text),
    )
