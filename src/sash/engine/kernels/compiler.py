"""How kernels are compiled: ahead of use by their signatures, cached, without the GIL.

Arrays that come from Arrow are read-only; a parameter typed `reads_*` takes those and writable
ones alike, one typed `writes_*` only the latter.
"""

from __future__ import annotations

__all__ = [
    "boolean", "fixed_widths", "float64", "inlined", "int64", "kernel", "reads", "reads_i32", "reads_i64",
    "reads_u32", "reads_u64", "reads_u8", "reads_words", "uint64", "writes", "writes_f64", "writes_i32",
    "writes_i64", "writes_i8", "writes_table_f64", "writes_table_i32", "writes_table_i64", "writes_u32",
    "writes_u64", "writes_u8", "writes_words",
]  # fmt: skip

from collections.abc import Callable
from typing import Any

import numba
from numba import types

int64, uint64, float64, boolean = types.int64, types.uint64, types.float64, types.boolean
fixed_widths = (types.uint8, types.uint16, types.uint32, types.uint64, types.complex128)
"""One type for each width of values that are only moved: 1, 2, 4, 8 and 16 bytes."""


def reads(of: Any, dimensions: int = 1) -> Any:
    """An array that is only read."""
    return types.Array(of, dimensions, "C", readonly=True)


def writes(of: Any, dimensions: int = 1) -> Any:
    """An array that is written to."""
    return types.Array(of, dimensions, "C")


reads_i64, reads_i32, reads_u64 = reads(types.int64), reads(types.int32), reads(types.uint64)
reads_u8, reads_u32, reads_words = reads(types.uint8), reads(types.uint32), reads(types.int64, 2)
writes_i64, writes_i32, writes_u64 = writes(types.int64), writes(types.int32), writes(types.uint64)
writes_u8, writes_f64, writes_words = writes(types.uint8), writes(types.float64), writes(types.int64, 2)
writes_u32, writes_i8 = writes(types.uint32), writes(types.int8)
writes_table_i64, writes_table_f64 = writes(types.int64, 2), writes(types.float64, 2)
writes_table_i32 = writes(types.int32, 2)


def kernel(signature: Any) -> Callable[[Any], Any]:
    """Compile for exactly one signature, a tuple of parameters or result(parameters), or a list of some.

    Arithmetic on instants and hashes wraps around, as in C.
    """

    def compile_it(function: Any) -> Any:
        return numba.njit(signature, cache=True, nogil=True, error_model="numpy")(function)

    return compile_it


def inlined(function: Any) -> Any:
    """Copy a function into the kernels that use it: passing it their arrays would cost more than it does."""
    return numba.njit(inline="always", error_model="numpy")(function)
