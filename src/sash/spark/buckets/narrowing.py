"""Integers and times in as few bytes as they need: most of what crosses and is kept are small numbers.

A column becomes what is added to its least value, or, where it never falls, to the value before, in the
narrowest unsigned type that holds it; a column of one value becomes nothing. That takes about as many
bytes as a general compressor leaves, in a thirtieth of its time.
"""

from __future__ import annotations

__all__ = ["AS_IT_IS", "Form", "narrow_table", "narrowed", "wide_table", "widened", "written_types"]

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.fixed_width import as_column, valid_marks, values_of

_WIDTHS = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_NARROW_TYPES = {width.itemsize: pa.from_numpy_dtype(width) for width in _WIDTHS}
_FEW = 1_024
"""Rows: a table that has fewer is left alone."""
_ROWS, _FORMS, _SCHEMA = b"sash.rows", b"sash.forms", b"sash.schema"
_NARROW = 2
"""Bytes: a column that takes no more is not looked at any further."""


class Form(NamedTuple):
    """How a column is written: `as_it_is`; `same`, all values are the base; `above` the base; in `steps`."""

    how: str
    base: int = 0
    width: int = 0
    """In bytes."""


AS_IT_IS = Form("as_it_is")


def narrowed(columns: Sequence[pa.Array]) -> tuple[list[pa.Array], list[Form]]:
    """The columns that are to be written (those of one value are not), and the form of each.

    >>> columns = [pa.array([1000, 1003, None]), pa.array([7, 7, 7]), pa.array(["a", "b", "c"])]
    >>> arrays, forms = narrowed(columns)
    >>> [str(array.type) for array in arrays], [form.how for form in forms]
    (['uint8', 'string'], ['above', 'same', 'as_it_is'])
    >>> widened(arrays, forms, [column.type for column in columns], 3) == columns
    True
    """
    arrays, forms = [], []
    for column in columns:
        array, form = _narrowed(column)
        forms.append(form)
        if array is not None:
            arrays.append(array)
    return arrays, forms


def widened(
    arrays: Sequence[pa.Array], forms: Sequence[Form], types: Sequence[pa.DataType], rows: int
) -> list[pa.Array]:
    """What `narrowed` was given: columns of these types, with that many rows."""
    rest = iter(arrays)
    return [
        _widened(None if form.how == "same" else next(rest), form, type_, rows)
        for form, type_ in zip(forms, types, strict=True)
    ]


def written_types(forms: Sequence[Form], types: Sequence[pa.DataType]) -> list[pa.DataType]:
    """The types of what `narrowed` gives to be written for columns of these types."""
    return [
        type_ if form == AS_IT_IS else _NARROW_TYPES[form.width]
        for form, type_ in zip(forms, types, strict=True)
        if form.how != "same"
    ]


def narrow_table(table: pa.Table) -> pa.Table:
    """A table with narrowed columns that says what it was; one of few rows stays as it is.

    >>> table = pa.table({"n": range(5_000), "one": [1] * 5_000})
    >>> narrow = narrow_table(table)
    >>> narrow.nbytes, wide_table(narrow).equals(table)
    (10000, True)
    """
    if table.num_rows < _FEW:
        return table
    columns = [column if _dtype(column.type) is None else column.combine_chunks() for column in table.columns]
    arrays, forms = narrowed(columns)
    known = {_ROWS: str(table.num_rows), _FORMS: json.dumps(forms), _SCHEMA: bytes(table.schema.serialize())}
    narrow = pa.table(arrays, names=[str(i) for i in range(len(arrays))])
    return narrow.replace_schema_metadata(known)


def wide_table(table: pa.Table) -> pa.Table:
    """What `narrow_table` was given."""
    known = table.schema.metadata or {}
    if _FORMS not in known:
        return table
    schema = pa.ipc.read_schema(pa.py_buffer(known[_SCHEMA]))
    forms = [Form(*form) for form in json.loads(known[_FORMS])]
    return pa.table(widened(table.columns, forms, schema.types, int(known[_ROWS])), schema=schema)


def _narrowed(column: pa.Array) -> tuple[pa.Array | None, Form]:
    dtype = _dtype(column.type)
    if dtype is None or not len(column):
        return column, AS_IT_IS
    values = values_of(column, dtype)
    valid = valid_marks(column) if column.null_count else None
    held = values if valid is None else values[valid.astype(bool)]
    if not len(held):
        return column, AS_IT_IS
    least = int(held.min())
    span = int(held.max()) - least
    if span == 0 and valid is None:
        return None, Form("same", least)
    width = _width(span)
    if valid is None and (width is None or width.itemsize > _NARROW) and span < 2**63:
        steps = np.diff(values, prepend=values[:1])
        if int(steps.min()) >= 0:
            narrower = _width(int(steps.max()))
            if narrower is not None and (width is None or narrower.itemsize < width.itemsize):
                return pa.array(steps.astype(narrower)), Form("steps", least, narrower.itemsize)
    if width is None or width.itemsize >= dtype.itemsize:
        return column, AS_IT_IS
    # What lies under a NULL goes round; nobody reads it.
    narrow = (values - dtype.type(least)).astype(width)
    return as_column(_NARROW_TYPES[width.itemsize], narrow, valid), Form("above", least, width.itemsize)


def _widened(array: pa.Array | None, form: Form, type_: pa.DataType, rows: int) -> pa.Array:
    if form.how == "as_it_is":
        return array
    dtype = _dtype(type_)
    assert dtype is not None, "other types are written as they are"
    if array is None:
        return as_column(type_, np.full(rows, form.base, dtype))
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    values = values_of(array, np.dtype(array.type.to_pandas_dtype()))
    if form.how == "steps":
        wide = np.cumsum(values, dtype=dtype)
    else:
        wide = values.astype(dtype)
    wide += dtype.type(form.base)
    return as_column(type_, wide, valid_marks(array) if array.null_count else None)


def _width(span: int) -> np.dtype | None:
    """The narrowest type for numbers from 0 to `span`.

    >>> _width(255), _width(256), _width(2**32)
    (dtype('uint8'), dtype('uint16'), None)
    """
    return next((width for width in _WIDTHS if span <= np.iinfo(width).max), None)


def _dtype(type_: pa.DataType) -> np.dtype | None:
    """As which integers the values of a type are taken; None if they are none."""
    if pa.types.is_integer(type_):
        own: np.dtype = np.dtype(type_.to_pandas_dtype())
        return own
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        return np.dtype(np.int64 if type_.bit_width == 64 else np.int32)
    return None
