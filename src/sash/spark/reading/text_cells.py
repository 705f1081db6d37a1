"""Cells of text files: a column of text as values of a stream's type, NULL where it is no such value.

Arrow's own parser is tried first, since it is fast and all or nothing; what it refuses is read as
Spark casts text, less what Spark's readers are stricter in. Both say the same of what both accept.
"""

from __future__ import annotations

__all__ = ["as_utf8", "halves", "is_utf8", "read_cells"]

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from sash.engine.text_casts import from_text
from sash.engine.values import Faults, Mask
from sash.spark.reading.read_options import ReadOptions
from sash.spark.reading.regions import regional_times
from sash.spark.reading.timestamp_formats import to_iso

_SMALL = 8192


def read_cells(text: pa.Array, target: pa.DataType, options: ReadOptions) -> tuple[pa.Array, Mask]:
    """The texts as values, and which of them are none.

    >>> values, bad = read_cells(pa.array(["1", "x", None]), pa.int64(), ReadOptions("/data"))
    >>> values.to_pylist(), bad.tolist()
    ([1, None, None], [False, True, False])
    """
    if types.is_string(target):
        return text, np.zeros(len(text), bool)
    pattern = options.timestamp_format if types.is_timestamp(target) else None
    pattern = options.date_format if types.is_date(target) else pattern
    plain = text if pattern is None else to_iso(text, pattern)
    values = None if pattern is not None or types.is_boolean(target) else _by_arrow(plain, target)
    if values is None:
        values = from_text(_strictly(plain, target), target, Faults())
        if types.is_timestamp(target) and pc.any(pc.match_substring(plain, "/")).as_py():
            values = pc.coalesce(values, regional_times(plain))
    if values.null_count == text.null_count:
        return values, np.zeros(len(text), bool)
    bad = pc.and_(text.is_valid(), values.is_null())
    return values, np.asarray(bad.to_numpy(zero_copy_only=False))


def as_utf8(data: bytes, encoding: str) -> bytes:
    """Text as UTF-8; bytes that are no text become the sign that stands for such."""
    if encoding == "utf-8" and data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if encoding == "utf-8" and is_utf8(data):
        return data
    return data.decode(encoding, errors="replace").removeprefix("\ufeff").encode("utf-8", errors="replace")


def halves(data: bytes) -> tuple[bytes, bytes] | None:
    """Text in two, at a line's end near its middle; None if it is not worth it.

    Arrow refuses text as a whole for one bad line; halved again and again, little is left to read slowly.

    >>> [len(half) for half in halves(b"0123456789abcde\\n" * 1024)]
    [8192, 8192]
    """
    end = data.find(b"\n", len(data) // 2 - 1) + 1
    return None if len(data) < _SMALL or end in (0, len(data)) else (data[:end], data[end:])


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text."""
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _by_arrow(text: pa.Array, target: pa.DataType) -> pa.Array | None:
    try:
        values = text.cast(target)
    except pa.ArrowException:
        return None
    if types.is_integer(target):  # Arrow also reads hexadecimal digits, which Spark does not
        odd = pc.match_substring(text, "x", ignore_case=True)
    elif types.is_floating(target):  # and infinity in any spelling
        odd = pc.invert(pc.is_finite(values))
    else:
        return values
    return None if pc.any(odd).as_py() else values


def _strictly(text: pa.Array, target: pa.DataType) -> pa.Array:
    """Without what a cast would take but Spark's readers do not."""
    if types.is_boolean(target):
        good = pc.match_substring_regex(text, "(?i)^(true|false)$")
    elif types.is_decimal(target):  # commas are there for the eye only
        text = pc.replace_substring(text, ",", "")
        good = pc.invert(pc.match_substring_regex(text, r"\s"))
    elif types.is_integer(target):
        good = pc.invert(pc.match_substring_regex(text, r"\s"))
    elif types.is_floating(target):
        words = r"^\s*([+-]?Infinity|[+-]?Inf|NaN)\s*$"
        good = pc.or_(pc.match_substring_regex(text, "[0-9]"), pc.match_substring_regex(text, words))
    else:
        return text
    return pc.if_else(good, text, pa.scalar(None, text.type))
