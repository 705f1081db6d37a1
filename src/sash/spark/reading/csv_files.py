"""CSV files: columns by the names of a header, else by position; cells as Spark reads them.

Arrow reads the file as text columns. The lines around a row that has too few or too many cells, or a
quote that is not closed, are read by Python's reader, so that a bad row costs itself alone. A header
is matched by name, which Spark does not do: it would go by position.
"""

from __future__ import annotations

__all__ = ["inspect", "read"]

import csv
import functools
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from pyarrow import types

from sash.engine.values import Mask
from sash.language.expressions import Field
from sash.language.types import sql_name
from sash.spark.reading.content import Content, Unfit, named, settled
from sash.spark.reading.read_options import ReadOptions
from sash.spark.reading.text_cells import as_utf8, halves, read_cells

_BLOCK = 16 << 20
_HEADER = 1 << 20
_ANY_LINE_END = re.compile(b"\r\n|\n|\r")
_LINE_END = re.compile("\r\n|\n|\r")
_BLANKS = bytes(range(33))
_BLANK_ENDS = (b" \n", b"\t\n", b" \r", b"\t\r")
_BLANK_LINE = re.compile(rb"(?<=[\r\n])[\x00-\x09\x0b\x0c\x0e-\x20]++(?=[\r\n]|\Z)")


@dataclass(frozen=True)
class _Cells:
    """The wanted columns as text, and which rows have too few or too many cells."""

    columns: list[pa.Array]
    ragged: Mask

    def __add__(self, other: _Cells) -> _Cells:
        columns = [pa.concat_arrays(pair) for pair in zip(self.columns, other.columns, strict=True)]
        return _Cells(columns, np.concatenate([self.ragged, other.ragged]))


@dataclass(frozen=True)
class _Layout:
    """How many cells a row has, and which of them are wanted."""

    width: int
    places: list[int]


def inspect(source: pa.NativeFile, fields: Sequence[Field], options: ReadOptions) -> None:
    """Check the header of a file that has one."""
    first = as_utf8(source.read(_HEADER), options.encoding)
    header, _ = _split_header(_without_blank_lines(first, options, len(fields)), options)
    if header:
        named(fields, header)


def read(data: bytes, fields: Sequence[Field], all_fields: Sequence[Field], options: ReadOptions) -> Content:
    """The rows of a file; `all_fields` are the file's columns if it has no header."""
    for one in fields:
        if types.is_nested(one.type):
            raise Unfit(
                "SASH-SOURCE-002",
                f"cannot hold column '{one.name}': CSV has no {sql_name(one.type)}.",
                "Write the stream as Parquet or JSON lines.",
            )
    data = as_utf8(data, options.encoding)
    if options.multi_line:
        data = _with_line_feeds(data)
    data = _without_blank_lines(_requoted(data, options), options, len(all_fields))
    if options.header:
        header, data = _split_header(data, options)
        layout = _Layout(len(header), named(fields, header) if header else [])
    else:
        known = [one.name for one in all_fields]
        layout = _Layout(len(known), [known.index(one.name) for one in fields])
    if not data.strip(b"\r\n"):
        return Content(pa.schema([pa.field(one.name, one.type) for one in fields]).empty_table())
    cells = _cells(data, layout, options)
    columns, marked = [], cells.ragged
    for text, one in zip(cells.columns, fields, strict=True):
        if options.null_text:
            text = pc.if_else(pc.equal(text, options.null_text), pa.scalar(None, text.type), text)
        values, bad = read_cells(text, one.type, options)
        columns.append(values)
        marked = marked | bad
    table = pa.Table.from_arrays(columns, names=[one.name for one in fields])
    return settled(table, marked, options.mode)


def _with_line_feeds(data: bytes) -> bytes:
    """Line ends as line feeds, if the first one is another: within quotes they are as well to Spark."""
    first = _ANY_LINE_END.search(data)
    return data if first is None or first[0] == b"\n" else data.replace(first[0], b"\n")


def _without_blank_lines(data: bytes, options: ReadOptions, width: int) -> bytes:
    """Without blank lines at the start, and without those that Arrow would take for rows.

    To Spark, lines of spaces are no rows. Where a row has several cells, Arrow refuses them.
    """
    if options.multi_line:
        return data.lstrip(b"\r\n")
    start = len(data) - len(data.lstrip(_BLANKS))
    data = data[max(data.rfind(b"\n", 0, start), data.rfind(b"\r", 0, start)) + 1 :]
    if (width == 1 or options.separator <= " ") and any(end in data for end in _BLANK_ENDS):
        return _BLANK_LINE.sub(b"", data)
    return data


def _requoted(data: bytes, options: ReadOptions) -> bytes:
    """Quoted cells as both readers know them: quotes within are doubled, nothing follows the last.

    An escaped quote or escape loses its escape; before any other sign, and outside of quotes, the escape
    is plain text. A cell that goes on after its closing quote is kept as it stands, quotes included.
    """
    quote, escape = options.quote.encode(), options.escape.encode()
    if not quote or not escape or quote not in data:
        return data
    if (escape == quote or escape not in data) and not _has_stray_quotes(data, options):
        return data
    cell, escaped = (
        _cell(options),
        re.compile(rb"%b([%b%b])" % tuple(map(re.escape, (escape, escape, quote)))),
    )

    def mended(match: re.Match[bytes]) -> bytes:
        before, inside, closing, rest = match.groups()
        text = escaped.sub(rb"\1", inside) + closing[len(quote) :]
        if rest is not None:
            text = quote + text + quote + rest
        return bytes(before + quote + text.replace(quote, quote + quote) + quote)

    return cell.sub(mended, data)


def _cell(options: ReadOptions) -> re.Pattern[bytes]:
    """A quoted cell: what is before it, inside, the quotes that close it, and what follows if it goes on."""
    signs = (options.quote, options.escape, options.separator)
    quote, escape, separator = (re.escape(sign.encode()) for sign in signs)
    ends, anything = (b"", rb"(?s:.)") if options.multi_line else (rb"\r\n", rb"[^\r\n]")
    pair, closing = (escape + anything, quote + b"++") if escape != quote else (quote + quote, quote)
    before = rb"(^|[\r\n]|%b)%b" % (separator, quote)
    inside = rb"((?:[^%b%b%b]++|%b)*+)(%b)" % (quote, escape, ends, pair, closing)
    ended = rb"(?:(?!%b)[\x00-\x09\x0b\x0c\x0e-\x20])*+(?=%b|[\r\n]|\Z)" % (separator, separator)
    goes_on = rb"([^%b\r\n]*+)" % separator
    return re.compile(before + inside + b"(?:" + ended + b"|" + goes_on + b")")


def _has_stray_quotes(data: bytes, options: ReadOptions) -> bool:
    """Whether quotes are elsewhere than around whole cells, doubled ones aside if they stand for one."""
    if options.escape == options.quote:
        data = data.replace(options.quote.encode() * 2, b"")
    signs = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    places = np.flatnonzero(signs == ord(options.quote))
    for beside in (signs[places[::2] - 1], signs[places[1::2] + 1]):
        border = (beside == ord(options.separator)) | (beside == ord("\n")) | (beside == ord("\r"))
        if not border.all():
            return True
    return False


def _split_header(data: bytes, options: ReadOptions) -> tuple[list[str], bytes]:
    """The names in the first row, and what follows it."""
    text = io.StringIO(data.decode("utf-8", errors="replace"), newline="")
    header = next(_rows(text if options.multi_line else [text.readline().rstrip("\r\n")], options), [])
    return header, text.read().encode()


def _cells(data: bytes, layout: _Layout, options: ReadOptions) -> _Cells:
    if options.multi_line or not _has_open_quotes(data, options):
        cells = _by_arrow(data, layout, options)
        if cells is not None:
            return cells
    if not options.multi_line and (two := halves(data)) is not None:
        return _cells(two[0], layout, options) + _cells(two[1], layout, options)
    return _by_python(data, layout, options)


def _has_open_quotes(data: bytes, options: ReadOptions) -> bool:
    quote = options.quote.encode()
    if not quote or quote not in data:
        return False
    lines = pc.split_pattern_regex(pa.array([data.decode()], pa.large_string()), _LINE_END.pattern).flatten()
    odd = pc.bit_wise_and(pc.count_substring(lines, options.quote), 1)
    return bool(pc.any(pc.equal(odd, 1)).as_py())


def _by_arrow(data: bytes, layout: _Layout, options: ReadOptions) -> _Cells | None:
    """The columns by Arrow's reader; None if it refuses a row."""
    names = [str(i) for i in range(layout.width)]
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(data),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=options.separator,
                quote_char=options.quote or False,
                newlines_in_values=options.multi_line,
            ),
            convert_options=arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=[names[i] for i in layout.places],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=not options.null_text,
            ),
        )
    except pa.ArrowInvalid:
        return None
    columns = [_whole(column) for column in table.columns]
    return _Cells(columns, np.zeros(len(table), bool))


def _by_python(data: bytes, layout: _Layout, options: ReadOptions) -> _Cells:
    """The columns by Python's reader: missing cells are NULL, surplus ones are left out."""
    rows = list(_rows(_lines(data.decode(), options), options))
    ragged = np.fromiter((len(row) != layout.width for row in rows), bool, len(rows))
    columns = [
        pa.array([(row[place] or None) if place < len(row) else None for row in rows], pa.string())
        for place in layout.places
    ]
    return _Cells(columns, ragged)


def _lines(text: str, options: ReadOptions) -> Iterable[str]:
    if options.multi_line:
        return io.StringIO(text, newline="")
    return (line for line in _LINE_END.split(text) if line.strip(_BLANKS.decode()))


def _rows(lines: Iterable[str], options: ReadOptions) -> Iterator[list[str]]:
    """Rows that are not empty, each line on its own unless values may hold line ends."""
    csv.field_size_limit(2**31 - 1)
    reader: Callable[[Iterable[str]], Iterator[list[str]]] = functools.partial(
        csv.reader,
        delimiter=options.separator,
        quotechar=options.quote or None,
        quoting=csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
    )
    rows = reader(lines) if options.multi_line else (row for line in lines for row in reader([line]))
    return (row for row in rows if row)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
