"""The demo on Spark: traffic arrives as Parquet files, eight questions run as one Spark query, live.

A thread writes the files and the batches come back through a function, which keeps the answers here.
Afterwards each question runs alone over traffic that is there already, for its rate. All files are in
a temporary folder that goes at the end.
"""

from __future__ import annotations

__all__ = ["demo_on_spark"]

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.live import Live
from rich.table import Table

import sash
from sash.cli.demo import SECONDS_BETWEEN_LINES, shown
from sash.cli.questions import SPARK_QUESTIONS, Question
from sash.cli.screen import console
from sash.cli.traffic import HOSTS_TABLE, ROWS_PER_LINK, STREAMS, owners, traffic
from sash.spark.sinks.snapshot import changed

if TYPE_CHECKING:
    from rich.console import Console

    from sash.spark.database import SparkDatabase
    from sash.spark.handle import Handle

MOST_CORES = 4
SECONDS_PER_FILE = 4
"""Seconds of traffic in a file of the live part; it is written in half a second."""
WRITE_EVERY = 0.5
TRIGGERS = 3
"""Into how many triggers the traffic is cut that rates are measured over."""
PATIENCE = 145.0
"""Seconds after which no further rate is begun, so that the demo ends in time on any machine."""


def demo_on_spark(seconds: float, seed: int, rows: int) -> None:
    """Show the questions live for some seconds, then the rate of each over so many rows a link."""
    screen = console()
    began = time.monotonic()
    screen.print("Spark starts ...", style="dim")
    with tempfile.TemporaryDirectory(prefix="sash-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        master = f"local[{min(MOST_CORES, os.cpu_count() or 1)}]"
        with closing(sash.connect("spark", master=master, app_name="sash demo")) as db:
            _watch(db, folder / "live", seconds, seed, screen)
            length = max(1, rows // ROWS_PER_LINK // TRIGGERS)
            rates = _rates(db, folder / "rates", seed, length, began + PATIENCE, screen)
    screen.print(_closing(rates, length * TRIGGERS * ROWS_PER_LINK))


# The live part


class _Writer(threading.Thread):
    """Writes traffic into the streams' folders until it is told to stop."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(name="traffic", daemon=True)
        self._folder, self._seed = folder, seed
        self._ended = threading.Event()
        self.second = 0

    def run(self) -> None:
        while not self._ended.is_set():
            started = time.monotonic()
            _write(self._folder, self._seed, range(self.second, self.second + SECONDS_PER_FILE))
            self.second += SECONDS_PER_FILE
            self._ended.wait(max(0.0, WRITE_EVERY - (time.monotonic() - started)))

    def end(self) -> None:
        """Finish the files at hand."""
        self._ended.set()
        self.join()


class _Answers:
    """The function per batch: adds each query's changes to its answer."""

    def __init__(self, schemas: Mapping[str, pa.Schema]) -> None:
        self.now = {name: schema.empty_table() for name, schema in schemas.items()}
        self.changes = dict.fromkeys(schemas, 0)

    def __call__(self, batch: Any, number: int) -> None:
        rows: pa.Table = batch.toArrow()
        for name, before in self.now.items():
            own = rows.filter(pc.equal(rows.column("query"), name))
            self.now[name] = changed(before, own, before.schema)
            self.changes[name] += own.num_rows

    def words(self, name: str) -> str:
        """An answer in a few words, the greatest first."""
        answer = self.now[name]
        last = answer.schema[-1]
        if not (pa.types.is_integer(last.type) or pa.types.is_floating(last.type)):
            return shown(answer.sort_by(answer.schema[0].name))
        return shown(answer.sort_by([(last.name, "descending")]))


def _watch(db: SparkDatabase, folder: Path, seconds: float, seed: int, screen: Console) -> None:
    """All questions in one Spark query over files that keep coming."""
    _define(db, folder)
    for question in SPARK_QUESTIONS:
        db.query(question.text, name=question.name)
    answers = _Answers({name: query.schema for name, query in db.queries.items()})
    _write(folder, seed, range(1))
    writer = _Writer(folder, seed)
    writer.second = 1
    handle = db.start(answers, checkpoint=folder / "checkpoint", name="demo")
    handle.processAllAvailable()  # the first batch loads the kernels
    writer.start()
    live = Live(console=screen, auto_refresh=False) if screen.is_terminal else None
    began = spoken = time.monotonic()
    try:
        if live is not None:
            live.start()
        while time.monotonic() - began < seconds and handle.isActive:
            time.sleep(WRITE_EVERY)
            if live is not None:
                live.update(_frame(handle, answers, writer.second), refresh=True)
            elif time.monotonic() - spoken >= SECONDS_BETWEEN_LINES:
                spoken = time.monotonic()
                _speak(answers, writer.second, screen)
        writer.end()
        handle.processAllAvailable()
        if live is not None:
            live.update(_frame(handle, answers, writer.second), refresh=True)
    finally:
        writer.end()
        if live is not None:
            live.stop()
    screen.print(_live_line(handle, writer.second))
    handle.stop()


def _define(db: SparkDatabase, folder: Path, options: str = "") -> None:
    """The streams over their folders, and the table of hosts."""
    for name, text in STREAMS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        db.execute(f"{text} WITH (format = 'parquet', path = '{folder / name}'{options})")
    pq.write_table(owners(), folder / "hosts.parquet")
    db.execute(f"{HOSTS_TABLE} WITH (format = 'parquet', path = '{folder / 'hosts.parquet'}')")


def _write(folder: Path, seed: int, numbers: Sequence[int]) -> None:
    """Some seconds of traffic as one file per stream, whole from the moment it is seen."""
    made = [traffic(seed, number) for number in numbers]
    for name in STREAMS:
        part = folder / name / f".{numbers[0]:06d}.part"
        pq.write_table(pa.concat_tables(second[name] for second in made), part)
        part.rename(part.with_name(f"{numbers[0]:06d}.parquet"))


def _frame(handle: Handle, answers: _Answers, second: int) -> Table:
    progress = handle.query.lastProgress
    last = "" if progress is None else f"; the last batch took {_milliseconds(progress):,} ms"
    table = Table(title=f"second {second:,} of the traffic{last}", title_justify="left", expand=True)
    table.add_column("question", ratio=2)
    table.add_column("answer now", ratio=4)
    table.add_column("changes", justify="right", width=11)
    for question in SPARK_QUESTIONS:
        words = answers.words(question.name)
        table.add_row(question.asks, words, f"{answers.changes[question.name]:,}", end_section=True)
    return table


def _speak(answers: _Answers, second: int, screen: Console) -> None:
    for question in SPARK_QUESTIONS:
        screen.print(f"second {second}: {question.asks}: {answers.words(question.name)}", markup=False)


def _live_line(handle: Handle, second: int) -> str:
    batches = [_milliseconds(one) for one in handle.query.recentProgress if one["numInputRows"]][1:]
    rows = sum(handle.metrics()["rows"].values())
    median = f", half of them within {statistics.median(batches):,.0f} ms" if batches else ""
    return (
        f"live: {second:,} seconds of traffic, {rows:,} rows through {len(SPARK_QUESTIONS)} queries in one "
        f"Spark query, {len(batches) + 1} batches{median}"
    )


def _milliseconds(progress: Any) -> int:
    return int(progress["durationMs"]["triggerExecution"])


# The rates


@dataclass(frozen=True)
class _Rate:
    """What a question did alone; no rate if there was no time to measure it."""

    question: Question
    rows: int = 0
    changes: int = 0
    rows_per_s: float | None = None


def _rates(
    db: SparkDatabase, folder: Path, seed: int, length: int, until: float, screen: Console
) -> list[_Rate]:
    """Each question alone over triggers of so many seconds, in the session of the live part."""
    alone = sash.connect(db.spark)
    _define(alone, folder, ", maxFilesPerTrigger = '1'")
    for trigger in range(TRIGGERS):
        _write(folder, seed, range(trigger * length, (trigger + 1) * length))
    rates = []
    with screen.status("Each query alone, for its rate ...") if screen.is_terminal else nullcontext():
        for question in SPARK_QUESTIONS:
            late = time.monotonic() > until
            rates.append(_Rate(question) if late else _rate(alone, question, folder))
    return rates


def _rate(db: SparkDatabase, question: Question, folder: Path) -> _Rate:
    query = db.query(question.text, name=question.name)
    handle = query.start("noop", checkpoint=folder / f"checkpoint-{question.name}", until_end=True)
    handle.awaitTermination()
    progress = handle.recentProgress
    known, rows, spent = 0, 0, 0
    for number, one in enumerate(progress):
        total = sum(one["sash"]["rows"].values())
        if number and total > known:  # the first trigger loads, the last only moves time
            rows, spent = rows + total - known, spent + _milliseconds(one)
        known = total
    changes = sum(handle.metrics()["changes"].values())
    return _Rate(question, known, changes, rows / spent * 1000 if spent else None)


def _closing(rates: Sequence[_Rate], rows: int) -> Table:
    title = (
        f"rows/s: each query alone over {rows:,} rows a link in {TRIGGERS} triggers, state durable, "
        "the first trigger left out; every answer exact at every instant"
    )
    table = Table(title=title, title_justify="left")
    for heading in ("query", "asks", "Spark's own engine"):
        table.add_column(heading)
    for heading in ("rows in", "changes out", "rows/s"):
        table.add_column(heading, justify="right")
    for rate in rates:
        question = rate.question
        figures = ("", "", "no time left")
        if rate.rows_per_s is not None:
            figures = (f"{rate.rows:,}", f"{rate.changes:,}", f"{rate.rows_per_s:,.0f}")
        table.add_row(question.name, question.asks, question.refused, *figures)
    return table
