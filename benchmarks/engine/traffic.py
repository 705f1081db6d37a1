"""Generated rows for the figures: seeded, sorted by time, the same in every run."""

from __future__ import annotations

__all__ = ["MINUTE", "SECOND", "START", "instants", "keyed", "row_bytes", "text_keys", "until_end"]

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_700_000_000 * SECOND
"""Where generated time begins: a whole second, long after 1970."""


def instants(rows: int, seconds: int, seed: int) -> np.ndarray:
    """`rows` sorted instants spread over `seconds` seconds, in microseconds."""
    return np.sort(np.random.default_rng(seed).integers(START, START + seconds * SECOND, rows))


def keyed(rows: int, seconds: int, keys: int, seed: int, *payload: str) -> pa.Table:
    """Rows (ts, k, payload ...): uniform keys and whole-numbered payload from 0 to 9,999."""
    random = np.random.default_rng(seed + 1)
    columns = {
        "ts": pa.array(instants(rows, seconds, seed), pa.timestamp("us")),
        "k": pa.array(random.integers(0, keys, rows)),
    }
    for name in payload:
        columns[name] = pa.array(random.integers(0, 10_000, rows))
    return pa.table(columns)


def text_keys(table: pa.Table) -> pa.Table:
    """The same rows with keys of twelve characters: k00000012345."""
    digits = pc.utf8_lpad(pc.cast(table["k"], pa.string()), 11, "0")
    keys = pc.binary_join_element_wise("k", digits, "").combine_chunks()
    return table.set_column(table.schema.get_field_index("k"), "k", keys)


def row_bytes(table: pa.Table) -> float:
    """Raw bytes per row."""
    return float(table.nbytes / max(1, table.num_rows))


def until_end(seconds: int, window: int) -> int:
    """The instant by which `seconds` of rows, each living for `window` ticks, are all gone."""
    return START + seconds * SECOND + window + SECOND
