"""Join of two streams within 60 seconds, in triggers of 100,000 and of 500,000 rows, beside Spark's own.

50,000 keys and 3,333 rows per second of event time, so that a row meets two others. Spark's join only
adds, so the ratio is to Sash's stream of what came; the relation, with what went, is reported beside.
Spark runs on fewer triggers than Sash, with windows as full. Everyone has the settings that Sash asks for;
Spark's joins are measured as it ships them, too.
"""

from __future__ import annotations

__all__ = ["FIGURES", "QUERY", "same_answer", "two_streams"]

from functools import partial

from benchmarks.engine.traffic import keyed
from benchmarks.spark.data import Files
from benchmarks.spark.harness import Bench, Figure, ratios, same, sash_changes, sash_side
from benchmarks.spark.peers import AS_SHIPPED, STORES, collected, joined, peer
from benchmarks.targets import Record, Target

KEYS = 50_000
ROWS_PER_SECOND = 6_000_000 / 1_800
"""Of both streams."""

RELATION = (
    "SELECT a.k, a.ts AS a_ts, b.ts AS b_ts, a.p AS a_p, b.p AS b_p "
    "FROM a [RANGE 60 SECONDS], b [RANGE 60 SECONDS] WHERE a.k = b.k"
)
QUERY = f"ISTREAM({RELATION})"

_WARM_UP = {100_000: 4, 500_000: 1}
"""Triggers that fill the windows, by their size."""
_PEER_TRIGGERS = {
    100_000: {"rocksdb_2": 6, "rocksdb_4": 6, "in_memory": 8},
    500_000: {"rocksdb_2": 2, "rocksdb_4": 2, "in_memory": 4},
}
"""Triggers that count, by their size and the store; as shipped, two."""


def two_streams(bench: Bench, rows: int, trigger_rows: int, nominal: int) -> Files:
    """Half of the rows on each stream.

    Triggers that are smaller than they ought to be cover as much time with fewer keys, so that windows
    hold as many triggers, and rows meet as many others.
    """
    own = rows // 2
    seconds = max(1, round(rows / trigger_rows * nominal / ROWS_PER_SECOND))
    keys = max(1, KEYS * trigger_rows // nominal)
    return bench.files({"a": keyed(own, seconds, keys, 11, "p"), "b": keyed(own, seconds, keys, 23, "p")},
                       trigger_rows)  # fmt: skip


def same_answer(bench: Bench) -> bool:
    """Whether Sash and Spark find the same pairs, in a few thousand rows."""
    files = two_streams(bench, 20_000, 4_000, 100_000)
    pairs = joined(bench.spark, files).selectExpr("*", "greatest(a_ts, b_ts) AS at", "1L AS change")
    expected = collected(bench.spark, pairs, bench.place("checkpoint"))
    return same(sash_changes(bench.spark, files, QUERY), expected)


def measure(nominal: int, bench: Bench) -> Record:
    """Everyone over the same files."""
    trigger_rows = min(nominal, bench.rows // 8)
    files = two_streams(bench, bench.rows, trigger_rows, nominal)
    triggers, warm_up = _PEER_TRIGGERS[nominal], _WARM_UP[nominal]
    most = files.triggers - warm_up
    peers = [
        peer(name, joined, warm_up, min(most, triggers.get(name, 2)), settings)
        for name, settings in (STORES | AS_SHIPPED).items()
    ]
    own = [sash_side("sash", QUERY, warm_up, most), sash_side("relation", RELATION, warm_up, most)]
    agreed = same_answer(bench)
    found = bench.by_turns(files, [*peers, *own])
    sash, relation = found.pop("sash"), found.pop("relation")
    by_peer = ratios(sash, found)
    by_peer["rocksdb"] = min(by_peer["rocksdb_2"], by_peer["rocksdb_4"])
    by_peer["rocksdb_as_shipped"] = min(by_peer[name] for name in AS_SHIPPED)
    return {
        "rows_per_s": sash["rows_per_s"],
        "ms_per_trigger": sash["ms_per_trigger"],
        "ratios": by_peer,
        "same_answer": agreed,
        "rows": sum(files.rows),
        "keys": max(1, KEYS * trigger_rows // nominal),
        "results_per_row": round(sash["changes"]["sash"] / sum(sash["rows"].values()), 2),
        "sash": sash,
        "relation": relation,
        "peers": found,
    }


FIGURES = (
    Figure(
        "join_100k",
        partial(measure, 100_000),
        (Target("ratios.rocksdb", 8), Target("ratios.in_memory", 4)),
    ),
    Figure(
        "join_500k",
        partial(measure, 500_000),
        (Target("ratios.rocksdb", 30), Target("ratios.in_memory", 8)),
    ),
)
