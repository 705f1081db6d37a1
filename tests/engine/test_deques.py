"""The deques of MIN and MAX: what they hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.engine.state import upkeep
from sash.engine.state.deques import Deques
from sash.lifetimes import Changes

STEP = 50


def test_rows_that_will_never_be_the_least_do_not_stay() -> None:
    deques, numbers = Deques(pa.int64(), largest=False), np.zeros(STEP, np.int64)
    for first in range(0, 100 * STEP, STEP):
        begin = np.arange(first, first + STEP)
        rows = Changes((pa.array(-begin),), begin, begin + 1_000_000, np.ones(STEP, np.int64))
        deques.step(rows, numbers, 1, first + STEP)
        assert len(deques) <= max(upkeep.FEW, 4) + STEP
    assert deques.save().num_rows == 1


def test_rows_that_may_become_the_least_stay() -> None:
    deques = Deques(pa.int64(), largest=False)
    begin = np.arange(5_000)
    rows = Changes((pa.array(begin),), begin, begin + 1_000_000, np.ones(5_000, np.int64))
    deques.step(rows, np.zeros(5_000, np.int64), 1, 5_000)
    deques.step(rows.take(np.arange(0)), np.empty(0, np.int64), 1, 5_001)
    assert len(deques) == deques.save().num_rows == 5_000
