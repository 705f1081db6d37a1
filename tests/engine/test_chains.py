"""Rows by key: who asks finds every row with its key that lives then, however many there are, and no other.

A hot key finds more than fits one piece, or more than rows may find together; rows that lie round, keys of
several words and lives of any length take ways of their own through the kernel.
"""

from __future__ import annotations

import numpy as np
import pytest

from sash.engine.kernels.chains import AT_ONCE
from sash.engine.state import chains as chains_module
from sash.engine.state.chains import Asking, Chains


def naive(
    words: np.ndarray, begins: np.ndarray, ends: np.ndarray, first: int, asked: np.ndarray, at: np.ndarray
) -> list[tuple[int, int]]:
    """Positions of asking rows and numbers of kept rows, by looking at everything."""
    found = []
    for i in range(len(asked)):
        fits = (words == asked[i]).all(axis=1) & (begins <= at[i]) & (ends > at[i])
        found += [(i, first + int(row)) for row in np.flatnonzero(fits)]
    return found


def keys(random: np.random.Generator, count: int, width: int, hot: float, different: int) -> np.ndarray:
    """Words of keys, of which a share is one and the same."""
    words = random.integers(1, different, (count, width))
    words[random.random(count) < hot] = 0
    return words


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(
    ("rows", "forgotten", "asking", "hot"),
    [
        (3_000, 1_000, 2_500, 0.0),  # several blocks
        (AT_ONCE + 9_000, 5_000, 3, 0.9),  # a single row finds more than fits
        (3_000, 0, 300, 0.5),  # together they find more than fits, each alone does not
        (40, 39, 5, 0.5),
    ],
)
def test_everyone_is_found_once_and_in_order(
    rows: int,
    forgotten: int,
    asking: int,
    hot: float,
    alike: bool,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chains_module, "_PAIRS_AT_ONCE", AT_ONCE + 100)
    random = np.random.default_rng(rows + asking)
    words, begins = keys(random, rows, width, hot, 50), np.sort(random.integers(0, 1_000, rows))
    spans = np.array([600]) if alike else random.integers(1, 900, rows)
    chains = Chains(width)
    half = rows // 2
    chains.add(Asking.of(words[:half]))
    chains.forget_before(min(forgotten, half))
    chains.add(Asking.of(words[half:]))  # some of them lie where forgotten ones were
    chains.forget_before(forgotten)
    lying = chains._before
    kept_begins, kept_spans = np.empty((2, len(lying.buffer)), np.int64)
    places = (np.arange(forgotten, rows) - lying.base) % len(lying.buffer)
    kept_begins[places] = begins[forgotten:]
    kept_spans[places] = spans if alike else spans[forgotten:]
    asked, at = keys(random, asking, width, hot, 50), np.sort(random.integers(0, 2_000, asking))
    found = []
    shared = spans if alike else np.ascontiguousarray(kept_spans)
    for pairs in chains.matches(Asking.of(asked), at, np.ascontiguousarray(kept_begins), shared, 0, 0):
        assert (np.diff(pairs.probes) >= 0).all()
        found += list(zip(pairs.probes.tolist(), pairs.rows.tolist(), strict=True))
    ends = begins + spans
    assert [i for i, _ in found] == sorted(i for i, _ in found)
    kept = words[forgotten:], begins[forgotten:], ends[forgotten:]
    assert sorted(found) == naive(*kept, forgotten, asked, at)
