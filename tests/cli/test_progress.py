"""What a run's progress looks like, from figures made by hand."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from sash.cli.progress import Report, Watcher


def progress(batch: int, rows: int) -> dict[str, Any]:
    figures = {
        "batch": batch, "rows": {"link1": rows, "link2": 7}, "malformed": {"link1": 1}, "late": {"link2": 2},
        "changes": {"only1": 12_345}, "frontiers": {"only1": 1_700_000_000_000_000}, "faults": {"cast": 3},
        "state_rows": 1_000, "state_bytes": 64_000, "waiting": 5, "durable_bytes": 2_500_000,
    }  # fmt: skip
    spent = {"addBatch": 80, "walCommit": 9, "commitOffsets": 4, "triggerExecution": 95}
    return {"batchId": batch, "timestamp": f"t{batch}", "durationMs": spent, "sash": figures}


class Run:
    """A handle as the watcher sees it."""

    checkpoint = "/checkpoint"

    def __init__(self) -> None:
        self.lastProgress: dict[str, Any] | None = None

    @property
    def query(self) -> SimpleNamespace:
        return SimpleNamespace(lastProgress=self.lastProgress)


def watched(terminal: bool, *seen: dict[str, Any]) -> str:
    out = io.StringIO()
    run = Run()
    screen = Console(file=out, force_terminal=terminal, width=200, highlight=False)
    watch = Watcher(run, {"only1": "timestamp"}, screen, live=True)  # type: ignore[arg-type]
    watch.begin()
    watch.look()
    for one in seen:
        run.lastProgress = one
        watch.look()
    watch.end()
    watch.end()
    return out.getvalue()


def test_a_terminal_shows_tables_of_streams_and_queries() -> None:
    said = watched(True, progress(0, 500), progress(1, 1_500))
    for words in ("link1", "1,500", "rows/s", "malformed", "only1", "12,345", "2023-11-14T22:13:20", " d "):
        assert words in said
    assert "batch 1 in 95 ms (work 80, note the batch 9, commit 4)" in said
    assert "state 1,000 rows, 64.0 kB in memory, 2.5 MB in the checkpoint; 5 rows wait" in said
    assert "cast: 3" in said


def test_elsewhere_there_is_a_line_in_the_end() -> None:
    said = watched(False, progress(0, 500), progress(1, 1_500)).splitlines()
    assert len(said) == 2, "a line now and then, not one per batch"
    assert said[0].startswith("1 query runs; the checkpoint is /checkpoint")
    assert "rows in: link1 1,500, link2 7; late 2, malformed 1" in said[1]
    assert "only1 12,345 up to 2023-11-14T22:13:20" in said[1]


def test_a_run_without_a_batch_says_nothing_of_one() -> None:
    assert "batch 0" not in watched(False)


def test_rates_are_those_since_the_report_before() -> None:
    first = Report.of(progress(0, 500), None, 1.0)
    assert Report.of(progress(1, 1_500), first, 2.0).rates == {"link1": 500.0, "link2": 0.0}
