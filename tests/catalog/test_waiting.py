"""Rows wait for a frontier and come back in the order of (ts, arrival), however they were cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sash.catalog.waiting import Waiting, lifetimes_of_rows
from sash.lifetimes import Changes


def rows(ts: list[int], first: int = 0) -> Changes:
    numbers = pa.array(range(first, first + len(ts)), pa.int64())
    return lifetimes_of_rows([numbers], np.array(ts, np.int64))


def numbers(parts: Sequence[Changes | None]) -> list[int]:
    return [number for part in parts if part is not None for number in part.columns[0].to_pylist()]


def test_rows_in_order_are_given_back_without_a_copy() -> None:
    pushed, more = rows([1, 2, 3]), rows([3, 4], first=3)
    waiting = Waiting([pushed, more])
    first, second = waiting.release(4)
    assert first is pushed
    assert second is more


def test_equal_timestamps_keep_the_order_of_arrival() -> None:
    waiting = Waiting([rows([5, 3, 5, 3]), rows([3, 5], first=4)])
    assert numbers(waiting.release(5)) == [1, 3, 4, 0, 2, 5]


def test_what_is_after_the_frontier_stays() -> None:
    waiting = Waiting([rows([1, 4, 9])])
    assert numbers(waiting.release(4)) == [0, 1]
    assert len(waiting) == 1
    assert waiting.release(8) == []
    assert numbers(waiting.release(9)) == [2]


def test_peeking_takes_nothing_out() -> None:
    waiting = Waiting([rows([2, 1])])
    assert numbers([waiting.peek(1)]) == [1]
    assert numbers([waiting.everything()]) == [1, 0]
    assert len(waiting) == 2


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=5), max_size=60),
    st.lists(st.integers(0, 20), max_size=4),
)
def test_any_cut_gives_the_stable_order(pushes: list[list[int]], frontiers: list[int]) -> None:
    waiting, arrived = Waiting(), 0
    for push in pushes:
        waiting.add(rows(push, first=arrived))
        arrived += len(push)
    everything = [ts for push in pushes for ts in push]
    expected = sorted(range(arrived), key=lambda i: everything[i])
    released = [number for frontier in sorted(frontiers) for number in numbers(waiting.release(frontier))]
    assert released + numbers(waiting.release(99)) == expected
