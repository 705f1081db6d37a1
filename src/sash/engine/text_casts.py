"""Casts from text and to text, as Spark reads and prints values.

Text is matched against one regular expression per target; the parts are then computed with column
by column. Numbers print as Java prints them: 1.0, 1.0E10, never 1e+10.
"""

from __future__ import annotations

__all__ = ["from_text", "to_text"]

from decimal import ROUND_DOWN, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from sash.engine import decimals, iso_text
from sash.engine.cycles import YEARS, in_reach
from sash.engine.values import Faults, assemble, numbers
from sash.language.readable import BLANKS, FALSE, FLOATING, INTEGER, SPECIAL, TRUE

DECIMAL = r"^(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<power>[eE][+-]?[0-9]{1,5})?$"
_TRUE, _FALSE = pa.array(TRUE), pa.array(FALSE)

_CUT = Context(prec=400, rounding=ROUND_DOWN, Emax=999_999, Emin=-999_999)


def from_text(array: pa.Array, target: pa.DataType, faults: Faults) -> pa.Array:
    """Strings read as values of the target type."""
    if kinds.is_binary(target):
        return array.cast(target)
    text = pc.ascii_trim(array, BLANKS)
    if kinds.is_boolean(target):
        read = _boolean(text)
    elif kinds.is_integer(target):
        read = _integer(text, target)
    elif kinds.is_floating(target):
        read = _floating(text, target)
    elif kinds.is_decimal(target):
        read = _decimal(text, target)
    elif kinds.is_date32(target):
        read = iso_text.read_date(text)
    else:
        read = iso_text.read_timestamp(text)
    faults.add("cast", read.null_count - array.null_count)
    return read


def _only(text: pa.Array, matches: pa.Array) -> pa.Array:
    """The strings that match, NULL for the others."""
    return (
        text
        if pc.all(matches).as_py() is not False
        else pc.if_else(matches, text, pa.scalar(None, text.type))
    )


def _boolean(text: pa.Array) -> pa.Array:
    small = pc.ascii_lower(text)
    known = pc.or_(pc.is_in(small, _TRUE), pc.is_in(small, _FALSE))
    return pc.if_else(known, pc.is_in(small, _TRUE), pa.scalar(None, pa.bool_()))


def _integer(text: pa.Array, target: pa.DataType) -> pa.Array:
    good = _only(text, pc.match_substring_regex(text, INTEGER))
    good = pc.utf8_ltrim(good, "+") if pc.any(pc.starts_with(good, "+")).as_py() else good
    try:
        return good.cast(target)
    except pa.ArrowInvalid:  # out of range somewhere
        quiet = Faults()
        wide = decimals.fit(_decimal_256(good, 0), pa.decimal128(38, 0), quiet)
        bound = 2 ** (target.bit_width - 1)
        highest, lowest = (pa.scalar(Decimal(n), wide.type) for n in (bound - 1, -bound))
        inside = pc.and_(pc.less_equal(wide, highest), pc.greater_equal(wide, lowest))
        return pc.if_else(inside, wide, pa.scalar(None, wide.type)).cast(target)


def _floating(text: pa.Array, target: pa.DataType) -> pa.Array:
    plain = pc.match_substring_regex(text, FLOATING)
    good = _only(text, pc.or_(plain, pc.match_substring_regex(text, SPECIAL)))
    return pc.replace_substring_regex(good, "([0-9.])[dDfF]$", r"\1").cast(target)


def _decimal(text: pa.Array, target: pa.DataType) -> pa.Array:
    return decimals.fit(_decimal_256(text, target.scale), target, Faults())


def _decimal_256(text: pa.Array, scale: int) -> pa.Array:
    """Strings as 256-bit decimals with one digit more than the scale, for rounding; NULL if they are none.

    Numbers with more digits before the point than 38 less the scale become the least of them, which
    does not fit either and leaves room for the digits behind the point.
    """
    wide = pa.decimal256(76, scale + 1)
    most = 38 - scale
    parts = pc.extract_regex(text, DECIMAL)
    whole, part, power = (pc.struct_field(parts, name) for name in ("whole", "part", "power"))
    # "", "+", "." and "e5" match the pattern but hold no digit; "0" loses its only one to the zeros.
    digits = pc.match_substring_regex(text, r"^[+-]?\.?[0-9]")
    long = pc.greater(pc.utf8_length(whole), most)
    whole = pc.if_else(
        long, pa.scalar("1" + "0" * most), pc.if_else(pc.equal(whole, ""), pa.scalar("0"), whole)
    )
    part = pc.if_else(pc.equal(part, ""), pa.scalar("0"), pc.utf8_slice_codeunits(part, 0, scale + 1))
    sign = pc.utf8_trim(pc.struct_field(parts, "sign"), "+")
    plain = pc.and_(pc.and_(digits, parts.is_valid()), pc.equal(power, ""))
    written = pc.binary_join_element_wise(sign, whole, ".", part, "")
    result = pc.if_else(plain, written, pa.scalar(None, pa.string())).cast(wide)
    scientific = pc.and_(pc.and_(digits, parts.is_valid()), pc.not_equal(power, "")).fill_null(False)
    if not pc.any(scientific).as_py():
        return result
    rows = np.flatnonzero(scientific.to_numpy(zero_copy_only=False))
    shifted = pa.array([_shifted(each, scale) for each in text.take(pa.array(rows)).to_pylist()], wide)
    others = np.setdiff1d(np.arange(len(text)), rows)
    return assemble([(rows, shifted), (others, result.take(pa.array(others)))], len(text), wide)


def _shifted(text: str, scale: int) -> Decimal:
    number = _CUT.create_decimal(text)
    most = 38 - scale
    if number and number.adjusted() >= most:
        return (Decimal(10) ** most).copy_sign(number)
    return number.quantize(Decimal(1).scaleb(-scale - 1), context=_CUT)


def to_text(array: pa.Array, faults: Faults) -> pa.Array:
    """Values as Spark prints them."""
    type_ = array.type
    if kinds.is_floating(type_):
        return _float_text(array)
    if kinds.is_decimal(type_) and type_.scale > 6:
        return _decimal_text(array)
    if kinds.is_binary(type_):
        return _utf8(array, faults)
    if kinds.is_timestamp(type_) or kinds.is_date32(type_):
        return _moment_text(array)
    return array.cast(pa.string())


def _moment_text(array: pa.Array) -> pa.Array:
    """Years of more than four digits have a sign; seconds end with their last digit that is not 0."""
    near, cycles = in_reach(array)
    text = near.cast(pa.string())
    if cycles is not None:
        years = pa.array(numbers(pc.year(near)) + YEARS * cycles).cast(pa.string())
        far = pc.binary_join_element_wise(years, pc.utf8_slice_codeunits(text, 4), "")
        text = pc.if_else(pa.array(cycles != 0), far, text)
    if kinds.is_timestamp(array.type):
        text = pc.replace_substring_regex(text, r"\.?0+$", "") if len(text) else text
    return pc.replace_substring_regex(text, r"^(\d{5,})", r"+\1")


def _utf8(array: pa.Array, faults: Faults) -> pa.Array:
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        text = [None if each is None else _decoded(each) for each in array.to_pylist()]
        result = pa.array(text, pa.string())
        faults.add("cast", result.null_count - array.null_count)
        return result


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _decimal_text(array: pa.Array) -> pa.Array:
    """Without an exponent, however small: Arrow writes 1.0E-10, Spark 0.00000000010."""
    scale = array.type.scale
    digits = decimals.relabel(decimals.widen(array), decimals.WIDEST, 0)
    sign = pc.if_else(pc.less(digits, pa.scalar(Decimal(0), digits.type)), pa.scalar("-"), pa.scalar(""))
    padded = pc.utf8_lpad(pc.abs(digits).cast(pa.string()), scale + 1, "0")
    whole, part = pc.utf8_slice_codeunits(padded, 0, -scale), pc.utf8_slice_codeunits(padded, -scale)
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, whole, ""), part, ".")


SCIENTIFIC = (
    (r"^(-?\d)e\+?(-?\d+)$", r"\1.0E\2"),
    (r"^(-?\d\.\d+)e\+?(-?\d+)$", r"\1E\2"),
    (r"^(-?)(\d)(\d{7})(?:\.(\d+))?$", r"\1\2.\3\4E7"),
    (r"^(-?)(\d)(\d{8})(?:\.(\d+))?$", r"\1\2.\3\4E8"),
    (r"^(-?)(\d)(\d{9})(?:\.(\d+))?$", r"\1\2.\3\4E9"),
    (r"^(-?)0\.000([1-9])(\d*)$", r"\1\2.\3E-4"),
    (r"^(-?)0\.0000([1-9])(\d*)$", r"\1\2.\3E-5"),
    (r"^(-?)0\.00000([1-9])(\d*)$", r"\1\2.\3E-6"),
    (r"\.(\d+?)0+E", r".\1E"),
    (r"\.E", r".0E"),
)
"""From Arrow's text of numbers below 0.001 or from ten million on to Java's."""


def _float_text(array: pa.Array) -> pa.Array:
    text = array.cast(pa.string())
    size = np.abs(numbers(array))
    plain = (size == 0) | ((size >= 1e-3) & (size < 1e7))
    if plain.all():
        return pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    pieces = []
    for chosen, rules in ((plain, ((r"^(-?\d+)$", r"\1.0"),)), (~plain & np.isfinite(size), SCIENTIFIC)):
        rows = np.flatnonzero(chosen)
        part = text.take(pa.array(rows))
        for pattern, form in rules:
            part = pc.replace_substring_regex(part, pattern, form)
        pieces.append((rows, part))
    rows = np.flatnonzero(~np.isfinite(size))
    odd = text.take(pa.array(rows))
    for arrow, java in (("^nan$", "NaN"), ("^-nan$", "NaN"), ("inf$", "Infinity")):
        odd = pc.replace_substring_regex(odd, arrow, java)
    return assemble([*pieces, (rows, odd)], len(array), pa.string())
