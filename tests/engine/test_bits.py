"""Numbers of any width side by side come back as they were, with the compiler and without."""

from __future__ import annotations

import numpy as np
import pytest

from sash.engine.kernels.bits import squeeze, stretch


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("bits", [1, 7, 8, 31, 33, 56, 63, 64])
def test_what_is_squeezed_stretches_again(bits: int, compiled: bool) -> None:
    squeezing, stretching = (kernel if compiled else _plain(kernel) for kernel in (squeeze, stretch))
    for count in (0, 1, 63, 64, 65):
        numbers = np.random.default_rng(count).integers(0, 2**bits, count, np.uint64)
        numbers[:1] = 2**bits - 1
        words = np.empty(-(-count * bits // 64), np.uint64)
        squeezing(numbers, bits, words)
        back = np.empty_like(numbers)
        stretching(words, bits, back)
        assert back.tolist() == numbers.tolist()


def _plain(kernel: object) -> object:
    return getattr(kernel, "py_func", kernel)
