"""What expressions are evaluated on: Arrow arrays, scalars that stand for a whole column, and faults.

A scalar stays a scalar for as long as a kernel takes one. Where Arrow has no kernel, NumPy works on
the values' own buffer, NULLs being kept apart in a mask. Faults count the rows that were made NULL.
"""

from __future__ import annotations

__all__ = [
    "Faults", "Kernel", "Value", "as_array", "assemble", "columns_of_length", "from_numbers", "length_of",
    "null_where", "numbers", "per_constant", "valid",
]  # fmt: skip

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Value = Any
"""A `pa.Array`, or a `pa.Scalar` that stands for as many equal rows as are asked for."""

Numbers = np.ndarray[tuple[int], np.dtype[Any]]
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(slots=True)
class Faults:
    """How many rows were made NULL, by cause: "cast", "division", "overflow".

    >>> faults = Faults()
    >>> faults.add("division", 2)
    >>> faults.counts, faults.total
    ({'division': 2}, 2)
    """

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, cause: str, rows: int) -> None:
        """Count so many rows more."""
        if rows:
            self.counts[cause] = self.counts.get(cause, 0) + int(rows)

    @property
    def total(self) -> int:
        """All causes together."""
        return sum(self.counts.values())

    def save(self) -> dict[str, pa.Array]:
        """The counts as two columns."""
        causes, rows = (
            pa.array(list(self.counts), pa.string()),
            pa.array(list(self.counts.values()), pa.int64()),
        )
        return {"cause": causes, "rows": rows}

    def load(self, saved: pa.Table) -> None:
        """Go on from saved counts."""
        causes, rows = (saved.column(name).to_pylist() for name in ("cause", "rows"))
        self.counts = dict(zip(causes, rows, strict=True))


Kernel = Callable[[Sequence[Value], pa.DataType, Faults], Value]
"""Evaluates one call: its arguments (at least one an array), its type, where to count faults."""


def as_array(value: Value, length: int) -> pa.Array:
    """The value as a column of so many rows; an array is itself, without a copy."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, length) if value.is_valid else pa.nulls(length, value.type)
    return value


def length_of(values: Iterable[Value]) -> int:
    """How many rows the arrays among the values have; 1 if all are scalars."""
    return next((len(value) for value in values if not isinstance(value, pa.Scalar)), 1)


def columns_of_length(values: Sequence[Value]) -> list[pa.Array]:
    """All values as columns of one length."""
    length = length_of(values)
    return [as_array(value, length) for value in values]


def numbers(array: pa.Array) -> Numbers:
    """The buffer of a fixed-width array as NumPy sees it; what stands where a NULL is, is arbitrary."""
    type_ = array.type
    if pa.types.is_boolean(type_):
        return np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False))
    if pa.types.is_floating(type_):
        dtype = np.dtype(f"f{type_.bit_width // 8}")
    else:
        dtype = np.dtype(f"i{type_.bit_width // 8}")
    if len(array) == 0 or array.buffers()[1] is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def valid(array: pa.Array) -> Mask:
    """True where the array is not NULL."""
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def from_numbers(values: Numbers, known: Mask | None, type_: pa.DataType) -> pa.Array:
    """An array of the type over NumPy values, NULL where `known` is false."""
    if pa.types.is_boolean(type_):
        return pa.array(values, type_, mask=None if known is None else ~known)
    width = type_.bit_width // 8
    kind = "f" if pa.types.is_floating(type_) else "i"
    data = np.ascontiguousarray(values.astype(np.dtype(f"{kind}{width}"), copy=False))
    bits = None
    if known is not None and not known.all():
        bits = pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [bits, pa.py_buffer(data)])


def null_where(value: Value, bad: Mask, faults: Faults, cause: str) -> Value:
    """The column with NULL where `bad`; those that were not NULL yet are counted as faults."""
    if not bad.any():
        return value
    array = as_array(value, len(bad))
    faults.add(cause, int(np.count_nonzero(bad & valid(array))))
    return pc.if_else(pa.array(bad), pa.scalar(None, array.type), array)


def assemble(pieces: Sequence[tuple[Numbers, pa.Array]], length: int, type_: pa.DataType) -> pa.Array:
    """One column from pieces, each with the positions of its rows; every position is in one piece.

    >>> pieces = [(np.array([2, 0]), pa.array([1, 2])), (np.array([1]), pa.array([3]))]
    >>> assemble(pieces, 3, pa.int64()).to_pylist()
    [2, 3, 1]
    """
    filled = [(rows, array) for rows, array in pieces if len(rows)]
    if not filled:
        return pa.nulls(length, type_)
    if len(filled) == 1 and len(filled[0][0]) == length and np.array_equal(filled[0][0], np.arange(length)):
        return filled[0][1]
    origin = np.empty(length, np.int64)
    origin[np.concatenate([rows for rows, _ in filled])] = np.arange(length)
    return pa.concat_arrays([array for _, array in filled]).take(pa.array(origin))


def per_constant(
    values: Sequence[Value],
    constant: Sequence[int],
    type_: pa.DataType,
    kernel: Callable[[list[Value]], Value],
) -> Value:
    """Call a kernel that wants some arguments as constants: once, or once per combination of them.

    The kernel gets Python values at the positions in `constant`, and arrays elsewhere. A NULL among
    the constants gives NULL.
    """
    length = length_of(values)
    places = [i for i in constant if i < len(values)]
    if all(isinstance(values[i], pa.Scalar) for i in places):
        if not all(values[i].is_valid for i in places):
            return pa.scalar(None, type_)
        return kernel([v.as_py() if i in places else as_array(v, length) for i, v in enumerate(values)])
    columns = [as_array(value, length) for value in values]
    pieces = []
    for rows, known in _combinations([columns[i] for i in places], length):
        if any(each is None for each in known):
            pieces.append((rows, pa.nulls(len(rows), type_)))
            continue
        chosen = dict(zip(places, known, strict=True))
        part = [chosen[i] if i in chosen else column.take(pa.array(rows)) for i, column in enumerate(columns)]
        pieces.append((rows, as_array(kernel(part), len(rows))))
    return assemble(pieces, length, type_)


def _combinations(columns: Sequence[pa.Array], length: int) -> Iterator[tuple[Numbers, tuple[object, ...]]]:
    """The rows of each distinct combination of values, with the values."""
    encoded = [column.dictionary_encode(null_encoding="encode") for column in columns]
    code = np.zeros(length, np.int64)
    for each in encoded:
        _, code = np.unique(code * len(each.dictionary) + numbers(each.indices), return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    for rows in np.split(order, starts[1:]) if length else []:
        yield rows, tuple(column[int(rows[0])].as_py() for column in columns)
