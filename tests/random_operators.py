"""One function per operator of the language: a query with it at the top, over anything below."""

from __future__ import annotations

__all__ = ["LOWEST", "OPERATORS"]

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from random_parts import (
    CONSTANTS,
    KINDS,
    OPERATORS,
    Draft,
    Item,
    Scope,
    chosen,
    expression,
    item,
    leaf,
    predicate,
    relation,
    shaped,
)


def select(scope: Scope) -> Draft:
    source = item(scope.below())
    listed, columns = chosen(scope.random, source.columns, whole=0.5)
    sql = f"SELECT {listed} FROM {source.text} WHERE {predicate(scope.random, source.of)}"
    return Draft(sql, columns, source.operators)


def project(scope: Scope) -> Draft:
    source = item(scope.below())
    kinds = [scope.random.choice(KINDS) for _ in range(scope.random.randint(1, 3))]
    listed = ", ".join(f"{expression(scope.random, source.of, kind)} AS c{i}" for i, kind in enumerate(kinds))
    return Draft(
        f"SELECT {listed} FROM {source.text}", [(f"c{i}", k) for i, k in enumerate(kinds)], source.operators
    )


def _two(scope: Scope, monotonic: bool | None = None) -> tuple[Item, Item]:
    return item(scope.below(monotonic)), item(scope.below(monotonic))


def _equal(scope: Scope, left: Item, right: Item) -> str:
    random = scope.random

    def one() -> str:
        kind = random.choice(KINDS)
        return f"{left.of(random, kind)} {random.choice(['=', '=', '=', '<=>'])} {right.of(random, kind)}"

    return f"{one()} AND {one()}" if random.random() < 0.2 else one()


def _joined(scope: Scope, word: str, monotonic: bool | None = None) -> Draft:
    left, right = _two(scope, monotonic)
    listed, columns = chosen(scope.random, left.columns + right.columns)
    extra = ""
    if scope.random.random() < 0.3:
        both = Item("", left.columns + right.columns, [])
        extra = f" AND {predicate(scope.random, both.of)}"
    condition = f" ON {_equal(scope, left, right)}{extra}" if word != "CROSS" else ""
    sql = f"SELECT {listed} FROM {left.text} {word} JOIN {right.text}{condition}"
    return Draft(sql, columns, left.operators + right.operators)


def join(scope: Scope) -> Draft:
    return _joined(scope, "INNER")


def join_three(scope: Scope) -> Draft:
    parts = [leaf(scope), leaf(scope), item(scope.below())]
    listed, columns = chosen(scope.random, [c for part in parts for c in part.columns])
    first, second, third = parts
    where = f"{_equal(scope, first, second)} AND {_equal(scope, scope.random.choice([first, second]), third)}"
    sql = f"SELECT {listed} FROM {', '.join(part.text for part in parts)} WHERE {where}"
    return Draft(sql, columns, [name for part in parts for name in part.operators])


def join_four(scope: Scope) -> Draft:
    """Streams one after the other, each joined to any before it, outer or inner."""
    random = scope.random
    parts = [leaf(scope), leaf(scope), leaf(scope), item(scope.below(False))]
    text = parts[0].text
    for i, part in enumerate(parts[1:], 1):
        word = random.choice(["INNER", "INNER", "LEFT", "RIGHT", "FULL OUTER"])
        text += f" {word} JOIN {part.text} ON {_equal(scope, random.choice(parts[:i]), part)}"
    listed, columns = chosen(random, [c for part in parts for c in part.columns])
    return Draft(f"SELECT {listed} FROM {text}", columns, [name for part in parts for name in part.operators])


def theta_join(scope: Scope) -> Draft:
    left, right = _two(scope)
    listed, columns = chosen(scope.random, left.columns + right.columns)
    sign = scope.random.choice(["<", "<=", "<>"])
    condition = f"{left.of(scope.random, 'i')} {sign} {right.of(scope.random, 'i')}"
    sql = f"SELECT {listed} FROM {left.text} JOIN {right.text} ON {condition}"
    return Draft(sql, columns, left.operators + right.operators)


def cross_join(scope: Scope) -> Draft:
    return _joined(scope, "CROSS")


def left_join(scope: Scope) -> Draft:
    return _joined(scope, "LEFT", False)


def right_join(scope: Scope) -> Draft:
    return _joined(scope, "RIGHT", False)


def full_join(scope: Scope) -> Draft:
    return _joined(scope, "FULL OUTER", False)


def _filtered(scope: Scope, negative: bool) -> Draft:
    random = scope.random
    left, right = _two(scope, False if negative else None)
    listed, columns = chosen(random, left.columns, whole=0.5)
    kind = random.choice(KINDS)
    not_ = "NOT " if negative else ""
    form = random.choice(["exists", "in", "join", "in where"])
    if form == "exists":
        tail = f"WHERE {not_}EXISTS (SELECT * FROM {right.text} WHERE {_equal(scope, right, left)})"
    elif form == "join":
        tail = f"{'ANTI' if negative else 'SEMI'} JOIN {right.text} ON {_equal(scope, left, right)}"
    else:
        inner = f" WHERE {predicate(random, right.of)}" if form == "in where" else ""
        listed_below = f"SELECT {right.of(random, kind)} FROM {right.text}{inner}"
        tail = f"WHERE {left.of(random, kind)} {not_}IN ({listed_below})"
    return Draft(f"SELECT {listed} FROM {left.text} {tail}", columns, left.operators + right.operators)


def semi_join(scope: Scope) -> Draft:
    return _filtered(scope, negative=False)


def anti_join(scope: Scope) -> Draft:
    return _filtered(scope, negative=True)


def table_join(scope: Scope) -> Draft:
    source = leaf(scope)
    listed, columns = chosen(scope.random, [*source.columns, ("t.name", "s")])
    word = scope.random.choice(["", "", "LEFT "])
    sql = f"SELECT {listed} FROM {source.text} {word}JOIN t ON {source.of(scope.random, 'i')} = t.k"
    return Draft(sql, columns, source.operators)


def table_filter(scope: Scope) -> Draft:
    source = leaf(scope)
    listed, columns = chosen(scope.random, source.columns)
    not_ = scope.random.choice(["", "NOT "])
    where = f"{not_}EXISTS (SELECT * FROM t WHERE t.k = {source.of(scope.random, 'i')})"
    return Draft(f"SELECT {listed} FROM {source.text} WHERE {where}", columns, source.operators)


def retroactive_join(scope: Scope) -> Draft:
    source = item(scope.below())
    listed, columns = chosen(scope.random, [*source.columns, ("u.name", "s")])
    sql = f"SELECT {listed} FROM {source.text} JOIN u ON {source.of(scope.random, 'i')} = u.k"
    return Draft(sql, columns, source.operators)


def _set(word: str, monotonic: bool | None) -> Callable[[Scope], Draft]:
    def operator(scope: Scope) -> Draft:
        kinds = [scope.random.choice(KINDS) for _ in range(scope.random.randint(1, 2))]
        left, right = shaped(scope.below(monotonic), kinds), shaped(scope.below(monotonic), kinds)
        return Draft(f"{left.sql} {word} {right.sql}", left.columns, left.operators + right.operators)

    return operator


def distinct(scope: Scope) -> Draft:
    source = item(scope.below(False))
    listed, columns = chosen(scope.random, source.columns)
    return Draft(f"SELECT DISTINCT {listed} FROM {source.text}", columns, source.operators)


_AGGREGATES = {
    "COUNT(*)": "i", "COUNT({i})": "i", "COUNT({s})": "i", "COUNT({x})": "i", "SUM({i})": "i",
    "SUM({x})": "x", "SUM({d})": "d", "AVG({i})": "x", "AVG({d})": "d", "MIN({x})": "x", "MAX({x})": "x",
    "MIN({s})": "s", "MAX({s})": "s", "MIN({i})": "i", "MAX({i})": "i", "MIN({d})": "d", "MAX({d})": "d",
    "COUNT(DISTINCT {s})": "i", "COUNT(DISTINCT {i})": "i", "COUNT(DISTINCT {x})": "i",
    "COUNT(DISTINCT {d})": "i", "SUM(DISTINCT {i})": "i", "SUM(DISTINCT {d})": "d",
    "MIN({b})": "b", "MAX({b})": "b", "MIN({y})": "y", "MAX({y})": "y", "MIN({m})": "m", "MAX({m})": "m",
    "COUNT(DISTINCT {b})": "i", "COUNT(DISTINCT {y})": "i", "COUNT({m})": "i",
}  # fmt: skip
"""Calls, by the kind of their result."""

_SPREADS = {
    "STDDEV({x})": "x",
    "VARIANCE({i})": "x",
    "STDDEV({i})": "x",
    "VAR_POP({x})": "x",
    "AVG({x})": "x",
}
"""Those that are not exact: nothing that looks closely may stand above them."""


def _aggregates(scope: Scope, source: Item) -> list[tuple[str, str]]:
    random = scope.random
    templates = _AGGREGATES | (_SPREADS if scope.top else {})
    found = []
    for template in random.sample(list(templates), random.randint(1, 3)):
        columns = {kind: source.of(random, kind) for kind in CONSTANTS}
        call = template.format(**columns)
        if random.random() < 0.2:
            call += f" FILTER (WHERE {predicate(random, source.of)})"
        found.append((call, templates[template]))
    return found


def group_by(scope: Scope, having: bool = False) -> Draft:
    random = scope.random
    source = item(scope.below())
    keys = _group_keys(random, source)
    if not keys:
        return global_aggregate(scope)
    calls = _aggregates(scope, source)
    listed = ", ".join(f"{text} AS c{i}" for i, (text, _) in enumerate(keys + calls))
    names = ", ".join(text for text, _ in keys)
    tail = f" HAVING {_having(random, calls)}" if having else ""
    columns = [(f"c{i}", kind) for i, (_, kind) in enumerate(keys + calls)]
    return Draft(f"SELECT {listed} FROM {source.text} GROUP BY {names}{tail}", columns, source.operators)


def _group_keys(random: Random, source: Item) -> list[tuple[str, str]]:
    """One or two expressions to group by, and their kinds; none if there is no column for them."""
    found: dict[str, str] = {}
    for kind in random.choices(KINDS, k=random.choice([1, 1, 1, 2])):
        column = source.own_of(random, kind)
        if column is not None:
            found[f"{column} % 2" if kind == "i" and random.random() < 0.3 else column] = kind
    return list(found.items())


def _having(random: Random, calls: Sequence[tuple[str, str]]) -> str:
    """A condition on a group: on its size, or on what is computed of it."""
    call, kind = random.choice(calls)
    sizes = f"COUNT(*) {random.choice(['>', '>=', '='])} {random.randint(1, 2)}"
    compared = {"i": ">= 1", "s": "<> 'b'", "d": "> 0.5"}.get(kind, "IS NOT NULL")
    return random.choice([sizes, sizes, f"{call} {compared}", f"{sizes} OR {call} {compared}"])


def having(scope: Scope) -> Draft:
    return group_by(scope, having=True)


def global_aggregate(scope: Scope) -> Draft:
    source = item(scope.below())
    calls = _aggregates(scope, source)
    listed = ", ".join(f"{call} AS c{i}" for i, (call, _) in enumerate(calls))
    where = f" WHERE {predicate(scope.random, source.of)}" if scope.random.random() < 0.4 else ""
    columns = [(f"c{i}", kind) for i, (_, kind) in enumerate(calls)]
    return Draft(f"SELECT {listed} FROM {source.text}{where}", columns, source.operators)


def top_k(scope: Scope) -> Draft:
    random = scope.random
    if random.random() < 0.3:
        groups = group_by(replace(scope, monotonic=False), having=random.random() < 0.5)
        return Draft(f"{groups.sql} {_first(random, groups.columns)}", groups.columns, groups.operators)
    source = item(scope.below(False))
    listed, columns = chosen(random, source.columns)
    sql = f"SELECT {listed} FROM {source.text} {_first(random, columns)}"
    return Draft(sql, columns, source.operators)


def _first(random: Random, columns: Sequence[tuple[str, str]]) -> str:
    """ORDER BY some of the columns, and LIMIT."""
    orders = [
        f"{name}{random.choice(['', ' DESC', ' DESC NULLS FIRST', ' ASC NULLS LAST'])}" for name, _ in columns
    ]
    random.shuffle(orders)
    order = ", ".join(orders[: random.randint(1, len(orders))])
    offset = f" OFFSET {random.randint(1, 2)}" if random.random() < 0.2 else ""
    return f"ORDER BY {order} LIMIT {random.randint(1, 3)}{offset}"


def _to_stream(word: str, needs_slide: bool = False) -> Callable[[Scope], Draft]:
    def operator(scope: Scope) -> Draft:
        inner = scope.below(slide=scope.random.randint(2, 4) if needs_slide else None)
        if needs_slide:
            source = item(inner)
            listed, columns = chosen(scope.random, source.columns)
            draft = Draft(f"SELECT {listed} FROM {source.text}", columns, source.operators)
        else:
            draft = relation(inner) if inner.depth > 0 else select(inner)
        return Draft(f"{word}({draft.sql})", draft.columns, draft.operators, stream=True)

    return operator


def wstream(scope: Scope) -> Draft:
    source = item(scope.below())
    listed, columns = chosen(scope.random, source.columns)
    size = scope.random.randint(1, 5)
    text = scope.random.choice([f"[ROWS {size}]", f"[RANGE {size}]"])
    sql = f"WSTREAM(SELECT {listed} FROM {source.text}) {text}"
    return Draft(sql, columns, source.operators)


def internal(scope: Scope) -> Draft:
    """A join of windows of which some, or all, are INTERNAL."""
    random = scope.random
    names = [random.choice("rp"), random.choice("rpe")]
    aliases = [scope.alias(), scope.alias()]
    words = [" INTERNAL", random.choice(["", " INTERNAL"])]
    parts = [
        f"{n} [RANGE {random.randint(1, 8)}{w}] AS {a}" for n, w, a in zip(names, words, aliases, strict=True)
    ]
    columns = [(f"{a}.{c}", k) for a in aliases for c, k in (("ts", "i"), ("k", "i"), ("s", "s"))]
    listed, named = chosen(random, columns)
    where = f"{aliases[0]}.k = {aliases[1]}.k"
    return Draft(f"SELECT {listed} FROM {', '.join(parts)} WHERE {where}", named, ["range", "range"])


LOWEST = {"internal", "table_join", "table_filter"}
"""Those that stand on windows alone."""

OPERATORS.update({
    "select": (select, False, False),
    "project": (project, False, False),
    "union_all": (_set("UNION ALL", None), False, False),
    "union": (_set("UNION", False), False, False),
    "except": (_set("EXCEPT", False), False, False),
    "except_all": (_set("EXCEPT ALL", False), False, False),
    "intersect": (_set("INTERSECT", False), False, False),
    "intersect_all": (_set("INTERSECT ALL", False), False, False),
    "join": (join, False, False),
    "join_three": (join_three, False, False),
    "join_four": (join_four, False, False),
    "theta_join": (theta_join, False, False),
    "cross_join": (cross_join, False, False),
    "left_join": (left_join, False, False),
    "right_join": (right_join, False, False),
    "full_join": (full_join, False, False),
    "semi_join": (semi_join, False, False),
    "anti_join": (anti_join, False, False),
    "table_join": (table_join, False, False),
    "table_filter": (table_filter, False, False),
    "retroactive_join": (retroactive_join, False, True),
    "distinct": (distinct, False, False),
    "group_by": (group_by, False, False),
    "having": (having, False, False),
    "global_aggregate": (global_aggregate, False, False),
    "top_k": (top_k, False, False),
    "istream": (_to_stream("ISTREAM"), False, True),
    "dstream": (_to_stream("DSTREAM"), False, True),
    "rstream": (_to_stream("RSTREAM"), False, True),
    "rstream_slide": (_to_stream("RSTREAM", needs_slide=True), False, True),
    "istream_restore": (_to_stream("ISTREAM-RESTORE", needs_slide=True), False, True),
    "rstream_restore": (_to_stream("RSTREAM-RESTORE", needs_slide=True), False, True),
    "wstream": (wstream, True, True),
    "internal": (internal, True, True),
})  # fmt: skip
