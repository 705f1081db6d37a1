"""Narrowed columns are what they were: any integers and times, with and without NULLs, whole and cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.lifetimes import FOREVER, Changes, repeated
from sash.spark.buckets.narrowing import narrow_table, narrowed, wide_table, widened
from sash.spark.buckets.packs import Pack, read_pack, write_pack

TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.timestamp("us"),
         pa.timestamp("us", tz="UTC"), pa.date32(), pa.time32("ms"), pa.duration("us")]  # fmt: skip


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    type_ = draw(st.sampled_from(TYPES))
    unsigned = pa.types.is_unsigned_integer(type_)
    bits = type_.bit_width
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if pa.types.is_time(type_):
        low, high = 0, 86_399_999
    base = draw(st.integers(low, high))
    near = draw(st.sampled_from([0, 1, 200, 300, 70_000, 2**33, 2**64]))
    numbers = draw(st.lists(st.integers(max(low, base - near), min(high, base + near)), max_size=12))
    if draw(st.booleans()):
        numbers.sort()
    if draw(st.booleans()):
        numbers = [n if draw(st.integers(0, 3)) else None for n in numbers]
    plain = pa.array(numbers, pa.uint64() if unsigned else pa.int64())
    plain = plain.cast({8: pa.uint8(), 64: pa.uint64()}[bits] if unsigned else f"int{bits}")
    column = plain.view(type_)
    start = draw(st.integers(0, len(column)))
    return column.slice(start)


@given(st.lists(columns(), min_size=1, max_size=3))
def test_widening_gives_back_what_was_narrowed(some: list[pa.Array]) -> None:
    rows = min(map(len, some))
    some = [column.slice(0, rows) for column in some]
    forms, bits, rest = narrowed(some)
    types = [column.type for column in some]
    back = widened(forms, bits, rest, types, rows)
    assert all(one.equals(other) for one, other in zip(back, some, strict=True))
    assert [column.type for column in back] == types


@given(columns())
def test_a_column_is_never_wider_for_it(column: pa.Array) -> None:
    (form,), bits, rest = narrowed([column])
    assert bool(rest) == (form.how == "as_it_is")
    assert form.bits <= column.type.bit_width
    words = [-(-len(column) * width // 64) for width in (form.bits, form.nulls)]
    assert bits.size == 8 * sum(words)


@given(columns())
def test_numbers_begin_anywhere_in_memory(column: pa.Array) -> None:
    forms, bits, rest = narrowed([column])
    moved = pa.py_buffer(b"." + bytes(bits)).slice(1)
    (back,) = widened(forms, moved, rest, [column.type], len(column))
    assert back.equals(column)


@pytest.mark.parametrize("extra", [pa.nulls(3_000), pa.array([{"n": i} for i in range(3_000)])])
def test_a_table_keeps_its_schema_and_what_is_no_integer(extra: pa.Array) -> None:
    numbers = pa.chunked_array([pa.array(range(2_000)), pa.array([None] * 1_000, pa.int64())])
    table = pa.table({"n": numbers, "extra": extra, "half": pa.array(np.arange(3_000) / 2)})
    table = table.replace_schema_metadata({"whose": "mine"})
    assert wide_table(*narrow_table(table)).equals(table, check_metadata=True)
    same = pa.table({"one": pa.array([1] * 2_000, pa.int16())})
    bits, others = narrow_table(same)
    assert (bits.size, others.num_columns) == (0, 0)
    assert wide_table(bits, others).equals(same)


def test_values_that_fall_by_as_much_as_their_type_holds() -> None:
    column = pa.array([127, -128, 127], pa.int8())
    forms, bits, rest = narrowed([column])
    assert widened(forms, bits, rest, [pa.int8()], 3) == [column]


def test_a_pack_of_several_flows_of_which_some_are_compressed() -> None:
    n = 1_001
    begin = np.arange(n)
    hosts = pa.array([f"host {i % 7}" for i in range(n)])
    texts = Changes((hosts,), begin, repeated(FOREVER, n), repeated(1, n))
    numbers = Changes((pa.array(begin * 3 % 1_000),), begin, begin + 9, repeated(1, n))
    schemas = {"texts": pa.schema([("t", pa.string())]), "numbers": pa.schema([("n", pa.int64())])}
    flows = {"texts": texts, "numbers": numbers, "again": texts}
    back = read_pack(pa.py_buffer(write_pack(Pack((0,), flows))), schemas | {"again": schemas["texts"]}).rows
    for name, rows in flows.items():
        assert back[name].columns[0].equals(rows.columns[0])
        assert back[name].until.tolist() == rows.until.tolist()


def test_a_pack_of_narrow_rows_beside_texts() -> None:
    n = 5_000
    begin = 1_700_000_000_000_000 + np.arange(n) * 7
    rows = Changes(
        (pa.array(begin).view(pa.timestamp("us")), pa.array([f"host {i % 9}" for i in range(n)]),
         pa.array([5] * n)),
        begin, repeated(FOREVER, n), repeated(1, n),
    )  # fmt: skip
    schema = pa.schema([("ts", pa.timestamp("us")), ("host", pa.string()), ("five", pa.int64())])
    data = write_pack(Pack((0,), {"f": rows}))
    assert len(data) < n * 3  # of 26
    back = read_pack(pa.py_buffer(data), {"f": schema}).rows["f"]
    assert [c.to_pylist() for c in back.columns] == [c.to_pylist() for c in rows.columns]
    assert back.begin.tolist() == begin.tolist()
    ends = Changes(rows.columns, begin, begin + 60, np.where(begin % 2, 1, -1))
    back = read_pack(pa.py_buffer(write_pack(Pack((0,), {"f": ends}))), {"f": schema}).rows["f"]
    assert back.until.tolist() == ends.until.tolist()
    assert back.weight.tolist() == ends.weight.tolist()
