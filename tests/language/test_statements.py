"""Statements: definitions, changes of tables, sinks, and what is refused in them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sqlglot import exp

from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import (
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Delete,
    Drop,
    InsertInto,
    InsertQuery,
    Query,
    Statement,
    StreamDefinition,
    TableDefinition,
    Update,
    ViewDefinition,
    parse,
    parse_query,
)
from sash.language.types import UnknownType, arrow_type, sql_name


def one(text: str) -> Statement:
    (statement,) = parse(text)
    return statement


def stream(text: str) -> StreamDefinition:
    statement = one(text)
    assert isinstance(statement, CreateStream)
    return statement.definition


def test_create_stream() -> None:
    definition = stream(
        "create stream packets (ts TIMESTAMP, src STRING, bytes BIGINT) "
        "time ts lateness 2 seconds with (format = 'parquet', path = '/x', `a b` = 3, head = TRUE, x.y = 'z')"
    )
    assert definition == StreamDefinition(
        "packets",
        (Field("ts", pa.timestamp("us")), Field("src", pa.string()), Field("bytes", pa.int64())),
        0,
        2_000_000,
        (("format", "parquet"), ("path", "/x"), ("a b", "3"), ("head", "true"), ("x.y", "z")),
    )
    assert definition.timed == "timestamp"


def test_create_stream_with_integer_time() -> None:
    definition = stream("CREATE STREAM s (a STRING, Ts INT) TIME ts LATENESS 2")
    assert (definition.time, definition.lateness, definition.timed) == (1, 2, "integer")


@pytest.mark.parametrize(
    ("lateness", "ticks"),
    [("", 0), ("LATENESS 0", 0), ("LATENESS 5ms", 5_000), ("LATENESS 1 min", 60_000_000)],
)  # fmt: skip
def test_lateness_of_timestamp_streams(lateness: str, ticks: int) -> None:
    assert stream(f"CREATE STREAM s (ts TIMESTAMP) TIME ts {lateness}").lateness == ticks


def test_column_names_that_are_words_of_sql() -> None:
    names = [
        "time",
        "date",
        "timestamp",
        "value",
        "key",
        "user",
        "range",
        "rows",
        "window",
        "start",
        "end",
        "at",
    ]
    columns = ", ".join(f"{name} BIGINT" for name in names)
    definition = stream(f"CREATE STREAM stream ({columns}) TIME time")
    assert [field.name for field in definition.fields] == names
    assert definition.name == "stream"


@pytest.mark.parametrize(
    ("written", "type_", "name"),
    [
        ("BOOLEAN", pa.bool_(), "BOOLEAN"),
        ("TINYINT", pa.int8(), "TINYINT"),
        ("SMALLINT", pa.int16(), "SMALLINT"),
        ("int", pa.int32(), "INT"),
        ("INTEGER", pa.int32(), "INT"),
        ("BIGINT", pa.int64(), "BIGINT"),
        ("LONG", pa.int64(), "BIGINT"),
        ("FLOAT", pa.float32(), "FLOAT"),
        ("REAL", pa.float32(), "FLOAT"),
        ("DOUBLE", pa.float64(), "DOUBLE"),
        ("DECIMAL", pa.decimal128(10, 0), "DECIMAL(10, 0)"),
        ("DECIMAL(5)", pa.decimal128(5, 0), "DECIMAL(5, 0)"),
        ("NUMERIC(12, 3)", pa.decimal128(12, 3), "DECIMAL(12, 3)"),
        ("STRING", pa.string(), "STRING"),
        ("VARCHAR(10)", pa.string(), "STRING"),
        ("TEXT", pa.string(), "STRING"),
        ("BINARY", pa.binary(), "BINARY"),
        ("DATE", pa.date32(), "DATE"),
        ("TIMESTAMP", pa.timestamp("us"), "TIMESTAMP"),
        ("TIMESTAMP_NTZ", pa.timestamp("us"), "TIMESTAMP"),
        ("ARRAY<INT>", pa.list_(pa.int32()), "ARRAY<INT>"),
        ("MAP<STRING, ARRAY<INT>>", pa.map_(pa.string(), pa.list_(pa.int32())), "MAP<STRING, ARRAY<INT>>"),
        (
            "STRUCT<a: INT, b: STRUCT<c: DECIMAL(4, 1)>>",
            pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.decimal128(4, 1))]))]),
            "STRUCT<a: INT, b: STRUCT<c: DECIMAL(4, 1)>>",
        ),
    ],
)  # fmt: skip
def test_types(written: str, type_: pa.DataType, name: str) -> None:
    definition = stream(f"CREATE STREAM s (ts BIGINT, x {written}) TIME ts")
    assert definition.fields[1].type == type_
    assert sql_name(type_) == name
    cast = next(parse_query(f"SELECT CAST(a AS {written}) FROM s").find_all(exp.Cast))
    assert arrow_type(cast.to) == type_


def test_names_of_types_that_only_data_has() -> None:
    assert sql_name(pa.dictionary(pa.int32(), pa.string())) == "STRING"
    assert sql_name(pa.large_string()) == "STRING"
    assert sql_name(pa.timestamp("ns", "UTC")) == "TIMESTAMP"
    assert sql_name(pa.uint8()) == "UINT8"
    assert sql_name(pa.null()) == "VOID"


def test_unknown_types() -> None:
    for text in ("INTERVAL", "DECIMAL(39, 2)", "DECIMAL(5, 6)"):
        with pytest.raises(UnknownType):
            arrow_type(exp.DataType.build(text, dialect="spark"))


def test_create_table() -> None:
    statement = one(
        "CREATE TABLE hosts (ip STRING, port INT, owner STRING, PRIMARY KEY (Port, ip)) RETROACTIVE"
    )
    assert isinstance(statement, CreateTable)
    fields = (Field("ip", pa.string()), Field("port", pa.int32()), Field("owner", pa.string()))
    assert statement.definition == TableDefinition("hosts", fields, (1, 0), True, ())


@pytest.mark.parametrize("key", ["(ip STRING PRIMARY KEY, b INT)", "(ip STRING, b INT) PRIMARY KEY (ip)"])
def test_other_places_for_the_key(key: str) -> None:
    statement = one(f"CREATE TABLE hosts {key} WITH (path = 'x')")
    assert isinstance(statement, CreateTable)
    assert (statement.definition.key, statement.definition.retroactive) == ((0,), False)
    assert statement.definition.options == (("path", "x"),)


def test_create_view_keeps_a_text_that_parses_again() -> None:
    text = "DROP VIEW big;\n  CREATE VIEW big AS\nSELECT ISTREAM(a) FROM s [RANGE 10];"
    view = parse(text)[1]
    assert isinstance(view, CreateView)
    definition = view.definition
    assert isinstance(definition, ViewDefinition)
    assert definition.name == "big"
    assert definition.text.strip() == "CREATE VIEW big AS\nSELECT ISTREAM(a) FROM s [RANGE 10]"
    assert definition.query.meta["text"] == definition.text
    again = one(definition.text)
    assert isinstance(again, CreateView)
    assert again.definition.query == definition.query
    column = next(definition.query.find_all(exp.Column)).this
    assert definition.text[column.meta["start"]] == "a" == text[column.meta["start"]]


def test_statements_keep_their_lines_and_columns() -> None:
    text = "SELECT a FROM s;\n\nSELECT b\nFROM t; SELECT c FROM u"
    texts = [statement.text for statement in parse(text) if isinstance(statement, Query)]
    assert [text.strip() for text in texts] == ["SELECT a FROM s", "SELECT b\nFROM t", "SELECT c FROM u"]
    assert [text.count("\n") for text in texts] == [0, 3, 3]
    with pytest.raises(SashError) as caught:
        parse("SELECT a FROM s;\nSELECT a FROM s [RANGE 0]")
    assert caught.value.place is not None
    assert caught.value.place.render().startswith("line 2, column 24\n")


def test_one_statement_keeps_its_text_as_it_is() -> None:
    text = " -- why\nSELECT a FROM s ;\n"
    statement = one(text)
    assert isinstance(statement, Query)
    assert statement.text == text


def test_semicolons_may_be_doubled_and_stand_in_strings() -> None:
    assert len(parse(";; SELECT ';' FROM s ;; SELECT 1;")) == 2


def test_sinks() -> None:
    assert one("CREATE SINK alerts WITH (format = 'parquet')") == CreateSink(
        "alerts", (("format", "parquet"),)
    )
    for query in (
        "SELECT a FROM s [NOW]",
        "ISTREAM(SELECT a FROM s [NOW])",
        "(SELECT a FROM s) UNION ALL SELECT 1",
    ):
        statement = one(f"INSERT INTO alerts {query}")
        assert isinstance(statement, InsertQuery)
        assert statement.sink == "alerts"
        assert statement.query == parse_query(query)
        assert statement.text == " " * len("INSERT INTO alerts ") + query
        assert parse_query(statement.text) == statement.query


def test_insert_values() -> None:
    statement = one("INSERT INTO hosts VALUES ('a', 1 + 2), (NULL, -3)")
    assert isinstance(statement, InsertInto)
    assert (statement.table, statement.columns, statement.at) == ("hosts", None, None)
    assert [[value.sql() for value in row] for row in statement.rows] == [["'a'", "1 + 2"], ["NULL", "-3"]]
    named = one("insert into table hosts (ip) values ('a') at 7")
    assert isinstance(named, InsertInto)
    assert (named.columns, named.at) == (("ip",), 7)


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("", None),
        ("AT 5", 5),
        ("at -5", -5),
        ("AT '2024-01-31 12:00:00'", "2024-01-31 12:00:00"),
        ("AT TIMESTAMP '2024-01-31'", "2024-01-31"),
    ],
)
def test_changes_take_effect_at(written: str, at: int | str | None) -> None:
    for text in (
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "UPDATE t SET a = a + 1 WHERE b = 2",
        "DELETE FROM t",
        "DELETE FROM t WHERE b = c",
        "DELETE FROM t WHERE b IS NULL",
    ):
        statement = one(f"{text} {written}")
        assert isinstance(statement, (InsertInto, Update, Delete))
        assert statement.at == at


def test_update_and_delete() -> None:
    update = one("UPDATE hosts SET owner = upper('x'), port = port + 1 WHERE ip = 'a' AND port > 1")
    assert isinstance(update, Update)
    assert [(name, value.sql()) for name, value in update.assignments] == [
        ("owner", "UPPER('x')"),
        ("port", "port + 1"),
    ]
    assert update.where is not None
    assert update.where.sql() == "ip = 'a' AND port > 1"
    assert update.where.meta["text"] == update.text
    delete = one("DELETE FROM hosts WHERE ip = 'a'")
    assert isinstance(delete, Delete)
    assert delete.table == "hosts"
    assert one("DELETE FROM hosts") == Delete("hosts", None, None, "DELETE FROM hosts")


@pytest.mark.parametrize("kind", ["stream", "table", "view", "sink"])
def test_drop(kind: str) -> None:
    assert one(f"DROP {kind.upper()} x") == Drop(kind, "x")


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("CREATE STREAM", "001", ""),
        ("CREATE STREAM s ts TIMESTAMP", "001", "ts"),
        ("CREATE STREAM s () TIME ts", "001", ")"),
        ("CREATE STREAM s (ts BIGINT) TIME ts FOO", "001", "FOO"),
        ("CREATE STREAM s (ts BIGINT) TIME ts LATENESS", "001", ""),
        ("CREATE STREAM s (ts BIGINT) TIME ts WITH (a 'b')", "001", "'b'"),
        ("CREATE STREAM s (ts BIGINT) TIME ts WITH (a = b)", "001", "b"),
        ("CREATE STREAM a.b (ts BIGINT) TIME ts", "001", "."),
        ("CREATE VIEW v SELECT a FROM s", "001", "SELECT"),
        ("CREATE VIEW v AS DROP TABLE t", "001", "DROP"),
        ("CREATE VIEW v AS", "001", ""),
        ("INSERT INTO t", "001", ""),
        ("INSERT INTO t VALUES 1", "001", "1"),
        ("INSERT INTO t VALUES (1,)", "001", ")"),
        ("INSERT t VALUES (1)", "001", "t"),
        ("UPDATE t SET a", "001", ""),
        ("UPDATE t SET a = 1 WHERE", "001", ""),
        ("DELETE t", "001", "t"),
        ("DROP TABLE", "001", ""),
        ("DROP TABLE a, b", "001", ","),
        (" ; ; ", "002", None),
        ("CREATE", "006", ""),
        ("CREATE INDEX i ON t (a)", "006", "INDEX"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "006", "OR REPLACE"),
        ("DROP INDEX x", "006", "INDEX"),
        ("SHOW TABLES", "006", "SHOW"),
        ("EXPLAIN SELECT 1", "006", "EXPLAIN"),
        ("MERGE INTO t USING u ON a = b WHEN MATCHED THEN DELETE", "006", "MERGE"),
        ("SET x = 1", "006", "SET"),
        ("'SELECT'", "006", "'SELECT'"),
        ("CREATE STREAM s (ts BIGINT PRIMARY KEY) TIME ts", "007", "PRIMARY KEY"),
        ("CREATE TABLE t (a INT NOT NULL)", "007", "NOT"),
        ("CREATE STREAM s (ts BIGINT, a INT)", "017", ""),
        ("CREATE STREAM s (ts BIGINT) LATENESS 2", "017", "LATENESS"),
        ("CREATE STREAM s (ts BIGINT) TIME tx", "018", "tx"),
        ("CREATE STREAM s (ts STRING) TIME ts", "019", "ts"),
        ("CREATE STREAM s (ts DOUBLE) TIME ts", "019", "ts"),
        ("CREATE STREAM s (ts DATE) TIME ts", "019", "ts"),
        ("CREATE STREAM s (ts BIGINT, a FOO) TIME ts", "020", "FOO"),
        ("CREATE STREAM s (ts BIGINT, a) TIME ts", "020", "a"),
        ("CREATE STREAM s (ts BIGINT, a DECIMAL(40, 2)) TIME ts", "020", "DECIMAL(40, 2)"),
        ("CREATE STREAM s (ts BIGINT, a ARRAY<FOO>) TIME ts", "020", None),
        ("CREATE STREAM s (ts BIGINT, a INTERVAL) TIME ts", "020", "INTERVAL"),
        ("CREATE STREAM s (ts BIGINT, TS INT) TIME ts", "021", "TS"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a), PRIMARY KEY (a))", "021", "PRIMARY KEY"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a, a))", "021", "PRIMARY KEY"),
        ("CREATE SINK x WITH (a = 1, a = 2)", "021", "a"),
        ("CREATE STREAM s (ts BIGINT) TIME ts LATENESS -2", "022", "-2"),
        ("CREATE STREAM s (ts TIMESTAMP) TIME ts LATENESS -2 SECONDS", "022", "-2 SECONDS"),
        ("CREATE STREAM s (ts TIMESTAMP) TIME ts LATENESS 2", "023", "2"),
        ("CREATE STREAM s (ts BIGINT) TIME ts LATENESS 2 SECONDS", "024", "2 SECONDS"),
        ("CREATE STREAM s (ts TIMESTAMP) TIME ts LATENESS 2 lightyears", "011", "lightyears"),
        ("CREATE STREAM s (ts TIMESTAMP) TIME ts LATENESS 1.5 SECONDS", "012", "1.5"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "025", "b"),
        ("INSERT INTO t VALUES (1) AT", "026", ""),
        ("INSERT INTO t VALUES (1) AT soon", "026", "soon"),
        ("DELETE FROM t AT 1.5", "026", "1.5"),
        ("UPDATE t SET a = 1 AT -'x'", "026", "-'x'"),
    ],
)
def test_refused_with_code_and_place(text: str, code: str, marked: str | None) -> None:
    with pytest.raises(SashError) as caught:
        parse(text)
    error = caught.value
    assert error.code == f"SASH-PARSE-{code}"
    assert error.remedy
    if marked is not None:
        assert error.place is not None
        assert text[error.place.start : error.place.end] == marked


def test_remedies_propose_names() -> None:
    with pytest.raises(SashError, match="Did you mean 'stamp'"):
        parse("CREATE STREAM s (stamp BIGINT) TIME stmp")
    with pytest.raises(SashError, match="The columns are a, b"):
        parse("CREATE TABLE t (a INT, b INT, PRIMARY KEY (xyz))")
