"""Comparisons and three-valued logic, with Spark's NaN: equal to itself, above every other number.

Arrow compares as IEEE does; only columns that do hold a NaN are corrected. -0.0 equals 0.0.
"""

from __future__ import annotations

__all__ = ["KERNELS"]

from collections.abc import Callable, Sequence
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.casts import cast
from sash.engine.values import Faults, Kernel, Value, as_array, columns_of_length, length_of

_COMPARE: dict[str, Callable[..., Value]] = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "lt": pc.less,
    "le": pc.less_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
}


def _has_nan(values: Sequence[Value]) -> bool:
    if not pa.types.is_floating(values[0].type):
        return False
    return any(_true_somewhere(pc.is_nan(value)) for value in values)


def _true_somewhere(value: Value) -> bool:
    return bool(value.as_py() if isinstance(value, pa.Scalar) else pc.any(value).as_py())


def compare(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """One of eq, ne, lt, le, gt, ge over two values of one type."""
    if pa.types.is_null(arguments[0].type):
        return pa.scalar(None, pa.bool_())
    if not _has_nan(arguments):
        return _COMPARE[name](*arguments)
    left, right = arguments
    if name in ("ne", "ge", "le"):
        return pc.invert(compare({"ne": "eq", "ge": "lt", "le": "gt"}[name], arguments, type_, faults))
    if name == "gt":
        return compare("lt", (right, left), type_, faults)
    strange, strange_too = pc.is_nan(left), pc.is_nan(right)
    if name == "eq":
        return pc.or_(pc.equal(left, right), pc.and_(strange, strange_too))
    return pc.or_(pc.less(left, right), pc.and_(pc.invert(strange), strange_too))


def _null_safe(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    left, right = columns_of_length(arguments)
    if pa.types.is_null(left.type):
        return pa.scalar(True)
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(compare("eq", (left, right), type_, faults).fill_null(False), both)


def _in_list(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """True if one is equal; else NULL if the first or one of them is NULL; else false."""
    first, *others = arguments
    if not all(isinstance(other, pa.Scalar) for other in others) or isinstance(first, pa.Scalar):
        return reduce(pc.or_kleene, [compare("eq", (first, other), type_, faults) for other in others])
    known = [other for other in others if other.is_valid]
    sought = pa.concat_arrays([pa.nulls(0, first.type), *(as_array(other, 1) for other in known)])
    if pa.types.is_floating(first.type):
        # The hash of -0.0 differs from that of 0.0; adding 0.0 makes them one.
        zero = pa.scalar(0.0, first.type)
        found = pc.is_in(pc.add(first, zero), pc.add(sought, zero))
    else:
        found = pc.is_in(first, sought)
    unknown = pa.scalar(None, pa.bool_())
    if len(known) < len(others):
        return pc.if_else(found, pa.scalar(True), unknown)
    return found if first.null_count == 0 else pc.if_else(pc.is_valid(first), found, unknown)


def _extreme(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """The greatest or least that is not NULL, the first of equal ones; NaN is the greatest number."""
    if pa.types.is_null(type_):
        return pa.scalar(None, type_)
    if not (pa.types.is_floating(type_) or pa.types.is_boolean(type_)):
        kernel = {"greatest": pc.max_element_wise, "least": pc.min_element_wise}[name]
        return kernel(*arguments)
    order = {"greatest": "gt", "least": "lt"}[name]
    best, *others = columns_of_length(arguments)
    for other in others:
        better = pc.or_(compare(order, (other, best), type_, faults).fill_null(False), pc.is_null(best))
        best = pc.if_else(better, other, best)
    return best


def _nullif(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    first = as_array(arguments[0], length_of(arguments))
    alike = cast([first], arguments[1].type, faults)
    same = as_array(compare("eq", (alike, arguments[1]), type_, faults), len(first)).fill_null(False)
    return pc.if_else(same, pa.scalar(None, type_), first)


def _simple(
    kernel: Callable[[Value], Value], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    return kernel(arguments[0])


def _isnan(value: Value) -> Value:
    return as_array(pc.is_nan(value), length_of([value])).fill_null(False)


KERNELS: dict[str, Kernel] = {
    **{name: partial(compare, name) for name in _COMPARE},
    "eq_null_safe": _null_safe,
    "in_list": _in_list,
    "greatest": partial(_extreme, "greatest"),
    "least": partial(_extreme, "least"),
    "nullif": _nullif,
    "not": partial(_simple, pc.invert),
    "is_null": partial(_simple, pc.is_null),
    "is_not_null": partial(_simple, pc.is_valid),
    "isnan": partial(_simple, _isnan),
}
