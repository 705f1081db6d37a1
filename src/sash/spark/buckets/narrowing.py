"""Integers and times in as few bits as they need: most of what crosses and is kept are small numbers.

A column becomes what is added to its least value, or, where it never falls, to the value before, in so
many bits for each value as the greatest takes; a column of one value becomes nothing. That takes about as
long as casting the numbers to a narrower type.
"""

from __future__ import annotations

__all__ = ["Form", "narrow_table", "narrowed", "wide_table", "widened"]

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.fixed_width import as_column, valid_marks, values_of
from sash.engine.kernels.bits import squeeze, stretch

_MOST_BITS = 56
"""Numbers that take more are left to a compressor: little would be saved."""
_NARROW = 4
"""Bits: a column that takes no more is not looked at any further."""
_FEW = 1_024
"""Rows: a table that has fewer is left alone."""
_ROWS, _FORMS, _SCHEMA = b"sash.rows", b"sash.forms", b"sash.schema"


class Form(NamedTuple):
    """How a column is written: `as_it_is`; `same`, all values are the base; `above` the base; in `steps`."""

    how: str
    base: int = 0
    bits: int = 0
    nulls: bool = False
    """Whether a bit for each row says if it has a value."""


_AS_IT_IS = Form("as_it_is")


def narrowed(columns: Sequence[pa.Array]) -> tuple[list[Form], pa.Buffer, list[pa.Array]]:
    """The form of each column, the bits of those that are narrow, and those that stay as they are.

    >>> columns = [pa.array([1000, 1003, None]), pa.array([7, 7, 7]), pa.array(["a", "b", "c"])]
    >>> forms, bits, rest = narrowed(columns)
    >>> [form.how for form in forms], bits.size, [str(array.type) for array in rest]
    (['above', 'same', 'as_it_is'], 16, ['string'])
    >>> widened(forms, bits, rest, [column.type for column in columns], 3) == columns
    True
    """
    forms: list[Form] = []
    words: list[np.ndarray] = []
    rest: list[pa.Array] = []
    for column in columns:
        form, own = _narrowed(column)
        forms.append(form)
        words.extend(own)
        if form == _AS_IT_IS:
            rest.append(column)
    return forms, pa.py_buffer(np.concatenate([np.empty(0, np.uint64), *words])), rest


def widened(
    forms: Sequence[Form], bits: pa.Buffer, rest: Sequence[pa.Array], types: Sequence[pa.DataType], rows: int
) -> list[pa.Array]:
    """What `narrowed` was given: columns of these types, with that many rows."""
    words = np.frombuffer(bits, np.uint64)
    words = words if words.flags.aligned else words.copy()
    others = iter(rest)
    columns, at = [], 0
    for form, type_ in zip(forms, types, strict=True):
        if form == _AS_IT_IS:
            columns.append(next(others))
        else:
            size = _count(form.bits, rows) + _count(form.nulls, rows)
            columns.append(_widened(words[at : at + size], form, type_, rows))
            at += size
    return columns


def narrow_table(table: pa.Table) -> tuple[pa.Buffer, pa.Table]:
    """A table as the bits of its narrow columns and the others, which say what it was; one of few rows
    stays as it is.

    >>> table = pa.table({"n": range(5_000), "one": [1] * 5_000})
    >>> bits, others = narrow_table(table)
    >>> bits.size, others.num_columns, wide_table(bits, others).equals(table)
    (632, 0, True)
    """
    if table.num_rows < _FEW:
        return pa.py_buffer(b""), table
    columns = [column if _dtype(column.type) is None else column.combine_chunks() for column in table.columns]
    forms, bits, rest = narrowed(columns)
    known = {_ROWS: str(table.num_rows), _FORMS: json.dumps(forms), _SCHEMA: bytes(table.schema.serialize())}
    others = pa.table(rest, names=[str(i) for i in range(len(rest))])
    return bits, others.replace_schema_metadata(known)


def wide_table(bits: pa.Buffer, others: pa.Table) -> pa.Table:
    """What `narrow_table` was given."""
    known = others.schema.metadata or {}
    if _FORMS not in known:
        return others
    schema = pa.ipc.read_schema(pa.py_buffer(known[_SCHEMA]))
    forms = [Form(*form) for form in json.loads(known[_FORMS])]
    return pa.table(widened(forms, bits, others.columns, schema.types, int(known[_ROWS])), schema=schema)


def _narrowed(column: pa.Array) -> tuple[Form, list[np.ndarray]]:
    """A column's form and its words: those of the numbers, then those that say where there are any."""
    dtype = _dtype(column.type)
    if dtype is None or not len(column):
        return _AS_IT_IS, []
    values = values_of(column, dtype)
    valid = valid_marks(column) if column.null_count else None
    held = values if valid is None else values[valid.astype(np.bool_)]
    if not len(held):
        return _AS_IT_IS, []
    least = int(held.min())
    bits = (int(held.max()) - least).bit_length()
    if bits == 0 and valid is None:
        return Form("same", least), []
    wide = values.view(np.uint64) if dtype.itemsize == 8 else values.astype(np.uint64)
    if valid is None and bits > _NARROW and _never_falls(values):
        steps = np.diff(wide, prepend=wide[:1])
        narrower = int(steps.max()).bit_length()
        if narrower < bits:
            return Form("steps", least, narrower), _words(steps, narrower)
    if bits > _MOST_BITS:
        return _AS_IT_IS, []
    above = wide - np.uint64(least % 2**64)
    if valid is None:
        return Form("above", least, bits), _words(above, bits)
    above *= valid  # anything may lie under a NULL
    return Form("above", least, bits, nulls=True), [*_words(above, bits), *_words(valid, 1)]


def _never_falls(values: np.ndarray) -> bool:
    """Whether values rise or stay; most columns that do not show it soon."""
    return all(bool((some[1:] >= some[:-1]).all()) for some in (values[:64], values))


def _words(numbers: np.ndarray, bits: int) -> list[np.ndarray]:
    """Numbers of so many bits as words; nothing if they have none."""
    if not bits:
        return []
    words = np.empty(_count(bits, len(numbers)), np.uint64)
    squeeze(numbers.astype(np.uint64, copy=False), bits, words)
    return [words]


def _numbers(words: np.ndarray, bits: int, rows: int) -> np.ndarray:
    """What `_words` was given."""
    numbers = np.zeros(rows, np.uint64)
    if bits:
        stretch(words, bits, numbers)
    return numbers


def _count(bits: int, rows: int) -> int:
    """How many words numbers of so many bits take."""
    return -(-rows * bits // 64)


def _widened(words: np.ndarray, form: Form, type_: pa.DataType, rows: int) -> pa.Array:
    dtype = _dtype(type_)
    assert dtype is not None, "other types are written as they are"
    if form.how == "same":
        return as_column(type_, np.full(rows, form.base, dtype))
    own = _count(form.bits, rows)
    numbers = _numbers(words[:own], form.bits, rows)
    if form.how == "steps":
        np.cumsum(numbers, out=numbers)
    numbers += np.uint64(form.base % 2**64)
    values = numbers.astype(dtype, copy=False) if dtype.itemsize < 8 else numbers.view(dtype)
    valid = _numbers(words[own:], 1, rows).astype(np.uint8) if form.nulls else None
    return as_column(type_, values, valid)


def _dtype(type_: pa.DataType) -> np.dtype | None:
    """As which integers the values of a type are taken; None if they are none."""
    if pa.types.is_integer(type_):
        own: np.dtype = np.dtype(type_.to_pandas_dtype())
        return own
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        return np.dtype(np.int64 if type_.bit_width == 64 else np.int32)
    return None
