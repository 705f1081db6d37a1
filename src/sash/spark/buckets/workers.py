"""Python workers of Spark: what makes them cheap to use again and again.

Spark's daemon runs a full garbage collection after every task in a worker that is used again. With
NumPy, Numba and Arrow loaded that costs more than a small batch. What a worker holds after its first
few calls stays for good, so it is taken out of the collector's sight.
"""

from __future__ import annotations

__all__ = ["settle"]

import gc
import itertools

_CALLS = 4

_calls = itertools.count(1)


def settle() -> None:
    """Freeze what is loaded by now; to be called in every Python stage, at the start of each task.

    >>> settle()
    >>> gc.get_freeze_count() > 0
    True
    """
    if next(_calls) <= _CALLS:
        gc.collect()
        gc.freeze()
