"""Join of two streams within 60 seconds: as a stream of what came, as a relation, with text keys.

600 seconds of rows, 50,000 keys, about two results per row; key, both time columns and four payload
columns are selected.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

from benchmarks.engine.harness import Target, Workload, streamed
from benchmarks.engine.traffic import MINUTE, keyed, row_bytes, text_keys, until_end

SECONDS = 600
KEYS = 50_000

SELECTED = "a.k, a.ts AS a_ts, b.ts AS b_ts, a.p AS a_p, a.q AS a_q, b.p AS b_p, b.q AS b_q"
RELATION = f"SELECT {SELECTED} FROM a [RANGE 60 SECONDS], b [RANGE 60 SECONDS] WHERE a.k = b.k"
STREAM = f"ISTREAM({RELATION})"

PAIRS = "FROM a JOIN b ON a.k = b.k AND abs(epoch_us(a.ts) - epoch_us(b.ts)) < 60000000"
"""Of the ways to write it, the one that the peer is fastest with."""
PEER_STREAM = f"SELECT {SELECTED}, greatest(a.ts, b.ts) AS at, 1::BIGINT AS change {PAIRS}"
PEER_RELATION = f"""
WITH pairs AS MATERIALIZED (SELECT {SELECTED} {PAIRS})
SELECT *, greatest(a_ts, b_ts) AS at, 1::BIGINT AS change FROM pairs
UNION ALL
SELECT *, least(a_ts, b_ts) + INTERVAL 60 SECONDS AS at, -1::BIGINT AS change FROM pairs
"""


def workload(rows: int, query: str, peer: str, *, text: bool = False) -> Workload:
    """Half of the rows on each stream."""
    a = keyed(rows // 2, SECONDS, KEYS, 11, "p", "q")
    b = keyed(rows // 2, SECONDS, KEYS, 23, "p", "q")
    if text:
        a, b = text_keys(a), text_keys(b)
    key = "STRING" if text else "BIGINT"
    definitions = "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, k {key}, p BIGINT, q BIGINT) TIME ts;" for name in "ab"
    )
    in_windows = rows * 60 / SECONDS
    return Workload(
        definitions,
        query,
        {"a": a, "b": b},
        end=until_end(SECONDS, MINUTE),
        window_bytes=round(in_windows * row_bytes(a)),
        peer=peer,
    )


def as_stream(rows: int) -> Workload:
    """Only what came."""
    return workload(rows, STREAM, PEER_STREAM)


def as_relation(rows: int) -> Workload:
    """What came and what went."""
    return workload(rows, RELATION, PEER_RELATION)


def with_text_keys(rows: int) -> Workload:
    """Only what came, joined on twelve characters."""
    return workload(rows, STREAM, PEER_STREAM, text=True)


FIGURES = (
    streamed("join_istream", as_stream, Target("ratio", 1.2)),
    streamed("join_relation", as_relation, Target("ratio", 0.7)),
    streamed(
        "join_strings", with_text_keys, Target("of_join_istream", 0.5), beside={"join_istream": as_stream}
    ),
)
