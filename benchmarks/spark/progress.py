"""What Spark says of each batch, as figures: milliseconds by phase, rows, state; and their medians."""

from __future__ import annotations

__all__ = ["Batch", "Run", "Summary", "batches", "summary"]

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchmarks.spark.data import Files

Summary = dict[str, Any]
"""A side's figures, ready for JSON."""


@dataclass(frozen=True)
class Batch:
    """One trigger with rows."""

    rows: int
    started: float
    """Seconds since 1970."""
    ms: float
    phases: dict[str, float]
    state: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """The batches of one run, in order, and the bytes that its checkpoint has at the end."""

    batches: list[Batch]
    written: int

    @property
    def seconds(self) -> float:
        """How long its triggers took, without the hiccups of a start."""
        return len(self.batches) * statistics.median(batch.ms for batch in self.batches) / 1000


def batches(progress: Iterable[Any], files: Files) -> list[Batch]:
    """The batches with rows: as many as the files have triggers."""
    told = [json.loads(each.json) if hasattr(each, "json") else each for each in progress]
    found = {each["batchId"]: each for each in told if each["numInputRows"]}
    if len(found) < files.triggers:
        raise RuntimeError(f"{files.triggers} triggers were expected, and {len(found)} were seen")
    return [_batch(found[key], rows) for key, rows in zip(sorted(found), _rows(found, files), strict=False)]


def _rows(found: dict[int, dict[str, Any]], files: Files) -> list[int]:
    """Of each batch: as Sash counts them, which need not read every stream, else as the files have them."""
    told = [found[key].get("sash") for key in sorted(found)]
    totals = [sum(each["rows"].values()) for each in told if each is not None]
    if not totals:
        return list(files.rows)
    return [after - before for before, after in zip([0, *totals], totals, strict=False)]


def _batch(told: dict[str, Any], rows: int) -> Batch:
    phases = {name: float(ms) for name, ms in told["durationMs"].items()}
    ms = phases.pop("triggerExecution")
    started = datetime.fromisoformat(told["timestamp"]).timestamp()
    return Batch(rows, started, ms, phases, _state(told))


def _state(told: dict[str, Any]) -> dict[str, Any]:
    """What is held after a batch, in the words of who holds it."""
    if "sash" in told:
        kept = ("state_rows", "state_bytes", "durable_bytes", "waiting", "changes", "rows", "late")
        return {name: told["sash"][name] for name in kept}
    operators = told["stateOperators"]
    if not operators:
        return {}
    custom = [operator.get("customMetrics", {}) for operator in operators]
    return {
        "state_bytes": sum(operator["memoryUsedBytes"] for operator in operators),
        "sst_bytes": sum(each.get("rocksdbSstFileSize", 0) for each in custom),
    }


def summary(runs: Sequence[Run], warm_up: int) -> Summary:
    """Medians over the batches behind the warm-up, of all runs together."""
    measured = [batch for run in runs for batch in run.batches[warm_up:]]
    rows = statistics.mean(batch.rows for batch in measured)
    ms = _median(batch.ms for batch in measured)
    phases = {name for batch in measured for name in batch.phases}
    return {
        "rows_per_s": round(rows / ms * 1000),
        "ms_per_trigger": ms,
        "mean_ms_per_trigger": round(statistics.mean(batch.ms for batch in measured), 1),
        "wall_ms_per_trigger": _wall(runs, warm_up),
        "rows_per_s_by_run": [
            round(rows / _median(batch.ms for batch in run.batches[warm_up:]) * 1000) for run in runs
        ],
        "ms_by_phase": {
            name: _median(batch.phases.get(name, 0.0) for batch in measured) for name in sorted(phases)
        },
        "rows_per_trigger": round(rows),
        "triggers": len(runs[0].batches) - warm_up,
        "warm_up_triggers": warm_up,
        "bytes_written_per_trigger": round(
            sum(run.written for run in runs) / sum(len(run.batches) for run in runs)
        ),
        **measured[-1].state,
        **_durable(measured),
    }


def _durable(measured: Sequence[Batch]) -> Summary:
    """What Sash's manifests name, which rises and falls with every merge."""
    named = [batch.state["durable_bytes"] for batch in measured if "durable_bytes" in batch.state]
    if not named:
        return {}
    return {"mean_durable_bytes": round(statistics.mean(named)), "most_durable_bytes": max(named)}


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 1)


def _wall(runs: Sequence[Run], warm_up: int) -> float | None:
    """From the start of one trigger to that of the next: also what Spark does between them."""
    steps = [
        (after.started - before.started) * 1000
        for run in runs
        for before, after in zip(run.batches[warm_up:], run.batches[warm_up + 1 :], strict=False)
    ]
    return _median(steps) if steps else None
