"""What a caller hands in that is not text, a path or a setting: one clean error each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash

NOT_TEXT = "SASH-SESSION-016"
SETTING = "SASH-SESSION-005"


@pytest.fixture
def db() -> Any:
    database = sash.connect()
    database.execute("CREATE STREAM s (ts BIGINT, k STRING, a INT, m MAP<STRING, INT>) TIME ts")
    database.execute("CREATE TABLE r (k STRING, v INT)")
    return database


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda db: db.query(None), NOT_TEXT),
        (lambda db: db.query("SELECT k FROM s", name=[]), NOT_TEXT),
        (lambda db: db.execute(None), NOT_TEXT),
        (lambda db: db.execute(b"DROP STREAM s"), NOT_TEXT),
        (lambda db: db.push(None, []), NOT_TEXT),
        (lambda db: db.idle(None), NOT_TEXT),
        (lambda db: db.late(None), NOT_TEXT),
        (lambda db: db.create_stream("x", {5: "INT"}, time="ts"), NOT_TEXT),
        (lambda db: db.save(None), NOT_TEXT),
        (lambda _: sash.load(None), NOT_TEXT),  # type: ignore[arg-type]
        (lambda _: sash.connect(rules=5), SETTING),
        (lambda _: sash.connect(rules=(5,)), SETTING),
        (lambda _: sash.connect(watch=5), SETTING),
        (lambda _: sash.connect(allow_unbounded="x"), SETTING),
    ],
)
def test_misuse_is_one_clean_error(db: Any, call: Callable[[Any], object], code: str) -> None:
    with pytest.raises(sash.SashError) as raised:
        call(db)
    assert raised.value.code == code


def _row(**changed: object) -> dict[str, object]:
    return {"ts": 1, "k": "a", "a": 1, "m": None, **changed}


@pytest.mark.parametrize(
    "rows",
    [
        [_row(m=[None])],
        [_row(m={"x": 1.5})],
        [_row(a=np.datetime64("2024-01-01")), _row(a=np.int64(1))],
        [_row(a=[np.datetime64("2024-01-01"), np.int64(1)])],
        [_row(a={"x": np.datetime64("2024-01-01")}), _row(a={"x": np.int64(1)})],
        pa.table({"ts": pa.array([], pa.int64()), "k": [], "a": pa.array([], pa.date32()), "m": []}),
        pa.table({"ts": [1], "k": ["a"], "a": pa.array([None], pa.date32()), "m": [None]}),
    ],
)
def test_values_that_arrow_cannot_take_are_named(db: Any, rows: object) -> None:
    with pytest.raises(sash.SashError) as raised:
        db.push("s", rows)
    assert raised.value.code == "SASH-DATA-004"
    db.push("s", [_row(a=np.int64(2), m={"x": np.int32(1)})])


def test_an_empty_push_fits_where_its_types_would(db: Any) -> None:
    columns = {"ts": pa.array([], pa.int32()), "k": pa.array([], pa.large_string()), "a": [], "m": []}
    db.push("s", pa.table(columns))


def test_an_update_of_no_row_still_has_types(db: Any) -> None:
    with pytest.raises(sash.SashError, match="which is INT") as raised:
        db.execute("UPDATE r SET v = DATE '2024-01-01'")
    assert raised.value.code == "SASH-TABLE-005"


@pytest.mark.parametrize("as_rows", [lambda rows: rows, pa.Table.from_pylist])
def test_columns_are_found_in_any_case_of_letters(db: Any, as_rows: Callable[[Any], object]) -> None:
    db.execute("CREATE STREAM t (ts BIGINT, Src STRING) TIME ts")
    query = db.query("SELECT src FROM t [RANGE 10]")
    db.push("t", as_rows([{"TS": 1, "src": "a"}, {"TS": 2, "src": "b"}]))
    db.advance(5)
    assert sorted(query.answer().column(0).to_pylist()) == ["a", "b"]
    with pytest.raises(sash.SashError) as raised:
        db.push("t", as_rows([{"ts": 9, "SRC": "a", "src": "b"}]))
    assert raised.value.code == "SASH-DATA-002"
