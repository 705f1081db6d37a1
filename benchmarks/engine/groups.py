"""COUNT and SUM by group: 100 groups over ten minutes that slide by the second, 10,000 groups eagerly.

The peer turns each row into an event that adds and one that takes away, and sums them up in order;
what differs from the row before is a change.
"""

from __future__ import annotations

__all__ = ["FIGURES", "totals"]

from benchmarks.engine.harness import Target, Workload, streamed
from benchmarks.engine.traffic import SECOND, keyed, row_bytes, until_end


def totals(begin: str, until: str) -> str:
    """DuckDB's SQL for COUNT and SUM per k whenever they change; rows live from `begin` to `until`."""
    return f"""
WITH rows_in AS (SELECT k, v, {begin} AS begins, {until} AS ends FROM s),
events AS (
  SELECT k, instant, SUM(n) AS n, SUM(v) AS v
  FROM (SELECT k, begins AS instant, COUNT(*) AS n, SUM(v) AS v FROM rows_in GROUP BY k, begins
        UNION ALL
        SELECT k, ends AS instant, -COUNT(*) AS n, -SUM(v) AS v FROM rows_in GROUP BY k, ends)
  GROUP BY k, instant),
running AS (
  SELECT k, instant, SUM(n) OVER w AS n, SUM(v) OVER w AS v
  FROM events WINDOW w AS (PARTITION BY k ORDER BY instant ROWS UNBOUNDED PRECEDING)),
beside AS (
  SELECT *, lag(n) OVER w AS n_before, lag(v) OVER w AS v_before
  FROM running WINDOW w AS (PARTITION BY k ORDER BY instant))
SELECT k, n::BIGINT AS n, v::BIGINT AS total, instant AS at, 1::BIGINT AS change FROM beside
WHERE n > 0 AND (n_before IS DISTINCT FROM n OR v_before IS DISTINCT FROM v)
UNION ALL
SELECT k, n_before::BIGINT, v_before::BIGINT, instant, -1::BIGINT FROM beside
WHERE n_before > 0 AND (n_before <> n OR v_before <> v)
"""


def slid(rows: int, slide: int, groups: int = 100, length: int = 600, seconds: int = 1200) -> Workload:
    """`length` seconds that slide by `slide` seconds."""
    s = keyed(rows, seconds, groups, 31, "v")
    window = f"[RANGE {length} SECONDS SLIDE {slide} SECONDS]"
    ticks = slide * SECOND

    def upwards(instant: str) -> str:
        return f"make_timestamp(((epoch_us({instant}) + {ticks - 1}) // {ticks}) * {ticks})"

    return Workload(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIME ts",
        f"SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s {window} GROUP BY k",
        {"s": s},
        end=until_end(seconds, (length + slide) * SECOND),
        window_bytes=round(rows * length / seconds * row_bytes(s)),
        peer=totals(upwards("ts"), upwards(f"ts + INTERVAL {length} SECONDS")),
    )


def slide_1s(rows: int) -> Workload:
    """Ten minutes, every second."""
    return slid(rows, 1)


def slide_60s(rows: int) -> Workload:
    """Ten minutes, every minute."""
    return slid(rows, 60)


def eager(rows: int) -> Workload:
    """60 seconds without SLIDE: every row changes its group when it comes and when it ends."""
    seconds, length, groups = 600, 60, 10_000
    s = keyed(rows, seconds, groups, 37, "v")
    return Workload(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIME ts",
        f"SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE {length} SECONDS] GROUP BY k",
        {"s": s},
        end=until_end(seconds, length * SECOND),
        window_bytes=round(rows * length / seconds * row_bytes(s)),
        peer=totals("ts", f"ts + INTERVAL {length} SECONDS"),
    )


FIGURES = (
    streamed(
        "group_slide_1s",
        slide_1s,
        Target("rows_per_s", 10_000_000),
        Target("of_slide_60s", 0.8),
        beside={"slide_60s": slide_60s},
    ),
    streamed("group_eager", eager, Target("rows_per_s", 3_000_000)),
)
