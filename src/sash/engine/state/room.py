"""Room for state that stays: a large array is a mapping of its own, given back whole when it goes.

Among what comes and goes with every step, arrays that grow now and then would leave holes that nothing
fits: a window's columns grow by an eighth one after the other, and each hole is an eighth too small for
the next.
"""

from __future__ import annotations

__all__ = ["room"]

import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

_LARGE = 1 << 19
"""From this many bytes on, an array is a mapping."""


def room(shape: int | tuple[int, ...], dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """An array that holds anything.

    >>> room(3, np.int64).shape, room((100_000, 2), np.int64).shape
    ((3,), (100000, 2))
    """
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    if count * kind.itemsize < _LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(shape, kind)
    # Private: a process that is forked off writes to its own.
    mapping = mmap.mmap(-1, count * kind.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(mapping, kind, count).reshape(shape)
