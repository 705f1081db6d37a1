"""Queries to syntax trees: windows, relation-to-stream operators, offsets."""

from __future__ import annotations

import pytest
from sqlglot import exp

from sash.language.dialect import RelationToStream, Sash, StreamCall, WindowClause, place_of
from sash.language.durations import duration, microseconds, unit_named
from sash.language.statements import parse_query


def window_of(text: str) -> WindowClause:
    """The window of the first item in FROM."""
    window = parse_query(f"SELECT * FROM s {text}").args["from_"].this.args["cql_window"]
    assert isinstance(window, WindowClause)
    return window


def facts(window: WindowClause) -> dict[str, object]:
    """What a window says, without what it leaves out; columns as text."""
    said = {key: value for key, value in window.args.items() if value not in (None, False, [])}
    if "partition" in said:
        said["partition"] = [column.sql() for column in window.args["partition"]]
    if "until" in said:
        said["until"] = window.args["until"].sql()
    return said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[RANGE 10]", {"kind": "range", "length": 10}),
        ("[WINDOW 10]", {"kind": "range", "length": 10}),
        ("[range 10 minutes]", {"kind": "range", "length": 10, "length_unit": "minute"}),
        (
            "[RANGE 10 MINUTES SLIDE 1 MINUTE]",
            {"kind": "range", "length": 10, "length_unit": "minute", "slide": 1, "slide_unit": "minute"},
        ),
        ("[RANGE 5 SLIDE 7]", {"kind": "range", "length": 5, "slide": 7}),
        ("[ROWS 100]", {"kind": "rows", "rows": 100}),
        ("[ROWS 100 SLIDE 10]", {"kind": "rows", "rows": 100, "slide": 10}),
        ("[PARTITION BY k ROWS 10]", {"kind": "rows", "rows": 10, "partition": ["k"]}),
        (
            "[PARTITION BY k1, s.k2 ROWS 10 SLIDE 2 RANGE 5 MINUTES]",
            {
                "kind": "rows", "rows": 10, "slide": 2, "length": 5, "length_unit": "minute",
                "partition": ["k1", "s.k2"],
            },
        ),
        (
            "[PARTITION BY k ROWS 10 RANGE 5 MINUTES]",
            {"kind": "rows", "rows": 10, "length": 5, "length_unit": "minute", "partition": ["k"]},
        ),
        ("[NOW]", {"kind": "now"}),
        ("[UNTIL expires]", {"kind": "until", "until": "expires"}),
        ("[UNBOUNDED]", {"kind": "unbounded"}),
        ("[RANGE 10 INTERNAL]", {"kind": "range", "length": 10, "internal": True}),
        ("[INTERNAL RANGE 10]", {"kind": "range", "length": 10, "internal": True}),
        ("[ROWS 5 INTERNAL SLIDE 2]", {"kind": "rows", "rows": 5, "slide": 2, "internal": True}),
        ("[NOW INTERNAL]", {"kind": "now", "internal": True}),
        ("[UNTIL `the end` INTERNAL]", {"kind": "until", "until": '"the end"', "internal": True}),
    ],
)  # fmt: skip
def test_every_window_form(text: str, expected: dict[str, object]) -> None:
    assert facts(window_of(text)) == expected


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        ("us usec microsecond MICROSECONDS", "microsecond"),
        ("ms msec millisecond Milliseconds", "millisecond"),
        ("s sec secs second SECONDS", "second"),
        ("min mins minute minutes", "minute"),
        ("h hr hour HOURS", "hour"),
        ("d day days", "day"),
    ],
)
def test_units_long_and_short_apart_and_joined(words: str, unit: str) -> None:
    for word in words.split():
        for written in (f"10 {word}", f"10{word}"):
            window = window_of(f"[RANGE {written}]")
            assert (window.args["length"], window.args["length_unit"]) == (10, unit), written


def test_durations() -> None:
    assert unit_named("fortnight") is None
    assert microseconds(3, "hour") == 10_800_000_000
    assert duration("2 seconds") == 2_000_000
    with pytest.raises(ValueError, match="length of time"):
        duration("soon")


@pytest.mark.parametrize(
    "item", ["s [RANGE 10] x", "s [RANGE 10] AS x", "s x [RANGE 10]", "s AS x [RANGE 10]"]
)
@pytest.mark.parametrize("place", ["FROM {}", "FROM t, {}", "FROM t [ROWS 1] LEFT JOIN {} ON t.a = x.a"])
def test_windows_stand_before_or_after_an_alias(item: str, place: str) -> None:
    query = parse_query(f"SELECT arr[0] {place.format(item)} WHERE x.arr[1] = 2")
    table = next(table for table in query.find_all(exp.Table) if table.name == "s")
    assert table.alias == "x"
    assert facts(table.args["cql_window"]) == {"kind": "range", "length": 10}
    assert len(list(query.find_all(exp.Bracket))) == 2


def test_a_window_on_a_subquery() -> None:
    for text in ("(SELECT a FROM s) [RANGE 10] x", "(SELECT a FROM s) AS x [RANGE 10]"):
        item = parse_query(f"SELECT * FROM {text}").args["from_"].this
        assert isinstance(item, exp.Subquery)
        assert item.alias == "x"
        assert facts(item.args["cql_window"]) == {"kind": "range", "length": 10}
        assert isinstance(item.this, exp.Select)


def test_windows_inside_parenthesised_joins_and_correlated_subqueries() -> None:
    query = parse_query(
        "SELECT * FROM (s [RANGE 1] JOIN t [RANGE 2] ON s.a = t.a) "
        "WHERE NOT EXISTS (SELECT * FROM u [RANGE 3] WHERE u.a = s.a) AND s.b IN (SELECT b FROM v [RANGE 4])"
    )
    assert sorted(window.args["length"] for window in query.find_all(WindowClause)) == [1, 2, 3, 4]


def test_joins_keep_side_and_kind() -> None:
    query = parse_query(
        "SELECT * FROM a [RANGE 1], b CROSS JOIN c LEFT SEMI JOIN d ON a.x = d.x ANTI JOIN e ON a.x = e.x "
        "FULL OUTER JOIN f ON a.x = f.x"
    )
    kinds = [(join.side, join.kind) for join in query.args["joins"]]
    assert kinds == [("", "CROSS"), ("", "CROSS"), ("LEFT", "SEMI"), ("", "ANTI"), ("FULL", "OUTER")]


@pytest.mark.parametrize("name", ["istream", "DSTREAM", "Rstream", "ISTREAM-RESTORE", "rstream-restore"])
def test_operators_around_a_query_and_inside_a_select_list_are_one(name: str) -> None:
    around = parse_query(f"{name}(SELECT a, b AS c FROM s [RANGE 10] WHERE a > 1)")
    inside = parse_query(f"SELECT {name}(a, b AS c) FROM s [RANGE 10] WHERE a > 1")
    assert isinstance(around, RelationToStream)
    assert around == inside
    assert around.args["kind"] == name.lower().removesuffix("-restore")
    assert around.args["restore"] is name.lower().endswith("-restore")
    assert isinstance(around.this, exp.Select)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("SELECT ISTREAM(*) FROM s [NOW]", "ISTREAM(SELECT * FROM s [NOW])"),
        ("SELECT RSTREAM(DISTINCT a) FROM s [NOW]", "RSTREAM(SELECT DISTINCT a FROM s [NOW])"),
        ("SELECT DISTINCT RSTREAM(a) FROM s [NOW]", "RSTREAM(SELECT DISTINCT a FROM s [NOW])"),
        ("SELECT ISTREAM(a) AS b FROM s", "ISTREAM(SELECT a AS b FROM s)"),
        ("SELECT WSTREAM(*) [ROWS 10] FROM s [RANGE 5]", "WSTREAM(SELECT * FROM s [RANGE 5]) [ROWS 10]"),
        (
            "SELECT SUM(WSTREAM(SUM(a)) [ROWS 10]) FROM s [RANGE 6 SLIDE 6]",
            "SELECT SUM(_w) FROM (WSTREAM(SELECT SUM(a) AS _w FROM s [RANGE 6 SLIDE 6]) [ROWS 10])",
        ),
        (
            "SELECT SUM(WSTREAM(SUM(a))[ROWS 9]) / MAX(WSTREAM(COUNT(*))[ROWS 9]) AS x FROM s, t WHERE k = 1",
            "SELECT SUM(_w) / MAX(_w2) AS x FROM "
            "(WSTREAM(SELECT SUM(a) AS _w, COUNT(*) AS _w2 FROM s, t WHERE k = 1) [ROWS 9])",
        ),
        (
            "SELECT ISTREAM(SUM(WSTREAM(SUM(a)) [ROWS 10])) FROM s",
            "ISTREAM(SELECT SUM(_w) FROM (WSTREAM(SELECT SUM(a) AS _w FROM s) [ROWS 10]))",
        ),
        ("SELECT * FROM ISTREAM(SELECT a FROM s)[NOW] x", "SELECT * FROM (ISTREAM(SELECT a FROM s)) [NOW] x"),
        ("SELECT * FROM WSTREAM(SELECT a FROM s)[NOW] x", "SELECT * FROM (WSTREAM(SELECT a FROM s) [NOW]) x"),
        ("SELECT a FROM (SELECT ISTREAM(a) FROM s) [NOW]", "SELECT a FROM (ISTREAM(SELECT a FROM s)) [NOW]"),
        (
            "SELECT a FROM s WHERE a IN (SELECT ISTREAM(b) FROM t)",
            "SELECT a FROM s WHERE a IN (ISTREAM(SELECT b FROM t))",
        ),
        (
            "SELECT a FROM s WHERE EXISTS (SELECT RSTREAM(*) FROM t)",
            "SELECT a FROM s WHERE EXISTS (RSTREAM(SELECT * FROM t))",
        ),
        ("SELECT ISTREAM(a) FROM s UNION SELECT b FROM t", "ISTREAM(SELECT a FROM s) UNION SELECT b FROM t"),
    ],
)  # fmt: skip
def test_operators_are_normalised(text: str, same: str) -> None:
    query = parse_query(text)
    assert query == parse_query(same)
    assert query.find(StreamCall) is None


def test_a_stream_in_from_with_a_window() -> None:
    item = parse_query("SELECT * FROM (ISTREAM(SELECT a FROM s [RANGE 5])) [RANGE 10] x").args["from_"].this
    assert isinstance(item, exp.Subquery)
    assert isinstance(item.this, RelationToStream)
    assert facts(item.args["cql_window"]) == {"kind": "range", "length": 10}


def test_the_window_of_wstream_is_its_own() -> None:
    item = parse_query("SELECT * FROM (WSTREAM(SELECT a FROM s [RANGE 5]) [ROWS 10]) x").args["from_"].this
    assert item.args.get("cql_window") is None
    assert facts(item.this.args["window"]) == {"kind": "rows", "rows": 10}


def test_operators_in_set_operations() -> None:
    query = parse_query("ISTREAM(SELECT a FROM s [NOW]) UNION ALL DSTREAM(SELECT a FROM s [RANGE 5])")
    assert isinstance(query, exp.Union)
    assert [query.this.args["kind"], query.expression.args["kind"]] == ["istream", "dstream"]
    nested = parse_query("ISTREAM((SELECT a FROM s) EXCEPT ALL (SELECT a FROM t))")
    assert isinstance(nested.this, exp.Except)


def test_names_like_operators_remain_names() -> None:
    query = parse_query("SELECT istream, istream - restore AS d FROM stream [RANGE 1] WHERE rstream = 1")
    assert isinstance(query, exp.Select)
    assert query.find(StreamCall, RelationToStream) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, arr[0] FROM s AS x [RANGE 10 SECOND SLIDE 1 SECOND INTERNAL] WHERE x.a = 1",
        "RSTREAM-RESTORE(SELECT * FROM s [PARTITION BY k ROWS 3 RANGE 5])",
        "SELECT a FROM (WSTREAM(SELECT a FROM s [UNTIL e]) [ROWS 2]) AS x",
    ],
)
def test_trees_write_themselves_as_text_that_reads_the_same(text: str) -> None:
    query = parse_query(text)
    assert parse_query(query.sql(dialect=Sash)) == query


def test_offsets_are_those_of_the_text() -> None:
    text = "SELECT a,\n  srx + 1\nFROM s [RANGE 10] WHERE nosuch('x') = NULL"
    query = parse_query(text)
    assert isinstance(query, exp.Select)
    assert query.meta["text"] == text

    def shown(node: exp.Expr) -> str:
        place = place_of(node, text)
        assert place is not None
        return text[place.start : place.end]

    assert shown(query.selects[1]) == "srx + 1"
    assert shown(query.selects[1].this) == "srx"
    assert shown(query.args["from_"].this) == "s [RANGE 10]"
    assert shown(query.args["from_"].this.args["cql_window"]) == "[RANGE 10]"
    assert shown(next(query.find_all(exp.Anonymous))) == "nosuch"
    assert shown(next(query.find_all(exp.Null))) == "nosuch('x'"
    assert place_of(exp.Null(), text) is None


def test_offsets_survive_copies_and_normalisation() -> None:
    text = "SELECT SUM(WSTREAM(SUM(abc)) [ROWS 10]) FROM s"
    column = next(column for column in parse_query(text).copy().find_all(exp.Column) if column.name == "abc")
    place = place_of(column, text)
    assert place is not None
    assert text[place.start : place.end] == "abc"
