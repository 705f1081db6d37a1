"""Update patterns of every node, keys, and where changes need no netting."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.language.expressions import AggregateCall, Call, Column, Field, Literal
from sash.language.windows import Window
from sash.plan.keys import key, nets
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

FIELDS = (Field("ts", pa.int64()), Field("k", pa.int64()), Field("v", pa.int64()))
TS, K, V = (Column(i, field.type, field.name) for i, field in enumerate(FIELDS))

STREAM = Source("s", FIELDS, 0)
RANGE = Windowed(STREAM, Window("range", length=10))
LONGER = Windowed(STREAM, Window("range", length=20))
SLIDING = Windowed(STREAM, Window("range", length=15, slide=10))
NOW = Windowed(STREAM, Window("now"))
UNTIL = Windowed(STREAM, Window("until", until=2))
ROWS = Windowed(STREAM, Window("rows", rows=5))
LAST = Windowed(STREAM, Window("rows", rows=1, partition=(1,)))
ALL = Windowed(STREAM, Window("unbounded"))
HOSTS = TableScan("hosts", (Field("k", pa.int64()), Field("owner", pa.string())), (0,), retroactive=False)
LIVE_HOSTS = TableScan("hosts", HOSTS.fields, (0,), retroactive=True)
POSITIVE = Call("gt", (V, Literal(0, pa.int64())), pa.bool_())


def join(*parts: Node, internal: tuple[bool, ...] = ()) -> Join:
    return Join(parts, tuple(Equality(0, K, i, K) for i in range(1, len(parts))), None, internal)


def project(node: Node, *positions: int) -> Project:
    columns = [Column(i, node.schema[i].type, node.schema[i].name) for i in positions]
    return Project(node, tuple(columns), tuple(column.name for column in columns))


def semi(left: Node, right: Node, anti: bool = False) -> SemiJoin:
    return SemiJoin(left, right, (K,), (K,), anti)


def sums(node: Node) -> Aggregate:
    return Aggregate(node, (K,), (AggregateCall("sum", V, False, pa.int64()),), ("k", "total"))


def total(node: Node) -> Aggregate:
    return Aggregate(node, (), (AggregateCall("sum", V, False, pa.int64()),), ("total",), (node,))


def beside_hosts(node: Node, kind: str = "inner") -> TableJoin:
    owner = Column(0, pa.int64(), "k")
    return TableJoin(node, HOSTS, (K,), (owner,), None, kind, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (STREAM, "MON"),
        (RANGE, "WKS"),
        (SLIDING, "WKS"),
        (NOW, "WKS"),
        (UNTIL, "WK"),
        (ALL, "MON"),
        (ROWS, "STR"),
        (Windowed(STREAM, Window("rows", rows=5, partition=(1,), length=9)), "STR"),
        (Select(RANGE, POSITIVE), "WKS"),
        (project(RANGE, 1), "WKS"),
        (beside_hosts(RANGE), "WKS"),
        (beside_hosts(ROWS), "STR"),
        (Union((STREAM, ALL)), "MON"),
        (Union((RANGE, Select(RANGE, POSITIVE))), "WKS"),
        (Union((RANGE, LONGER)), "WK"),
        (Union((RANGE, SLIDING)), "WK"),
        (Union((NOW, Windowed(STREAM, Window("range", length=1)))), "WKS"),
        (Union((Union((RANGE, RANGE)), RANGE)), "WKS"),
        (Union((Union((RANGE, LONGER)), RANGE)), "WK"),
        (Union((STREAM, RANGE)), "WK"),
        (Union((RANGE, ROWS)), "STR"),
        (join(STREAM, ALL), "MON"),
        (join(RANGE, RANGE), "WK"),
        (join(RANGE, STREAM), "WK"),
        (join(RANGE, ROWS), "STR"),
        (join(RANGE, RANGE, internal=(True, True)), "MON"),
        (join(RANGE, RANGE, internal=(True, False)), "WK"),
        (join(RANGE, STREAM, internal=(True, False)), "MON"),
        (Join((RANGE, LIVE_HOSTS), (Equality(0, K, 1, Column(0, pa.int64(), "k")),)), "STR"),
        (Distinct(STREAM), "MON"),
        (Distinct(RANGE), "WK"),
        (Distinct(ROWS), "STR"),
        (SetOperation(RANGE, RANGE, "except", all=True), "STR"),
        (SetOperation(STREAM, STREAM, "intersect", all=False), "STR"),
        (semi(RANGE, RANGE), "WK"),
        (semi(STREAM, STREAM), "MON"),
        (semi(RANGE, ROWS), "STR"),
        (semi(STREAM, STREAM, anti=True), "STR"),
        (sums(RANGE), "STR"),
        (TopK(RANGE, (SortKey(2, True, False),), 3), "STR"),
        (ToStream(sums(RANGE), "istream"), "MON"),
        (LIVE_HOSTS, "STR"),
        (HOSTS, "MON"),
    ],
)
def test_pattern(node: Node, expected: str) -> None:
    assert pattern(node) is Pattern(expected)
    assert is_stream(node) is (expected == "MON")


@pytest.mark.parametrize(
    "node",
    [
        STREAM,
        RANGE,
        SLIDING,
        UNTIL,
        ROWS,
        Select(project(RANGE, 0, 1), Call("gt", (K, TS), pa.bool_())),
        join(RANGE, LONGER),
        project(join(RANGE, STREAM), 0, 3),
        Union((RANGE, LONGER)),
        beside_hosts(RANGE),
        sums(RANGE),
        total(RANGE),
        Select(sums(RANGE), Call("gt", (Column(1, pa.int64(), "total"), K), pa.bool_())),
        project(sums(RANGE), 1, 0, 0),
        semi(RANGE, ROWS, anti=True),
        ToStream(Distinct(RANGE), "istream"),
    ],
)
def test_equal_rows_cannot_meet(node: Node) -> None:
    assert not nets(node)


@pytest.mark.parametrize(
    "node",
    [
        project(RANGE, 1),
        project(join(RANGE, RANGE), 0, 1),
        join(RANGE, ROWS),
        Windowed(STREAM, Window("rows", rows=5, slide=2)),
        Windowed(ToStream(sums(RANGE), "istream"), Window("range", length=5), by_value=True),
        Union((RANGE, SLIDING)),
        Union((project(RANGE, 0, 1), project(RANGE, 1, 0))),
        Distinct(RANGE),
        project(sums(RANGE), 0),
        project(sums(RANGE), 1),
        semi(RANGE, RANGE),
        semi(project(RANGE, 1, 1), RANGE, anti=True),
        semi(ROWS, RANGE, anti=True),
        SemiJoin(RANGE, RANGE, (K,), (K,), anti=True, null_aware=True),
        SetOperation(RANGE, RANGE, "except", all=False),
        TopK(sums(RANGE), (SortKey(1, True, False),), 3),
        LIVE_HOSTS,
    ],
)
def test_equal_rows_may_meet(node: Node) -> None:
    assert nets(node)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (RANGE, None),
        (ROWS, None),
        (LAST, {1}),
        (Windowed(STREAM, Window("rows", rows=1)), set()),
        (sums(RANGE), {0}),
        (total(RANGE), set()),
        (project(sums(RANGE), 1, 0), {1}),
        (project(sums(RANGE), 1), None),
        (Distinct(RANGE), {0, 1, 2}),
        (Distinct(sums(RANGE)), {0}),
        (Join((sums(RANGE), sums(ROWS)), ()), {0, 2}),
        (Join((sums(RANGE), RANGE), ()), None),
        (Join((LAST, LAST), (), None, (True, False)), None),
        (LIVE_HOSTS, {0}),
        (beside_hosts(LAST), {1}),
        (beside_hosts(LAST, "anti"), {1}),
        (TableJoin(LAST, HOSTS, (), (), None, "left", 0), {1, 3}),
        (beside_hosts(RANGE), None),
        (semi(LAST, RANGE), {1}),
        (SetOperation(RANGE, RANGE, "except", all=True), None),
        (SetOperation(RANGE, RANGE, "intersect", all=False), {0, 1, 2}),
        (Union((sums(RANGE), sums(RANGE))), None),
    ],
)
def test_key(node: Node, expected: set[int] | None) -> None:
    assert key(node) == expected
