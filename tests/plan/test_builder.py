"""From text to plan: which nodes a query becomes, and which queries are refused, where, and why."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from sqlglot import parse_one

from sash.errors import SashError
from sash.language.definitions import StreamDefinition, TableDefinition, ViewDefinition
from sash.language.dialect import Sash
from sash.language.expressions import Column, Literal
from sash.language.statements import parse, parse_query
from sash.plan.builder import build
from sash.plan.nodes import (
    Aggregate,
    Distinct,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    SetOperation,
    Source,
    TableJoin,
    TableScan,
    TopK,
    ToStream,
    Union,
    Windowed,
)
from sash.plan.verify import verify

DEFINITIONS = """
CREATE STREAM s (ts BIGINT, k STRING, a INT, b DOUBLE) TIME ts;
CREATE STREAM r (ts BIGINT, k STRING, c BIGINT, ends BIGINT) TIME ts;
CREATE STREAM u (ts BIGINT, k STRING, d INT) TIME ts;
CREATE STREAM p (ts TIMESTAMP, src STRING, bytes BIGINT, expires TIMESTAMP) TIME ts;
CREATE TABLE hosts (k STRING, owner STRING, weight INT, PRIMARY KEY (k));
CREATE TABLE zones (owner STRING, zone STRING);
CREATE TABLE notes (k STRING, note STRING, PRIMARY KEY (k)) RETROACTIVE;
CREATE VIEW recent AS SELECT k, a FROM s [RANGE 10] WHERE a > 1;
CREATE VIEW busy AS SELECT ts, k, a FROM s WHERE a > 1;
CREATE VIEW wrong AS SELECT nothing FROM s;
"""


class Catalog:
    def __init__(self) -> None:
        definitions = [statement.definition for statement in parse(DEFINITIONS)]  # type: ignore[union-attr]
        self.known = {definition.name: definition for definition in definitions}

    def lookup(self, name: str) -> StreamDefinition | TableDefinition | ViewDefinition | None:
        return self.known.get(name.lower())

    def all_names(self) -> Sequence[str]:
        return list(self.known)


CATALOG = Catalog()


def plan(text: str) -> Node:
    node = build(parse_query(text), CATALOG, text=text)
    verify(node)
    return node


def shape(node: Node) -> str:
    """A plan in one line: the nodes' names, with what tells them apart."""
    match node:
        case Source() | TableScan():
            return node.name
        case Windowed():
            return f"{node.window.kind}({shape(node.input)})"
        case ToStream():
            return f"{node.kind}({shape(node.input)})"
        case TableJoin():
            at = "" if node.time is None else f"@{node.time}"
            return f"{node.kind}_lookup{at}({shape(node.input)}, {node.table.name})"
        case SemiJoin():
            kind = "not_in" if node.null_aware else "anti" if node.anti else "semi"
            return f"{kind}({shape(node.left)}, {shape(node.right)})"
        case SetOperation():
            return f"{node.kind}{'_all' if node.all else ''}({shape(node.left)}, {shape(node.right)})"
        case Aggregate():
            return f"aggregate({shape(node.input)})"
        case _:
            word = {Join: "join", Union: "union", Select: "select", Project: "project"}.get(type(node))
            return f"{word or type(node).__name__.lower()}({', '.join(map(shape, node.inputs))})"


def refused(text: str) -> SashError:
    with pytest.raises(SashError) as caught:
        plan(text)
    return caught.value


def find(node: Node, kind: type[Node]) -> Node:
    return next(each for each in node.walk() if isinstance(each, kind))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # streams, windows, views, subqueries
        ("SELECT * FROM s", "s"),
        ("SELECT k FROM s [RANGE 10]", "project(range(s))"),
        ("SELECT k FROM s [NOW]", "project(now(s))"),
        ("SELECT k FROM r [UNTIL ends]", "project(until(r))"),
        ("SELECT k FROM s [UNBOUNDED]", "project(unbounded(s))"),
        ("SELECT k FROM recent", "project(project(select(range(s))))"),
        ("SELECT * FROM busy [RANGE 5]", "range(project(select(s)))"),
        ("SELECT q.k FROM (SELECT k FROM s) [ROWS 3] q", "rows(project(s))"),
        # joins
        ("SELECT s.k FROM s [RANGE 9], r [RANGE 9], u WHERE s.k = r.k AND r.k = u.k",
         "project(join(range(s), range(r), u))"),
        ("SELECT s.k FROM s [RANGE 9] JOIN r [RANGE 9] ON s.k = r.k CROSS JOIN u WHERE a > 1",
         "project(join(select(range(s)), range(r), u))"),
        ("SELECT s.k FROM s [NOW] LEFT JOIN r [NOW] ON s.k = r.k",
         "project(union(join(now(s), now(r)), project(anti(now(s), now(r)))))"),
        ("SELECT s.k FROM s [NOW] RIGHT JOIN r [NOW] ON s.k = r.k",
         "project(union(join(now(s), now(r)), project(anti(now(r), now(s)))))"),
        ("SELECT s.k FROM s [NOW] FULL JOIN r [NOW] ON s.k = r.k",
         "project(union(join(now(s), now(r)), project(anti(now(s), now(r))), project(anti(now(r), now(s)))))"),  # noqa: E501
        ("SELECT s.k FROM s [NOW] LEFT JOIN r [NOW] ON s.k = r.k AND s.a < r.c",
         "project(union(join(now(s), now(r)), project(anti(now(s), project(join(now(s), now(r)))))))"),
        ("SELECT k FROM s [NOW] SEMI JOIN r [NOW] ON s.k = r.k", "project(semi(now(s), now(r)))"),
        ("SELECT k FROM s [NOW] ANTI JOIN r [NOW] ON s.k = r.k AND r.c > 1",
         "project(anti(now(s), select(now(r))))"),
        ("SELECT s.k FROM s [NOW] JOIN notes ON s.k = notes.k", "project(join(now(s), notes))"),
        # EXISTS and IN
        ("SELECT k FROM s [NOW] WHERE EXISTS (SELECT 1 FROM r [NOW] WHERE r.k = s.k)",
         "project(semi(now(s), now(r)))"),
        ("SELECT k FROM s [NOW] WHERE NOT EXISTS (SELECT 1 FROM r [NOW] WHERE r.k = s.k AND r.c > s.a)",
         "project(anti(now(s), project(join(now(s), now(r)))))"),
        ("SELECT k FROM s [NOW] WHERE a IN (SELECT c FROM r [NOW] WHERE c > 1) AND b > 1",
         "project(semi(select(now(s)), select(now(r))))"),
        ("SELECT k FROM s [NOW] WHERE a NOT IN (SELECT c FROM r [NOW])", "project(not_in(now(s), now(r)))"),
        ("SELECT k FROM s [NOW] WHERE a NOT IN (SELECT c FROM r [NOW] WHERE r.c > s.b)",
         "project(anti(now(s), project(join(now(s), now(r)))))"),
        ("SELECT k FROM s [NOW] WHERE NOT (a > 1 OR EXISTS (SELECT 1 FROM r [NOW]))",
         "project(anti(select(now(s)), now(r)))"),
        ("SELECT k FROM s [NOW] WHERE (k, a) IN (SELECT k, c FROM r [NOW])", "project(semi(now(s), now(r)))"),
        ("SELECT k FROM s [NOW] WHERE EXISTS "
         "(SELECT c FROM r [NOW] WHERE r.k = s.k GROUP BY c HAVING COUNT(*) > 1)",
         "project(semi(now(s), select(aggregate(now(r)))))"),
        # aggregates, distinct, top-k
        ("SELECT k, SUM(a) AS t FROM s [NOW] GROUP BY k", "aggregate(now(s))"),
        ("SELECT k, SUM(a) + 1 AS t FROM s [NOW] GROUP BY k HAVING COUNT(*) > 1",
         "project(select(aggregate(now(s))))"),
        ("SELECT k FROM s [NOW] GROUP BY k", "distinct(project(now(s)))"),
        ("SELECT DISTINCT k FROM s [NOW]", "distinct(project(now(s)))"),
        ("SELECT k, a FROM s [NOW] ORDER BY a LIMIT 2", "topk(project(now(s)))"),
        ("SELECT k FROM s [NOW] ORDER BY a + 1 LIMIT 2", "project(topk(project(now(s))))"),
        # set operations
        ("SELECT k FROM s [NOW] UNION ALL SELECT k FROM r [NOW] UNION ALL SELECT k FROM u [NOW]",
         "union(project(now(s)), project(now(r)), project(now(u)))"),
        ("SELECT k FROM s [NOW] UNION SELECT k FROM r [NOW]",
         "distinct(union(project(now(s)), project(now(r))))"),
        ("SELECT k FROM s [NOW] EXCEPT ALL SELECT k FROM r [NOW]",
         "except_all(project(now(s)), project(now(r)))"),
        ("SELECT k FROM s [NOW] INTERSECT SELECT k FROM r [NOW]",
         "intersect(project(now(s)), project(now(r)))"),
        # streams of relations
        ("ISTREAM(SELECT k FROM s [NOW])", "istream(project(now(s)))"),
        ("SELECT DSTREAM(k) FROM s [NOW]", "dstream(project(now(s)))"),
        ("SELECT WSTREAM(k) [ROWS 9] FROM s [NOW]", "rows(istream(project(now(s))))"),
        ("SELECT SUM(WSTREAM(SUM(a)) [ROWS 10]) FROM s [RANGE 6 SLIDE 6]",
         "aggregate(rows(rstream(aggregate(range(s)))))"),
        ("SELECT k FROM (ISTREAM(SELECT k FROM s [RANGE 5])) [RANGE 3]", "range(istream(project(range(s))))"),
        # INTERNAL
        ("SELECT s.k FROM s [RANGE 9 INTERNAL], r [RANGE 9 INTERNAL] WHERE s.k = r.k",
         "istream(project(join(range(s), range(r))))"),
        ("SELECT s.k FROM s [RANGE 9 INTERNAL], r WHERE s.k = r.k", "istream(project(join(range(s), r)))"),
        ("SELECT SUM(t) FROM (SELECT SUM(a) AS t FROM s [RANGE 6 SLIDE 6 INTERNAL]) [ROWS 10]",
         "aggregate(rows(rstream(aggregate(range(s)))))"),
        # non-retroactive tables
        ("SELECT s.k FROM s [RANGE 9], hosts WHERE s.k = hosts.k", "project(range(inner_lookup(s, hosts)))"),
        ("SELECT s.k FROM s LEFT JOIN hosts ON s.k = hosts.k", "project(left_lookup(s, hosts))"),
        ("SELECT s.k FROM s [ROWS 9] SEMI JOIN hosts h ON s.k = h.k",
         "project(semi_lookup@0(rows(s), hosts))"),
        ("SELECT k FROM s [RANGE 9] WHERE NOT EXISTS (SELECT * FROM hosts h WHERE h.k = s.k)",
         "project(range(anti_lookup(s, hosts)))"),
        ("SELECT k FROM s [NOW] WHERE k IN (SELECT k FROM hosts)", "project(now(semi_lookup(s, hosts)))"),
        ("SELECT zone FROM s [NOW], zones z, hosts h WHERE s.k = h.k AND h.owner = z.owner",
         "project(now(inner_lookup(inner_lookup(s, hosts), zones)))"),
        ("SELECT h.owner, s.k FROM hosts h RIGHT JOIN s [NOW] ON h.k = s.k",
         "project(now(left_lookup(s, hosts)))"),
        ("SELECT s.k FROM s [NOW] JOIN hosts h ON s.k = h.k JOIN r [NOW] ON r.k = h.owner",
         "project(join(now(inner_lookup(s, hosts)), now(r)))"),
        ("SELECT q.k FROM (SELECT k FROM s [NOW] WHERE a > 1) q JOIN hosts h ON q.k = h.k",
         "project(project(select(now(inner_lookup(s, hosts)))))"),
        ("SELECT q.k FROM (ISTREAM(SELECT k FROM s [NOW])) [RANGE 2] q JOIN hosts h ON q.k = h.k",
         "project(range(inner_lookup(istream(project(now(s))), hosts)))"),
    ],
)  # fmt: skip
def test_queries_become_plans(text: str, expected: str) -> None:
    assert shape(plan(text)) == expected


def test_one_join_gathers_equalities_filters_and_the_rest() -> None:
    node = plan("SELECT s.k FROM s [NOW], r [NOW] WHERE s.k = r.k AND a = c AND a < c AND b > 1")
    join = find(node, Join)
    assert isinstance(join, Join)
    keys = [(str(each.left_key), str(each.right_key)) for each in join.equalities]
    assert keys == [("k", "k"), ("cast(a)", "c")]
    assert str(join.residual) == "lt(cast(a), c)"
    assert isinstance(join.parts[0], Select)
    assert isinstance(join.parts[1], Windowed)


def test_padding_is_of_the_missing_sides_types() -> None:
    padded = find(plan("SELECT c, a FROM s [NOW] LEFT JOIN r [NOW] ON s.k = r.k"), Union).inputs[1]
    assert isinstance(padded, Project)
    assert padded.expressions[6] == Literal(None, pa.int64())


def test_not_in_keeps_correlation_first_and_the_compared_value_last() -> None:
    node = plan("SELECT k FROM s [NOW] WHERE a NOT IN (SELECT c FROM r [NOW] WHERE r.k = s.k)")
    anti = find(node, SemiJoin)
    assert isinstance(anti, SemiJoin)
    assert [str(key) for key in anti.left_keys] == ["k", "cast(a)"]
    assert [str(key) for key in anti.right_keys] == ["k", "c"]
    assert anti.anti
    assert anti.null_aware
    assert not anti.null_safe


def test_a_condition_beyond_equality_compares_whole_rows() -> None:
    node = plan("SELECT k FROM s [NOW] ANTI JOIN r [NOW] ON s.k = r.k AND s.a < r.c")
    anti = find(node, SemiJoin)
    assert isinstance(anti, SemiJoin)
    assert anti.null_safe
    assert len(anti.left_keys) == 4


def test_a_global_aggregate_is_present_with_its_windows_before_selection() -> None:
    node = plan(
        "SELECT COUNT(*) FROM s [RANGE 9] JOIN hosts h ON s.k = h.k JOIN r [NOW] ON r.k = s.k WHERE a > 1"
    )
    aggregate = find(node, Aggregate)
    assert isinstance(aggregate, Aggregate)
    assert [shape(each) for each in aggregate.presence] == ["project(range(s))", "project(now(r))"]
    grouped = find(plan("SELECT k, COUNT(*) FROM s [NOW] GROUP BY k"), Aggregate)
    assert isinstance(grouped, Aggregate)
    assert grouped.presence == ()


def test_windows_are_in_ticks() -> None:
    window = find(plan("SELECT src FROM p [RANGE 1 MINUTE SLIDE 500 MILLISECONDS]"), Windowed)
    assert isinstance(window, Windowed)
    assert (window.window.length, window.window.slide) == (60_000_000, 500_000)
    window = find(plan("SELECT k FROM s [PARTITION BY a, k ROWS 3 SLIDE 2 RANGE 7]"), Windowed)
    assert isinstance(window, Windowed)
    assert window.window.partition == (2, 1)
    assert (window.window.rows, window.window.slide, window.window.length) == (3, 2, 7)


def test_windows_on_computed_streams_have_no_order_of_arrival() -> None:
    pushed = find(plan("SELECT * FROM busy [ROWS 3]"), Windowed)
    computed = find(plan("SELECT * FROM (ISTREAM(SELECT k FROM s [NOW])) [ROWS 3]"), Windowed)
    assert isinstance(pushed, Windowed)
    assert not pushed.by_value
    assert isinstance(computed, Windowed)
    assert computed.by_value


def test_mixed_internal_windows_are_marked_in_the_join() -> None:
    join = find(plan("SELECT s.k FROM s [RANGE 9 INTERNAL], r [RANGE 5] WHERE s.k = r.k"), Join)
    assert isinstance(join, Join)
    assert join.internal == (True, False)


def test_rstream_speaks_at_a_shared_slide_only() -> None:
    shared = plan("SELECT RSTREAM(s.k) FROM s [RANGE 9 SLIDE 3], r [RANGE 6 SLIDE 3]")
    apart = plan("SELECT RSTREAM(s.k) FROM s [RANGE 9 SLIDE 3], r [RANGE 6 SLIDE 2]")
    assert isinstance(shared, ToStream)
    assert shared.slide == 3
    assert isinstance(apart, ToStream)
    assert apart.slide is None


def test_restore_strips_the_slides_everywhere() -> None:
    node = plan("ISTREAM-RESTORE(SELECT SUM(a) AS t FROM s [RANGE 9 SLIDE 3])")
    assert isinstance(node, ToStream)
    assert (node.slide, node.restore) == (3, True)
    slides = [each.window.slide for each in node.walk() if isinstance(each, Windowed)]
    assert slides == [None, None]  # the aggregate's input and its presence


def test_order_by_terms_and_their_nulls() -> None:
    node = plan("SELECT k, a AS x FROM s [NOW] ORDER BY x DESC, 1, b NULLS LAST LIMIT 3 OFFSET 1")
    top = find(node, TopK)
    assert isinstance(top, TopK)
    assert [(key.index, key.descending, key.nulls_first) for key in top.order] == [
        (1, True, False), (0, False, True), (2, False, False),
    ]  # fmt: skip
    assert (top.limit, top.offset) == (3, 1)
    assert [field.name for field in node.schema] == ["k", "x"]


def test_set_operations_meet_in_the_common_type() -> None:
    node = plan("SELECT a FROM s [NOW] EXCEPT SELECT c FROM r [NOW]")
    assert [field.type for field in node.schema] == [pa.int64()]
    assert node.schema[0].name == "a"


def test_names_of_the_answer() -> None:
    node = plan("SELECT s.k, COUNT(*), SUM(a) AS t, upper(s.k) FROM s [NOW] GROUP BY s.k")
    assert [field.name for field in node.schema] == ["k", "count(*)", "t", "upper(s.k)"]


def test_group_by_takes_positions_aliases_and_expressions() -> None:
    for clause in ("1", "g", "upper(k)"):
        node = plan(f"SELECT upper(k) AS g, MAX(a) AS m FROM s [NOW] GROUP BY {clause}")
        assert isinstance(node, Aggregate)
        assert [str(group) for group in node.groups] == ["upper(k)"]


def test_stars_expand_in_order() -> None:
    node = plan("SELECT q.*, s.a FROM s [NOW], (SELECT k AS kk, c FROM r [NOW]) q WHERE s.k = q.kk")
    assert [field.name for field in node.schema] == ["kk", "c", "a"]


def test_a_correlated_group_is_tied_by_its_groups() -> None:
    node = plan("SELECT k FROM s [NOW] WHERE a IN (SELECT MAX(c) FROM r [NOW] WHERE r.k = s.k GROUP BY ends)")
    aggregate = find(node, Aggregate)
    assert isinstance(aggregate, Aggregate)
    assert [str(group) for group in aggregate.groups] == ["k", "ends"]


def test_using_makes_one_column_of_two() -> None:
    query = "SELECT * FROM (SELECT k, a FROM s [NOW]) x {} JOIN (SELECT c, k FROM r [NOW]) y USING (k)"
    for side, shown in (("", "k"), ("LEFT", "k"), ("RIGHT", "k"), ("FULL", "coalesce(k, k)")):
        text = query.format(side)
        node = build(parse_one(text, read=Sash), CATALOG, text=text)
        verify(node)
        assert isinstance(node, Project)
        assert [field.name for field in node.schema] == ["k", "a", "c"]
        assert str(node.expressions[0]) == shown
        # the right side's own column is the fourth
        assert node.expressions[0] == Column(3, pa.string(), "k") or side != "RIGHT"


def test_using_leaves_each_side_its_own_column() -> None:
    text = "SELECT s.k AS mine, r.k AS theirs FROM s [NOW] FULL JOIN r [NOW] USING (k)"
    node = build(parse_one(text, read=Sash), CATALOG, text=text)
    assert isinstance(node, Project)
    assert [each.index for each in node.expressions if isinstance(each, Column)] == [1, 5]


def test_with_names_queries_inside_a_query() -> None:
    text = "WITH q(x, y) AS (SELECT k, a FROM recent), w AS (SELECT x FROM q) SELECT w.x, q.y FROM w, q"
    node = build(parse_one(text, read="spark"), CATALOG, text=text)
    verify(node)
    assert [field.name for field in node.schema] == ["x", "y"]


def test_a_constant_condition_filters() -> None:
    node = plan("SELECT k FROM s WHERE 1 = 2")
    assert shape(node) == "project(select(s))"


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        # names and types
        ("SELECT kk FROM s", "SASH-BIND-001", "kk"),
        ("SELECT s.zz FROM s", "SASH-BIND-001", "s.zz"),
        ("SELECT x.k FROM s", "SASH-BIND-002", "x"),
        ("SELECT x.* FROM s", "SASH-BIND-002", "x"),
        ("SELECT k FROM s, r", "SASH-BIND-003", "k"),
        ("SELECT k FROM packets", "SASH-BIND-004", "packets"),
        ("SELECT k FROM s WHERE a", "SASH-BIND-006", "a"),
        ("SELECT s.k FROM s JOIN r ON s.a", "SASH-BIND-006", "s.a"),
        ("SELECT k FROM s WHERE SUM(a) > 1", "SASH-BIND-009", "SUM"),
        ("SELECT s.k FROM s JOIN r ON MAX(s.a) = 1", "SASH-BIND-009", "MAX"),
        ("SELECT SUM(MAX(a)) FROM s", "SASH-BIND-009", "MAX"),
        ("SELECT k FROM s GROUP BY SUM(a)", "SASH-BIND-009", "SUM"),
        ("SELECT k FROM s HAVING a > 1", "SASH-BIND-009", "a > 1"),
        ("SELECT k, MAX(a) FROM s", "SASH-BIND-010", "k"),
        ("SELECT *, MAX(a) FROM s", "SASH-BIND-010", "*"),
        ("SELECT a + 1 FROM s GROUP BY k", "SASH-BIND-010", "a"),
        ("SELECT k FROM s GROUP BY k HAVING a > 1", "SASH-BIND-010", "a"),
        ("SELECT k, COUNT(*) AS n FROM s GROUP BY k ORDER BY a LIMIT 1", "SASH-BIND-010", "a"),
        ("SELECT src FROM p [RANGE 10]", "SASH-BIND-011", "[RANGE 10]"),
        ("SELECT k FROM s [RANGE 10 SECONDS]", "SASH-BIND-011", "[RANGE 10 SECONDS]"),
        ("SELECT k FROM s [RANGE 10 SLIDE 2 SECONDS]", "SASH-BIND-011", "[RANGE 10 SLIDE 2 SECONDS]"),
        ("SELECT src FROM p [UNTIL bytes]", "SASH-BIND-012", "bytes"),
        ("SELECT k FROM s [UNTIL b]", "SASH-BIND-012", "b"),
        ("SELECT src FROM p, s", "SASH-BIND-013", "s"),
        ("SELECT k, a AS K FROM s", "SASH-BIND-014", "a AS K"),
        ("SELECT * FROM s, r", "SASH-BIND-014", "*"),
        ("SELECT k FROM s UNION SELECT k, c FROM r", "SASH-BIND-015", "k, c FROM r"),
        ("SELECT k FROM s WHERE a IN (SELECT k, c FROM r)", "SASH-BIND-015", "a IN (SELECT k, c FROM r"),
        ("SELECT a FROM s UNION SELECT k = 'x' FROM r", "SASH-BIND-016", "k = 'x' FROM r"),
        ("SELECT k FROM s GROUP BY 2", "SASH-BIND-017", "2"),
        ("SELECT k FROM s ORDER BY 0 LIMIT 1", "SASH-BIND-017", "0"),
        ("SELECT k FROM s UNION SELECT k FROM r ORDER BY 2 LIMIT 1", "SASH-BIND-017", "2"),
        # refusals
        ("SELECT k FROM hosts [RANGE 10]", "SASH-PLAN-001", "[RANGE 10]"),
        ("SELECT k FROM recent [RANGE 10]", "SASH-PLAN-002", "[RANGE 10]"),
        ("SELECT t FROM (SELECT SUM(a) AS t FROM s [NOW]) [ROWS 10]", "SASH-PLAN-002", "[ROWS 10]"),
        ("SELECT k FROM s ORDER BY k", "SASH-PLAN-003", "k"),
        ("SELECT k FROM s LIMIT 3", "SASH-PLAN-004", "3"),
        ("SELECT k FROM s ORDER BY k LIMIT 0", "SASH-PLAN-005", "0"),
        ("SELECT k FROM s ORDER BY k LIMIT a", "SASH-PLAN-005", "a"),
        ("SELECT k FROM s WHERE a = 1 OR EXISTS (SELECT 1 FROM r)", "SASH-PLAN-006", "1 FROM r"),
        ("SELECT a IN (SELECT c FROM r) FROM s", "SASH-PLAN-006", "a IN (SELECT c FROM r"),
        ("SELECT s.k FROM s JOIN r ON EXISTS (SELECT 1 FROM u)", "SASH-PLAN-006", "1 FROM u"),
        ("SELECT k FROM s WHERE a > (SELECT MAX(c) FROM r)", "SASH-PLAN-007", "MAX(c) FROM r"),
        ("SELECT s.k FROM s, r, hosts h WHERE s.k = h.k AND r.k = h.k", "SASH-PLAN-008", "hosts h"),
        ("SELECT s.k FROM s, r, hosts WHERE s.k = r.k", "SASH-PLAN-008", "hosts"),
        ("SELECT q.k FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) q JOIN hosts h ON q.k = h.k",
         "SASH-PLAN-008", "hosts h"),
        ("SELECT s.k FROM s, r WHERE EXISTS (SELECT 1 FROM hosts h WHERE h.k = s.k AND h.owner = r.k)",
         "SASH-PLAN-008", "hosts h"),
        ("SELECT k FROM hosts", "SASH-PLAN-009", "hosts"),
        ("SELECT h.k FROM hosts h, zones z WHERE h.owner = z.owner", "SASH-PLAN-009", "hosts h"),
        ("SELECT s.k FROM s RIGHT JOIN hosts h ON h.k = s.k", "SASH-PLAN-010", "hosts h"),
        ("SELECT s.k FROM s FULL JOIN hosts h ON h.k = s.k", "SASH-PLAN-010", "hosts h"),
        ("SELECT s.k FROM hosts h LEFT JOIN s ON h.k = s.k", "SASH-PLAN-010", "hosts h"),
        ("SELECT DISTINCT k FROM s [NOW INTERNAL]", "SASH-PLAN-011", "[NOW INTERNAL]"),
        ("SELECT k FROM s [NOW INTERNAL] UNION SELECT k FROM r", "SASH-PLAN-011", "[NOW INTERNAL]"),
        ("SELECT k FROM r EXCEPT ALL SELECT k FROM s [NOW INTERNAL]", "SASH-PLAN-011", "[NOW INTERNAL]"),
        ("SELECT k FROM s [NOW INTERNAL] ORDER BY k LIMIT 1", "SASH-PLAN-011", "[NOW INTERNAL]"),
        ("SELECT k FROM s [NOW INTERNAL] ANTI JOIN r ON s.k = r.k", "SASH-PLAN-011", "[NOW INTERNAL]"),
        ("SELECT s.k FROM s [NOW INTERNAL] LEFT JOIN r ON s.k = r.k", "SASH-PLAN-011", "[NOW INTERNAL]"),
        ("SELECT k FROM s WHERE NOT EXISTS (SELECT 1 FROM r [NOW INTERNAL] WHERE r.k = s.k)",
         "SASH-PLAN-011", "[NOW INTERNAL]"),
        ("WSTREAM(SELECT DISTINCT k FROM s [NOW]) [ROWS 3]", "SASH-PLAN-011", "WSTREAM"),
        ("SELECT DISTINCT k FROM (WSTREAM(SELECT k FROM s) [ROWS 3])",
         "SASH-PLAN-011", "WSTREAM(SELECT k FROM s) [ROWS 3]"),
        ("SELECT k FROM s WHERE EXISTS (SELECT 1 FROM r WHERE EXISTS (SELECT 1 FROM u WHERE u.k = s.k))",
         "SASH-PLAN-012", "s.k"),
        ("SELECT k FROM s WHERE a IN (SELECT c FROM r WHERE r.k = s.k ORDER BY c LIMIT 1)",
         "SASH-PLAN-012", "s.k"),
        ("SELECT s.k FROM s [ROWS 3 INTERNAL], r [NOW] WHERE s.k = r.k",
         "SASH-PLAN-013", "s [ROWS 3 INTERNAL]"),
        ("SELECT k FROM s [NOW INTERNAL] WHERE EXISTS (SELECT 1 FROM r [NOW] WHERE r.k = s.k)",
         "SASH-PLAN-013", "s [NOW INTERNAL]"),
        ("ISTREAM-RESTORE(SELECT k FROM s [RANGE 9])", "SASH-PLAN-014", "ISTREAM-RESTORE"),
        ("SELECT RSTREAM-RESTORE(s.k) FROM s [RANGE 9 SLIDE 3], r [RANGE 9 SLIDE 2]",
         "SASH-PLAN-014", "RSTREAM-RESTORE"),
        ("SELECT k FROM s WHERE EXISTS (SELECT COUNT(*) FROM r WHERE r.k = s.k)",
         "SASH-PLAN-018", "COUNT(*) FROM r WHERE r.k = s.k"),
        ("SELECT 1", "SASH-PLAN-019", "1"),
        ("SELECT s.k FROM s, r RIGHT JOIN u ON r.k = u.k", "SASH-PLAN-020", "u"),
        ("SELECT DISTINCT k FROM s ORDER BY a LIMIT 1", "SASH-PLAN-021", "a"),
    ],
)  # fmt: skip
def test_refusals_show_their_place(text: str, code: str, place: str) -> None:
    error = refused(text)
    assert error.code == code
    assert error.place is not None
    assert text[error.place.start : error.place.end] == place
    assert error.remedy


def test_an_error_in_a_view_shows_the_views_text() -> None:
    error = refused("SELECT * FROM wrong")
    assert error.code == "SASH-BIND-001"
    assert error.place is not None
    assert error.place.text[error.place.start : error.place.end] == "nothing"


def test_columns_are_known_by_position_after_a_join() -> None:
    node = plan("SELECT r.c, s.a FROM s [NOW] JOIN hosts h ON s.k = h.k JOIN r [NOW] ON s.k = r.k")
    assert isinstance(node, Project)
    # s has four columns, the table's three follow at its edge, then come those of r
    assert [each.index for each in node.expressions if isinstance(each, Column)] == [9, 2]


def test_distinct_below_a_set_operation_stays() -> None:
    node = plan("SELECT DISTINCT k FROM s [NOW] UNION ALL SELECT k FROM r [NOW]")
    assert isinstance(node.inputs[0], Distinct)
