"""Rows of columns by their places, half of the columns each in a thread where there is much to do.

What is gathered is set aside in the calling thread: memory that another thread takes stays with that
thread when it is given back, and lies idle there while this one takes more.
"""

from __future__ import annotations

__all__ = ["Task", "done", "gathered", "taking"]

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.fixed_width import as_column, moving_dtype, values_of
from sash.engine.kernels.gathering import gather
from sash.engine.parallel import in_parallel

Task = Callable[[], pa.Array]
"""Makes one column; its memory is set aside already where that can be."""

_MANY = 32_768
"""From this many rows on, gathering them is worth a second thread."""


def gathered(columns: Sequence[pa.Array], rows: np.ndarray) -> list[pa.Array]:
    """The given rows of every column.

    >>> columns = gathered([pa.array(["a", "b"]), pa.array([1, 2])], np.array([1, 1]))
    >>> [column.to_pylist() for column in columns]
    [['b', 'b'], [2, 2]]
    """
    return done([taking(column, rows) for column in columns], len(rows))


def done(tasks: Sequence[Task], rows: int) -> list[pa.Array]:
    """The columns that the tasks make, of so many rows each."""
    half = len(tasks) // 2
    parts = [lambda: [task() for task in tasks[:half]], lambda: [task() for task in tasks[half:]]]
    first, second = in_parallel(parts, worthwhile=half > 0 and rows > _MANY)
    return first + second


def taking(column: pa.Array, rows: np.ndarray) -> Task:
    """How to get the given rows of a column."""
    dtype = moving_dtype(column.type)
    if dtype is None or column.null_count:
        return lambda: pc.take(column, pa.array(rows), boundscheck=False)
    out = np.empty(len(rows), dtype)
    return partial(_filled, column.type, values_of(column, dtype), rows, out)


def _filled(type_: pa.DataType, values: np.ndarray, rows: np.ndarray, out: np.ndarray) -> pa.Array:
    gather(values, 0, rows, out)
    return as_column(type_, out)
