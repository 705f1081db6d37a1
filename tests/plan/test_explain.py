"""Plans as text, and the laws that verify() checks."""

from __future__ import annotations

from textwrap import dedent

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.language.expressions import AggregateCall, Call, Column, Expression, Field, Literal
from sash.language.windows import Window
from sash.plan.explain import explain, headline
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
from sash.plan.verify import verify
from sash.plan.wording import duration, phrase

SECOND = 1_000_000
FIELDS = (Field("ts", pa.timestamp("us")), Field("src", pa.string()), Field("bytes", pa.int64()))
TS, SRC, BYTES = (Column(i, field.type, field.name) for i, field in enumerate(FIELDS))
PACKETS = Source("packets", FIELDS, 0)
RECENT = Windowed(PACKETS, Window("range", length=60 * SECOND))
HOSTS = TableScan("hosts", (Field("ip", pa.string()), Field("owner", pa.string())), (0,), retroactive=False)
BIG = Call("gt", (BYTES, Literal(100, pa.int64())), pa.bool_())
SUM = AggregateCall("sum", BYTES, False, pa.int64())


def test_one_line_per_operator() -> None:
    flows = Windowed(Source("flows", FIELDS, 0), Window("rows", rows=9))
    both = Join((Select(RECENT, BIG), flows), (Equality(0, SRC, 1, SRC),))
    number = AggregateCall("sum", Column(2, pa.int64(), "n"), False, pa.int64())
    plan = Aggregate(both, (SRC,), (number,), ("src", "n"))
    assert explain(plan) == dedent(
        """\
        group by src: sum(n) [STR] state=keyed bound=groups of (src) + rows of packets in 60 s x 9 rows
        └─ join on src = src [STR] state=fifo+keyed bound=rows of packets in 60 s + 9 rows
           ├─ select bytes > 100 [WKS] state=none
           │  └─ range 60 s [WKS] state=none
           │     └─ stream packets [MON] state=none
           └─ rows 9 [STR] state=keyed bound=9 rows
              └─ stream flows [MON] state=none"""
    )


def test_what_is_unbounded_says_why() -> None:
    assert explain(Distinct(PACKETS)).splitlines()[0] == (
        "distinct [MON] state=keyed bound=unbounded: every value of packets would be kept forever"
    )


def test_source_text_and_notes_are_shown() -> None:
    text = explain(RECENT, source="SELECT * FROM packets\n", notes={PACKETS: "rows=7"})
    assert text.splitlines() == [
        "SELECT * FROM packets",
        "range 60 s [WKS] state=none",
        "└─ stream packets [MON] state=none rows=7",
    ]


def test_what_tells_a_global_aggregate_when_to_begin_is_named_not_drawn() -> None:
    count = AggregateCall("count", None, False, pa.int64())
    plan = Aggregate(Select(RECENT, BIG), (), (count,), ("n",), (RECENT,))
    lines = explain(plan).splitlines()
    assert lines[0].startswith("aggregate count(*), from the first row of packets [STR]")
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (HOSTS, "table hosts"),
        (Windowed(PACKETS, Window("range", length=600 * SECOND, slide=SECOND)), "range 10 min slide 1 s"),
        (Windowed(PACKETS, Window("rows", rows=3, slide=2)), "rows 3 slide 2"),
        (Windowed(PACKETS, Window("until", until=0)), "until ts"),
        (Windowed(PACKETS, Window("now", internal=True)), "now internal"),
        (Project(RECENT, (SRC, BIG), ("src", "big")), "project src, bytes > 100 as big"),
        (Union((RECENT, RECENT)), "union all"),
        (Join((RECENT, RECENT), ()), "cross join"),
        (Join((RECENT, RECENT), (), BIG, (True, False)), "join on bytes > 100, internal 1"),
        (SemiJoin(RECENT, RECENT, (SRC,), (SRC,), anti=True), "anti-join on src = src"),
        (SemiJoin(RECENT, RECENT, (SRC,), (SRC,), anti=False, null_safe=True), "semi-join on src <=> src"),
        (SemiJoin(RECENT, RECENT, (SRC,), (SRC,), anti=True, null_aware=True), "not in on src = src"),
        (TableJoin(RECENT, HOSTS, (SRC,), (Column(0, pa.string(), "ip"),), None, "left", 0),
         "left table join on src = ip"),
        (SetOperation(RECENT, RECENT, "except", all=True), "except all"),
        (TopK(RECENT, (SortKey(2, True, False), SortKey(1, False, False)), 10, 5),
         "top 10 after 5 by bytes desc, src nulls last"),
        (ToStream(RECENT, "istream", 10 * SECOND, restore=True), "istream-restore every 10 s"),
    ],
)  # fmt: skip
def test_headlines(node: Node, words: str) -> None:
    assert headline(node) == words


def test_integer_time_has_plain_numbers() -> None:
    ticks = Source("ticks", (Field("t", pa.int64()),), 0)
    assert headline(Windowed(ticks, Window("range", length=60))) == "range 60"


@pytest.mark.parametrize(
    ("ticks", "words"),
    [(1, "1 us"), (1500, "1500 us"), (2000, "2 ms"), (SECOND, "1 s"), (60 * SECOND, "60 s"),
     (90 * SECOND, "90 s"), (120 * SECOND, "2 min"), (3600 * SECOND, "1 h"), (86_400 * SECOND, "1 d")],
)  # fmt: skip
def test_durations(ticks: int, words: str) -> None:
    assert duration(ticks, timestamped=True) == words


def test_phrases() -> None:
    def call(function: str, *arguments: Expression) -> Call:
        return Call(function, arguments, pa.bool_())

    none = Literal(None, pa.string())
    either = call("or", BIG, call("is_null", SRC))
    assert phrase(call("and", BIG, either, call("not", BIG))) == (
        "bytes > 100 AND (bytes > 100 OR src IS NULL) AND (NOT (bytes > 100))"
    )
    assert phrase(call("in_list", SRC, Literal("a", pa.string()), none)) == "src IN ('a', NULL)"
    assert phrase(Call("cast", (BYTES,), pa.string())) == "cast(bytes as string)"
    assert phrase(call("coalesce", call("negate", BYTES), BYTES)) == "coalesce(-bytes, bytes)"


WRONG_TYPE = Column(2, pa.string(), "bytes")
OUTSIDE = Column(7, pa.int64(), "beyond")


@pytest.mark.parametrize(
    "broken",
    [
        Select(RECENT, BYTES),
        Select(RECENT, Call("gt", (OUTSIDE, BYTES), pa.bool_())),
        Project(RECENT, (WRONG_TYPE,), ("bytes",)),
        Project(RECENT, (), ()),
        Windowed(RECENT, Window("range", length=5)),
        Windowed(PACKETS, Window("range")),
        Windowed(PACKETS, Window("rows", rows=0)),
        Windowed(PACKETS, Window("rows", rows=1, partition=(9,))),
        Union((RECENT, Project(RECENT, (SRC,), ("src",)))),
        SetOperation(RECENT, Project(RECENT, (SRC, SRC, SRC), ("a", "b", "c")), "except", all=False),
        Join((RECENT, RECENT), (Equality(0, SRC, 1, BYTES),)),
        Join((RECENT, RECENT), (Equality(0, SRC, 0, SRC),)),
        Join((RECENT, RECENT), (), None, (True,)),
        SemiJoin(RECENT, RECENT, (SRC,), (), anti=False),
        SemiJoin(RECENT, RECENT, (), (), anti=True, null_aware=True),
        Aggregate(RECENT, (), (SUM,), ("n",)),
        TopK(RECENT, (SortKey(3, False, True),), 1),
        TableJoin(RECENT, HOSTS, (SRC,), (Column(0, pa.string(), "ip"),), None, "inner", 3),
        ToStream(RECENT, "istream", None, restore=True),
        Source("packets", FIELDS, 5),
    ],
)
def test_a_broken_law_is_an_internal_error(broken: Node) -> None:
    with pytest.raises(SashError) as found:
        verify(broken)
    assert found.value.code == "SASH-PLAN-199"
