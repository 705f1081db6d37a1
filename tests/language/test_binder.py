"""Names, types and functions: what the binder makes of scalar expressions, and what it refuses."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.language.binder import Binder
from sash.language.dictionary import FUNCTIONS
from sash.language.expressions import AggregateCall, Call, Column, Expression, Field, Literal
from sash.language.scope import Scope, names_of
from sash.language.statements import parse_query

TYPES = {
    "a": pa.int32(), "b": pa.int64(), "c": pa.int64(), "x": pa.float64(), "y": pa.float64(),
    "s": pa.string(), "t": pa.string(), "d": pa.date32(), "e": pa.date32(), "p": pa.bool_(),
    "q": pa.bool_(), "n": pa.int64(), "at": pa.timestamp("us"), "l": pa.list_(pa.int64()),
}  # fmt: skip


def scope(**types: pa.DataType) -> Scope:
    fields = tuple(Field(name, type_) for name, type_ in (TYPES | types).items())
    return Scope(names_of("z", fields))


def bind(text: str, **types: pa.DataType) -> Expression:
    query = f"SELECT {text} FROM z"
    return Binder(scope(**types), query, "SELECT").bind(parse_query(query).expressions[0])


def bind_aggregates(text: str) -> tuple[Expression, list[AggregateCall]]:
    query = f"SELECT {text} FROM z"
    found: list[AggregateCall] = []
    return Binder(scope(), query, "SELECT", found, base=100).bind(parse_query(query).expressions[0]), found


def refused(text: str) -> SashError:
    with pytest.raises(SashError) as caught:
        bind(text)
    return caught.value


def marked(error: SashError) -> str:
    assert error.place is not None
    return error.place.text[error.place.start : error.place.end]


def test_names_are_found_in_any_case_with_or_without_their_table() -> None:
    assert bind("A") == bind("Z.a") == Column(0, pa.int32(), "a")


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("1", 1, pa.int32()),
        ("-1", -1, pa.int32()),
        ("3000000000", 3_000_000_000, pa.int64()),
        ("-9223372036854775808", -(2**63), pa.int64()),
        ("9223372036854775808", Decimal(2**63), pa.decimal128(19, 0)),
        ("1.50", Decimal("1.50"), pa.decimal128(3, 2)),
        ("0.001", Decimal("0.001"), pa.decimal128(3, 3)),
        ("1e3", 1000.0, pa.float64()),
        ("'it'", "it", pa.string()),
        ("TRUE", True, pa.bool_()),
        ("NULL", None, pa.null()),
        ("X'0aff'", b"\x0a\xff", pa.binary()),
        ("INTERVAL 2 HOURS", datetime.timedelta(hours=2), pa.duration("us")),
        ("INTERVAL '1' WEEK", datetime.timedelta(days=7), pa.duration("us")),
    ],
)
def test_literals_have_spark_types(text: str, value: object, type_: pa.DataType) -> None:
    assert bind(text) == Literal(value, type_)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a + b", "add(cast(a), b)"),
        ("a + 1", "add(a, 1)"),
        ("b + 1", "add(b, 1)"),
        ("a / 2", "divide(cast(a), 2.0)"),
        ("a DIV b", "int_divide(cast(a), b)"),
        ("a BETWEEN 1 AND 2", "and(ge(a, 1), le(a, 2))"),
        ("a NOT BETWEEN 1 AND 2", "not(and(ge(a, 1), le(a, 2)))"),
        ("a IN (1, 2)", "in_list(a, 1, 2)"),
        ("a NOT IN (1, 2)", "not(in_list(a, 1, 2))"),
        ("a IS NULL", "is_null(a)"),
        ("a IS NOT NULL", "is_not_null(a)"),
        ("p IS TRUE", "eq_null_safe(p, True)"),
        ("a <=> b", "eq_null_safe(cast(a), b)"),
        ("s LIKE 'a%'", "like(s, 'a%')"),
        ("s NOT LIKE 'a%'", "not(like(s, 'a%'))"),
        ("s NOT LIKE 'a!%' ESCAPE '!'", "not(like(s, 'a!%', '!'))"),
        ("s NOT RLIKE 'a'", "not(rlike(s, 'a'))"),
        ("CASE WHEN p THEN 1 ELSE b END", "case(p, 1, b)"),
        ("CASE a WHEN 1 THEN s END", "case(eq(a, 1), s, NULL)"),
        ("if(p, a, b)", "if(p, cast(a), b)"),
        ("CAST(a AS STRING)", "cast(a)"),
        ("TRY_CAST(s AS INT)", "cast(s)"),
        ("s || t || 'u'", "concat(concat(s, t), 'u')"),
        ("year(at)", "year(at)"),
        ("EXTRACT(DAY FROM at)", "day(at)"),
        ("date_sub(d, 7)", "date_sub(d, 7)"),
        ("position('a' IN s)", "locate('a', s)"),
        ("NOT (p AND q)", "not(and(p, q))"),
    ],
)
def test_operators_become_calls_with_casts(text: str, shown: str) -> None:
    assert str(bind(text)) == shown


SAME_UNDER_ANOTHER_NAME = {
    "nvl": "coalesce", "instr": "locate", "log": "log2", "to_date": "cast", "to_timestamp": "cast",
}  # fmt: skip
TIMES = {"hour", "minute", "second", "date_trunc", "unix_seconds", "unix_millis", "unix_micros"}


@pytest.mark.parametrize("function", FUNCTIONS, ids=[function.name for function in FUNCTIONS])
def test_every_function_is_reached_by_its_own_example(function: object) -> None:
    name, example = function.name, function.example  # type: ignore[attr-defined]
    bound = bind(example, a=pa.int64(), **({"t": pa.timestamp("us")} if name in TIMES else {}))
    assert isinstance(bound, Call)
    assert bound.function == SAME_UNDER_ANOTHER_NAME.get(name, name)


def test_aggregates_are_set_aside_each_once() -> None:
    bound, found = bind_aggregates("SUM(a) + COUNT(*) * SUM(a)")
    assert [str(each) for each in found] == ["sum(a)", "count(*)"]
    assert str(bound) == "add(sum(a), multiply(count(*), sum(a)))"
    assert bind_aggregates("COUNT(DISTINCT s)")[1] == [AggregateCall("count", bind("s"), True, pa.int64())]


def test_counting_a_constant_is_counting_rows() -> None:
    assert bind_aggregates("COUNT(1)")[1] == bind_aggregates("COUNT(*)")[1]
    assert str(bind_aggregates("COUNT(NULL)")[1][0]) == "count(NULL)"


def test_filter_of_an_aggregate_makes_the_other_rows_null() -> None:
    _, found = bind_aggregates("SUM(b) FILTER (WHERE p)")
    assert str(found[0]) == "sum(case(p, b, NULL))"


@pytest.mark.parametrize(
    ("text", "code", "place", "remedy"),
    [
        ("zz.a", "SASH-BIND-002", "zz", "Did you mean 'z'?"),
        ("atx", "SASH-BIND-001", "atx", "Did you mean 'at'?"),
        ("foo(a)", "SASH-BIND-005", "foo", "Did you mean"),
        ("date_format(at, 'y')", "SASH-BIND-005", "date_format", ""),
        ("upper(l)", "SASH-BIND-006", "upper", "It takes a string."),
        ("p + 1", "SASH-BIND-006", "p + 1", ""),
        ("now()", "SASH-BIND-007", "now", ""),
        ("rand()", "SASH-BIND-007", "rand", ""),
        ("SUM(a)", "SASH-BIND-009", "SUM", ""),
        ("l[0]", "SASH-PLAN-017", "l[0", "Select the whole column."),
        ("(SELECT 1 FROM z)", "SASH-PLAN-007", "1 FROM z", ""),
        ("a IN (SELECT b FROM z)", "SASH-PLAN-006", "a IN (SELECT b FROM z", ""),
        ("CAST(a AS GEOGRAPHY)", "SASH-BIND-018", "GEOGRAPHY", ""),
        ("CAST(d AS INT)", "SASH-BIND-006", "d", ""),
        ("INTERVAL 1 MONTH", "SASH-BIND-018", "", ""),
    ],
)
def test_what_cannot_be_bound_is_refused_with_its_place(
    text: str, code: str, place: str, remedy: str
) -> None:
    error = refused(text)
    assert error.code == code
    assert marked(error).startswith(place)
    assert remedy in error.remedy


def test_an_unknown_function_is_called_as_it_was_written() -> None:
    assert refused("collect_list(a) FILTER (WHERE p)").code == "SASH-BIND-009"
    assert "'date_format'" in refused("date_format(at, 'y')").message


def test_an_ambiguous_name_lists_what_it_may_mean() -> None:
    fields = (Field("k", pa.string()),)
    both = Scope((*names_of("s", fields), *names_of("r", fields, 1)))
    query = "SELECT k FROM s, r"
    with pytest.raises(SashError) as caught:
        Binder(both, query, "SELECT").bind(parse_query(query).expressions[0])
    assert caught.value.code == "SASH-BIND-003"
    assert "'s.k' or 'r.k'" in caught.value.message


def test_a_condition_must_be_boolean() -> None:
    query = "SELECT a FROM z WHERE a"
    binder = Binder(scope(), query, "WHERE")
    with pytest.raises(SashError) as caught:
        binder.predicate(parse_query(query).args["where"].this)
    assert caught.value.code == "SASH-BIND-006"
    assert binder.predicate(parse_query("SELECT a FROM z WHERE NULL").args["where"].this) == Literal(
        None, pa.bool_()
    )
