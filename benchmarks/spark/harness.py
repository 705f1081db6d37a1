"""How a figure on Spark is measured: all sides over the same files, in one session, by turns.

A run takes the first so many triggers of the files, one file per stream and trigger, into an empty
checkpoint and the noop sink. Everyone rehearses for as long as the slowest does, so that the Java
machine is as warm for one as for the other; then come the trials, side after side, and back again.
What counts is the median over the triggers behind the warm-up of each run; times are Spark's own, from
the progress of each batch.
"""

from __future__ import annotations

__all__ = ["Bench", "Figure", "Query", "Side", "ratios", "same", "sash_changes", "sash_side"]

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

import sash
from benchmarks.engine.fingerprint import Fingerprint
from benchmarks.spark.data import Files, written
from benchmarks.spark.progress import Run, Summary, batches, summary
from benchmarks.targets import Record, Target, verdicts
from sash.spark.sessions.local_logs import suit_checkpoint
from sash.spark.sessions.sessions import make_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
    "spark.sql.streaming.minBatchesToRetain": "1000",  # so that all that was written can be counted
}
"""What every session is told besides Sash's own settings."""

_MEMORY = {"spark.driver.memory": "3g"}
_LONGEST_REHEARSAL = 45.0


class Query(Protocol):
    """What runs: a query of Spark's, or a handle of Sash's."""

    @property
    def recentProgress(self) -> Sequence[Any]: ...

    def processAllAvailable(self) -> None: ...

    def stop(self) -> None: ...


@dataclass(frozen=True)
class Side:
    """One that answers the question: how it is started, and on how many triggers it runs."""

    name: str
    start: Callable[[SparkSession, Files, Path], Query]
    """A session, the files, and the folder of the checkpoint."""
    warm_up: int
    measured: int
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the session, while it starts."""
    files: Files | None = None
    """Other files than everyone's."""
    rehearsed: int = 0
    """Triggers that the rehearsal has at least: more than one behind the warm-up where they are cheap."""
    runs: int = 1
    """Runs in each trial: several where a run is too short to say much."""

    @property
    def triggers(self) -> int:
        """How many triggers a run has."""
        return self.warm_up + self.measured


def sash_side(name: str, query: str, warm_up: int, measured: int, *, runs: int = 1, **settings: Any) -> Side:
    """Sash with a query over the streams of the files."""

    def start(spark: SparkSession, files: Files, checkpoint: Path) -> Query:
        db = sash.connect(spark, **settings)
        db.execute(files.definitions())
        running: Query = db.query(query, name=name).start("noop", checkpoint=checkpoint)
        return running

    return Side(name, start, warm_up, measured, rehearsed=12, runs=runs)


def sash_changes(spark: SparkSession, files: Files, query: str) -> pa.Table:
    """All changes of a query over the files, time moved to the greatest timestamp."""
    with sash.connect(spark) as db:
        db.execute(files.definitions())
        handle = db.query(query, name="sash_changes").start("memory", until_end=True)
        handle.awaitTermination()
        return spark.table("sash_changes").toArrow()


def same(said: pa.Table, expected: pa.Table) -> bool:
    """Whether two tables of changes say the same; if not, standard error is told how many there are."""
    agreed = expected.num_rows > 0 and Fingerprint.of(said) == Fingerprint.of(expected)
    if not agreed:
        print(f"Sash: {said.num_rows} changes, its peer: {expected.num_rows}; they differ.", file=sys.stderr)
    return agreed


class Bench:
    """A figure's session and its folder, and how much it was asked for."""

    def __init__(self, name: str, rows: int, trials: int, spark: SparkSession, folder: Path) -> None:
        self.name, self.rows, self.trials = name, rows, trials
        self.spark = spark
        self._folder = folder
        self._numbered = 0

    def files(self, streams: Mapping[str, pa.Table], trigger_rows: int) -> Files:
        """Streams written into a folder of their own."""
        return written(self.place("files"), streams, trigger_rows)

    def by_turns(self, files: Files | None, sides: Sequence[Side]) -> dict[str, Summary]:
        """What each side's triggers took: a rehearsal of everyone, then the trials in turn."""
        self._rehearse(files, sides)
        runs: dict[str, list[Run]] = {side.name: [] for side in sides}
        for trial in range(self.trials):
            for side in _turns(sides, forwards=trial % 2 == 0):
                self._tell(f"trial {trial + 1} of {self.trials}", side)
                runs[side.name].append(self._run(files, side, side.triggers))
        return {side.name: summary(runs[side.name], side.warm_up) for side in sides}

    def _rehearse(self, files: Files | None, sides: Sequence[Side]) -> None:
        """Let everyone run once, and then those who are fast again until all have run for as long."""

        def rehearse(side: Side) -> float:
            self._tell("rehearsal", side)
            triggers = min(side.triggers, max(side.warm_up + 1, side.rehearsed))
            return self._run(files, side, triggers).seconds

        took = {side.name: rehearse(side) for side in sides}
        enough = min(max(took.values()), _LONGEST_REHEARSAL)
        for side in sides:
            while took[side.name] < enough:
                took[side.name] += rehearse(side)

    def once(self, files: Files, side: Side) -> Summary:
        """One run alone, for what is not a matter of time."""
        self._tell("once", side)
        return summary([self._run(files, side, side.triggers)], side.warm_up)

    def _run(self, files: Files | None, side: Side, triggers: int) -> Run:
        given = side.files or files
        assert given is not None, "a side has files of its own, or everyone's"
        own = given.first(triggers)
        checkpoint = self.place("checkpoint")
        suit_checkpoint(self.spark, str(checkpoint))
        with told(self.spark, side.settings):
            query = side.start(self.spark, own, checkpoint)
        try:
            query.processAllAvailable()
            progress = list(query.recentProgress)
        finally:
            query.stop()
        run = Run(batches(progress, own), _bytes_below(checkpoint, but=checkpoint / "files"))
        shutil.rmtree(checkpoint, ignore_errors=True)
        return run

    def place(self, kind: str) -> Path:
        """The name of a folder that is not there yet."""
        self._numbered += 1
        return self._folder / f"{kind}-{self._numbered}"

    def _tell(self, what: str, side: Side) -> None:
        if sys.stderr.isatty():
            from sash.cli.screen import console

            console(stderr=True).print(f"{self.name}, {what}: {side.name}", style="dim")


@dataclass(frozen=True)
class Figure:
    """A named measurement, what it must reach, and what its session is told besides."""

    name: str
    measure: Callable[[Bench], Record]
    targets: tuple[Target, ...] = ()
    settings: Callable[[Path], Mapping[str, str]] = lambda folder: {}
    """Settings for the session, given a folder for what they need."""

    def run(self, rows: int, trials: int) -> Record:
        """The record, from a session of its own."""
        with tempfile.TemporaryDirectory(prefix="sash-bench-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            spark = make_session("local[2]", "sash bench", **(_MEMORY | dict(self.settings(folder))))
            try:
                return self.record(Bench(self.name, rows, trials, spark, folder))
            finally:
                stop_session(spark)

    def record(self, bench: Bench) -> Record:
        """What is measured in a session that is there, with its verdicts."""
        record: Record = {"name": self.name, "rows_per_s": None, "ms_per_trigger": None, "ratios": {}}
        with told(bench.spark, SETTINGS):
            record |= self.measure(bench)
        return record | {"trials": bench.trials} | verdicts(record, self.targets)


def _turns(sides: Sequence[Side], *, forwards: bool) -> Iterator[Side]:
    """Every side as often as it runs in a trial, one after another, and back again."""
    for turn in range(max(side.runs for side in sides)):
        yield from [side for side in sides if turn < side.runs][:: 1 if forwards else -1]
        forwards = not forwards


def ratios(own: Summary, peers: Mapping[str, Summary]) -> dict[str, float]:
    """How many times a peer's rate ours is."""
    return {name: round(own["rows_per_s"] / peer["rows_per_s"], 3) for name, peer in peers.items()}


@contextmanager
def told(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings, for a while; a query keeps those it was started with."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def _bytes_below(folder: Path, but: Path) -> int:
    found = [path for path in folder.rglob("*") if path.is_file() and but not in path.parents]
    return sum(path.stat().st_size for path in found)
