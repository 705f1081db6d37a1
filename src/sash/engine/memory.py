"""Where Arrow's buffers lie: with the rest of the process, so that what one lets go another can use.

Arrow's own pools keep freed pages per thread. The engine's arrays come from NumPy as well, and with two
allocators each holds on to its own peak: benchmarks took a fifth to more than a half more memory so.
"""

from __future__ import annotations

__all__ = ["share_memory"]

import os
from functools import cache

import pyarrow as pa


@cache
def share_memory() -> None:
    """Let Arrow take its memory from the system, once per process.

    A pool chosen by ARROW_DEFAULT_MEMORY_POOL stays; so does one that is set later.
    """
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
