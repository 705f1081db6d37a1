"""Cells of fixture tables: text to values of an Arrow type, and back.

NULL is NULL. Strings are bare, or in single quotes where bare would mislead (empty, NULL, a leading
or trailing blank, a bar). Timestamps are ISO with a blank, lists and structs are JSON, bytes 0x....
"""

from __future__ import annotations

__all__ = ["guess_cell", "read_cell", "render_table", "show_cell", "split_cells"]

import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

import pyarrow as pa


def split_cells(line: str) -> list[str]:
    """The cells of a line such as `| 1 | 'a | b' |`, without the blanks around them.

    >>> split_cells("| 1 | 'a | b' |  |")
    ['1', "'a | b'", '']
    """
    cells: list[str] = []
    rest = line.strip()
    if not rest.startswith("|"):
        raise ValueError(f"a row of a table begins with a bar: {line!r}")
    rest = rest[1:]
    while rest.strip():
        rest = rest.lstrip()
        end = _quote_end(rest) if rest.startswith("'") else 0
        bar = rest.find("|", end)
        if bar < 0:
            raise ValueError(f"a row of a table ends with a bar: {line!r}")
        cells.append(rest[:bar].strip())
        rest = rest[bar + 1 :]
    return cells


def _quote_end(text: str) -> int:
    """The place after the quote that closes a quoted cell; two quotes stand for one inside."""
    place = 1
    while (place := text.find("'", place)) >= 0:
        if text[place + 1 : place + 2] != "'":
            return place + 1
        place += 2
    return 0


def read_cell(text: str, type_: pa.DataType) -> object:
    """The value a cell stands for; ValueError if it has none of that type.

    >>> read_cell("7", pa.int64()), read_cell("NULL", pa.int64()), read_cell("'it''s'", pa.string())
    (7, None, "it's")
    """
    if text == "NULL":
        return None
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return _unquoted(text)
    text = _unquoted(text)
    try:
        return _read_plain(text, type_)
    except (InvalidOperation, KeyError) as error:
        raise ValueError(f"{text!r} is not a value of type {type_}") from error


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _read_plain(text: str, type_: pa.DataType) -> object:
    if pa.types.is_boolean(type_):
        return {"true": True, "false": False}[text.lower()]
    if pa.types.is_integer(type_):
        return int(text)
    if pa.types.is_floating(type_):
        return float(text)
    if pa.types.is_decimal(type_):
        return Decimal(text)
    if pa.types.is_date(type_):
        return date.fromisoformat(text)
    if pa.types.is_timestamp(type_):
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    if pa.types.is_binary(type_):
        return bytes.fromhex(text.removeprefix("0x"))
    if pa.types.is_nested(type_):
        return json.loads(text)
    return text


def guess_cell(text: str) -> object:
    """The value of a cell whose column has no type: NULL, an integer, a number, else text.

    >>> guess_cell("7"), guess_cell("x"), guess_cell("NULL")
    (7, 'x', None)
    """
    if text == "NULL":
        return None
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return _unquoted(text)


def show_cell(value: object) -> str:
    """The text of a value, such that `read_cell` gives it back.

    >>> show_cell(1.5), show_cell(""), show_cell(None), show_cell(datetime(2024, 1, 1, 0, 0, 1))
    ('1.5', "''", 'NULL', '2024-01-01 00:00:01')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _show_float(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, default=str)
    if isinstance(value, str):
        misleading = value in ("", "NULL") or value != value.strip() or value[0] == "'" or "|" in value
        return "'" + value.replace("'", "''") + "'" if misleading else value
    return str(value)


def _show_float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def render_table(lead: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table after its lead, bars aligned.

    >>> print(*render_table("PUSH s", ["ts", "a"], [["10", "x"]]), sep="\\n")
    PUSH s | ts | a |
           | 10 | x |
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for number, row in enumerate([header, *rows]):
        cells = " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(f"{lead if number == 0 else ' ' * len(lead)} | {cells} |")
    return lines
