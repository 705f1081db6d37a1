"""The ten largest of 10,000 groups over a minute that slides by the second.

The peer fills a grid of groups and seconds with running sums, ranks each second, and compares the
ranks of each second with those of the one before.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

from benchmarks.engine.harness import Target, Workload, streamed
from benchmarks.engine.traffic import SECOND, START, keyed, row_bytes, until_end

SECONDS = 600
LENGTH = 60
GROUPS = 10_000

PEER = f"""
WITH partial AS (
  SELECT k, (epoch_us(ts) + {SECOND - 1}) // {SECOND} - {START // SECOND} AS second,
         SUM(v) AS v, COUNT(*) AS n
  FROM s GROUP BY ALL),
events AS (
  SELECT k, second, SUM(v) AS v, SUM(n) AS n
  FROM (SELECT * FROM partial
        UNION ALL SELECT k, second + {LENGTH}, -v, -n FROM partial) GROUP BY ALL),
grid AS (
  SELECT k, second FROM (SELECT DISTINCT k FROM s), range({SECONDS + LENGTH + 2}) AS r(second)),
running AS (
  SELECT grid.k, grid.second, SUM(coalesce(v, 0)) OVER w AS total, SUM(coalesce(n, 0)) OVER w AS n
  FROM grid LEFT JOIN events ON events.k = grid.k AND events.second = grid.second
  WINDOW w AS (PARTITION BY grid.k ORDER BY grid.second)),
best AS (
  SELECT k, total, second FROM running WHERE n > 0
  QUALIFY row_number() OVER (PARTITION BY second ORDER BY total DESC, k) <= 10),
changed AS (
  SELECT k, total, second, 1 AS change FROM best
  UNION ALL SELECT k, total, second + 1, -1 FROM best)
SELECT k, total::BIGINT AS total, make_timestamp((second + {START // SECOND}) * {SECOND}) AS at,
       SUM(change)::BIGINT AS change
FROM changed GROUP BY ALL HAVING SUM(change) <> 0
"""


def workload(rows: int) -> Workload:
    """Uniform groups, so that the order keeps changing."""
    s = keyed(rows, SECONDS, GROUPS, 41, "v")
    return Workload(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIME ts",
        f"SELECT k, SUM(v) AS total FROM s [RANGE {LENGTH} SECONDS SLIDE 1 SECOND] "
        "GROUP BY k ORDER BY total DESC LIMIT 10",
        {"s": s},
        end=until_end(SECONDS, (LENGTH + 1) * SECOND),
        window_bytes=round(rows * LENGTH / SECONDS * row_bytes(s)),
        peer=PEER,
    )


FIGURES = (streamed("topk", workload, Target("rows_per_s", 5_000_000)),)
