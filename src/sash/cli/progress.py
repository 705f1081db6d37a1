"""How a run on Spark goes, for people: a table that redraws itself on a terminal, else a line now and then.

Counts are in rows, as of the last batch that was committed; `handle.lastProgress` has them all.
"""

from __future__ import annotations

__all__ = ["Report", "Watcher", "watcher"]

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live
from rich.table import Table

from sash.catalog.clock import Kind, show_instant
from sash.catalog.planning import kind_of
from sash.errors import SashError
from sash.lifetimes import BEGINNING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from sash.spark.database import SparkDatabase
    from sash.spark.handle import Handle

SECONDS_BETWEEN_LINES = 10.0
_PHASES = {
    "latestOffset": "look for rows",
    "getBatch": "plan",
    "queryPlanning": "plan",
    "walCommit": "note the batch",
    "addBatch": "work",
    "commitBatch": "commit",
    "commitOffsets": "commit",
}
"""What Spark's names of the phases of a trigger mean."""


@dataclass(frozen=True)
class Report:
    """One batch that came through, and what all batches so far come to."""

    batch: int
    figures: Mapping[str, Any]
    phases: Mapping[str, int]
    """Milliseconds of each phase, the longest first."""
    milliseconds: int
    rates: Mapping[str, float]
    """Rows per second of each stream since the report before."""

    @staticmethod
    def of(progress: Mapping[str, Any], before: Report | None, seconds: float) -> Report:
        """From Spark's progress with Sash's figures in it, and the report so many seconds ago.

        >>> told = {"batchId": 3, "durationMs": {"addBatch": 80, "walCommit": 9, "triggerExecution": 95},
        ...         "sash": {"rows": {"s": 500}}}
        >>> report = Report.of(told, None, 2.0)
        >>> dict(report.phases), report.milliseconds, report.rates["s"]
        ({'work': 80, 'note the batch': 9}, 95, 250.0)
        """
        durations = dict(progress.get("durationMs", {}))
        whole = int(durations.pop("triggerExecution", 0))
        phases: dict[str, int] = {}
        for name, spent in durations.items():
            words = _PHASES.get(str(name), str(name))
            phases[words] = phases.get(words, 0) + int(spent)
        longest = dict(sorted(phases.items(), key=lambda phase: -phase[1]))
        rows = progress["sash"]["rows"]
        known = {} if before is None else before.figures["rows"]
        rates = {name: (count - known.get(name, 0)) / max(seconds, 1e-3) for name, count in rows.items()}
        return Report(progress["batchId"], progress["sash"], longest, whole, rates)


class Watcher:
    """Looks at a run, and shows what it sees."""

    def __init__(self, handle: Handle, kinds: Mapping[str, Kind], screen: Console, live: bool) -> None:
        self._handle, self._kinds, self._screen = handle, kinds, screen
        self._live = Live(console=screen, auto_refresh=False) if live and screen.is_terminal else None
        self._report: Report | None = None
        self._newest: object = None
        self._looked = self._spoken = time.monotonic()
        self._ended = False

    def begin(self) -> None:
        """Say what runs."""
        count = len(self._kinds)
        self._screen.print(
            f"{count} {'query runs' if count == 1 else 'queries run'}; the checkpoint is "
            f"{self._handle.checkpoint}; Ctrl-C stops after the batch at work.",
            soft_wrap=True,
            markup=False,
        )
        if self._live is not None:
            self._live.start()

    def look(self) -> None:
        """Show what is new."""
        new = self._see()
        if self._report is None:
            return
        now = time.monotonic()
        if self._live is not None:
            if new:
                self._live.update(self._drawn(self._report), refresh=True)
        elif new and now - self._spoken >= SECONDS_BETWEEN_LINES:
            self._spoken = now
            self._screen.print(self._line(self._report), soft_wrap=True, markup=False)

    def end(self) -> None:
        """Show how it stands in the end, once."""
        if self._ended:
            return
        self._ended = True
        self._see()
        if self._live is not None:
            if self._report is not None:
                self._live.update(self._drawn(self._report), refresh=True)
            self._live.stop()
        elif self._report is not None:
            self._screen.print(self._line(self._report), soft_wrap=True, markup=False)

    def _see(self) -> bool:
        """Take in the newest batch; whether there is one since the last look."""
        try:
            newest = self._handle.query.lastProgress
        except Exception:  # Java has gone: that ends the run, which tells it
            return False
        if newest is None or (newest["batchId"], newest["timestamp"]) == self._newest:
            return False
        self._newest = (newest["batchId"], newest["timestamp"])
        with suppress(SashError):  # a checkpoint that cannot be read ends the run, not its display
            progress = self._handle.lastProgress
            if progress is None or progress["sash"]["batch"] is None:
                return False
            now = time.monotonic()
            self._report = Report.of(progress, self._report, now - self._looked)
            self._looked = now
            return True
        return False

    # What it looks like

    def _drawn(self, report: Report) -> RenderableType:
        figures = report.figures
        streams = _table("stream", "rows", "rows/s", "late", "malformed")
        for name, rows in figures["rows"].items():
            late, bad = figures["late"].get(name, 0), figures["malformed"].get(name, 0)
            streams.add_row(name, f"{rows:,}", f"{report.rates[name]:,.0f}", f"{late:,}", f"{bad:,}")
        queries = _table("query", "changes", "frontier", "behind")
        for name, kind in self._kinds.items():
            frontier = figures["frontiers"].get(name, BEGINNING)
            changes = figures["changes"].get(name, 0)
            cells = (f"{changes:,}", show_instant(frontier, kind), _behind(frontier, kind))
            queries.add_row(name, *cells)
        return Group(streams, queries, _batch(report), _state(report))

    def _line(self, report: Report) -> str:
        figures = report.figures
        rows = ", ".join(f"{name} {count:,}" for name, count in figures["rows"].items())
        out = ", ".join(
            f"{name} {figures['changes'].get(name, 0):,} up to "
            f"{show_instant(figures['frontiers'].get(name, BEGINNING), kind)}"
            for name, kind in self._kinds.items()
        )
        late, bad = sum(figures["late"].values()), sum(figures["malformed"].values())
        return (
            f"{_batch(report)}; rows in: {rows or 'none'}; late {late:,}, malformed {bad:,}; "
            f"changes out: {out}; {_state(report)}"
        )


def watcher(db: SparkDatabase, handle: Handle, screen: Console, live: bool) -> Watcher:
    """A watcher of a run of all queries of a database."""
    kinds: dict[str, Kind] = {}
    for name, query in db.queries.items():
        kinds[name] = kind_of(db.feeds[stream].definition for stream in query.planned.streams)
    return Watcher(handle, kinds, screen, live)


def _table(*headings: str) -> Table:
    table = Table(expand=False)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i else "left", no_wrap=True)
    return table


def _batch(report: Report) -> str:
    phases = ", ".join(f"{name} {spent:,}" for name, spent in report.phases.items())
    return f"batch {report.batch} in {report.milliseconds:,} ms ({phases})"


def _state(report: Report) -> str:
    figures = report.figures
    parts = [
        f"state {figures['state_rows']:,} rows, {_size(figures['state_bytes'])} in memory, "
        f"{_size(figures['durable_bytes'])} in the checkpoint"
    ]
    if figures["waiting"]:
        parts.append(f"{figures['waiting']:,} rows wait for time")
    parts += [f"{cause}: {count:,}" for cause, count in figures["faults"].items()]
    return "; ".join(parts)


def _size(count: int) -> str:
    """
    >>> _size(512), _size(2_500_000)
    ('512 B', '2.5 MB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _behind(frontier: int, kind: Kind) -> str:
    """How far the wall clock is ahead; nothing where time is a plain number.

    >>> _behind(7, "integer")
    ''
    """
    if kind == "integer" or frontier <= BEGINNING:
        return ""
    seconds = time.time() - frontier / 1e6
    if abs(seconds) < 120:
        return f"{seconds:.1f} s"
    if abs(seconds) < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.0f} h" if abs(seconds) < 172_800 else f"{seconds / 86_400:,.0f} d"
