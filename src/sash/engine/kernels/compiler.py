"""How kernels are compiled: ahead of use by their signatures, cached, without the GIL.

Arrays that come from Arrow are read-only; a parameter typed `reads_*` takes those and writable
ones alike, one typed `writes_*` only the latter.
"""

from __future__ import annotations

__all__ = [
    "boolean", "float64", "inlined", "int64", "kernel", "reads_i32", "reads_i64", "reads_u8",
    "reads_u64",
    "reads_words", "uint64", "writes_f64", "writes_i32", "writes_i64", "writes_table_f64",
    "writes_table_i32", "writes_table_i64", "writes_u8", "writes_u64", "writes_words",
]  # fmt: skip

from collections.abc import Callable
from typing import Any

import numba
from numba import types

int64, uint64, float64, boolean = types.int64, types.uint64, types.float64, types.boolean


def _reads(of: Any, dimensions: int = 1) -> Any:
    return types.Array(of, dimensions, "C", readonly=True)


def _writes(of: Any, dimensions: int = 1) -> Any:
    return types.Array(of, dimensions, "C")


reads_i64, reads_i32, reads_u64 = _reads(types.int64), _reads(types.int32), _reads(types.uint64)
reads_u8, reads_words = _reads(types.uint8), _reads(types.int64, 2)
writes_i64, writes_i32, writes_u64 = _writes(types.int64), _writes(types.int32), _writes(types.uint64)
writes_u8, writes_f64, writes_words = _writes(types.uint8), _writes(types.float64), _writes(types.int64, 2)
writes_table_i64, writes_table_f64 = _writes(types.int64, 2), _writes(types.float64, 2)
writes_table_i32 = _writes(types.int32, 2)


def kernel(signature: Any) -> Callable[[Any], Any]:
    """Compile for exactly one signature: a tuple of parameters, or result(parameters).

    Arithmetic on instants and hashes wraps around, as in C.
    """

    def compile_it(function: Any) -> Any:
        return numba.njit(signature, cache=True, nogil=True, error_model="numpy")(function)

    return compile_it


def inlined(function: Any) -> Any:
    """Copy a function into the kernels that use it: passing it their arrays would cost more than it does."""
    return numba.njit(inline="always", error_model="numpy")(function)
