"""A run's handle: PySpark's verbs, errors in Sash's words, everything given back at the end."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sash.errors import Place, SashError
from sash.spark.buckets.bucket_files import BucketFiles, Manifest
from sash.spark.checkpoints.checkpoint import Checkpoint
from sash.spark.checkpoints.endings import ended_run
from sash.spark.failures import find, sash_error, telling
from sash.spark.handle import Handle

ERROR = SashError(
    "SASH-DATA-001", "St. Row 1 is odd. Very.", remedy="Mend it.", place=Place("SELECT x", 7, 8)
)


class Progress:
    """As PySpark gives it."""

    def __init__(self, batch: int) -> None:
        self.json = f'{{"batchId": {batch}, "numInputRows": 3}}'


class FakeQuery:
    """A Spark query that does nothing until it is told to end."""

    id, runId, name = "1-2", "3-4", "talkers"

    def __init__(self) -> None:
        self.end = threading.Event()
        self.error: Exception | None = None
        self.available = threading.Event()

    @property
    def isActive(self) -> bool:
        return not self.end.is_set()

    @property
    def status(self) -> dict[str, Any]:
        return {"message": "busy"}

    @property
    def lastProgress(self) -> Progress | None:
        return Progress(4)

    @property
    def recentProgress(self) -> list[Progress]:
        return [Progress(3), Progress(4)]

    def exception(self) -> Exception | None:
        return self.error

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        ended = self.end.wait(timeout)
        if ended and self.error is not None:
            raise self.error
        return ended if timeout is not None else None

    def processAllAvailable(self) -> None:
        self.available.wait()

    def stop(self) -> None:
        self.end.set()


class Sink:
    closed = 0

    def close(self) -> None:
        self.closed += 1


def given_back(path: Path) -> bool:
    try:
        Checkpoint(path).close()
    except SashError:
        return False
    return True


def handle(query: FakeQuery, path: Path | None, *sinks: Any, until_end: bool = False) -> Handle:
    return Handle(query, Checkpoint(path), sinks, until_end)  # type: ignore[arg-type]


def test_the_verbs_of_pyspark(tmp_path: Path) -> None:
    query, sink = FakeQuery(), Sink()
    run = handle(query, tmp_path, sink)
    assert (run.id, run.runId, run.name, run.isActive) == ("1-2", "3-4", "talkers", True)
    assert run.status == {"message": "busy"}
    progress = run.lastProgress
    assert progress is not None
    assert progress["batchId"] == 4
    assert "sash" in progress
    assert [each["batchId"] for each in run.recentProgress] == [3, 4]
    assert run.exception() is None
    assert run.checkpoint == str(tmp_path)
    assert repr(run) == "<sash run 'talkers': running>"
    assert run.awaitTermination(0.01) is False
    assert not given_back(tmp_path)
    run.stop()
    assert run.awaitTermination() is None
    assert given_back(tmp_path)
    assert ended_run(str(tmp_path)) == run.runId
    assert sink.closed == 1
    assert repr(run) == "<sash run 'talkers': stopped>"


def test_a_run_until_the_end_stops_when_all_is_read(tmp_path: Path) -> None:
    query = FakeQuery()
    run = handle(query, tmp_path, until_end=True)
    assert run.awaitTermination(0.05) is False
    query.available.set()
    run.awaitTermination()
    assert not run.isActive
    assert given_back(tmp_path)


def test_a_run_that_ends_by_itself_gives_everything_back(tmp_path: Path) -> None:
    query, sink = FakeQuery(), Sink()
    run = handle(query, tmp_path, sink)
    query.stop()
    run._watcher.join(5)
    assert given_back(tmp_path)
    assert sink.closed == 1


def test_a_run_whose_spark_has_gone_gives_everything_back(tmp_path: Path) -> None:
    class Gone(FakeQuery):
        @property
        def isActive(self) -> bool:
            raise ConnectionRefusedError("Java has gone")

    query, sink = Gone(), Sink()
    query.error = ConnectionRefusedError("Java has gone")
    query.end.set()
    run = handle(query, tmp_path, sink)
    run._watcher.join(5)
    assert given_back(tmp_path)
    assert sink.closed == 1


def test_java_that_goes_while_it_is_asked_for_its_error_has_gone() -> None:
    class Going:
        def toString(self) -> str:
            raise ConnectionRefusedError("Java has gone")

    error = RuntimeError("An error occurred while calling o1.stop.")
    error.java_exception = Going()  # type: ignore[attr-defined]
    told = sash_error(error)
    assert told.code == "SASH-SPARK-088"
    assert told.__cause__ is error


class Unwatched(FakeQuery):
    """Whose end the watcher hears of late, as when other threads are at work."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        if threading.current_thread().name == "sash-run":
            self.let_go.wait()
        return super().awaitTermination(timeout)


def test_a_run_that_is_found_over_can_be_started_again_at_once(tmp_path: Path) -> None:
    query, sink = Unwatched(), Sink()
    run = handle(query, tmp_path, sink)
    assert run.isActive
    query.error = RuntimeError(_streaming_text(ERROR))
    query.end.set()
    assert not run.isActive
    assert given_back(tmp_path)
    query.let_go.set()
    run._watcher.join(5)
    assert sink.closed == 1


def test_a_run_that_is_found_failed_can_be_started_again_at_once(tmp_path: Path) -> None:
    query = Unwatched()
    run = handle(query, tmp_path)
    assert run.exception() is None
    query.error = RuntimeError(_streaming_text(ERROR))
    ending = threading.Timer(0.1, query.end.set)  # Spark has the error before the run is over
    ending.start()
    told = run.exception()
    assert told is not None
    assert told.code == ERROR.code
    assert given_back(tmp_path)
    query.let_go.set()
    ending.join()


def test_a_sink_that_asks_while_it_is_closed_gets_an_answer(tmp_path: Path) -> None:
    asked: list[bool] = []

    class Asking(Sink):
        def close(self) -> None:
            asked.append(run.isActive)

    query = FakeQuery()
    run = handle(query, tmp_path, Asking())
    query.stop()
    run._watcher.join(5)
    assert asked == [False]
    assert given_back(tmp_path)


def test_a_temporary_checkpoint_goes_with_its_run() -> None:
    query = FakeQuery()
    run = handle(query, None)
    assert Path(run.checkpoint).is_dir()
    empty = {"rows": {}, "malformed": {}, "late": {}, "changes": {}, "frontiers": {}, "faults": {}}
    measures = {**empty, "rows": {"s": 7}, "state_rows": 1, "state_bytes": 2, "waiting": 0}
    BucketFiles(Path(run.checkpoint) / "sash/state/1-0").write_step(Manifest(4, measures=measures), [])
    before = run.metrics()
    run.stop()
    assert not Path(run.checkpoint).exists()
    assert run.metrics() == before
    assert before["rows"] == {"s": 7}
    assert run.lastProgress is not None
    assert run.lastProgress["sash"] == before


def test_a_failure_is_told_in_sashs_words(tmp_path: Path) -> None:
    query = FakeQuery()
    run = handle(query, tmp_path)
    query.error = RuntimeError(_streaming_text(ERROR))
    query.end.set()
    with pytest.raises(SashError) as caught:
        run.awaitTermination()
    assert caught.value.code == "SASH-DATA-001"
    assert caught.value.__cause__ is query.error
    assert repr(run) == "<sash run 'talkers': failed>"
    told = run.exception()
    assert told is not None
    assert told.message == ERROR.message
    assert given_back(tmp_path)


def _streaming_text(error: Exception, tell: bool = True) -> str:
    """What Spark makes of an error in a Python worker."""

    def fail() -> None:
        raise error

    try:
        telling(fail)() if tell else fail()
    except Exception:
        text = traceback.format_exc()
    return (
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [PYTHON_EXCEPTION] An "
        f"exception was thrown from the Python worker: {text} SQLSTATE: 38000 SQLSTATE: XXKST\n"
        "=== Streaming Query ===\nIdentifier: [id = 1]\njava.lang.IllegalStateException: not this"
    )


def test_an_error_comes_through_spark_as_it_was() -> None:
    found = find(_streaming_text(ERROR))
    assert found is not None
    assert (found.code, found.message, found.remedy) == (ERROR.code, ERROR.message, ERROR.remedy)
    assert found.place == ERROR.place
    assert str(found) == str(ERROR)


def test_an_error_that_was_not_told_is_still_found() -> None:
    plain = SashError("SASH-DATA-002", "Row 1 is odd.", remedy="Mend it. Or not.")
    found = find(_streaming_text(plain, tell=False))
    assert found is not None
    assert (found.code, found.message, found.remedy) == (plain.code, plain.message, plain.remedy)
    assert find("nothing of the kind") is None
    cut = _streaming_text(ERROR)
    cut = cut[: cut.index('"remedy"')]
    found = find(cut)
    assert found is not None
    assert found.code == ERROR.code


def test_generators_tell_too() -> None:
    @telling
    def rows() -> Iterator[int]:
        yield 1
        raise ERROR

    given = rows()
    assert next(given) == 1
    with pytest.raises(SashError) as caught:
        next(given)
    assert any("sash-error" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("code", "text", "words"),
    [
        ("SASH-SPARK-040", _streaming_text(ZeroDivisionError("of all")), "ZeroDivisionError: of all."),
        ("SASH-SPARK-040", "[SOMETHING] went wrong.\n\tat org.apache", "[SOMETHING] went wrong."),
        ("SASH-SPARK-040", "", "no reason"),
        (
            "SASH-SPARK-041",
            _streaming_text(ModuleNotFoundError("No module named 'sash'")),
            "no module 'sash'",
        ),
        ("SASH-SPARK-044", "java.io.IOException: No space left on device", "disk is full"),
        (
            "SASH-SPARK-049",
            "Cannot start query with name a b as a query with that name is already active in this",
            "'a b' is at work",
        ),
        ("SASH-SPARK-045", "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make", "'delta'"),
    ],
)
def test_failures_of_spark_in_short(code: str, text: str, words: str) -> None:
    cause = RuntimeError(text)
    error = sash_error(cause)
    assert error.code == code
    assert words in error.message
    assert error.__cause__ is cause
    assert sash_error(error) is error


class _OfJava(Exception):
    """As PySpark gives an error of Java's: the cause stands under a name of its own."""

    def __init__(self, text: str, cause: Exception | None = None) -> None:
        super().__init__(text)
        self._cause = cause


@pytest.mark.parametrize(
    ("code", "inner", "message"),
    [
        (
            "SASH-SPARK-044",
            _OfJava("org.apache.hadoop.fs.FSError", _OfJava("java.io.IOException: No space left on device")),
            "A disk is full: Spark or Sash could not write.",
        ),
        (
            "SASH-SPARK-040",
            _OfJava("java.lang.IllegalStateException: CSV header does not conform to the schema.\n Header:"),
            "Spark could not go on: [FAILED_READ_FILE] Encountered error while reading file b.csv: "
            "CSV header does not conform to the schema.",
        ),
        (
            "SASH-SPARK-040",
            _OfJava("org.apache.spark.SparkException: [FAILED_READ_FILE] Encountered error while reading"),
            "Spark could not go on: [FAILED_READ_FILE] Encountered error while reading file b.csv.",
        ),
        ("SASH-DATA-001", _OfJava(_streaming_text(ERROR)), ERROR.message),
    ],
)  # fmt: skip
def test_a_cause_that_only_java_tells(code: str, inner: Exception, message: str) -> None:
    text = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: [FAILED_READ_FILE] Encountered error "
        "while reading file b.csv. SQLSTATE: KD001 SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: x"
    )
    error = sash_error(_OfJava(text, inner))
    assert (error.code, error.message) == (code, message)
