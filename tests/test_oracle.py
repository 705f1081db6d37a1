"""The oracle itself, on plans made by hand whose answers can be counted on fingers."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

from oracle import Oracle, evaluate
from sash.language.expressions import AggregateCall, Call, Column, Expression, Field, Literal
from sash.language.windows import Window
from sash.plan import nodes

FIELDS = (Field("ts", pa.int64()), Field("k", pa.string()))
TS, KEY = Column(0, pa.int64(), "ts"), Column(1, pa.string(), "k")


def stream(name: str, window: Window) -> nodes.Windowed:
    return nodes.Windowed(nodes.Source(name, FIELDS, 0), window)


def rows(*pairs: tuple[int, str | None]) -> list[tuple[int, int, tuple[object, ...]]]:
    return [(ts, i, (ts, key)) for i, (ts, key) in enumerate(pairs)]


def seen(
    plan: nodes.Node, horizon: int = 40, **streams: list[tuple[int, int, tuple[object, ...]]]
) -> Counter[object]:
    return Counter({(at, row): n for at, row, n in Oracle(plan, streams, {}, horizon).changes()})


def test_a_slide_moves_both_ends_up() -> None:
    found = seen(stream("s", Window("range", length=15, slide=10)), s=rows((-3, "a"), (9, "b"), (20, "c")))
    assert found == Counter(
        {(0, (-3, "a")): 1, (20, (-3, "a")): -1, (10, (9, "b")): 1, (30, (9, "b")): -1, (20, (20, "c")): 1,
         (40, (20, "c")): -1}
    )  # fmt: skip


def test_a_count_window_with_a_slide_waits_for_the_row_that_fills_it() -> None:
    found = seen(stream("s", Window("rows", rows=3, slide=2)), s=rows(*((i, "x") for i in range(1, 6))))
    assert found == Counter(
        {(2, (1, "x")): 1, (2, (2, "x")): 1, (4, (3, "x")): 1, (4, (4, "x")): 1, (4, (1, "x")): -1}
    )


def test_a_host_on_one_link_only() -> None:
    window = Window("range", length=10)
    lonely = nodes.SemiJoin(stream("l", window), stream("r", window), (KEY,), (KEY,), anti=True)
    plan = nodes.Distinct(nodes.Project(lonely, (KEY,), ("k",)))
    assert seen(plan, l=rows((1, "a")), r=rows((4, "a"))) == Counter({(1, ("a",)): 1, (4, ("a",)): -1})


def test_an_internal_window_lets_pairs_outlive_its_rows() -> None:
    parts = (stream("l", Window("range", length=3, internal=True)), stream("r", Window("range", length=10)))
    plan = nodes.Join(parts, (nodes.Equality(0, KEY, 1, KEY),), None, (True, False))
    found = seen(plan, l=rows((1, "a"), (5, "a")), r=rows((3, "a"), (4, "b")))
    assert found == Counter(
        {
            (3, (1, "a", 3, "a")): 1,
            (13, (1, "a", 3, "a")): -1,
            (5, (5, "a", 3, "a")): 1,
            (13, (5, "a", 3, "a")): -1,
        }
    )


def test_a_table_is_met_as_of_the_row() -> None:
    table = nodes.TableScan("t", (Field("k", pa.string()), Field("v", pa.int64())), (0,), retroactive=False)
    plan = nodes.TableJoin(
        stream("s", Window("range", length=2)), table, (KEY,), (KEY_OF_TABLE,), None, "left", 0
    )
    log = [(0, ("a", 1), 1), (5, ("a", 1), -1), (5, ("a", 2), 1)]
    oracle = Oracle(plan, {"s": rows((4, "a"), (5, "a"), (6, None))}, {"t": log}, 20)
    assert oracle.relation_at(5) == Counter([(4, "a", "a", 1), (5, "a", "a", 2)])
    assert oracle.relation_at(6) == Counter([(5, "a", "a", 2), (6, None, None, None)])


KEY_OF_TABLE = Column(0, pa.string(), "k")


def test_a_global_aggregate_stays_once_it_was_there() -> None:
    window = stream("s", Window("range", length=2))
    count = AggregateCall("count", None, False, pa.int64())
    total = AggregateCall("sum", TS, False, pa.int64())
    plan = nodes.Aggregate(window, (), (count, total), ("n", "total"), (window,))
    assert seen(plan, s=rows((3, "a"))) == Counter({(3, (1, 3)): 1, (5, (1, 3)): -1, (5, (0, None)): 1})


def test_restored_streams_tell_of_what_came_and_went_between_slides() -> None:
    short = stream("s", Window("range", length=2))
    came = nodes.ToStream(short, "istream", slide=10, restore=True)
    whole = nodes.ToStream(short, "rstream", slide=10, restore=True)
    history = rows((3, "a"), (9, "b"))
    assert seen(came, 20, s=history) == Counter({(10, (3, "a")): 1, (10, (9, "b")): 1})
    assert seen(whole, 20, s=history) == Counter({(10, (3, "a")): 1, (10, (9, "b")): 1})


def test_rows_of_a_computed_stream_are_counted_in_the_order_of_their_values() -> None:
    both = nodes.ToStream(stream("s", Window("now")), "istream")
    plan = nodes.Windowed(nodes.Project(both, (KEY,), ("k",)), Window("rows", rows=1), by_value=True)
    found = seen(plan, s=rows((1, "b"), (1, "c"), (1, None)))
    assert found == Counter({(1, ("c",)): 1})


def test_top_k_breaks_ties_by_all_columns() -> None:
    plan = nodes.TopK(stream("s", Window("unbounded")), (nodes.SortKey(1, True, False),), 2)
    oracle = Oracle(plan, {"s": rows((1, "a"), (2, "b"), (3, "b"), (4, None))}, {}, 10)
    assert oracle.relation_at(4) == Counter([(2, "b"), (3, "b")])


def call(name: str, type_: pa.DataType, *values: tuple[object, pa.DataType]) -> Expression:
    return Call(name, tuple(Literal(value, its) for value, its in values), type_)


INT, BIG, TEXT, DOUBLE, BOOL = pa.int32(), pa.int64(), pa.string(), pa.float64(), pa.bool_()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (call("add", INT, (2**31 - 1, INT), (1, INT)), None),
        (call("divide", DOUBLE, (1.0, DOUBLE), (0.0, DOUBLE)), None),
        (call("int_divide", BIG, (-7, BIG), (2, BIG)), -3),
        (call("modulo", BIG, (-7, BIG), (2, BIG)), -1),
        (call("pmod", BIG, (-7, BIG), (3, BIG)), 2),
        (call("eq", BOOL, (float("nan"), DOUBLE), (float("nan"), DOUBLE)), True),
        (call("and", BOOL, (False, BOOL), (None, BOOL)), False),
        (call("or", BOOL, (False, BOOL), (None, BOOL)), None),
        (call("in_list", BOOL, (1, INT), (2, INT), (None, INT)), None),
        (call("cast", INT, (" 12 ", TEXT)), 12),
        (call("cast", INT, ("12.7", TEXT)), None),
        (call("cast", INT, (-2.9, DOUBLE)), -2),
        (call("cast", TEXT, (1e7, DOUBLE)), "1.0E7"),
        (call("cast", TEXT, (100.0, DOUBLE)), "100.0"),
        (call("cast", pa.decimal128(5, 2), (1.005, DOUBLE)), Decimal("1.01")),
        (call("cast", pa.decimal128(3, 2), (99, INT)), None),
        (call("like", BOOL, ("a_b", TEXT), ("a\\_%", TEXT)), True),
        (call("substring", TEXT, ("sash", TEXT), (-2, INT), (1, INT)), "s"),
        (call("case", INT, (None, BOOL), (1, INT), (True, BOOL), (2, INT), (3, INT)), 2),
        (call("round", DOUBLE, (2.5, DOUBLE)), 3.0),
    ],
)
def test_an_expression_means_what_spark_says(expression: Expression, value: object) -> None:
    assert evaluate(expression, ()) == value
