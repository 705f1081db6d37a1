"""Two hands for work that comes in independent parts: kernels and Arrow release the GIL.

Threads are made when first needed and shared by all circuits of the process.
"""

from __future__ import annotations

__all__ = ["in_parallel"]

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, min(4, (os.cpu_count() or 1) - 1)), thread_name_prefix="sash")


def in_parallel(parts: Sequence[Callable[[], Result]], *, worthwhile: bool) -> list[Result]:
    """The results of all parts, in order; the last part runs in the calling thread.

    >>> in_parallel([lambda: 1, lambda: 2], worthwhile=True)
    [1, 2]
    """
    if not worthwhile or len(parts) < 2:
        return [part() for part in parts]
    others = [_pool().submit(part) for part in parts[:-1]]
    last = parts[-1]()
    return [*(other.result() for other in others), last]
