"""Rows come as anything and are taken wholly or refused with column, row and value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.session.inlet import admit

PACKETS = StreamDefinition(
    "packets", (Field("ts", pa.int64()), Field("src", pa.string()), Field("bytes", pa.int64())), 0
)
TICKS = StreamDefinition("ticks", (Field("ts", pa.timestamp("us")), Field("price", pa.float64())), 0)
ROWS: dict[str, list[Any]] = {"bytes": [10, None], "ts": [1, 2], "src": ["a", "b"]}


class Capsule:
    """Something that knows nothing but the PyCapsule interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class ArrayCapsule:
    """The same with an array instead of a stream."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def dicts(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


WAYS: dict[str, Callable[[dict[str, list[Any]]], object]] = {
    "table": pa.table,
    "chunked table": lambda c: pa.concat_tables([pa.table(c).slice(0, 1), pa.table(c).slice(1)]),
    "batch": pa.RecordBatch.from_pydict,
    "reader": lambda c: pa.table(c).to_reader(),
    "capsule": lambda c: Capsule(pa.table(c)),
    "array capsule": lambda c: ArrayCapsule(pa.RecordBatch.from_pydict(c)),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "dicts": dicts,
    "generator": lambda c: (row for row in dicts(c)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same_columns(way: str) -> None:
    batch = admit(WAYS[way](ROWS), PACKETS)
    assert [column.to_pylist() for column in batch.columns] == [[1, 2], ["a", "b"], [10, None]]
    assert [column.type for column in batch.columns] == [field.type for field in PACKETS.fields]
    assert batch.ts.tolist() == [1, 2]


@pytest.mark.parametrize(
    "empty", [[], pa.table({"ts": [], "src": [], "bytes": []}), pd.DataFrame(columns=list(ROWS))]
)
def test_no_rows_are_fine(empty: object) -> None:
    assert len(admit(empty, PACKETS)) == 0


def test_the_time_column_is_not_copied() -> None:
    column = pa.array([1, 2, 3], pa.timestamp("us"))
    batch = admit(pa.RecordBatch.from_arrays([column, pa.array([1.0] * 3)], names=["ts", "price"]), TICKS)
    assert batch.ts.ctypes.data == column.buffers()[1].address


@pytest.mark.parametrize("moment", ["1970-01-01T00:00:00.000007", datetime(1970, 1, 1, microsecond=7), 7])
def test_timestamps_in_dicts_are_written_in_many_ways(moment: object) -> None:
    assert admit([{"ts": moment, "price": 1}], TICKS).ts.tolist() == [7]


def without(name: str) -> dict[str, list[Any]]:
    return {key: values for key, values in ROWS.items() if key != name}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("columns", "code", "words"),
    [
        (without("src"), "SASH-DATA-002", ["'src'"]),
        ({**ROWS, "dst": ["x", "y"]}, "SASH-DATA-003", ["'dst'"]),
        ({**ROWS, "bytes": ["x", "y"]}, "SASH-DATA-004", ["Row 1", "'x'", "'bytes'", "BIGINT"]),
        ({**ROWS, "bytes": [1.0, 2.5]}, "SASH-DATA-004", ["Row 2", "2.5", "'bytes'"]),
        ({**ROWS, "src": [1, 2]}, "SASH-DATA-004", ["Row 1", "'src'", "STRING"]),
        ({**ROWS, "ts": [1, None]}, "SASH-DATA-005", ["Row 2", "'ts'"]),
        ({**ROWS, "ts": [1, 2**62]}, "SASH-DATA-006", ["Row 2", "'ts'"]),
    ],
)
def test_bad_rows_are_named(way: str, columns: dict[str, list[Any]], code: str, words: list[str]) -> None:
    with pytest.raises(SashError) as caught:
        admit(WAYS[way](columns), PACKETS)
    assert caught.value.code == code
    for word in words:
        assert word in caught.value.message


@pytest.mark.parametrize("thing", [5, "rows", None, {"ts": 1}, [1, 2], pa.array([1, 2]), object()])
def test_what_is_no_rows_is_told_so(thing: object) -> None:
    with pytest.raises(SashError, match="SASH-DATA-001"):
        admit(thing, PACKETS)


def test_a_dict_with_a_missing_field_names_its_row() -> None:
    with pytest.raises(SashError, match=r"Row 2 .* no column 'bytes'"):
        admit([{"ts": 1, "src": "a", "bytes": 1}, {"ts": 2, "src": "b"}], PACKETS)


def test_mixed_objects_in_pandas_name_the_row() -> None:
    frame = pd.DataFrame({"ts": [1, 2, 3], "src": ["a", "b", "c"], "bytes": [1, "x", 3]})
    with pytest.raises(SashError, match=r"Row 2 .*'x' in column 'bytes'"):
        admit(frame, PACKETS)


def test_a_name_in_other_letters_is_the_column() -> None:
    assert admit(pa.table({"TS": [1], "src": ["a"], "bytes": [1]}), PACKETS).ts.tolist() == [1]
    assert admit(pd.DataFrame({"TS": [1], "Src": ["a"], "bytes": [1]}), PACKETS).ts.tolist() == [1]


def test_two_names_in_other_letters_are_none() -> None:
    with pytest.raises(SashError, match="Name one column 'ts'"):
        admit(pa.table({"TS": [1], "Ts": [1], "src": ["a"], "bytes": [1]}), PACKETS)


def test_a_column_that_comes_twice() -> None:
    twice = pa.Table.from_arrays([pa.array([1])] * 4, names=["ts", "ts", "src", "bytes"])
    with pytest.raises(SashError, match="SASH-DATA-007"):
        admit(twice, PACKETS)


def test_strings_in_a_dictionary_and_small_integers_are_taken() -> None:
    table = pa.table(
        {
            "ts": pa.array([1], pa.int16()),
            "src": pa.array(["a"]).dictionary_encode(),
            "bytes": pa.array([1], pa.uint8()),
        }
    )
    assert [column.to_pylist() for column in admit(table, PACKETS).columns] == [[1], ["a"], [1]]
