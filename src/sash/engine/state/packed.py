"""Numbers that wait, in as few bytes as the distance between the least and the greatest needs.

State holds what is near to each other: ends within one step, numbers of groups, weights that are all 1.
Half and less of the memory pays for a pass over the numbers when they come and one when they go.
"""

from __future__ import annotations

__all__ = ["Packed", "unpacked"]

from collections.abc import Sequence

import numpy as np

from sash.lifetimes import repeated

_MANY = 8192
"""Fewer numbers than this are kept as they are: packing them would take longer than it is worth."""
_NARROW = (np.uint8, np.uint16, np.uint32)


class Packed:
    """An array, kept small; parts of it are taken without a copy.

    >>> packed = Packed.of(np.arange(10**15, 10**15 + 9_000))
    >>> packed.nbytes, packed.part(10, 12).array().tolist(), packed.until(10**15 + 7)
    (18000, [1000000000000010, 1000000000000011], 8)
    """

    __slots__ = ("_dtype", "_least", "_values")

    def __init__(self, values: np.ndarray, least: np.int64 | None, dtype: np.dtype) -> None:
        self._values, self._least, self._dtype = values, least, dtype

    @classmethod
    def of(cls, array: np.ndarray) -> Packed:
        """The array itself where packing it would not pay."""
        if array.size < _MANY or array.dtype.kind != "i":
            return cls(array, None, array.dtype)
        least, most = int(array.min()), int(array.max())
        if least == most:
            return cls(np.broadcast_to(np.uint8(0), array.shape), np.int64(least), array.dtype)
        for narrow in _NARROW:
            if most - least <= np.iinfo(narrow).max and np.dtype(narrow).itemsize < array.itemsize:
                values = np.empty(array.shape, narrow)
                np.subtract(array, array.dtype.type(least), out=values, casting="unsafe")
                return cls(values, np.int64(least), array.dtype)
        return cls(array, None, array.dtype)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        """How many bytes the numbers take."""
        return 0 if not any(self._values.strides) else int(self._values.nbytes)

    def part(self, start: int, stop: int) -> Packed:
        """The numbers from `start` up to `stop`."""
        return Packed(self._values[start:stop], self._least, self._dtype)

    def last(self) -> int:
        """The last number."""
        return int(self._values[-1]) + int(self._least or 0)

    def until(self, limit: int) -> int:
        """Of rising numbers, how many are not above the limit."""
        limit -= int(self._least or 0)
        kind = np.iinfo(self._values.dtype)
        if limit < kind.min or limit >= kind.max:
            return 0 if limit < kind.min else len(self)
        return int(np.searchsorted(self._values, self._values.dtype.type(limit), side="right"))

    def write(self, out: np.ndarray) -> None:
        """Write the numbers into an array of the same shape."""
        if self._least is None:
            out[:] = self._values
        else:
            np.add(self._values, self._least, out=out, casting="unsafe")

    def array(self) -> np.ndarray:
        """The numbers; not to be written to."""
        return self._values if self._least is None else unpacked([self])


def unpacked(parts: Sequence[Packed]) -> np.ndarray:
    """All parts as one array, not to be written to; there must be at least one.

    >>> unpacked([Packed.of(np.array([1, 2])), Packed.of(np.array([3]))]).tolist()
    [1, 2, 3]
    """
    values = [part._values for part in parts]
    if all(part._least is None for part in parts):
        return np.concatenate(values)
    plain = values[0].ndim == 1 and parts[0]._dtype == np.int64
    if plain and all(part._least == 1 and not part.nbytes for part in parts):
        return repeated(1, sum(map(len, values)))
    whole = np.empty((sum(map(len, values)), *values[0].shape[1:]), parts[0]._dtype)
    start = 0
    for part in parts:
        stop = start + len(part._values)
        part.write(whole[start:stop])
        start = stop
    return whole
