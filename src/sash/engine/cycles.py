"""Dates far out: Arrow counts years in 16 bits, so those beyond 32,767 would wrap around.

The calendar repeats every 400 years, days of the week included. What lies far out is moved into
reach by whole cycles; what is computed there is moved back.
"""

from __future__ import annotations

__all__ = ["YEARS", "in_reach", "moved_back"]

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.values import Faults, Numbers, from_numbers, null_where, numbers, valid

YEARS = 400
_CYCLE = {pa.date32(): 146_097, pa.timestamp("us"): 146_097 * 86_400_000_000}


def in_reach(array: pa.Array) -> tuple[pa.Array, Numbers | None]:
    """Dates or timestamps, those far out moved into reach, and by how many cycles; None if none is.

    >>> near, cycles = in_reach(pa.array([0, 50_000_000], pa.date32()))
    >>> near.to_pylist()[1].isoformat(), cycles.tolist()
    ('2065-05-08', [0, 342])
    """
    cycle = _CYCLE[array.type]
    ends = pc.min_max(array)
    lowest, highest = (pc.cast(ends[name], _whole(array.type)).as_py() for name in ("min", "max"))
    if lowest is None or (lowest > -75 * cycle and highest < 75 * cycle):  # some 30,000 years
        return array, None
    values = numbers(array).astype(np.int64)
    cycles = np.where((values <= -75 * cycle) | (values >= 75 * cycle), values // cycle, 0)
    return from_numbers(values - cycles * cycle, valid(array), array.type), cycles


def moved_back(near: pa.Array, floor: pa.Array, cycles: Numbers, faults: Faults) -> pa.Array:
    """What `near` was rounded down to, back in its own cycle; NULL where it is too early for the type."""
    cycle, type_ = _CYCLE[near.type], near.type
    earliest = -(2 ** (type_.bit_width - 1))
    down = numbers(near).astype(np.int64) - numbers(floor)
    start = numbers(near) + cycles * cycle
    bad = start < down + earliest
    return null_where(
        from_numbers(np.where(bad, 0, start - down), valid(near), type_), bad, faults, "overflow"
    )


def _whole(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if type_ == pa.date32() else pa.int64()
