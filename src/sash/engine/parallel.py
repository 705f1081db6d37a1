"""Two hands for work that comes in independent parts: kernels and Arrow release the GIL.

Threads are made when first needed and shared by all circuits of the process.
"""

from __future__ import annotations

__all__ = ["gathered", "gathered_across", "in_parallel"]

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Result = TypeVar("Result")

_MANY = 32_768
"""From this many rows on, gathering them is worth a second thread."""


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, min(4, (os.cpu_count() or 1) - 1)), thread_name_prefix="sash")


def in_parallel(parts: Sequence[Callable[[], Result]], *, worthwhile: bool) -> list[Result]:
    """The results of all parts, in order; the last part runs in the calling thread.

    >>> in_parallel([lambda: 1, lambda: 2], worthwhile=True)
    [1, 2]
    """
    if not worthwhile or len(parts) < 2 or getattr(_here, "shared", False):
        return [part() for part in parts]
    others = [_pool().submit(_alone, part) for part in parts[:-1]]
    last = _alone(parts[-1])
    return [*(other.result() for other in others), last]


_here = threading.local()


def _alone(part: Callable[[], Result]) -> Result:
    """Run a part that must not share out its own work: a thread that waits for itself never ends."""
    _here.shared = True
    try:
        return part()
    finally:
        _here.shared = False


def gathered(columns: Sequence[pa.Array], rows: np.ndarray) -> list[pa.Array]:
    """The given rows of every column; half of the columns each in a thread where there is much to do.

    >>> columns = gathered([pa.array(["a", "b"]), pa.array([1, 2])], np.array([1, 1]))
    >>> [column.to_pylist() for column in columns]
    [['b', 'b'], [2, 2]]
    """
    return gathered_across([columns], rows)


def gathered_across(pieces: Sequence[Sequence[pa.Array]], rows: np.ndarray) -> list[pa.Array]:
    """The same for columns that come in pieces; a column is put together when its turn comes.

    >>> gathered_across([[pa.array(["a"])], [pa.array(["b"])]], np.array([1]))[0].to_pylist()
    ['b']
    """
    indices = pa.array(rows)
    count = len(pieces[0])
    half = count // 2

    def some(start: int, stop: int) -> list[pa.Array]:
        return [pc.take(_whole(pieces, i), indices, boundscheck=False) for i in range(start, stop)]

    parts = [lambda: some(0, half), lambda: some(half, count)]
    first, second = in_parallel(parts, worthwhile=half > 0 and len(rows) > _MANY)
    return first + second


def _whole(pieces: Sequence[Sequence[pa.Array]], i: int) -> pa.Array:
    return pieces[0][i] if len(pieces) == 1 else pa.concat_arrays([piece[i] for piece in pieces])
