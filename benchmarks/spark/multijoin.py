"""Join of three streams on one key within 60 seconds, beside a chain of two of Spark's joins on RocksDB.

100,000-row triggers, two of them in the windows; a row meets about one of each other stream, so that
there is about one result per row. State is what a restart needs: of Sash what its manifests name, of
Spark the table files of a run that saves all state with every trigger.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

from benchmarks.engine.traffic import keyed
from benchmarks.spark.data import Files
from benchmarks.spark.harness import Bench, Figure, ratios, same, sash_changes, sash_side
from benchmarks.spark.peers import STORES, collected, joined_three, peer
from benchmarks.targets import Record, Target

TRIGGER_ROWS = 100_000
TRIGGER_SECONDS = 30
WINDOW_TRIGGERS = 2

QUERY = (
    "ISTREAM(SELECT a.k, a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts, a.p AS a_p, b.p AS b_p, c.p AS c_p "
    "FROM a [RANGE 60 SECONDS], b [RANGE 60 SECONDS], c [RANGE 60 SECONDS] WHERE a.k = b.k AND b.k = c.k)"
)

_WHOLE_STATE = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"}


def three_streams(bench: Bench, rows: int, trigger_rows: int) -> Files:
    """A third of the rows on each; as many keys as a stream has rows in its window."""
    own = rows // 3
    seconds = TRIGGER_SECONDS * rows // trigger_rows
    keys = trigger_rows // 3 * WINDOW_TRIGGERS
    return bench.files(
        {name: keyed(own, seconds, keys, seed, "p") for name, seed in (("a", 11), ("b", 23), ("c", 37))},
        trigger_rows,
    )


def same_answer(bench: Bench) -> bool:
    """Whether Sash and Spark find the same triples, in a few thousand rows."""
    files = three_streams(bench, 15_000, 3_000)
    triples = joined_three(bench.spark, files)
    triples = triples.selectExpr("*", "greatest(a_ts, b_ts, c_ts) AS at", "1L AS change")
    expected = collected(bench.spark, triples, bench.place("checkpoint"))
    return same(sash_changes(bench.spark, files, QUERY), expected)


def measure(bench: Bench) -> Record:
    """Everyone over the same files, and a run of Spark's chain for its state alone."""
    trigger_rows = min(TRIGGER_ROWS, bench.rows // 8)
    files = three_streams(bench, bench.rows, trigger_rows)
    warm_up = 3
    most = files.triggers - warm_up
    stores = {name: STORES[name] for name in ("rocksdb_2", "rocksdb_4")}
    peers = [peer(n, joined_three, warm_up, min(4, most), settings) for n, settings in stores.items()]
    agreed = same_answer(bench)
    found = bench.by_turns(files, [*peers, sash_side("sash", QUERY, warm_up, most)])
    sash = found.pop("sash")
    by_peer = ratios(sash, found)
    by_peer["rocksdb"] = min(by_peer.values())
    theirs = {
        name: bench.once(files, peer(name, joined_three, warm_up, 1, settings | _WHOLE_STATE))["sst_bytes"]
        for name, settings in stores.items()
    }
    live = trigger_rows * WINDOW_TRIGGERS
    return {
        "rows_per_s": sash["rows_per_s"],
        "ms_per_trigger": sash["ms_per_trigger"],
        "ratios": by_peer,
        "same_answer": agreed,
        "rows": sum(files.rows),
        "results_per_row": round(sash["changes"]["sash"] / sum(sash["rows"].values()), 2),
        "live_rows": live,
        "durable_bytes_per_live_row": round(sash["mean_durable_bytes"] / live, 1),
        "peers_durable_bytes_per_live_row": {name: round(size / live, 1) for name, size in theirs.items()},
        "of_state_bytes": round(sash["mean_durable_bytes"] / max(1, min(theirs.values())), 3),
        "sash": sash,
        "peers": found,
    }


FIGURES = (
    Figure("multijoin", measure, (Target("ratios.rocksdb", 15), Target("of_state_bytes", 0.5, at_most=True))),
)
