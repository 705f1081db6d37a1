"""`sash run`: a file of pipelines on Spark, from its first row to its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sash.cli import run

from .commands import sash_command, started, written

STREAM = "CREATE STREAM s (ts BIGINT, k STRING) TIME ts WITH (format = 'parquet', path = '{0}/in');\n"
SINK = "CREATE SINK counts WITH (format = 'snapshot', path = '{0}/out');\n"
INSERT = "INSERT INTO counts SELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k;\n"
LOCAL = ("--master", "local[2]", "--set", "spark.driver.memory=1g")


def pipeline(folder: Path) -> Path:
    (folder / "in").mkdir()
    return written(folder, "counts.sql", (STREAM + SINK + INSERT).format(folder))


def put(folder: Path, name: str, **columns: list[object]) -> None:
    """A file that is there whole from the moment it is seen."""
    part = folder / "in" / f".{name}"
    pq.write_table(pa.table(columns), part)
    part.rename(folder / "in" / f"{name}.parquet")


def answer(folder: Path) -> dict[str, int]:
    rows = pq.read_table(folder / "out" / "answer.parquet").to_pylist()
    return {row["k"]: row["n"] for row in rows}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (STREAM + SINK, "SASH-CLI-008"),
        (STREAM + SINK + "SELECT k FROM s [RANGE 10];", "SASH-CLI-009"),
        (STREAM + "INSERT INTO counts SELECT FROM WHERE", "SASH-PARSE-001"),
    ],
)
def test_a_file_that_is_no_pipeline_is_told_before_spark_starts(tmp_path: Path, text: str, code: str) -> None:
    done = sash_command("run", written(tmp_path, "p.sql", text.format(tmp_path)), timeout=60)
    assert done.returncode == 2
    assert code in done.stderr
    assert "what to do:" in done.stderr
    assert done.stdout == ""


def test_a_query_on_its_own_is_shown_where_it_stands(tmp_path: Path) -> None:
    file = written(tmp_path, "p.sql", (STREAM + "SELECT k FROM s [RANGE 10];").format(tmp_path))
    done = sash_command("run", file)
    assert "line 2, column 1" in done.stderr
    assert "INSERT INTO" in done.stderr


@pytest.mark.parametrize("given", ["buckets", "=3", "buckets="])
def test_a_setting_needs_a_name_and_a_value(tmp_path: Path, given: str) -> None:
    done = sash_command("run", pipeline(tmp_path), "--set", given)
    assert done.returncode == 2
    assert "SASH-CLI-010" in done.stderr


def test_a_missing_file_is_the_users_error(tmp_path: Path) -> None:
    done = sash_command("run", tmp_path / "none.sql")
    assert done.returncode == 2
    assert "SASH-CLI-001" in done.stderr


@pytest.mark.slow
def test_a_run_ends_at_the_end_and_a_later_one_goes_on(tmp_path: Path) -> None:
    file, checkpoint = pipeline(tmp_path), ("--checkpoint", tmp_path / "c")
    put(tmp_path, "a", ts=[1, 2, 5], k=["x", "y", "x"])
    done = sash_command("run", file, *LOCAL, *checkpoint, "--until-end", "--quiet", timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert answer(tmp_path) == {"x": 2, "y": 1}
    put(tmp_path, "b", ts=[11, 12], k=["z", "x"])
    done = sash_command("run", file, *LOCAL, *checkpoint, "--until-end", timeout=300)
    assert done.returncode == 0, done.stderr
    assert answer(tmp_path) == {"x": 2, "z": 1}
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    for words in ("batch ", " ms (", "rows in: s 5", "late 0", "counts ", "up to 12", "state "):
        assert words in last
    assert "temporary" not in done.stderr


@pytest.mark.slow
def test_a_run_that_breaks_off_says_why_and_ends_with_1(tmp_path: Path) -> None:
    file = pipeline(tmp_path)
    put(tmp_path, "a", ts=[1, 2], other=["x", "y"])
    done = sash_command("run", file, *LOCAL, "--until-end", timeout=300)
    assert done.returncode == 1
    assert "temporary" in done.stderr
    assert "SASH-SOURCE-001" in done.stderr
    assert "what to do:" in done.stderr
    assert "Traceback" not in done.stderr
    assert "java" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "group"),
    [(signal.SIGINT, 130, False), (signal.SIGTERM, 143, False), (signal.SIGTERM, 143, True)],
)
def test_a_signal_stops_it_after_the_batch(tmp_path: Path, number: int, code: int, group: bool) -> None:
    file = pipeline(tmp_path)
    put(tmp_path, "a", ts=[1, 2, 5], k=["x", "y", "x"])
    often = ("--trigger", "200 milliseconds")
    running = started("run", file, *LOCAL, "--checkpoint", tmp_path / "c", *often, group=group)
    try:
        wait_for(tmp_path / "out" / "answer.parquet", running)
        wait_for(tmp_path / "c" / "commits" / "0", running)
        running.send_signal(number)
        if group:  # as `timeout` does: the process, then all that are with it
            os.killpg(running.pid, number)
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    assert "SASH-" not in err
    assert "batch 0" in err
    batches = [{each.name for each in (tmp_path / "c" / log).iterdir()} for log in ("offsets", "commits")]
    assert batches[0] == batches[1], "what was begun is committed"


@pytest.mark.slow
def test_a_signal_to_java_as_well_is_no_failure(tmp_path: Path) -> None:
    file = pipeline(tmp_path)
    put(tmp_path, "a", ts=[1, 2, 5], k=["x", "y", "x"])
    running = started("run", file, *LOCAL, "--checkpoint", tmp_path / "c", "--trigger", "200 milliseconds")
    try:
        wait_for(tmp_path / "c" / "commits" / "0", running)
        for each in (running.pid, java_below(running.pid)):  # as a service manager does
            os.kill(each, signal.SIGTERM)
        _, err = running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 143, err
    assert "SASH-" not in err
    assert "Traceback" not in err


class Failing:
    """A run that fails while it is asked to end."""

    isActive = True
    status: ClassVar[dict[str, bool]] = {"isTriggerActive": True}

    @property
    def query(self) -> Failing:
        return self

    @property
    def lastProgress(self) -> None:
        raise ConnectionRefusedError("Java has gone")


@pytest.mark.parametrize(("stopped", "code"), [(True, 143), (False, 1)])
def test_what_fails_after_a_stop_is_told_unless_java_goes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stopped: bool, code: int
) -> None:
    monkeypatch.setattr(run, "SECONDS_TO_GO", 0.1)
    stop = run._Stop()
    stop.by = signal.SIGTERM
    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: stopped))
    db: Any = SimpleNamespace(spark=SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java)))
    handle: Any = Failing()
    assert run._attend(db, handle, stop, None, live=False) == code
    assert ("SASH-SPARK-088" in capsys.readouterr().err) is not stopped


def test_a_signal_that_comes_twice_at_once_is_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = run._Stop()
    stop.waits_for_a_batch = True
    with stop.listening():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert stop.by == signal.SIGTERM
        monkeypatch.setattr(run, "SECONDS_PER_REQUEST", 0.0)
        with pytest.raises(SystemExit) as ended:
            signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 143


@pytest.mark.slow
def test_java_killed_under_a_run_is_told_in_words(tmp_path: Path) -> None:
    file = pipeline(tmp_path)
    put(tmp_path, "a", ts=[1, 2, 5], k=["x", "y", "x"])
    running = started("run", file, *LOCAL, "--checkpoint", tmp_path / "c", "--trigger", "200 milliseconds")
    try:
        wait_for(tmp_path / "c" / "commits" / "0", running)
        os.kill(java_below(running.pid), signal.SIGKILL)
        _, err = running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 1, err
    assert "SASH-SPARK-088" in err
    assert "Traceback" not in err


def java_below(parent: int) -> int:
    """The Java process that a process started."""
    pids = [int(each) for each in os.listdir("/proc") if each.isdigit()]
    for pid in pids:
        try:
            ppid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            command = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            continue
        if ppid == parent and "java" in command.partition("\0")[0]:
            return pid
    raise AssertionError("there is no Java below")


def wait_for(path: Path, running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 240
    while not path.exists():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
