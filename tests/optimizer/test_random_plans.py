"""Random plans over random streams: no rule, alone or with the others, changes an answer.

The oracle judges: the net changes of the plan as it was and as it became are the same at every
instant. Few values, many ties and NULLs, so that equal rows meet and groups come and go.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow as pa
import pytest

from sash.language.expressions import AggregateCall, Call, Column, Expression, Field, Literal
from sash.language.windows import Window
from sash.optimizer import RULES, optimize
from sash.plan.explain import explain
from sash.plan.nodes import (
    Aggregate,
    Distinct,
    Equality,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    SetOperation,
    SortKey,
    Source,
    TableJoin,
    TableScan,
    TopK,
    ToStream,
    Union,
    Windowed,
)
from sash.plan.patterns import Pattern, is_stream, pattern
from sash.plan.verify import verify

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from oracle.relations import Oracle

INT = pa.int64()
FIELDS = (Field("ts", INT), Field("k", INT), Field("v", INT))
STREAMS = tuple(Source(name, FIELDS, 0) for name in ("a", "b"))
TABLES = tuple(
    TableScan(name, (Field("k", INT), Field("owner", INT)), (0,), retroactive)
    for name, retroactive in (("owners", False), ("rooms", True))
)
HORIZON = 30
BLOCKS, SIZE = 15, 100


def column(random: Random, node: Node) -> Column:
    index = random.randrange(len(node.schema))
    return Column(index, INT, node.schema[index].name)


def number(random: Random, node: Node) -> Expression:
    if random.random() < 0.7:
        return column(random, node)
    return Call("add", (column(random, node), Literal(random.randint(0, 2), INT)), INT)


def condition(random: Random, node: Node, depth: int = 1) -> Expression:
    kind = random.random()
    if depth and kind < 0.45:
        parts = (condition(random, node, depth - 1), condition(random, node, depth - 1))
        return Call(random.choice(["and", "and", "or"]), parts, pa.bool_())
    if kind < 0.5:
        return Call("is_null", (column(random, node),), pa.bool_())
    if kind < 0.53:
        return Literal(random.choice([True, True, True, True, False, None]), pa.bool_())
    other = number(random, node) if random.random() < 0.5 else Literal(random.randint(0, 3), INT)
    sign = random.choice(["eq", "ne", "le", "ge", "ge", "eq_null_safe"])
    return Call(sign, (number(random, node), other), pa.bool_())


def window(random: Random, node: Node) -> Window:
    length, rows = random.randint(1, 8), random.randint(1, 4)
    partition = (random.randrange(len(node.schema)),) if random.random() < 0.5 else ()
    return random.choice([
        Window("range", length=length),
        Window("range", length=length, slide=random.randint(1, 5)),
        Window("rows", rows=rows, partition=partition),
        Window("rows", rows=rows, slide=random.randint(1, 3), partition=partition),
        Window("now"),
        Window("until", until=len(node.schema) - 1),
        Window("unbounded"),
    ])  # fmt: skip


def stream(random: Random, depth: int) -> Node:
    if depth > 1 and random.random() < 0.25:
        kind = random.choice(["istream", "dstream", "rstream"])
        return ToStream(plan(random, depth - 1), cast(Any, kind))
    node: Node = random.choice(STREAMS)
    if random.random() < 0.3:
        node = Select(node, condition(random, node))
    if random.random() < 0.3:
        node = projected(random, node, depth)
    return node


def windowed(random: Random, depth: int) -> Node:
    below = stream(random, depth)
    computed = any(isinstance(each, ToStream) for each in below.walk())
    return Windowed(below, window(random, below), by_value=computed)


def projected(random: Random, node: Node, depth: int) -> Node:
    expressions = tuple(number(random, node) for _ in range(random.randint(1, 3)))
    return Project(node, expressions, tuple(f"c{i}" for i in range(len(expressions))))


def united(random: Random, node: Node, depth: int) -> Node:
    return Union((node, fitted(random, node, depth)))


def fitted(random: Random, node: Node, depth: int) -> Node:
    """Another plan with as many columns."""
    other = plan(random, depth)
    expressions = tuple(number(random, other) for _ in node.schema)
    return Project(other, expressions, tuple(field.name for field in node.schema))


def joined(random: Random, node: Node, depth: int) -> Node:
    others = [plan(random, depth - 1) for _ in range(random.choice([1, 1, 2]))]
    if random.random() < 0.2:
        others[-1] = TABLES[1]
    parts = (node, *others)
    equalities = tuple(
        Equality(0, number(random, node), i, number(random, other), random.random() < 0.2)
        for i, other in enumerate(others, 1)
        if random.random() < 0.7
    )
    whole = Join(parts, equalities)
    residual = condition(random, whole) if random.random() < 0.4 else None
    internal = tuple(
        pattern(part) is not Pattern.STR and random.random() < 0.5
        if any(isinstance(each, Windowed) for each in parts) and random.random() < 0.2
        else False
        for part in parts
    )
    return Join(parts, equalities, residual, internal if not all(internal) else ())


def table_joined(random: Random, node: Node, depth: int) -> Node:
    kind = random.choice(["inner", "inner", "left", "semi", "anti"])
    keys = random.randint(0, 1)
    time = random.choice([None, random.randrange(len(node.schema))])
    beside = TableJoin(node, TABLES[0], (), (), None, "inner", None)
    residual = condition(random, beside) if random.random() < 0.5 else None
    own = tuple(number(random, node) for _ in range(keys))
    other = tuple(column(random, TABLES[0]) for _ in range(keys))
    return TableJoin(node, TABLES[0], own, other, residual, cast(Any, kind), time)


def semi_joined(random: Random, node: Node, depth: int) -> Node:
    other = plan(random, depth - 1)
    keys = random.randint(1, 2)
    anti = random.random() < 0.7
    own = tuple(number(random, node) for _ in range(keys))
    theirs = tuple(number(random, other) for _ in range(keys))
    return SemiJoin(node, other, own, theirs, anti, False, anti and random.random() < 0.4)


def compared(random: Random, node: Node, depth: int) -> Node:
    kind = random.choice(["except", "intersect"])
    return SetOperation(node, fitted(random, node, depth - 1), cast(Any, kind), random.random() < 0.5)


def aggregated(random: Random, node: Node, depth: int) -> Node:
    groups = tuple(number(random, node) for _ in range(random.choice([0, 1, 1, 2])))
    calls = []
    for _ in range(random.randint(1, 3)):
        function = random.choice(["count", "sum", "min", "max"])
        argument = None if function == "count" and random.random() < 0.5 else number(random, node)
        calls.append(AggregateCall(function, argument, argument is not None and random.random() < 0.2, INT))
    names = tuple(f"g{i}" for i in range(len(groups) + len(calls)))
    presence = () if groups else tuple(e for e in node.walk() if isinstance(e, Windowed | Source))[:2]
    return Aggregate(node, groups, tuple(calls), names, presence) if groups or presence else node


def topped(random: Random, node: Node, depth: int) -> Node:
    order = tuple(
        SortKey(random.randrange(len(node.schema)), random.random() < 0.5, random.random() < 0.5)
        for _ in range(random.randint(1, 2))
    )
    return TopK(node, order, random.randint(1, 3), random.choice([0, 0, 1]))


STEPS: tuple[Callable[[Random, Node, int], Node], ...] = (
    lambda random, node, depth: Select(node, condition(random, node)),
    lambda random, node, depth: Select(node, condition(random, node)),
    projected, projected, united, joined, joined, table_joined, semi_joined, compared, aggregated, topped,
    lambda random, node, depth: Distinct(node),
)  # fmt: skip


def plan(random: Random, depth: int) -> Node:
    node = windowed(random, depth) if random.random() < 0.9 or depth == 0 else stream(random, depth)
    for _ in range(random.randint(1, depth + 2)):
        node = random.choice(STEPS)(random, node, max(depth, 1) - 1)
    return node


def histories(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of the streams and changes of the tables: few values, many ties, some NULLs."""
    streams = {}
    for source in STREAMS:
        times = sorted(random.randint(1, 12) for _ in range(random.randint(4, 12)))
        rows = [(ts, random.randint(0, 2), random.choice([None, 0, 1, 2, 14, 20])) for ts in times]
        streams[source.name] = [(row[0], i, row) for i, row in enumerate(rows)]
    tables = {}
    for table in TABLES:
        log = [(random.randint(0, 5), (key, random.randint(0, 3)), 1) for key in range(3)]
        log += [(at + random.randint(1, 8), row, -1) for at, row, _ in log[:2]]
        tables[table.name] = sorted(log, key=lambda change: change[0])
    return streams, tables


def answers(node: Node, streams: dict[str, Any], tables: dict[str, Any]) -> list[tuple[int, Any, int]]:
    changes = Oracle(node, streams, tables, HORIZON).changes()
    return sorted(changes, key=repr)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_rule_changes_an_answer(block: int) -> None:
    filled = sum(judged(block * SIZE + i) for i in range(SIZE))
    assert filled > SIZE / 4  # empty answers prove little


def judged(seed: int) -> bool:
    """Judge one plan; whether its answer ever had a row."""
    random = Random(seed)
    before = plan(random, 2)
    while sum(isinstance(each, Source) for each in before.walk()) > 5:  # the oracle is slow by design
        before = plan(random, 2)
    verify(before)
    streams, tables = histories(random)
    expected = answers(before, streams, tables)
    for rules in (RULES, *((rule,) for rule in RULES)):
        after = optimize(before, rules)
        if after != before:
            assert answers(after, streams, tables) == expected, (
                f"seed {seed}\n{explain(before)}\n\n{explain(after)}"
            )
        if is_stream(before):
            assert is_stream(after)
    whole = optimize(before)
    assert optimize(whole) == whole
    return bool(expected)
