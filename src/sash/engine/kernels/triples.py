"""Numbers as unevaluated sums of three doubles: about 48 digits, so that sums can be undone.

Adding a double lets what rounding drops sink from the first term to the last (Ogita, Rump and
Oishi's cascade); a pass upwards keeps the terms apart. Terms lie side by side in rows of lanes.
"""

from __future__ import annotations

__all__ = ["TERMS", "add_triples", "spreads"]

import numpy as np

from sash.engine.kernels.compiler import float64, int64, kernel, reads_i64, writes_f64, writes_table_f64

TERMS = 3
_SPLITTER = 134217729.0  # 2**27 + 1


@kernel((float64, writes_table_f64, int64, int64))
def _sink(x: float, target: np.ndarray, row: int, at: int) -> None:
    """Add a double to the triple at `target[row, at]`."""
    for k in range(at, at + TERMS):
        y = target[row, k]
        s = x + y
        back = s - x
        x = (x - (s - back)) + (y - back)
        target[row, k] = s
    for k in range(at + TERMS - 2, at - 1, -1):
        a, b = target[row, k], target[row, k + 1]
        s = a + b
        back = s - a
        target[row, k] = s
        target[row, k + 1] = (a - (s - back)) + (b - back)


@kernel((writes_table_f64, int64, writes_table_f64, int64, float64))
def add_triples(target: np.ndarray, at: int, source: np.ndarray, row: int, sign: float) -> None:
    """Add (or take away) all triples of `source[row]` to those of `target[at]`."""
    for k in range(0, target.shape[1], TERMS):
        for term in range(k, k + TERMS):
            if source[row, term] != 0.0:
                _sink(source[row, term] * sign, target, at, k)


@kernel((float64, float64, float64, writes_table_f64))
def _sink_product(a: float, b: float, sign: float, target: np.ndarray) -> None:
    """Add the exact product of two doubles to `target[0]` (Dekker's product)."""
    p = a * b
    c = _SPLITTER * a
    a_high = c - (c - a)
    c = _SPLITTER * b
    b_high = c - (c - b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
    _sink(p * sign, target, 0, 0)
    if np.isfinite(error):
        _sink(error * sign, target, 0, 0)


@kernel((reads_i64, writes_table_f64, writes_f64))
def spreads(counts: np.ndarray, lanes: np.ndarray, out: np.ndarray) -> None:
    """count * sum of squares - square of the sum, of `lanes` [6, n]: the sum's terms, then the squares'."""
    total = np.zeros((1, TERMS))
    for i in range(len(counts)):
        total[:] = 0.0
        for a in range(TERMS):
            _sink_product(lanes[TERMS + a, i], float(counts[i]), 1.0, total)
        for a in range(TERMS):
            for b in range(TERMS):
                _sink_product(lanes[a, i], lanes[b, i], -1.0, total)
        out[i] = total[0, 0]
