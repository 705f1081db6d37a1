"""COUNT and SUM of 100 groups over 600 seconds that slide by 60, 10 and 1, beside Spark's `window()`.

Spark puts each row into every window that it is in: 10, 60 and 600 of them. In the last case a trigger
takes it minutes, so it runs on one only, the first, whose windows begin empty.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

from functools import partial

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.engine.traffic import keyed
from benchmarks.spark.data import Files
from benchmarks.spark.harness import Bench, Figure, ratios, same, sash_changes, sash_side
from benchmarks.spark.peers import collected, peer, windowed
from benchmarks.targets import Record, Target

GROUPS = 100
LENGTH = 600
TRIGGER_ROWS = 250_000
TRIGGER_SECONDS = 300

_PEER_TRIGGERS = {60: (1, 3), 10: (1, 3), 1: (0, 1)}
"""By slide: triggers that warm up, and triggers that count."""

_RUNS = 12
"""A run of Sash has three triggers that count: too few for a median, and the slides differ by a few ms."""

_AS_CHANGES = """
SELECT k, n, total, ends AS "at", 1::BIGINT AS change FROM answers AS now
WHERE NOT EXISTS (SELECT 1 FROM answers AS before WHERE before.k = now.k AND before.n = now.n
  AND before.total = now.total AND before.ends = now.ends - INTERVAL {slide} SECONDS)
UNION ALL
SELECT k, n, total, ends + INTERVAL {slide} SECONDS, -1::BIGINT FROM answers AS now
WHERE ends < (SELECT max(ends) FROM answers)
AND NOT EXISTS (SELECT 1 FROM answers AS after WHERE after.k = now.k AND after.n = now.n
  AND after.total = now.total AND after.ends = now.ends + INTERVAL {slide} SECONDS)
"""
"""The answer at every slide, as what changes from one to the next."""


def query(slide: int) -> str:
    """The groups' counts and sums, every so many seconds."""
    window = f"[RANGE {LENGTH} SECONDS SLIDE {slide} SECONDS]"
    return f"SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s {window} GROUP BY k"


def stream(bench: Bench, trigger_rows: int, triggers: int) -> Files:
    """Uniform groups; a trigger covers 300 seconds."""
    rows = keyed(trigger_rows * triggers, TRIGGER_SECONDS * triggers, GROUPS, 31, "v")
    return bench.files({"s": rows}, trigger_rows)


def same_answer(bench: Bench, slide: int) -> bool:
    """Whether both say the same at every slide up to the last window that Spark closes."""
    files = stream(bench, 1_000, 4)
    answers = collected(bench.spark, windowed(LENGTH, slide)(bench.spark, files), bench.place("checkpoint"))
    answers = answers.set_column(3, "ends", answers["ends"].cast(pa.timestamp("us")))
    with duckdb.connect() as connection:
        connection.register("answers", answers)
        expected = connection.sql(_AS_CHANGES.format(slide=slide)).to_arrow_table()
    said = sash_changes(bench.spark, files, query(slide))
    last = pc.max(answers["ends"])
    said = said.filter(pc.less_equal(said["at"].cast(pa.timestamp("us")), last))
    return same(said, expected)


def measure(slide: int, bench: Bench) -> Record:
    """Sash, and Sash at a slide of 60 s, and Spark."""
    trigger_rows = min(TRIGGER_ROWS, bench.rows // 4)
    files = stream(bench, trigger_rows, max(2, bench.rows // trigger_rows))
    most = files.triggers - 1
    warm_up, measured = _PEER_TRIGGERS[slide]
    sides = [
        peer("window", windowed(LENGTH, slide), warm_up, min(measured, files.triggers - warm_up), {}),
        sash_side("sash", query(slide), 1, most, runs=_RUNS),
        *([] if slide == 60 else [sash_side("slide_60s", query(60), 1, most, runs=_RUNS)]),
    ]
    agreed = same_answer(bench, slide)
    found = bench.by_turns(files, sides)
    sash = found["sash"]
    at_60s = found.get("slide_60s", sash)
    return {
        "rows_per_s": sash["rows_per_s"],
        "ms_per_trigger": sash["ms_per_trigger"],
        "ratios": ratios(sash, {"window": found["window"]}),
        "of_slide_60s": round(sash["rows_per_s"] / at_60s["rows_per_s"], 3),
        "same_answer": agreed,
        "rows": sum(files.rows),
        "sash": sash,
        "slide_60s": at_60s,
        "peers": {"window": found["window"]},
    }


FIGURES = (
    Figure("slide_60s", partial(measure, 60), (Target("ratios.window", 1.5),)),
    Figure("slide_10s", partial(measure, 10), (Target("ratios.window", 4),)),
    Figure("slide_1s", partial(measure, 1), (Target("ratios.window", 100), Target("of_slide_60s", 0.9))),
)
