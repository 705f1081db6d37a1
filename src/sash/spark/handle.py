"""A run: a Spark query with PySpark's own verbs, its errors in Sash's words, its progress in rows.

A thread waits for the run's end, to give the checkpoint back and to let sinks close; with
`until_end` it is also what ends the run, when the batch with the end marker is committed and
nothing is left to read.
"""

from __future__ import annotations

__all__ = ["Handle"]

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sash.errors import SashError
from sash.spark.checkpoints.endings import note_end
from sash.spark.failures import sash_error
from sash.spark.metrics import read_metrics

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from sash.spark.checkpoints.checkpoint import Checkpoint
    from sash.spark.sinks import Sink

T = TypeVar("T")

_SECONDS_TO_END = 30.0
"""How long a run that is over may take until Spark has let go of it."""


class Handle:
    """What `q.start(...)` and `db.start(...)` give."""

    def __init__(
        self,
        query: StreamingQuery,
        checkpoint: Checkpoint,
        sinks: Sequence[Sink] = (),
        until_end: bool = False,
        end_file: str | None = None,
    ) -> None:
        self.query = query
        """Spark's own object."""
        self._checkpoint = checkpoint
        self._run_id = str(query.runId)
        self._sinks = list(sinks)
        self._finishing = threading.RLock()  # a sink that is closed may ask whether the run is over
        self._finished = False
        self._at_the_end: tuple[int | None, dict[str, Any]] | None = None
        self._failure: SashError | None = None
        self._end_file = None if end_file is None else Path(end_file)
        self._watcher = threading.Thread(target=self._watch, args=(until_end,), daemon=True, name="sash-run")
        self._watcher.start()

    # PySpark's verbs

    @property
    def id(self) -> str:
        """The query's id: the same after a restart from its checkpoint."""
        return str(self.query.id)

    @property
    def runId(self) -> str:  # PySpark's name
        """The id of this run alone."""
        return self._run_id

    @property
    def name(self) -> str | None:
        """The query's name."""
        return None if self.query.name is None else str(self.query.name)

    @property
    def isActive(self) -> bool:
        """Whether it still runs; if not, it can be started again at once."""
        if not self._is_over():
            return True
        self._wait_for_the_end()
        self._finish()
        return False

    @property
    def status(self) -> dict[str, Any]:
        """What it does at this moment."""
        return dict(self._guarded(lambda: self.query.status))

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """The newest batch: Spark's figures, and under `sash` those in rows."""
        progress = self._guarded(lambda: self.query.lastProgress)
        return None if progress is None else self._told(progress)

    @property
    def recentProgress(self) -> list[dict[str, Any]]:
        """The newest batches, oldest first."""
        return [self._told(progress) for progress in self._guarded(lambda: self.query.recentProgress)]

    def exception(self) -> SashError | None:
        """Why it stopped, if it failed; then it can be started again at once."""
        if self._failure is None:
            error = self._guarded(self.query.exception)
            if error is not None:
                self._failure = sash_error(error)
                self._wait_for_the_end()
        if self._failure is not None:
            self._finish()
        return self._failure

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Wait for the end, or so many seconds and say whether it has come; raise what it failed with."""
        try:
            ended: bool | None = self.query.awaitTermination(timeout)
        except Exception as error:
            self._finish()
            raise self._told_error(error) from error
        if timeout is None or ended:
            self._finish()
        return ended

    def processAllAvailable(self) -> None:
        """Wait until all that is there now is read and committed."""
        self._guarded(self.query.processAllAvailable)

    def stop(self) -> None:
        """End the run; a batch that is under way is left to the next run on the checkpoint."""
        self._guarded(self.query.stop)
        self._finish()

    def explain(self, extended: bool = False) -> None:
        """Print Spark's plan of the newest batch."""
        self.query.explain(extended)

    # Beyond PySpark

    @property
    def checkpoint(self) -> str:
        """The folder that the run keeps its state in."""
        return str(self._checkpoint.path)

    def metrics(self) -> dict[str, Any]:
        """Counters in rows, as of the newest committed batch: in and out, late, held, per query."""
        return read_metrics(self._checkpoint.path) if self._at_the_end is None else self._at_the_end[1]

    def __repr__(self) -> str:
        state = "running" if self.isActive else "failed" if self.exception() is not None else "stopped"
        return f"<sash run '{self.name}': {state}>"

    # Inner workings

    def _watch(self, until_end: bool) -> None:
        with suppress(Exception):  # a failure is told by the verbs, not by a thread
            if until_end:
                self.query.processAllAvailable()
                if self._end_file is not None:  # DataFrames are read as well: now time may move to the end
                    self._end_file.touch()
                    self.query.processAllAvailable()
                    self._end_file.unlink()
                self.query.stop()
            self.query.awaitTermination()
        self._finish()

    def _wait_for_the_end(self) -> None:
        """Spark has the error, and says that a run is over, a little before it lets go of its name and id."""
        with suppress(Exception):  # a failure is told by the verbs that are to tell it
            self.query.awaitTermination(_SECONDS_TO_END)

    def _finish(self) -> None:
        """Give everything back, once; whoever comes while another thread is at it waits until it is done."""
        with self._finishing:
            if self._finished or not self._is_over():
                return
            self._finished = True
            for sink in self._sinks:
                sink.close()
            if self._checkpoint.temporary:  # what it says goes with it
                with suppress(Exception):
                    newest = self.query.lastProgress
                    batch = None if newest is None else _figures(newest).get("batchId")
                    self._at_the_end = batch, read_metrics(self._checkpoint.path)
            else:
                note_end(self._checkpoint.path, self.runId)
            self._checkpoint.close()

    def _is_over(self) -> bool:
        try:
            return not self.query.isActive
        except Exception:  # Spark itself has gone: the process ends, or the session was stopped elsewhere
            return True

    def _guarded(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except Exception as error:
            raise self._told_error(error) from error

    def _told_error(self, error: Exception) -> SashError:
        self._failure = sash_error(error)
        return self._failure

    def _told(self, progress: Any) -> dict[str, Any]:
        figures = _figures(progress)
        batch = figures.get("batchId")
        if self._at_the_end is not None and self._at_the_end[0] == batch:
            return {**figures, "sash": self._at_the_end[1]}
        return {**figures, "sash": read_metrics(self._checkpoint.path, batch)}


def _figures(progress: Any) -> dict[str, Any]:
    """What Spark says of a batch."""
    return json.loads(progress.json) if hasattr(progress, "json") else dict(progress)
