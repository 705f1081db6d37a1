"""Numbers side by side in as few bits as the largest needs, regardless of where words begin and end."""

from __future__ import annotations

__all__ = ["squeeze", "stretch"]

import numpy as np

from sash.engine.kernels.compiler import int64, kernel, reads_u64, writes_u64


@kernel((reads_u64, int64, writes_u64))
def squeeze(numbers: np.ndarray, bits: int, words: np.ndarray) -> None:
    """Numbers below 2^`bits` one after another, the lowest bits first; `words`: ⌈n · bits / 64⌉ of them."""
    word, filled, k = np.uint64(0), 0, 0
    for i in range(len(numbers)):
        word |= numbers[i] << np.uint64(filled)
        filled += bits
        if filled >= 64:
            words[k] = word
            k += 1
            filled -= 64
            word = np.uint64(0)
            if filled:
                word = numbers[i] >> np.uint64(bits - filled)
    if filled:
        words[k] = word


@kernel((reads_u64, int64, writes_u64))
def stretch(words: np.ndarray, bits: int, numbers: np.ndarray) -> None:
    """What `squeeze` was given, as many numbers as there is room for."""
    mask = ~np.uint64(0) >> np.uint64(64 - bits)
    for i in range(len(numbers)):
        at = i * bits
        k, start = at >> 6, at & 63
        number = words[k] >> np.uint64(start)
        if start + bits > 64:
            number |= words[k + 1] << np.uint64(64 - start)
        numbers[i] = number & mask
