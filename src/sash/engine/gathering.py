"""Rows of columns by their places, some of the columns in a second thread where there is much to do.

That thread fills what the calling one has set aside: memory that it took itself would stay with it when
given back, and lie idle there while this one takes more.
"""

from __future__ import annotations

__all__ = ["MANY", "Task", "done", "gathered", "picked"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.fixed_width import as_column, moving_dtype, values_of
from sash.engine.kernels.gathering import gather
from sash.engine.parallel import in_parallel

MANY = 8_192
"""From this many rows on, gathering them is worth a second thread."""


@dataclass(frozen=True)
class Task:
    """Makes one column."""

    run: Callable[[], pa.Array]
    set_aside: bool
    """Whether its memory is set aside already, so that another thread may fill it; else it runs first."""


def picked(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The numbers at the given places: as indexing does, without making the places 64 bits wide.

    >>> picked(np.array([5, 6, 7]), np.array([2, 0], np.int32)).tolist()
    [7, 5]
    """
    out = np.empty(len(places), values.dtype)
    moved_as = np.dtype(f"u{values.itemsize}")
    gather(values.view(moved_as), 0, places, out.view(moved_as))
    return out


def gathered(columns: Sequence[pa.Array], rows: np.ndarray) -> list[pa.Array]:
    """The given rows of every column.

    >>> columns = gathered([pa.array(["a", "b"]), pa.array([1, 2])], np.array([1, 1]))
    >>> [column.to_pylist() for column in columns]
    [['b', 'b'], [2, 2]]
    """
    return done([_taking(column, rows) for column in columns], len(rows))


def done(tasks: Sequence[Task], rows: int) -> list[pa.Array]:
    """The columns that the tasks make, of so many rows each."""
    first = {i: task.run() for i, task in enumerate(tasks) if not task.set_aside}
    movable = [i for i, task in enumerate(tasks) if task.set_aside]
    halves = movable[: len(movable) // 2], movable[len(movable) // 2 :]
    parts = [lambda some=some: [tasks[i].run() for i in some] for some in halves]
    made = in_parallel(parts, worthwhile=len(movable) > 1 and rows > MANY)
    columns = first | dict(zip(movable, made[0] + made[1], strict=True))
    return [columns[i] for i in range(len(tasks))]


def _taking(column: pa.Array, rows: np.ndarray) -> Task:
    """How to get the given rows of a column."""
    dtype = moving_dtype(column.type)
    if dtype is None or column.null_count:
        return Task(lambda: pc.take(column, pa.array(rows), boundscheck=False), set_aside=False)
    out = np.empty(len(rows), dtype)
    return Task(partial(_filled, column.type, values_of(column, dtype), rows, out), set_aside=True)


def _filled(type_: pa.DataType, values: np.ndarray, rows: np.ndarray, out: np.ndarray) -> pa.Array:
    gather(values, 0, rows, out)
    return as_column(type_, out)
