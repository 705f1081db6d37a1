"""Two hands for work that comes in independent parts: kernels and Arrow release the GIL.

Threads are made when first needed and shared by all circuits of the process.
"""

from __future__ import annotations

__all__ = ["alone", "in_parallel"]

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, min(4, (os.cpu_count() or 1) - 1)), thread_name_prefix="sash")


def in_parallel(parts: Sequence[Callable[[], Result]], *, worthwhile: bool) -> list[Result]:
    """The results of all parts, in order; the calling thread does the last one, and then whatever is left.

    >>> in_parallel([lambda: 1, lambda: 2], worthwhile=True)
    [1, 2]
    """
    if not worthwhile or len(parts) < 2 or getattr(_here, "shared", False):
        return [part() for part in parts]
    others = [_pool().submit(alone, part) for part in parts[:-1]]
    done = [alone(parts[-1])]
    for part, other in zip(parts[-2::-1], reversed(others), strict=True):
        done.append(alone(part) if other.cancel() else other.result())
    return done[::-1]


_here = threading.local()


def alone(part: Callable[[], Result]) -> Result:
    """Run a part that must not share out its own work: within another part, where a thread that waits for
    itself never ends, or where all cores have work anyway.
    """
    _here.shared = True
    try:
        return part()
    finally:
        _here.shared = False
