"""Order keys of numbered values: a word each, and bytes in one arena for those that tie.

Bytes of values that are gone stay until they outweigh the rest; then the arena is written anew.
"""

from __future__ import annotations

__all__ = ["OrderedBytes"]

import numpy as np

from sash.engine.state.stable_keys import roomy


class OrderedBytes:
    """Words and bytes by number.

    >>> keys = OrderedBytes()
    >>> text = np.frombuffer(b"abc", np.uint8)
    >>> keys.put(np.array([1, 0]), np.array([7, 5], np.uint64), np.array([0, 2, 3]), text)
    >>> offsets, data = keys.bytes_of(np.array([0, 1]))
    >>> offsets.tolist(), data.tobytes()
    ([0, 1, 3], b'cab')
    """

    def __init__(self) -> None:
        self.words = np.zeros(16, np.uint64)
        self.starts = np.zeros(16, np.int64)
        self.ends = np.zeros(16, np.int64)
        self.data = np.empty(16, np.uint8)
        self._used = 0

    @property
    def nbytes(self) -> int:
        """How many bytes are set aside."""
        return int(self.words.nbytes + self.starts.nbytes + self.ends.nbytes + self.data.nbytes)

    def make_room(self, size: int) -> None:
        """Room for numbers below `size`."""
        self.words, self.starts = roomy(self.words, size), roomy(self.starts, size)
        self.ends = roomy(self.ends, size)

    def put(self, numbers: np.ndarray, words: np.ndarray, offsets: np.ndarray, data: np.ndarray) -> None:
        """Keys for the given numbers; what they had before is forgotten."""
        if not len(numbers):
            return
        self.make_room(int(numbers.max()) + 1)
        self.data = roomy(self.data, self._used + len(data))
        self.words[numbers] = words
        self.starts[numbers] = self._used + offsets[:-1]
        self.ends[numbers] = self._used + offsets[1:]
        self.data[self._used : self._used + len(data)] = data
        self._used += len(data)

    def bytes_of(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Offsets [n + 1] and bytes of the given numbers, side by side."""
        sizes = self.ends[numbers] - self.starts[numbers]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.starts[numbers] - offsets[:-1], sizes)
        return offsets, self.data[places]

    def keep(self, numbers: np.ndarray) -> None:
        """Forget all but the given numbers."""
        offsets, data = self.bytes_of(numbers)
        self.starts[:], self.ends[:] = 0, 0
        self.data, self._used = np.empty(max(16, len(data)), np.uint8), 0
        self.put(numbers, self.words[numbers], offsets, data)
