"""What operators keep, in words, and what is refused because it would never end."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.language.expressions import AggregateCall, Column, Field
from sash.language.windows import Window
from sash.plan.bounds import refuse_unbounded, state
from sash.plan.nodes import (
    Aggregate,
    Distinct,
    Equality,
    Join,
    Node,
    Project,
    SemiJoin,
    SetOperation,
    SortKey,
    Source,
    TableScan,
    TopK,
    ToStream,
    Union,
    Windowed,
)

SECOND = 1_000_000
FIELDS = (Field("ts", pa.timestamp("us")), Field("src", pa.string()), Field("bytes", pa.int64()))
TS, SRC, BYTES = (Column(i, field.type, field.name) for i, field in enumerate(FIELDS))

PACKETS = Source("packets", FIELDS, 0)
RECENT = Windowed(PACKETS, Window("range", length=60 * SECOND))
LAST = Windowed(PACKETS, Window("rows", rows=10, partition=(1,)))
FLOWS = Windowed(Source("flows", FIELDS, 0), Window("unbounded"))
HOSTS = TableScan("hosts", FIELDS, (1,), retroactive=True)
BIGGEST = (SortKey(2, True, False),)


def join(*parts: Node) -> Join:
    return Join(parts, (Equality(0, SRC, 1, SRC),))


def group(node: Node, function: str = "sum", distinct: bool = False) -> Aggregate:
    return Aggregate(node, (SRC,), (AggregateCall(function, BYTES, distinct, pa.int64()),), ("src", "x"))


def only_src(node: Node) -> Project:
    return Project(node, (SRC,), ("src",))


@pytest.mark.parametrize(
    ("node", "kind", "bound"),
    [
        (PACKETS, "none", ""),
        (RECENT, "none", ""),
        (Union((PACKETS, PACKETS)), "none", ""),
        (Windowed(PACKETS, Window("range", length=600 * SECOND, slide=SECOND)), "fifo",
         "rows of packets in 1 s"),
        (Windowed(PACKETS, Window("rows", rows=100)), "keyed", "100 rows"),
        (Windowed(PACKETS, Window("rows", rows=100, slide=10)), "keyed", "109 rows"),
        (LAST, "keyed", "10 rows per src"),
        (join(RECENT, LAST), "fifo+keyed", "rows of packets in 60 s + 10 rows per src"),
        (join(join(RECENT, RECENT), LAST), "calendar+keyed",
         "rows of packets in 60 s x rows of packets in 60 s + 10 rows per src"),
        (Distinct(only_src(RECENT)), "keyed", "2 x distinct (src)"),
        (Distinct(LAST), "keyed", "10 rows per src"),
        (SetOperation(RECENT, RECENT, "except", all=False), "keyed",
         "rows of packets in 60 s + rows of packets in 60 s"),
        (group(PACKETS), "keyed", "groups of (src)"),
        (group(PACKETS, "max"), "keyed", "groups of (src)"),
        (group(RECENT), "keyed+fifo", "groups of (src) + rows of packets in 60 s"),
        (group(LAST, "count", distinct=True), "keyed", "groups of (src) + 10 rows per src"),
        (TopK(PACKETS, BIGGEST, 10), "keyed", "10 rows"),
        (TopK(group(PACKETS), (SortKey(1, True, False),), 10), "keyed", "groups of (src)"),
        (ToStream(RECENT, "istream"), "none", ""),
        (ToStream(RECENT, "dstream"), "fifo", "rows of packets in 60 s"),
        (ToStream(only_src(RECENT), "istream"), "keyed", "rows of packets in 60 s"),
        (ToStream(Windowed(PACKETS, Window("until", until=0)), "rstream"), "keyed",
         "rows of packets before their ts"),
        (ToStream(PACKETS, "dstream"), "none", ""),
    ],
)  # fmt: skip
def test_bounded(node: Node, kind: str, bound: str) -> None:
    found = state(node)
    assert (found.kind, found.bound, found.unbounded, found.fix) == (kind, bound, None, None)
    refuse_unbounded(node)


@pytest.mark.parametrize(
    ("node", "code", "stream"),
    [
        (join(RECENT, PACKETS), "101", "packets"),
        (join(RECENT, FLOWS), "101", "flows"),
        (Distinct(only_src(PACKETS)), "102", "packets"),
        (SetOperation(RECENT, FLOWS, "intersect", all=True), "103", "flows"),
        (SemiJoin(RECENT, FLOWS, (SRC,), (SRC,), anti=True), "104", "flows"),
        (SemiJoin(PACKETS, RECENT, (SRC,), (SRC,), anti=False), "104", "packets"),
        (group(PACKETS, "count", distinct=True), "105", "packets"),
        (ToStream(PACKETS, "rstream"), "107", "packets"),
        (ToStream(group(join(RECENT, FLOWS)), "istream"), "101", "flows"),
    ],
)
def test_unbounded_is_refused_with_what_to_add(node: Node, code: str, stream: str) -> None:
    with pytest.raises(SashError) as refused:
        refuse_unbounded(node)
    assert refused.value.code == f"SASH-PLAN-{code}"
    assert f"of {stream} would be kept forever" in refused.value.message
    assert refused.value.remedy == (
        f"Give {stream} a window, for example {stream} [RANGE 10 MINUTES],"
        " or connect with allow_unbounded=True."
    )


def test_a_stream_that_is_joined_with_a_changing_table_is_kept() -> None:
    beside = join(PACKETS, HOSTS)
    assert state(beside).unbounded
    # Above it, sums can subtract; extremes and top-k would need every row.
    assert state(group(beside)).unbounded is None
    assert state(group(beside, "min")).unbounded
    assert state(TopK(beside, BIGGEST, 3)).unbounded


def test_a_join_piles_up_with_any_of_its_inputs_or_if_all_are_internal() -> None:
    assert state(Distinct(join(RECENT, LAST))).unbounded is None
    assert state(Distinct(join(RECENT, FLOWS))).unbounded == "every value of flows would be kept forever"
    inside = Join((RECENT, RECENT), (), None, (True, True))
    assert state(Distinct(inside)).unbounded == "every value of packets would be kept forever"


def test_the_stream_of_a_subquery_needs_a_window_too() -> None:
    with pytest.raises(SashError, match="Give the subquery a window") as refused:
        refuse_unbounded(Distinct(ToStream(group(RECENT), "istream")))
    assert "ISTREAM of a subquery" in refused.value.message
