"""What a trigger of 20 rows takes, by phases: a plain Spark query, Spark's own join, Sash.

And what each measure gives, where it can be switched: one partition, all of low latency, Sash's own
reader of files, Spark's way to write checkpoints; and, each in a session of its own beside the same
plain query, sockets of the machine instead of TCP, and workers whose memory is frozen.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import sash
from benchmarks.spark.data import Files
from benchmarks.spark.harness import Bench, Figure, Query, Side, ratios, sash_side
from benchmarks.spark.join import QUERY, same_answer, two_streams
from benchmarks.spark.peers import DEFAULT_CHECKPOINTS, STORES, joined, peer, plain, read
from benchmarks.spark.progress import Summary
from benchmarks.targets import Record, Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIGGER_ROWS = 20
WARM_UP = 10


def _files(bench: Bench) -> Files:
    triggers = max(WARM_UP + 5, bench.rows // TRIGGER_ROWS)
    return two_streams(bench, triggers * TRIGGER_ROWS, TRIGGER_ROWS, 100_000)


def _by_frames(name: str, measured: int) -> Side:
    """Sash over DataFrames of Spark's file source instead of its own reader."""

    def start(spark: SparkSession, files: Files, checkpoint: Path) -> Query:
        db = sash.connect(spark)
        for stream in files.columns:
            db.create_stream(stream, read(spark, files, stream), time="ts")
        query: Query = db.query(QUERY, name=name).start("noop", checkpoint=checkpoint)
        return query

    return Side(name, start, WARM_UP, measured)


def measure(bench: Bench) -> Record:
    """Everyone by turns in one session."""
    files = _files(bench)
    measured = files.triggers - WARM_UP
    stateless = peer("stateless", plain("a", "b"), WARM_UP, measured, {})
    peers = [
        peer("stateless_one", plain("a"), WARM_UP, measured, {}),
        stateless,
        replace(stateless, name="stateless_default_checkpoints", settings=DEFAULT_CHECKPOINTS),
        peer("join_rocksdb", joined, WARM_UP, measured, STORES["rocksdb_2"]),
        peer("join_rocksdb_4", joined, WARM_UP, measured, STORES["rocksdb_4"]),
        peer("join_in_memory", joined, WARM_UP, measured, STORES["in_memory"]),
    ]
    own = [
        sash_side("sash", QUERY, WARM_UP, measured),
        sash_side("low_latency", QUERY, WARM_UP, measured, low_latency=True),
        sash_side("one_partition", QUERY, WARM_UP, measured, partitions=1, buckets=1),
        _by_frames("spark_reads", measured),
    ]
    same = same_answer(bench)
    found = bench.by_turns(files, [*peers, *own])
    theirs = {side.name: found[side.name] for side in peers}
    ours = {side.name: found[side.name] for side in own}
    best = min(theirs["join_rocksdb"]["ms_per_trigger"], theirs["join_rocksdb_4"]["ms_per_trigger"])
    return {
        "rows_per_s": ours["sash"]["rows_per_s"],
        "ms_per_trigger": ours["sash"]["ms_per_trigger"],
        "ratios": ratios(ours["sash"], theirs),
        "same_answer": same,
        "of_spark_join": {name: round(side["ms_per_trigger"] / best, 3) for name, side in ours.items()},
        "of_stateless": {name: _of(side, theirs["stateless"]) for name, side in ours.items()},
        "sash": ours,
        "peers": theirs,
    }


def measure_beside_stateless(bench: Bench) -> Record:
    """Sash and a plain query in a session that lacks something."""
    files = _files(bench)
    measured = files.triggers - WARM_UP
    found = bench.by_turns(
        files,
        [
            peer("stateless", plain("a", "b"), WARM_UP, measured, {}),
            sash_side("sash", QUERY, WARM_UP, measured),
            sash_side("low_latency", QUERY, WARM_UP, measured, low_latency=True),
        ],
    )
    stateless = found.pop("stateless")
    return {
        "rows_per_s": found["sash"]["rows_per_s"],
        "ms_per_trigger": found["sash"]["ms_per_trigger"],
        "ratios": ratios(found["sash"], {"stateless": stateless}),
        "of_stateless": {name: _of(side, stateless) for name, side in found.items()},
        "sash": found,
        "peers": {"stateless": stateless},
    }


def _of(side: Summary, other: Summary) -> float:
    return round(float(side["ms_per_trigger"]) / float(other["ms_per_trigger"]), 3)


def _tcp(folder: Path) -> Mapping[str, str]:
    warnings.filterwarnings("ignore", message="Sash is slower on this Spark session")  # that is the point
    return {"spark.python.unix.domain.socket.enabled": "false"}


def _not_frozen(folder: Path) -> Mapping[str, str]:
    """Python's own start-up file, in which freezing does nothing."""
    place = folder / "not_frozen"
    place.mkdir()
    (place / "sitecustomize.py").write_text("import gc\n\ngc.freeze = lambda: None\n")
    return {"spark.executorEnv.PYTHONPATH": str(place)}


FIGURES = (
    Figure(
        "floor",
        measure,
        (
            Target("of_spark_join.sash", 0.8, at_most=True),
            Target("of_spark_join.low_latency", 0.8, at_most=True),
        ),
    ),
    Figure("floor_tcp", measure_beside_stateless, settings=_tcp),
    Figure("floor_not_frozen", measure_beside_stateless, settings=_not_frozen),
)
