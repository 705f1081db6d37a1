"""Functions of text. Places count characters from 1; patterns are compiled once per distinct pattern.

Arrow's kernels take patterns and lengths as constants: where they come from columns, the rows are
taken apart by them, evaluated, and put back together (`per_constant`).
"""

from __future__ import annotations

__all__ = ["KERNELS"]

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.values import (
    Faults,
    Kernel,
    Numbers,
    Value,
    as_array,
    columns_of_length,
    from_numbers,
    length_of,
    null_where,
    numbers,
    per_constant,
    valid,
)

FAR = 2**31 - 1
"""No string has more characters."""

LONGEST = 2**26
"""More characters than this are not filled in: one row must not take all memory."""


_LONGER_IN_CAPITALS = (
    r"[\x{DF}\x{149}\x{1F0}\x{390}\x{3B0}\x{587}\x{1E96}-\x{1E9A}\x{1F50}\x{1F52}\x{1F54}\x{1F56}"
    r"\x{1F80}-\x{1FAF}\x{1FB2}-\x{1FB4}\x{1FB6}\x{1FB7}\x{1FBC}\x{1FC2}-\x{1FC4}\x{1FC6}\x{1FC7}\x{1FCC}"
    r"\x{1FD2}\x{1FD3}\x{1FD6}\x{1FD7}\x{1FE2}-\x{1FE4}\x{1FE6}\x{1FE7}\x{1FF2}-\x{1FF4}\x{1FF6}\x{1FF7}"
    r"\x{1FFC}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}]"
)
_ODD_IN_SMALL = r"[\x{130}\x{3A3}]"
"""Letters that become several, as the German sharp s, and the sigma, which hangs on its place in the word."""


def _upper(array: pa.Array) -> pa.Array:
    return _with_odd(pc.utf8_upper, _LONGER_IN_CAPITALS, str.upper, array)


def _lower(array: pa.Array) -> pa.Array:
    return _with_odd(pc.utf8_lower, _ODD_IN_SMALL, str.lower, array)


def _with_odd(
    kernel: Callable[[pa.Array], pa.Array], odd: str, by_hand: Callable[[str], str], array: pa.Array
) -> pa.Array:
    """Arrow's letter for letter, and Python's for the texts with odd letters."""
    plain = kernel(array)
    if pc.all(pc.string_is_ascii(array)).as_py() is not False:
        return plain
    found = pc.match_substring_regex(array, odd).fill_null(False)
    texts = [by_hand(text) for text in array.filter(found).to_pylist()]
    return pc.replace_with_mask(plain, found, pa.array(texts, plain.type)) if texts else plain


def _plain(
    kernel: Callable[[Value], Value], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    return kernel(arguments[0])


def _constant(
    kernel: Callable[..., Value],
    constant: Sequence[int],
    arguments: Sequence[Value],
    type_: pa.DataType,
    faults: Faults,
) -> Value:
    """A kernel whose arguments at the given positions are constants."""
    return per_constant(arguments, constant, type_, lambda given: kernel(*given))


def _length(value: Value) -> Value:
    counted = pc.binary_length(value) if pa.types.is_binary(value.type) else pc.utf8_length(value)
    return counted.cast(pa.int32())


def _octet_length(value: Value) -> Value:
    return pc.binary_length(value).cast(pa.int32())


def _initcap(value: Value) -> Value:
    words = pc.split_pattern(as_array(value, length_of([value])), " ")
    offsets = pa.array(numbers(words.offsets), mask=np.append(~valid(words), False))
    return pc.binary_join(pa.ListArray.from_arrays(offsets, pc.utf8_capitalize(words.values)), " ")


def _ascii(value: Value) -> Value:
    first = pc.utf8_slice_codeunits(as_array(value, length_of([value])), 0, 1).dictionary_encode()
    codes = pa.array([ord(each) if each else 0 for each in first.dictionary.to_pylist()], pa.int32())
    return codes.take(first.indices)


def _slice(array: pa.Array, start: int, stop: int | None) -> pa.Array:
    start, stop = max(min(start, FAR), -FAR), None if stop is None else max(min(stop, FAR), -FAR)
    if pa.types.is_binary(array.type):
        return pc.binary_slice(array, start, stop)
    return pc.utf8_slice_codeunits(array, start, stop)


def _substring(array: pa.Array, place: int, count: int | None = None) -> pa.Array:
    if count is not None and count <= 0:
        return _slice(array, 0, 0)
    start = place - 1 if place > 0 else place
    if place >= 0:
        start = max(start, 0)
        return _slice(array, start, None if count is None else start + count)
    stop = None if count is None or start + count >= 0 else start + count
    return _slice(array, start, stop)


def _left(array: pa.Array, count: int) -> pa.Array:
    return _slice(array, 0, max(count, 0))


def _right(array: pa.Array, count: int) -> pa.Array:
    return _slice(array, -count, None) if count > 0 else _slice(array, 0, 0)


def _trim(kernel: Callable[..., Value], array: pa.Array, characters: str = " ") -> pa.Array:
    return kernel(array, characters) if characters else array


def _pad(front: bool, array: pa.Array, count: int, filling: str = " ") -> pa.Array:
    """Cut to the count, then filled up to it; one filling text per missing length."""
    kept = _slice(array, 0, max(count, 0))
    if not filling or count <= 0:
        return kept
    missing = count - numbers(pc.utf8_length(kept).fill_null(count)).astype(np.int64)
    lengths, which = np.unique(missing, return_inverse=True)
    whole = filling * (count // len(filling) + 1)
    added = pa.array([whole[:length] for length in lengths.tolist()], pa.string()).take(pa.array(which))
    pair = (added, kept) if front else (kept, added)
    return pc.binary_join_element_wise(*pair, "")


def _sized(kernel: Kernel, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """A kernel whose second argument says how long the result becomes; NULL where that is too long."""
    text, count, *others = arguments
    counts = as_array(count, length_of(arguments))
    if not (numbers(counts) > LONGEST).any():
        return kernel(arguments, type_, faults)
    counts = null_where(counts, numbers(counts) > LONGEST, faults, "overflow")
    return kernel([text, counts, *others], type_, faults)


def _repeat(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    text, times = columns_of_length(arguments)
    return pc.binary_repeat(text, pc.max_element_wise(times, pa.scalar(0, times.type), skip_nulls=False))


def _concat(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    if not arguments:
        return pa.scalar("", type_)
    return pc.binary_join_element_wise(*arguments, pa.scalar(b"" if pa.types.is_binary(type_) else "", type_))


def _concat_ws(separator: str, *texts: pa.Array) -> Value:
    """Each text that is not NULL after a separator, and the first separator cut off.

    Arrow's join that skips NULLs loses the rows in which all are.
    """
    if not texts:
        return pa.scalar("")
    pieces = [pc.binary_join_element_wise(separator, text, "").fill_null("") for text in texts]
    return pc.utf8_slice_codeunits(pc.binary_join_element_wise(*pieces, ""), len(separator), None)


def _replace(array: pa.Array, sought: str, replacement: str = "") -> pa.Array:
    return pc.replace_substring(array, sought, replacement) if sought else array


def _instr(array: pa.Array, sought: str) -> pa.Array:
    """Arrow finds the byte; the character is that many bytes less those that continue a character."""
    found = pc.find_substring(array, sought)
    at = np.where(valid(array), numbers(found), -1)
    result = np.where(at >= 0, _characters_before(array, np.maximum(at, 0)) + 1, 0)
    return from_numbers(result, valid(array), pa.int32())


def _characters_before(array: pa.Array, at: Numbers) -> Numbers:
    """How many characters of each string lie before a byte of it."""
    buffers = array.buffers()
    if len(array) == 0 or buffers[2] is None or buffers[2].size == 0:
        return np.zeros(len(array), np.int64)
    starts = np.frombuffer(buffers[1], np.int32, len(array) + 1, array.offset * 4)[:-1].astype(np.int64)
    data = np.frombuffer(buffers[2], np.uint8)
    begins = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
    starts = np.minimum(starts, len(data))
    return np.asarray(begins[np.minimum(starts + at, len(data))] - begins[starts])


def _locate(sought: str, array: pa.Array, place: int = 1) -> pa.Array:
    if place <= 0:
        return from_numbers(np.zeros(len(array), np.int32), valid(array), pa.int32())
    if not sought:
        return from_numbers(np.ones(len(array), np.int32), valid(array), pa.int32())
    found = _instr(array if place == 1 else _slice(array, place - 1, None), sought)
    return pc.if_else(pc.greater(found, 0), pc.add(found, place - 1), found).cast(pa.int32())


def _split_part(array: pa.Array, separator: str, place: int) -> pa.Array:
    if place == 0:
        return pa.nulls(len(array), pa.string())
    if not separator:
        return array if place in (1, -1) else _slice(array, 0, 0)
    lists = pc.split_pattern(array, separator)
    starts = numbers(lists.offsets)[:-1] if len(lists) else np.zeros(0, np.int32)
    counts = numbers(pc.list_value_length(lists).fill_null(0))
    place = max(min(place, FAR), -FAR)
    index = place - 1 if place > 0 else counts.astype(np.int64) + place
    inside = (index >= 0) & (index < counts)
    picked = lists.values.take(pa.array(np.where(inside, starts + index, 0), mask=~inside))
    return pc.if_else(pa.array(valid(array)), picked.fill_null(""), pa.scalar(None, pa.string()))


def _like(ignore_case: bool, array: pa.Array, pattern: str, escape: str = "\\") -> pa.Array:
    return pc.match_like(array, _with_backslash(pattern, escape), ignore_case=ignore_case)


def _with_backslash(pattern: str, escape: str) -> str:
    """The pattern with another escape character turned into the usual one."""
    if escape == "\\":
        return pattern
    pieces, characters = [], iter(pattern)
    for each in characters:
        if each == escape:
            following = next(characters, escape)
            pieces.append("\\" + following if following in "%_\\" else following)
        else:
            pieces.append("\\\\" if each == "\\" else each)
    return "".join(pieces)


def _patterned(
    kernel: Callable[..., Value], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    """A kernel with a regular expression (and what follows it) as constants; a bad one gives NULL."""

    def call(given: list[Any]) -> Value:
        try:
            return kernel(*given)
        except (pa.ArrowInvalid, IndexError):
            faults.add("cast", len(given[0]) - given[0].null_count)
            return pa.nulls(len(given[0]), type_)

    return per_constant(arguments, range(1, len(arguments)), type_, call)


def _regexp_replace(array: pa.Array, pattern: str, replacement: str) -> pa.Array:
    return pc.replace_substring_regex(array, pattern, _rewrite(replacement))


def _rewrite(replacement: str) -> str:
    """Java's $1 and \\$ as RE2 writes them: \\1 and $."""
    pieces, characters = [], iter(replacement)
    for each in characters:
        if each == "$":
            pieces.append("\\")
        elif each == "\\":
            following = next(characters, "")
            pieces.append("\\\\" if following == "\\" else following)
        else:
            pieces.append(each)
    return "".join(pieces)


def _regexp_extract(array: pa.Array, pattern: str, group: int = 1) -> pa.Array:
    named, groups = _named(pattern)
    if not 0 <= group <= groups:
        raise IndexError(group)
    found = pc.struct_field(pc.extract_regex(array, named), f"g{group}")
    return pc.if_else(pc.is_valid(array), found.fill_null(""), pa.scalar(None, pa.string()))


def _named(pattern: str) -> tuple[str, int]:
    """The pattern with every group named g1, g2, ... inside a group g0, and how many they are.

    >>> _named("a(b)(?:c)[(]")
    ('(?P<g0>a(?P<g1>b)(?:c)[(])', 1)
    """
    pieces, groups, inside, i = [], 0, False, 0
    while i < len(pattern):
        each = pattern[i]
        if each == "\\":
            pieces.append(pattern[i : i + 2])
            i += 2
            continue
        rest = pattern[i + 1 :]
        named = rest.startswith(("?P<", "?<")) and not rest.startswith(("?<=", "?<!"))
        if each == "(" and not inside and (named or not rest.startswith("?")):
            groups += 1
            pieces.append(f"(?P<g{groups}>")
            i = pattern.index(">", i) if named else i
        else:
            inside = each == "[" or (inside and each != "]")
            pieces.append(each)
        i += 1
    return f"(?P<g0>{''.join(pieces)})", groups


KERNELS: dict[str, Kernel] = {
    "upper": partial(_plain, _upper),
    "lower": partial(_plain, _lower),
    "reverse": partial(_plain, pc.utf8_reverse),
    "initcap": partial(_plain, _initcap),
    "length": partial(_plain, _length),
    "octet_length": partial(_plain, _octet_length),
    "ascii": partial(_plain, _ascii),
    "substring": partial(_constant, _substring, (1, 2)),
    "left": partial(_constant, _left, (1,)),
    "right": partial(_constant, _right, (1,)),
    "trim": partial(_constant, partial(_trim, pc.utf8_trim), (1,)),
    "ltrim": partial(_constant, partial(_trim, pc.utf8_ltrim), (1,)),
    "rtrim": partial(_constant, partial(_trim, pc.utf8_rtrim), (1,)),
    "lpad": partial(_sized, partial(_constant, partial(_pad, True), (1, 2))),
    "rpad": partial(_sized, partial(_constant, partial(_pad, False), (1, 2))),
    "repeat": partial(_sized, _repeat),
    "concat": _concat,
    "concat_ws": partial(_constant, _concat_ws, (0,)),
    "replace": partial(_constant, _replace, (1, 2)),
    "instr": partial(_constant, _instr, (1,)),
    "locate": partial(_constant, _locate, (0, 2)),
    "startswith": partial(_constant, pc.starts_with, (1,)),
    "endswith": partial(_constant, pc.ends_with, (1,)),
    "contains": partial(_constant, pc.match_substring, (1,)),
    "split_part": partial(_constant, _split_part, (1, 2)),
    "like": partial(_constant, partial(_like, False), (1, 2)),
    "ilike": partial(_constant, partial(_like, True), (1, 2)),
    "rlike": partial(_patterned, pc.match_substring_regex),
    "regexp_replace": partial(_patterned, _regexp_replace),
    "regexp_extract": partial(_patterned, _regexp_extract),
}
