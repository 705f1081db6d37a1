"""Eight different queries over two streams: through one `db.start()`, each alone, and as eight Spark queries.

Through one start they share the scan of each stream and the shuffle of each stream and key.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from benchmarks.spark.data import Files
from benchmarks.spark.harness import Bench, Figure, Query, Side, ratios, sash_side
from benchmarks.spark.join import RELATION, two_streams
from benchmarks.targets import Record, Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIGGER_ROWS = 100_000

_MINUTE = "[RANGE 60 SECONDS]"
QUERIES = {
    "pairs": RELATION,
    "by_key": f"SELECT k, COUNT(*) AS n, SUM(p) AS total FROM a {_MINUTE} GROUP BY k",
    "least": f"SELECT k, MIN(p) AS least FROM b {_MINUTE} GROUP BY k",
    "sliding": "SELECT k, SUM(p) AS slid FROM b [RANGE 60 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "keys": f"SELECT DISTINCT k FROM a {_MINUTE}",
    "alone": f"SELECT a.k, a.p FROM a {_MINUTE} WHERE NOT EXISTS (SELECT * FROM b {_MINUTE} WHERE b.k = a.k)",
    "last": "SELECT k, ts, p FROM b [PARTITION BY k ROWS 3]",
    "heaviest": "SELECT k, SUM(p) AS total FROM a [RANGE 60 SECONDS SLIDE 10 SECONDS] GROUP BY k "
    "ORDER BY total DESC LIMIT 10",
}


@dataclass(frozen=True)
class Several:
    """Queries that run side by side; their progress is that of the slowest."""

    queries: Sequence[Query]

    @property
    def recentProgress(self) -> Sequence[Any]:
        """The batches of the query that took longest."""

        def took(progress: Sequence[Any]) -> float:
            return float(sum(each["durationMs"].get("triggerExecution", 0) for each in progress))

        return max((query.recentProgress for query in self.queries), key=took)

    def processAllAvailable(self) -> None:
        """Wait for all."""
        for query in self.queries:
            query.processAllAvailable()

    def stop(self) -> None:
        """Stop all."""
        for query in self.queries:
            query.stop()


def _database(spark: SparkSession, files: Files) -> Any:
    db = sash.connect(spark)
    db.execute(files.definitions())
    for name, text in QUERIES.items():
        db.query(text, name=name)
    return db


def _together(spark: SparkSession, files: Files, checkpoint: Path) -> Query:
    running: Query = _database(spark, files).start("noop", checkpoint=checkpoint)
    return running


def _apart(spark: SparkSession, files: Files, checkpoint: Path) -> Query:
    """Start them over empty folders, one after another, and then let the files come to all at once.

    Spark gives each query's reader ten seconds to start, too few if eight do so side by side.
    """
    own = replace(files, folder=checkpoint / "files")
    own.make_folders()
    running: list[Query] = []
    for name, query in _database(spark, own).queries.items():
        running.append(query.start("noop", checkpoint=checkpoint / name))
        running[-1].processAllAvailable()
    own.fill(files)
    return Several(running)


def measure(bench: Bench) -> Record:
    """All ways by turns."""
    trigger_rows = min(TRIGGER_ROWS, bench.rows // 8)
    files = two_streams(bench, bench.rows, trigger_rows, TRIGGER_ROWS)
    warm_up = 3
    measured = files.triggers - warm_up
    one = [sash_side(name, text, warm_up, measured) for name, text in QUERIES.items()]
    sides = [Side("together", _together, warm_up, measured), Side("apart", _apart, warm_up, min(measured, 8))]
    found = bench.by_turns(files, [*one, *sides])
    together, apart = found.pop("together"), found.pop("apart")
    middle = statistics.median(each["ms_per_trigger"] for each in found.values())
    changes = {name: each["changes"][name] for name, each in found.items()}
    return {
        "rows_per_s": together["rows_per_s"],
        "ms_per_trigger": together["ms_per_trigger"],
        "ratios": ratios(together, {"eight_spark_queries": apart}),
        "median_ms_of_one": middle,
        "times_one": round(together["ms_per_trigger"] / middle, 3),
        "same_answer": together["changes"] == changes,
        "rows": sum(files.rows),
        "together": together,
        "peers": {"eight_spark_queries": apart},
        "alone": found,
    }


FIGURES = (Figure("many", measure, (Target("times_one", 3, at_most=True),)),)
