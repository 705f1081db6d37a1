"""The grammar's parts for random queries: windows, FROM items, conditions, expressions, select lists.

`random_operators` makes queries of them, one function per operator; `random_queries` draws whole pairs.
"""

from __future__ import annotations

__all__ = [
    "COLUMNS", "CONSTANTS", "KINDS", "OPERATORS", "Columns", "Draft", "Item", "Scope", "chosen", "expression",
    "item", "leaf", "make", "predicate", "relation", "shaped",
]  # fmt: skip

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

Columns = list[tuple[str, str]]
"""Names and kinds: i (integer), s (string), x (double), d (decimal), b (boolean), y (date), m (timestamp)."""

CONSTANTS = {
    "i": "1",
    "s": "'a'",
    "x": "1.0D",
    "d": "1.5",
    "b": "true",
    "y": "DATE '2026-01-02'",
    "m": "TIMESTAMP '2026-01-02 00:00:00'",
}
TYPES = {
    "i": "BIGINT",
    "s": "STRING",
    "x": "DOUBLE",
    "d": "DECIMAL(12, 2)",
    "b": "BOOLEAN",
    "y": "DATE",
    "m": "TIMESTAMP",
}
KINDS = "iiiisssxxddbym"
"""To draw from: what is asked for often stands there often."""

COLUMNS: dict[str, Columns] = {
    "r": [("ts", "i"), ("k", "i"), ("s", "s"), ("x", "x"), ("d", "d"), ("b", "b"), ("y", "y"), ("m", "m")],
    "p": [("ts", "i"), ("k", "i"), ("s", "s"), ("x", "x"), ("d", "d"), ("b", "b"), ("y", "y"), ("m", "m")],
    "e": [("ts", "i"), ("k", "i"), ("s", "s"), ("ends", "i")],
}


@dataclass
class Draft:
    """A query in the making: its text, its columns, and the operators in it, the top one first."""

    sql: str
    columns: Columns
    operators: list[str]
    stream: bool = False


@dataclass
class Scope:
    """What may stand below: `monotonic` false under negation; `slide` if all windows must share one."""

    random: Random
    depth: int
    monotonic: bool = True
    slide: int | None = None
    aliases: list[int] = field(default_factory=lambda: [0])
    wanted: str | None = None
    """An operator that should be somewhere below."""
    top: bool = False

    def below(self, monotonic: bool | None = None, slide: int | None = None) -> Scope:
        return Scope(
            self.random,
            self.depth - 1,
            self.monotonic if monotonic is None else monotonic and self.monotonic,
            self.slide if slide is None else slide,
            self.aliases,
            self.wanted,
        )

    def alias(self) -> str:
        self.aliases[0] += 1
        return f"a{self.aliases[0]}"


Maker = Callable[[Scope], Draft]
OPERATORS: dict[str, tuple[Maker, bool, bool]] = {}
"""By name: the maker; whether it is refused under negation; whether it cannot stand where windows share a
slide. Filled by `random_operators`."""


@dataclass
class Item:
    """Something in FROM: its text with an alias, and its columns with the alias before them."""

    text: str
    columns: Columns
    operators: list[str]

    def of(self, random: Random, kind: str) -> str:
        """A column of a kind, or a constant of it if there is none."""
        names = [name for name, its in self.columns if its == kind]
        return random.choice(names) if names else CONSTANTS[kind]

    def own_of(self, random: Random, kind: str) -> str | None:
        names = [name for name, its in self.columns if its == kind]
        return random.choice(names) if names else None


def window(scope: Scope, name: str) -> tuple[str, str]:
    """A window for a stream, and the name of its kind."""
    random = scope.random
    if scope.slide is not None:
        return f"[RANGE {random.randint(1, 8)} SLIDE {scope.slide}]", "range_slide"
    kinds = (
        ["range"] * 6 + ["range_slide"] * 2 + ["rows", "rows", "rows_slide", "partition", "partition_range"]
    )
    kinds += ["partition_slide", "now", "unbounded"] + ["until"] * (6 if name == "e" else 0)
    kind = random.choice(kinds)
    size, slide = random.randint(1, 8), random.randint(1, 4)
    column = random.choice(["k", "s", "k, s"] + (["x", "d", "b, y", "m"] if name != "e" else []))
    return {
        "range": f"[RANGE {size}]",
        "range_slide": f"[RANGE {size} SLIDE {slide}]",
        "rows": f"[ROWS {random.randint(1, 5)}]",
        "rows_slide": f"[ROWS {random.randint(1, 5)} SLIDE {slide}]",
        "partition": f"[PARTITION BY {column} ROWS {random.randint(1, 3)}]",
        "partition_slide": f"[PARTITION BY {column} ROWS {random.randint(1, 3)} SLIDE {slide}]",
        "partition_range": f"[PARTITION BY {column} ROWS {random.randint(1, 3)} RANGE {size}]",
        "now": "[NOW]",
        "unbounded": random.choice(["[UNBOUNDED]", ""]),
        "until": "[UNTIL ends]",
    }[kind], kind


def leaf(scope: Scope, names: tuple[str, ...] = ("r", "r", "p", "p", "e")) -> Item:
    """A stream with a window."""
    name, alias = scope.random.choice(names), scope.alias()
    text, kind = window(scope, name)
    return Item(f"{name} {text} AS {alias}", [(f"{alias}.{c}", k) for c, k in COLUMNS[name]], [kind])


def item(scope: Scope) -> Item:
    """A stream with a window, or a query in parentheses."""
    if scope.depth <= 0 or scope.random.random() < 0.35:
        return leaf(scope)
    draft = bare(scope) if scope.random.random() < 0.15 else relation(scope)
    alias = scope.alias()
    text = ""
    if draft.stream and scope.random.random() < 0.7:
        text = _window_on(scope, draft.columns)
    columns = [(f"{alias}.{c}", k) for c, k in draft.columns]
    return Item(f"({draft.sql}) {text} AS {alias}".replace(")  AS", ") AS"), columns, draft.operators)


def _window_on(scope: Scope, columns: Columns) -> str:
    """A window on a subquery that is a stream."""
    random = scope.random
    size = random.randint(1, 6)
    if scope.slide is not None:
        return f"[RANGE {size} SLIDE {scope.slide}]"
    names = [name for name, _ in random.sample(columns, min(len(columns), random.randint(1, 2)))]
    key = f"PARTITION BY {', '.join(names)}"
    return random.choice([
        f"[RANGE {size}]", "[NOW]", f"[ROWS {size}]", f"[RANGE {size} SLIDE 2]", f"[ROWS {size} SLIDE 2]",
        f"[{key} ROWS {size}]", f"[{key} ROWS 2 RANGE {size}]", f"[{key} ROWS 2 SLIDE 3]", "[UNBOUNDED]",
    ])  # fmt: skip


def bare(scope: Scope) -> Draft:
    """Streams without windows, selected, projected, put together, met with the table: still a stream."""
    random = scope.random
    kinds = random.sample(KINDS, random.randint(1, 3))
    parts = []
    for _ in range(random.choice([1, 1, 2, 3])):
        name, alias = random.choice("rrppe"), scope.alias()
        source = Item(name, [(f"{alias}.{c}", k) for c, k in COLUMNS[name]], [])
        values = [f"CAST({source.of(random, kind)} AS {TYPES[kind]})" for kind in kinds]
        listed = ", ".join(f"{value} AS c{i}" for i, value in enumerate(values))
        table = f" JOIN t ON {alias}.k = t.k" if random.random() < 0.2 else ""
        where = f" WHERE {predicate(random, source.of)}" if random.random() < 0.4 else ""
        parts.append(f"SELECT {listed} FROM {name} AS {alias}{table}{where}")
    columns = [(f"c{i}", kind) for i, kind in enumerate(kinds)]
    return Draft(" UNION ALL ".join(parts), columns, ["bare"], stream=True)


def predicate(random: Random, of: Callable[[Random, str], str]) -> str:
    """A condition on columns that `of` chooses."""
    simple = [
        lambda: f"{of(random, 'i')} {random.choice(['<', '<=', '=', '<>', '>'])} {random.randint(0, 3)}",
        lambda: f"{of(random, 's')} {random.choice(['<', '=', '<>', '>='])} '{random.choice('abc')}'",
        lambda: f"{of(random, 'x')} {random.choice(['<', '>='])} {random.randint(0, 3)}",
        lambda: f"{of(random, 'd')} {random.choice(['<', '>=', '='])} 1.50",
        lambda: f"{of(random, 'i')} IS {random.choice(['', 'NOT '])}NULL",
        lambda: f"{of(random, 's')} IN ('a', 'b')",
        lambda: f"{of(random, 's')} LIKE '{random.choice(['a%', '%b%', '_'])}'",
        lambda: f"{of(random, 'i')} % 2 = {random.randint(0, 1)}",
        lambda: f"{of(random, 'i')} BETWEEN 0 AND {random.randint(1, 9)}",
        lambda: f"coalesce({of(random, 'i')}, 0) >= {random.randint(0, 2)}",
        lambda: of(random, "b"),
        lambda: f"{of(random, 'b')} IS {random.choice(['', 'NOT '])}NULL",
        lambda: f"{of(random, 'y')} {random.choice(['<', '>=', '='])} DATE '2026-01-02'",
        lambda: f"{of(random, 'm')} {random.choice(['<', '>=', '='])} TIMESTAMP '2026-01-02 00:00:00'",
    ]
    one = random.choice(simple)()
    if random.random() < 0.3:
        other = random.choice(simple)()
        one = f"({one} {random.choice(['AND', 'OR'])} {other})"
    return f"NOT {one}" if random.random() < 0.1 else one


def expression(random: Random, of: Callable[[Random, str], str], kind: str) -> str:
    """An expression of a kind."""
    return {
        "i": lambda: random.choice([
            f"{of(random, 'i')} + {random.randint(0, 3)}", f"{of(random, 'i')} * 2",
            f"abs({of(random, 'i')} - 2)", f"{of(random, 'i')} DIV 2",
            f"length({of(random, 's')})", f"CAST({of(random, 'x')} AS INT)",
            f"CASE WHEN {predicate(random, of)} THEN 1 ELSE 0 END",
        ]),
        "s": lambda: random.choice([
            f"upper({of(random, 's')})", f"concat({of(random, 's')}, 'z')",
            f"coalesce({of(random, 's')}, 'none')",
            f"substring({of(random, 's')}, 1, 1)", f"CAST({of(random, 'i')} AS STRING)",
        ]),
        "x": lambda: random.choice([
            f"{of(random, 'x')} + 1.0D", f"{of(random, 'i')} / 2", f"{of(random, 'x')} * {of(random, 'x')}",
            f"if({predicate(random, of)}, {of(random, 'x')}, NULL)",
        ]),
        "d": lambda: random.choice([
            f"{of(random, 'd')} + 1", f"{of(random, 'd')} * {of(random, 'd')}", f"-{of(random, 'd')}",
            f"CAST({of(random, 'i')} AS DECIMAL(6, 2))", f"round({of(random, 'd')}, 1)",
        ]),
        "b": lambda: random.choice([
            f"NOT {of(random, 'b')}", f"{of(random, 'i')} > 1", f"{of(random, 's')} = 'a'",
            f"{of(random, 'b')} AND {of(random, 'x')} > 1", f"{of(random, 'd')} <=> 1.50",
        ]),
        "y": lambda: random.choice([
            f"date_add({of(random, 'y')}, 1)", f"CAST({of(random, 'm')} AS DATE)",
            f"trunc({of(random, 'y')}, 'month')",
        ]),
        "m": lambda: random.choice([
            f"{of(random, 'm')} + INTERVAL 1 DAY", f"CAST({of(random, 'y')} AS TIMESTAMP)",
            f"date_trunc('day', {of(random, 'm')})",
        ]),
    }[kind]()  # fmt: skip


def chosen(
    random: Random, columns: Columns, count: int | None = None, whole: float = 0.15
) -> tuple[str, Columns]:
    """A select list of some columns, renamed c0, c1 ..."""
    kept = list(columns)
    if count is not None or random.random() > whole:
        random.shuffle(kept)
        kept = kept[: count or random.randint(1, min(3, len(kept)))]
    return (
        ", ".join(f"{name} AS c{i}" for i, (name, _) in enumerate(kept)),
        [(f"c{i}", kind) for i, (_, kind) in enumerate(kept)],
    )


def shaped(scope: Scope, kinds: list[str]) -> Draft:
    """A query that gives columns of the given kinds: for set operations."""
    source = item(scope)
    names = [source.of(scope.random, kind) for kind in kinds]
    listed = ", ".join(
        f"CAST({n} AS {TYPES[k]}) AS c{i}" for i, (n, k) in enumerate(zip(names, kinds, strict=True))
    )
    where = f" WHERE {predicate(scope.random, source.of)}" if scope.random.random() < 0.3 else ""
    columns = [(f"c{i}", kind) for i, kind in enumerate(kinds)]
    return Draft(f"SELECT {listed} FROM {source.text}{where}", columns, ["project", *source.operators])


def relation(scope: Scope) -> Draft:
    """Any query that may stand here."""
    names = [
        name
        for name, (_, needs_monotonic, own_slide) in OPERATORS.items()
        if (scope.monotonic or not needs_monotonic) and not (own_slide and scope.slide is not None)
    ]
    if scope.wanted in names and scope.random.random() < 0.5:
        return make(scope.wanted, scope)
    return make(scope.random.choice(names), scope)


def make(name: str, scope: Scope) -> Draft:
    """A query with this operator at the top."""
    draft = OPERATORS[name][0](scope)
    draft.operators.insert(0, name)
    return draft
