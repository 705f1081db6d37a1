"""The last ten rows of each of 50,000 keys, as a relation: every row comes, and goes with the tenth after it.

The peer finds the tenth row after each row of the same key.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

import numpy as np
import pyarrow as pa

from benchmarks.engine.harness import Target, Workload, streamed
from benchmarks.engine.traffic import SECOND, keyed, row_bytes, until_end

SECONDS = 600
KEYS = 50_000
ROWS = 10

PEER = f"""
WITH ended AS (
  SELECT ts, k, v, lead(ts, {ROWS}) OVER (PARTITION BY k ORDER BY ts, v) AS ends FROM s)
SELECT ts, k, v, ts AS at, 1::BIGINT AS change FROM ended WHERE ends IS NULL OR ends > ts
UNION ALL
SELECT ts, k, v, ends AS at, -1::BIGINT AS change FROM ended WHERE ends > ts
"""


def workload(rows: int) -> Workload:
    """`v` is the row's number, so that arrival breaks ties in the peer too."""
    s = keyed(rows, SECONDS, KEYS, 59)
    s = s.append_column("v", pa.array(np.arange(rows)))
    return Workload(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIME ts",
        f"SELECT ts, k, v FROM s [PARTITION BY k ROWS {ROWS}]",
        {"s": s},
        end=until_end(SECONDS, SECOND),
        window_bytes=round(min(rows, KEYS * ROWS) * row_bytes(s)),
        peer=PEER,
    )


FIGURES = (streamed("partition_rows", workload, Target("rows_per_s", 4_000_000)),)
