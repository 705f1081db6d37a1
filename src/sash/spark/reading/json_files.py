"""JSON lines: one object per line; a field that is not there is NULL.

Arrow reads lines that are objects whose fields are of the stream's types. Those around a line that
is not are read by Python with Spark's rules, so that a bad line costs itself alone.
"""

from __future__ import annotations

__all__ = ["read"]

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json
from pyarrow import types

from sash.engine.values import Mask
from sash.language.expressions import Field
from sash.spark.reading.content import Content, Unfit, settled
from sash.spark.reading.json_text import Array, Number, Object, parsed, parsed_with_source
from sash.spark.reading.read_options import ReadOptions
from sash.spark.reading.text_cells import as_utf8, halves, is_utf8, read_cells

_BLOCK = 16 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPECIAL = {"NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF"}


_BAD_BYTE = re.compile("[\udc80-\udcff]")
_CUT_CHARACTER = re.compile(
    "(?:[\udcc2-\udcdf]|[\udce0-\udcef][\udc80-\udcbf]?|[\udcf0-\udcf4][\udc80-\udcbf]{0,2})$"
)
"""The first bytes of a character whose last are missing, as Python marks bytes that are no UTF-8."""

_UNREADABLE = object()


class _SourceWanted(Exception):
    """An object or array is wanted as text, and its text is not known."""


def read(data: bytes, fields: Sequence[Field], options: ReadOptions) -> Content:
    """The rows of a file."""
    for one in fields:
        if any(types.is_map(part) and not types.is_string(part.key_type) for part in _parts(one.type)):
            raise Unfit(
                "SASH-SOURCE-002",
                f"cannot hold column '{one.name}': the keys of a MAP are texts in JSON.",
                "Give the MAP keys of type STRING, or write the stream as Parquet.",
            )
    if options.encoding == "utf-8":  # what is no text is told of by line
        data = data.removeprefix(b"\xef\xbb\xbf")
    else:
        data = as_utf8(data, options.encoding)
    data = _with_line_feeds(data)
    if not data.strip():
        return Content(pa.schema([pa.field(one.name, one.type) for one in fields]).empty_table())
    columns, marked = _columns(data, fields, options)
    return settled(pa.Table.from_arrays(columns, names=[one.name for one in fields]), marked, options.mode)


def _with_line_feeds(data: bytes) -> bytes:
    """A carriage return ends a line too, also by itself; Arrow takes it for a space."""
    if data.count(b"\r") == data.count(b"\r\n"):
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _columns(data: bytes, fields: Sequence[Field], options: ReadOptions) -> tuple[list[pa.Array], Mask]:
    table = _by_arrow(data, fields) if is_utf8(data) else None
    if table is not None:
        return _from_table(table, fields, options)
    if (two := halves(data)) is None:
        return _by_python(data, fields, options)
    (left, left_marked), (right, right_marked) = (_columns(half, fields, options) for half in two)
    columns = [pa.concat_arrays(pair) for pair in zip(left, right, strict=True)]
    return columns, np.concatenate([left_marked, right_marked])


def _from_table(
    table: pa.Table, fields: Sequence[Field], options: ReadOptions
) -> tuple[list[pa.Array], Mask]:
    columns, marked = [], np.zeros(len(table), bool)
    for one in fields:
        column = table.column(one.name)
        values = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        if types.is_binary(one.type):
            values, bad = _cells(values.to_pylist(), one.type, options)
        elif values.type != one.type:
            values, bad = read_cells(values, one.type, options)
        else:
            bad = np.zeros(len(values), bool)
        columns.append(values)
        marked |= bad
    return columns, marked


def _by_arrow(data: bytes, fields: Sequence[Field]) -> pa.Table | None:
    """The columns, those that are written as text still as text; None if Arrow refuses the file, or reads
    something within a nested column in another way than Spark."""
    within = [part for one in fields if types.is_nested(one.type) for part in _parts(one.type)]
    if any(types.is_map(part) or _is_text(part) for part in within):
        return None
    schema = pa.schema([pa.field(one.name, _written_as(one.type)) for one in fields])
    try:
        table = arrow_json.read_json(
            pa.py_buffer(data),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=_BLOCK),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        table.validate(full=True)  # Arrow's parser lets decimals through that are too long for their type
    except pa.ArrowException:
        return None
    return table if len(table) == _count_lines(data) else None


def _count_lines(data: bytes) -> int:
    """Lines that are not blank: Arrow would also take several objects of one line."""
    ends = data.count(b"\n")
    if b"\n\n" in data or b"\r" in data or b" \n" in data:
        return sum(1 for line in data.split(b"\n") if line.strip())
    return ends - data.startswith(b"\n") + (not data.endswith(b"\n"))


def _written_as(type_: pa.DataType) -> pa.DataType:
    return pa.string() if _is_text(type_) else type_


def _is_text(type_: pa.DataType) -> bool:
    return bool(types.is_timestamp(type_) or types.is_date(type_) or types.is_binary(type_))


def _parts(type_: pa.DataType) -> Iterator[pa.DataType]:
    """A type, and those of which it is made."""
    yield type_
    for i in range(type_.num_fields):
        yield from _parts(type_.field(i).type)


def _by_python(data: bytes, fields: Sequence[Field], options: ReadOptions) -> tuple[list[pa.Array], Mask]:
    try:
        return _by_parser(parsed, data, fields, options)
    except _SourceWanted:
        return _by_parser(parsed_with_source, data, fields, options)


def _by_parser(
    parser: Callable[[str], Any], data: bytes, fields: Sequence[Field], options: ReadOptions
) -> tuple[list[pa.Array], Mask]:
    lines = [line for line in data.split(b"\n") if line.strip()]
    names = {one.name for one in fields}
    objects = [one for line in lines for one in _objects(line, names, parser)]
    columns, marked = [], np.fromiter((one is None for one in objects), bool, len(objects))
    for one in fields:
        given = [None if row is None else row.get(one.name) for row in objects]
        values, bad = _cells(given, one.type, options)
        columns.append(values)
        marked |= bad
    return columns, marked


def _objects(
    line: bytes, names: Collection[str], parser: Callable[[str], Any]
) -> list[dict[str, Any] | None]:
    """What a line begins with: an object, the objects of an array, or None for what is neither."""
    try:
        found = parser(line.decode().strip()) if is_utf8(line) else _readable(line, names)
    except (ValueError, RecursionError):
        return [None]
    if isinstance(found, list) and all(isinstance(each, dict) for each in found):
        return [*found]
    return [found if isinstance(found, dict) else None]


def _readable(line: bytes, names: Collection[str]) -> Any:
    """A line with bytes that are no UTF-8; ValueError if it is none to Spark.

    Spark's parser goes on after a value that ends within a character, and gives up at any other such byte.
    """
    found = parsed_with_source(line.decode("utf-8", errors="surrogateescape").strip())
    for one in found if isinstance(found, list) else [found]:
        for name in one if isinstance(one, dict) else ():
            known = _without_bad_bytes(one[name])
            if _BAD_BYTE.search(name) or (known is not one[name] and name not in names):
                raise ValueError(name)
            one[name] = known
    return found


def _without_bad_bytes(value: Any) -> Any:
    """A value, or what stands for one that cannot be read."""
    text = value.source if isinstance(value, Object | Array) else value
    if not isinstance(text, str) or not _BAD_BYTE.search(text):
        return value
    if isinstance(value, str) and not _BAD_BYTE.search(_CUT_CHARACTER.sub("", text)):
        return _UNREADABLE
    raise ValueError("bytes that are no text")


def _cells(values: Sequence[Any], type_: pa.DataType, options: ReadOptions) -> tuple[pa.Array, Mask]:
    """Values as JSON has them, as a column, and in which of them something is not of its type.

    As with Spark, what does not fit is NULL by itself within a STRUCT; an ARRAY or MAP with such an
    element is NULL as a whole.
    """
    if types.is_struct(type_):
        return _structs(values, type_, options)
    if types.is_map(type_):
        return _maps(values, type_, options)
    if types.is_nested(type_):
        return _lists(values, type_, options)
    if types.is_binary(type_):
        column = pa.array([_decoded(value) for value in values], type_)
        return column, _lost(values, column)
    texts = pa.array([None if value is None else _text(value, type_) for value in values], pa.string())
    column, unread = read_cells(texts, type_, options)
    return column, _lost(values, texts) | unread


def _lost(values: Sequence[Any], column: pa.Array) -> Mask:
    """Where there was a value and the column has none."""
    given = np.fromiter((value is not None for value in values), bool, len(values))
    lost: Mask = given & column.is_null().to_numpy(zero_copy_only=False)
    return lost


def _structs(values: Sequence[Any], type_: pa.StructType, options: ReadOptions) -> tuple[pa.Array, Mask]:
    objects = [value if isinstance(value, dict) else None for value in values]
    bad = np.zeros(len(values), bool)
    columns = []
    for field in type_:
        given = [None if one is None else one.get(field.name) for one in objects]
        column, marked = _cells(given, field.type, options)
        columns.append(column)
        bad |= marked
    missing = pa.array([one is None for one in objects], pa.bool_())
    whole = pa.StructArray.from_arrays(columns, fields=list(type_), mask=missing)
    return whole, bad | _lost(values, whole)


def _lists(values: Sequence[Any], type_: pa.DataType, options: ReadOptions) -> tuple[pa.Array, Mask]:
    lists = [value if isinstance(value, list) else None for value in values]
    elements = [each for one in lists if one is not None for each in one]
    column, marked = _cells(elements, type_.value_type, options)
    offsets, bad, lost = _gathered(lists, elements, column, marked)
    whole = pa.ListArray.from_arrays(offsets, column, type=type_, mask=pa.array(lost))
    return whole, bad | _lost(values, whole)


def _maps(values: Sequence[Any], type_: pa.MapType, options: ReadOptions) -> tuple[pa.Array, Mask]:
    maps = [value if isinstance(value, dict) else None for value in values]
    keys = pa.array([name for one in maps if one is not None for name in one], pa.string())
    elements = [each for one in maps if one is not None for each in one.values()]
    column, marked = _cells(elements, type_.item_type, options)
    offsets, bad, lost = _gathered(maps, elements, column, marked)
    whole = pa.MapArray.from_arrays(offsets, keys, column, type=type_, mask=pa.array(lost))
    return whole, bad | _lost(values, whole)


def _gathered(
    wholes: Sequence[Any], elements: Sequence[Any], column: pa.Array, marked: Mask
) -> tuple[pa.Array, Mask, Mask]:
    """Where each whole's elements begin, which wholes have a bad one, and which are NULL."""
    lengths = np.array([0 if one is None else len(one) for one in wholes], np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    owners = np.repeat(np.arange(len(wholes)), lengths)
    bad = np.zeros(len(wholes), bool)
    bad[owners[marked]] = True
    lost = np.array([one is None for one in wholes], bool)
    lost[owners[_lost(elements, column)]] = True
    return offsets, bad, lost


def _text(value: Any, type_: pa.DataType) -> str | None:
    """The text from which a value of the type is read; None if JSON has another kind of value there."""
    number = isinstance(value, Number)
    if value is _UNREADABLE:
        return None
    if types.is_string(type_):
        return _as_text(value).encode("utf-8", errors="replace").decode("utf-8")
    if types.is_boolean(type_):
        return str(value).lower() if isinstance(value, bool) else None
    if types.is_integer(type_):
        return str(value) if number and value not in _SPECIAL else None
    if types.is_floating(type_):
        special = isinstance(value, str) and value in _SPECIAL
        return str(value).replace("INF", "Infinity") if number or special else None
    if types.is_decimal(type_):
        return str(value) if isinstance(value, str) else None
    if number:
        return None if types.is_date(type_) else _since_1970(value)
    return str(value) if isinstance(value, str) else None


def _as_text(value: Any) -> str:
    """A value for a STRING: objects, arrays and numbers as they were written."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, Object | Array):
        raise _SourceWanted
    return value.source


def _since_1970(number: str) -> str | None:
    """Spark's meaning of a number for a TIMESTAMP: seconds."""
    try:
        return (_EPOCH + timedelta(seconds=int(number))).isoformat()
    except (ValueError, OverflowError):
        return None


def _decoded(value: Any) -> bytes | None:
    """The bytes that a text stands for; None if it stands for none."""
    if not isinstance(value, str) or isinstance(value, Number):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
