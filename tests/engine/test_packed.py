"""Numbers kept small come back as they were, whole and in parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.engine.state.packed import Packed, unpacked
from sash.lifetimes import FOREVER

WIDE = st.integers(-(2**63), 2**63 - 1)


@given(
    least=WIDE,
    spread=st.sampled_from([0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**63]),
    dtype=st.sampled_from([np.int32, np.int64]),
    seed=st.integers(0, 100),
)
def test_comes_back_as_it_was(least: int, spread: int, dtype: type, seed: int) -> None:
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    least = min(max(least, low), high)
    most = min(high, least + spread)
    values = np.random.default_rng(seed).integers(least, most, 9_000, dtype, endpoint=True)
    values[:2] = least, most
    packed = Packed.of(values)
    assert packed.nbytes <= values.nbytes
    assert packed.array().dtype == values.dtype
    assert np.array_equal(packed.array(), values)
    assert np.array_equal(packed.part(7, 2_000).array(), values[7:2_000])
    assert np.array_equal(unpacked([packed, packed.part(0, 5)]), np.concatenate([values, values[:5]]))


@given(
    values=st.lists(st.integers(0, 70_000), min_size=1, max_size=40),
    base=st.sampled_from([0, -(10**15), 10**15]),
    limit=st.integers(-5, 70_005) | st.just(FOREVER),
)
def test_until_counts_as_a_search_does(values: list[int], base: int, limit: int) -> None:
    rising = np.sort(np.array(values * 9_000, np.int64)) + base
    limit = limit if limit == FOREVER else limit + base
    assert Packed.of(rising).until(limit) == int(np.searchsorted(rising, limit, side="right"))
    assert Packed.of(rising).last() == rising[-1]


@pytest.mark.parametrize("shape", [(9_000, 3), (9_000, 0), (5, 2)])
def test_lanes_keep_their_shape(shape: tuple[int, int]) -> None:
    lanes = np.arange(shape[0] * shape[1]).reshape(shape)
    assert np.array_equal(unpacked([Packed.of(lanes), Packed.of(lanes)]), np.concatenate([lanes, lanes]))


def test_equal_numbers_take_no_room() -> None:
    assert Packed.of(np.ones(9_000, np.int64)).nbytes == 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_ones_keep_their_type(dtype: type) -> None:
    ones = np.ones(9_000, dtype)
    assert unpacked([Packed.of(ones)]).dtype == dtype
