"""Each rule, before and after, as explain() shows it: titled pairs, patterns and state left out."""

from __future__ import annotations

import re
from textwrap import dedent

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.language.expressions import AggregateCall, Call, Column, Expression, Field, Literal
from sash.language.windows import Window
from sash.optimizer import RULES, optimize
from sash.optimizer.merge_projects import merge_projects
from sash.optimizer.merge_selects import merge_selects
from sash.optimizer.push_down_predicates import push_down_predicates
from sash.optimizer.push_down_projections import push_down_projections
from sash.optimizer.remove_distinct import remove_distinct
from sash.optimizer.remove_trivial_projects import remove_trivial_projects
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
from sash.plan.verify import verify

FIELDS = (Field("ts", pa.int64()), Field("k", pa.int64()), Field("v", pa.int64()), Field("x", pa.float64()))
TS, K, V, X = (Column(i, field.type, field.name) for i, field in enumerate(FIELDS))
A, B = Source("a", FIELDS, 0), Source("b", FIELDS, 0)
RECENT, OTHER = (Windowed(each, Window("range", length=10)) for each in (A, B))
LAST = Windowed(A, Window("rows", rows=3, partition=(1,)))
OWNERS = TableScan("owners", (Field("k", pa.int64()), Field("owner", pa.int64())), (0,), retroactive=False)


def is_(function: str, left: Expression, right: Expression | float) -> Call:
    other = Literal(right, left.type) if isinstance(right, int | float) else right
    return Call(function, (left, other), pa.bool_())


def both(*conditions: Expression) -> Expression:
    return Call("and", conditions, pa.bool_())


def beyond(column: Column, width: int = 4) -> Column:
    """The same column of a join's second input."""
    return Column(column.index + width, column.type, column.name)


def project(node: Node, *columns: Expression, names: str | None = None) -> Project:
    return Project(node, columns, tuple((names or " ".join(map(str, columns))).split()))


def sums(node: Node, *groups: Expression) -> Aggregate:
    calls = (AggregateCall("sum", V, False, pa.int64()), AggregateCall("max", X, False, pa.float64()))
    presence = () if groups else (RECENT,)
    return Aggregate(node, groups, calls, (*map(str, groups), "total", "top"), presence)


def shape(plan: Node) -> str:
    """The plan's tree with operators alone."""
    verify(plan)
    return re.sub(r" \[[A-Z]+\] state=.*", "", explain(plan))


def becomes(plan: Node, expected: str) -> None:
    after = push_down_predicates(plan)
    assert after.schema == plan.schema
    assert shape(after) == dedent(expected).strip()


def narrows(plan: Node, expected: str) -> None:
    after = push_down_projections(plan)
    assert after.schema == plan.schema
    assert shape(after) == dedent(expected).strip()
    assert push_down_projections(after) == after


BIG = is_("gt", V, 5)
FIRST = is_("eq", K, 1)


class TestConditions:
    def test_pass_a_range_window(self) -> None:
        becomes(Select(RECENT, both(BIG, FIRST)), """
            range 10
            └─ select v > 5 AND k = 1
               └─ stream a
        """)  # fmt: skip

    def test_pass_a_count_window_only_on_its_partition(self) -> None:
        becomes(Select(LAST, both(BIG, FIRST)), """
            select v > 5
            └─ partition by k rows 3
               └─ select k = 1
                  └─ stream a
        """)  # fmt: skip

    def test_that_mix_partition_and_other_columns_stay(self) -> None:
        becomes(Select(LAST, is_("gt", K, V)), """
            select k > v
            └─ partition by k rows 3
               └─ stream a
        """)  # fmt: skip

    def test_on_a_partition_by_float_stay_for_zeros_have_signs(self) -> None:
        by_float = Windowed(A, Window("rows", rows=3, partition=(3,)))
        becomes(Select(by_float, is_("gt", X, 0)), """
            select x > 0
            └─ partition by x rows 3
               └─ stream a
        """)  # fmt: skip

    def test_are_rewritten_by_a_projection(self) -> None:
        double = Call("multiply", (V, Literal(2, pa.int64())), pa.int64())
        plan = Select(project(RECENT, double, names="w"), is_("gt", Column(0, pa.int64(), "w"), 5))
        becomes(plan, """
            project v * 2 as w
            └─ range 10
               └─ select (v * 2) > 5
                  └─ stream a
        """)  # fmt: skip

    def test_go_into_every_part_of_a_union(self) -> None:
        becomes(Select(Union((RECENT, LAST)), BIG), """
            union all
            ├─ range 10
            │  └─ select v > 5
            │     └─ stream a
            └─ select v > 5
               └─ partition by k rows 3
                  └─ stream a
        """)  # fmt: skip

    def test_become_equalities_sides_and_residual_of_a_join(self) -> None:
        conditions = both(BIG, is_("eq", beyond(K), K), is_("lt", TS, beyond(TS)), is_("eq", beyond(V), 3))
        becomes(Select(Join((RECENT, OTHER), ()), conditions), """
            join on k = k and ts < ts
            ├─ range 10
            │  └─ select v > 5
            │     └─ stream a
            └─ range 10
               └─ select v = 3
                  └─ stream b
        """)  # fmt: skip

    def test_spread_over_equal_columns(self) -> None:
        plan = Select(Join((RECENT, OTHER), (Equality(0, K, 1, K),)), is_("eq", beyond(K), 1))
        becomes(plan, """
            join on k = k
            ├─ range 10
            │  └─ select k = 1
            │     └─ stream a
            └─ range 10
               └─ select k = 1
                  └─ stream b
        """)  # fmt: skip

    def test_on_floats_do_not_spread(self) -> None:
        plan = Select(Join((RECENT, OTHER), (Equality(0, X, 1, X),)), is_("gt", X, 1))
        after = push_down_predicates(plan)
        assert isinstance(after, Join)
        assert isinstance(after.parts[1], Windowed)
        assert after.parts[1] == OTHER

    def test_of_an_inner_join_go_down_from_its_own_residual(self) -> None:
        becomes(Join((RECENT, OTHER), (), both(BIG, Call("eq_null_safe", (K, beyond(V)), pa.bool_()))), """
            join on k <=> v
            ├─ range 10
            │  └─ select v > 5
            │     └─ stream a
            └─ range 10
               └─ stream b
        """)  # fmt: skip

    def test_without_columns_go_everywhere(self) -> None:
        becomes(Select(Join((RECENT, OTHER), ()), Literal(False, pa.bool_())), """
            cross join
            ├─ range 10
            │  └─ select FALSE
            │     └─ stream a
            └─ range 10
               └─ select FALSE
                  └─ stream b
        """)  # fmt: skip

    def test_become_keys_of_a_table_join(self) -> None:
        join = TableJoin(RECENT, OWNERS, (), (), None, "inner", 0)
        owner, key = Column(5, pa.int64(), "owner"), Column(4, pa.int64(), "k")
        becomes(Select(join, both(is_("eq", key, K), BIG, is_("lt", owner, V))), """
            inner table join on k = k and owner < v
            ├─ range 10
            │  └─ select v > 5
            │     └─ stream a
            └─ table owners
        """)  # fmt: skip

    def test_on_the_table_stay_above_a_left_join(self) -> None:
        join = TableJoin(RECENT, OWNERS, (K,), (Column(0, pa.int64(), "k"),), None, "left", 0)
        becomes(Select(join, both(is_("eq", Column(5, pa.int64(), "owner"), 7), BIG)), """
            select owner = 7
            └─ left table join on k = k
               ├─ range 10
               │  └─ select v > 5
               │     └─ stream a
               └─ table owners
        """)  # fmt: skip

    def test_go_left_of_an_anti_join_and_right_on_its_keys(self) -> None:
        becomes(Select(SemiJoin(RECENT, OTHER, (K,), (V,), anti=True), both(BIG, FIRST)), """
            anti-join on k = v
            ├─ range 10
            │  └─ select v > 5 AND k = 1
            │     └─ stream a
            └─ range 10
               └─ select v = 1
                  └─ stream b
        """)  # fmt: skip

    def test_do_not_go_right_of_not_in(self) -> None:
        plan = Select(SemiJoin(RECENT, OTHER, (K,), (V,), anti=True, null_aware=True), FIRST)
        after = push_down_predicates(plan)
        assert isinstance(after, SemiJoin)
        assert after.right == OTHER

    def test_pass_distinct_and_set_operations_but_not_on_floats(self) -> None:
        plan = Distinct(SetOperation(RECENT, OTHER, "except", all=True))
        becomes(Select(plan, both(BIG, is_("gt", X, 1))), """
            select x > 1
            └─ distinct
               └─ except all
                  ├─ range 10
                  │  └─ select v > 5
                  │     └─ stream a
                  └─ range 10
                     └─ select v > 5
                        └─ stream b
        """)  # fmt: skip

    def test_on_groups_pass_an_aggregate(self) -> None:
        plan = Select(sums(RECENT, V), both(is_("gt", Column(0, pa.int64(), "v"), 5), is_("lt", K, 9)))
        becomes(plan, """
            select k < 9
            └─ group by v: sum(v), max(x)
               └─ range 10
                  └─ select v > 5
                     └─ stream a
        """)  # fmt: skip

    @pytest.mark.parametrize(
        "below",
        [sums(RECENT), TopK(RECENT, (SortKey(2, True, False),), 3), ToStream(RECENT, "istream")],
    )
    def test_stay_above_global_aggregates_top_k_and_streams(self, below: Node) -> None:
        condition = is_("gt", Column(0, pa.int64(), below.schema[0].name), 5)
        assert push_down_predicates(Select(below, condition)) == Select(below, condition)

    def test_leave_what_tells_an_aggregate_when_to_begin(self) -> None:
        after = push_down_predicates(sums(Select(RECENT, BIG)))
        assert isinstance(after, Aggregate)
        assert after.input == Windowed(Select(A, BIG), RECENT.window)
        assert after.presence == (RECENT,)


class TestColumns:
    def test_are_dropped_above_the_source(self) -> None:
        narrows(project(Select(RECENT, BIG), K), """
            project k
            └─ select v > 5
               └─ range 10
                  └─ project k, v
                     └─ stream a
        """)  # fmt: skip

    def test_of_partitions_and_ends_are_kept_and_found_again(self) -> None:
        narrows(project(LAST, X), """
            project x
            └─ partition by k rows 3
               └─ project k, x
                  └─ stream a
        """)  # fmt: skip
        narrows(project(Windowed(A, Window("until", until=2)), TS), """
            project ts
            └─ until v
               └─ project ts, v
                  └─ stream a
        """)  # fmt: skip

    def test_that_only_a_selection_read_are_not_held_by_a_join(self) -> None:
        join = Join((Windowed(Select(A, BIG), RECENT.window), OTHER), (Equality(0, K, 1, V),))
        narrows(project(join, TS, beyond(X)), """
            project ts, x
            └─ join on k = v
               ├─ project ts, k
               │  └─ range 10
               │     └─ select v > 5
               │        └─ project ts, k, v
               │           └─ stream a
               └─ range 10
                  └─ project v, x
                     └─ stream b
        """)  # fmt: skip

    def test_of_residuals_are_kept(self) -> None:
        join = Join((RECENT, OTHER), (Equality(0, K, 1, K),), is_("lt", V, beyond(TS)))
        narrows(project(join, beyond(X)), """
            project x
            └─ join on k = k and v < ts
               ├─ range 10
               │  └─ project k, v
               │     └─ stream a
               └─ range 10
                  └─ project ts, k, x
                     └─ stream b
        """)  # fmt: skip

    def test_of_time_are_kept_for_a_table(self) -> None:
        residual = is_("lt", V, Column(5, pa.int64(), "owner"))
        join = TableJoin(RECENT, OWNERS, (K,), (Column(0, pa.int64(), "k"),), residual, "inner", 0)
        narrows(project(join, Column(5, pa.int64(), "owner")), """
            project owner
            └─ inner table join on k = k and v < owner
               ├─ range 10
               │  └─ project ts, k, v
               │     └─ stream a
               └─ table owners
        """)  # fmt: skip

    def test_of_unread_aggregates_go_but_groups_stay(self) -> None:
        narrows(project(sums(RECENT, K, TS), Column(2, pa.int64(), "total")), """
            project total
            └─ group by k, ts: sum(v)
               └─ range 10
                  └─ project ts, k, v
                     └─ stream a
        """)  # fmt: skip

    def test_are_needed_for_count_star_as_few_as_one(self) -> None:
        count = AggregateCall("count", None, False, pa.int64())
        narrows(Aggregate(LAST, (), (count,), ("n",), (LAST,)), """
            aggregate count(*), from the first row of a
            └─ partition by k rows 3
               └─ project k
                  └─ stream a
        """)  # fmt: skip

    @pytest.mark.parametrize(
        "barrier",
        [
            Distinct(RECENT),
            SetOperation(RECENT, OTHER, "intersect", all=True),
            TopK(RECENT, (SortKey(1, False, True),), 2),
            ToStream(RECENT, "istream"),
            Windowed(ToStream(RECENT, "istream"), Window("rows", rows=2), by_value=True),
        ],
    )
    def test_are_all_needed_where_whole_rows_are_compared(self, barrier: Node) -> None:
        assert push_down_projections(project(barrier, K)) == project(barrier, K)

    def test_stand_in_one_order_in_all_parts_of_a_union(self) -> None:
        narrows(project(Union((RECENT, LAST)), X), """
            project x
            └─ union all
               ├─ range 10
               │  └─ project x
               │     └─ stream a
               └─ project x
                  └─ partition by k rows 3
                     └─ project k, x
                        └─ stream a
        """)  # fmt: skip

    def test_of_a_semi_join_are_the_keys_on_its_right(self) -> None:
        narrows(project(SemiJoin(RECENT, OTHER, (K,), (V,), anti=True), TS), """
            project ts
            └─ anti-join on k = v
               ├─ range 10
               │  └─ project ts, k
               │     └─ stream a
               └─ range 10
                  └─ project v
                     └─ stream b
        """)  # fmt: skip

    def test_decide_when_a_row_begins_below_a_look_up_without_a_time(self) -> None:
        key = Column(0, pa.int64(), "k")
        join = TableJoin(project(sums(RECENT, K), key), OWNERS, (key,), (key,), None, "inner", None)
        narrows(join, """
            inner table join on k = k
            ├─ project k
            │  └─ group by k: sum(v), max(x)
            │     └─ range 10
            │        └─ project k, v, x
            │           └─ stream a
            └─ table owners
        """)  # fmt: skip


def test_selections_merge_and_true_goes() -> None:
    plan = Select(Select(Select(RECENT, BIG), Literal(True, pa.bool_())), both(FIRST, BIG))
    assert merge_selects(plan) == Select(RECENT, both(BIG, FIRST))


def test_projections_merge_unless_work_would_be_doubled() -> None:
    double = Call("multiply", (V, Literal(2, pa.int64())), pa.int64())
    w, k = Column(0, pa.int64(), "w"), Column(1, pa.int64(), "k")
    below = project(RECENT, double, K, names="w k")
    assert merge_projects(project(below, k, w, k)) == project(RECENT, K, double, K, names="k w k")
    twice = project(below, Call("add", (w, w), pa.int64()), names="z")
    assert merge_projects(twice) == twice


def test_projections_that_change_nothing_go() -> None:
    assert remove_trivial_projects(Distinct(project(RECENT, TS, K, V, X))) == Distinct(RECENT)
    renamed = project(RECENT, TS, K, V, X, names="ts k v y")
    assert remove_trivial_projects(renamed) == renamed
    assert remove_trivial_projects(project(RECENT, K, TS, V, X)) != RECENT


def test_distinct_goes_where_rows_differ_anyway() -> None:
    assert remove_distinct(Distinct(Distinct(sums(RECENT, K)))) == sums(RECENT, K)
    assert remove_distinct(Distinct(RECENT)) == Distinct(RECENT)


def test_distinct_stays_below_what_tells_lifetimes_apart() -> None:
    plan = Join((Distinct(sums(RECENT, K)), RECENT), (), None, (False, True))
    assert remove_distinct(plan) == plan


def test_all_rules_together() -> None:
    join = Select(Join((RECENT, OTHER), ()), both(is_("eq", K, beyond(K)), BIG))
    plan = project(Select(sums(project(join, TS, K, V, X), K), is_("lt", Column(0, pa.int64(), "k"), 3)),
                   Column(0, pa.int64(), "k"), Column(1, pa.int64(), "total"))  # fmt: skip
    assert (
        shape(optimize(plan))
        == dedent("""
        group by k: sum(v)
        └─ project k, v
           └─ join on k = k
              ├─ range 10
              │  └─ select v > 5 AND k < 3
              │     └─ project k, v
              │        └─ stream a
              └─ range 10
                 └─ select k < 3
                    └─ project k
                       └─ stream b
    """).strip()
    )


def test_optimizing_twice_changes_nothing_more() -> None:
    plan = project(Select(Distinct(sums(RECENT, K)), is_("lt", Column(0, pa.int64(), "k"), 3)),
                   Column(0, pa.int64(), "k"))  # fmt: skip
    once = optimize(plan)
    assert optimize(once) == once


def test_a_rule_that_breaks_a_plan_is_found_out() -> None:
    with pytest.raises(SashError, match="SASH-PLAN-198"):
        optimize(RECENT, [lambda plan: project(plan, K)])
    with pytest.raises(SashError, match="SASH-PLAN-199"):
        optimize(RECENT, [lambda plan: Select(plan, K)])


def test_each_rule_is_a_file_of_its_name() -> None:
    for rule in RULES:
        assert rule.__module__ == f"sash.optimizer.{rule.__name__}"
        assert rule.__doc__
