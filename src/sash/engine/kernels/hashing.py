"""Words: 64-bit pieces that stand for values in kernels, equal exactly when the values are.

A fixed-width value is one word (a decimal two). A string of up to 15 bytes is packed into two
words with its length; a longer one is represented by a 120-bit fingerprint and a mark.
"""

from __future__ import annotations

__all__ = ["GOLDEN", "hash_words", "mix", "pack_strings"]

import numpy as np

from sash.engine.kernels.compiler import (
    int64,
    kernel,
    reads_i32,
    reads_u8,
    reads_words,
    uint64,
    writes_u64,
    writes_words,
)

_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_S27, _S30, _S31, _S56 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(56)
_LOW56 = np.uint64((1 << 56) - 1)
_LONG = np.uint64(0xFF << 56)
_SEED = np.uint64(0x243F6A8885A308D3)


@kernel(uint64(uint64))
def mix(x: np.uint64) -> np.uint64:
    """A bijection of 64-bit words that spreads every input bit (the finaliser of splitmix64)."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@kernel((reads_words, writes_u64))
def hash_words(words: np.ndarray, out: np.ndarray) -> None:
    """One hash per row of `words` [n, w]; for w = 1 a bijection, so equal hashes mean equal words."""
    n, w = words.shape
    for i in range(n):
        h = mix(np.uint64(words[i, 0]))
        for j in range(1, w):
            h = mix((h + GOLDEN) ^ np.uint64(words[i, j]))
        out[i] = h


@kernel((reads_i32, reads_u8, int64, writes_words, int64))
def pack_strings(offsets: np.ndarray, data: np.ndarray, start: int, out: np.ndarray, at: int) -> None:
    """Write two words per string into columns `at`, `at + 1` of `out` [n, w].

    String i is data[offsets[start + i] : offsets[start + i + 1]].
    """
    for i in range(out.shape[0]):
        first, last = offsets[start + i], offsets[start + i + 1]
        size = last - first
        low, high = np.uint64(0), np.uint64(0)
        if size <= 15:
            for j in range(min(size, 8)):
                low |= np.uint64(data[first + j]) << np.uint64(8 * j)
            for j in range(8, size):
                high |= np.uint64(data[first + j]) << np.uint64(8 * (j - 8))
            high |= np.uint64(size) << _S56
        else:
            low, high = _SEED ^ np.uint64(size), GOLDEN
            position = first
            while position < last:
                piece = np.uint64(0)
                for j in range(min(8, last - position)):
                    piece |= np.uint64(data[position + j]) << np.uint64(8 * j)
                low = mix(low ^ piece)
                high = mix((high + piece) * _M2 + low)
                position += 8
            high = (high & _LOW56) | _LONG
        out[i, at] = np.int64(low)
        out[i, at + 1] = np.int64(high)
