"""What sqlglot can read but the language does not have: refused by name, never passed over in silence."""

from __future__ import annotations

__all__ = ["refuse_unknown_clauses"]

from sqlglot import exp

from sash.errors import SashError
from sash.language.syntax import RelationToStream, WindowClause, place_of

_ACCEPTED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {
            "expressions",
            "from_",
            "joins",
            "where",
            "group",
            "having",
            "distinct",
            "order",
            "limit",
            "offset",
            "with_",
        }
    ),
    exp.SetOperation: frozenset({"this", "expression", "distinct", "order", "limit", "offset", "with_"}),
    exp.Subquery: frozenset({"this", "alias", "cql_window", "joins", "order", "limit", "offset", "with_"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias", "cql_window", "joins"}),
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
    exp.Group: frozenset({"expressions"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Order: frozenset({"expressions"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Star: frozenset(),
    exp.TableAlias: frozenset({"this", "columns"}),
}

_WORDS = {
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "windows": "The WINDOW clause",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "on": "DISTINCT ON",
    "version": "Time travel",
    "hint": "A hint",
    "hints": "A hint",
    "by_name": "BY NAME",
    "all": "GROUP BY ALL",
    "except_": "* EXCEPT",
    "replace": "* REPLACE",
    "rename": "* RENAME",
}

_REMEDIES = {
    "all": "Name the columns to group by.",
    "except_": "Name the columns you want.",
    "hint": "Leave it out.",
    "hints": "Leave it out.",
    "sort": "Use ORDER BY with LIMIT.",
    "windows": "Put the window in square brackets after the stream's name.",
}

_REFUSED_NODES: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Window: (
        "OVER",
        "Use a window on the stream, such as [PARTITION BY k ROWS 10], and an aggregate over it.",
    ),
    exp.Fetch: ("FETCH", "Use LIMIT."),
    exp.Rollup: ("ROLLUP", "Write one GROUP BY per grouping."),
    exp.Cube: ("CUBE", "Write one GROUP BY per grouping."),
    exp.GroupingSets: ("GROUPING SETS", "Write one GROUP BY per grouping."),
    exp.Parameter: ("A parameter", "Put the value into the text."),
    exp.Placeholder: ("A parameter", "Put the value into the text."),
}


def refuse_unknown_clauses(query: exp.Expr, text: str) -> None:
    """Raise for the first part of a query that is not in the language."""
    for node in query.walk():
        for kind, accepted in _ACCEPTED.items():
            if isinstance(node, kind):
                _refuse_arguments(node, accepted, text)
        if type(node) in _REFUSED_NODES:
            word, remedy = _REFUSED_NODES[type(node)]
            raise _refused(f"{word} is not part of the language.", remedy, node, text)
        if isinstance(node, exp.Group) and all(each == exp.Tuple() for each in node.expressions):
            raise _empty("GROUP BY names nothing.", "Say by what to group, or leave it out.", node, text)
        if isinstance(node, exp.Order) and any(isinstance(each.this, exp.Var) for each in node.expressions):
            raise _refused("ORDER BY ALL is not part of the language.", "Name the columns.", node, text)
        if isinstance(node, exp.In) and not (node.expressions or node.args.get("query")):
            raise _empty("The list after IN is empty.", "Put at least one value into it.", node, text)
        if not all(isinstance(each, exp.Identifier) for each in node.args.get("using") or ()):
            remedy = "Write names plainly or in backquotes, such as USING (id)."
            raise _refused("USING takes names of columns.", remedy, node, text)
        if isinstance(node, (exp.From, exp.Join)) and not _named_or_query(node.this):
            raise _refused("FROM reads only names and subqueries.", "Write the query without it.", node, text)
        if isinstance(node, WindowClause):
            _refuse_misplaced_window(node, text)


def _named_or_query(item: exp.Expr) -> bool:
    if isinstance(item, exp.Table):
        return isinstance(item.this, exp.Identifier)
    return isinstance(item, exp.Subquery)


def _refuse_arguments(node: exp.Expr, accepted: frozenset[str], text: str) -> None:
    for key, value in node.args.items():
        if not value or key in accepted:
            continue
        word = _WORDS.get(key, key.strip("_").replace("_", " ").upper())
        first = value[0] if isinstance(value, list) else value
        # A hint was parsed from a text of its own, so its offsets say nothing here
        inside = isinstance(first, exp.Expr) and key != "hint"
        raise _refused(
            f"{word} is not part of the language.",
            _REMEDIES.get(key, "Write the query without it."),
            first if inside else node,
            text,
        )


def _refuse_misplaced_window(window: WindowClause, text: str) -> None:
    item = window.parent
    if isinstance(item, RelationToStream):
        return
    if item is None or not isinstance(item.parent, (exp.From, exp.Join, exp.Table, exp.Subquery)):
        raise SashError(
            "SASH-PARSE-013",
            "A window cannot stand here.",
            remedy="Put it after the name of a stream, or after a subquery, in FROM or JOIN.",
            place=place_of(window, text),
        )


def _refused(message: str, remedy: str, node: exp.Expr, text: str) -> SashError:
    return SashError("SASH-PARSE-007", message, remedy=remedy, place=place_of(node, text))


def _empty(message: str, remedy: str, node: exp.Expr, text: str) -> SashError:
    return SashError("SASH-PARSE-001", message, remedy=remedy, place=place_of(node, text))
