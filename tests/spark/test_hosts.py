"""The processes that keep buckets: what a worker is told when they fail, and that they end by themselves."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.errors import SashError
from sash.spark.buckets import hosts
from sash.spark.buckets.assembly import _passed_on
from sash.spark.buckets.bucket_files import BucketFiles, files_of
from sash.spark.buckets.host import _Host, main
from sash.spark.buckets.keeper import Keeper, Task
from sash.spark.buckets.messages import Memory, receive, receive_batches, send, send_batches
from sash.spark.buckets.packing import Packer
from sash.spark.buckets.packs import Control
from sash.spark.checkpoints.endings import note_end
from sash.spark.pipelines.pipeline import Pipeline, StreamSpec, make_pipeline

TASK = Task("run", 1, 0, 0)

OUTLIVED = """
import os, signal, sys, time
import pyspark.daemon
from sash.spark.buckets import hosts
os.setpgid(0, 0)  # as the daemon does
daemon = os.getpid()
if os.fork():
    time.sleep(600)
first = hosts._socket_path(0)
os.kill(daemon, signal.SIGKILL)
while os.getppid() == daemon:
    time.sleep(0.01)
print(daemon, os.getpid(), hosts._guardian(), first, hosts._socket_path(0), flush=True)
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    (tmp_path / "sash").mkdir()
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIME ts")
        query = db.query("SELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k", name="q")
        specs = [StreamSpec(definition) for definition in db.catalog.streams]
        return make_pipeline(specs, {"q": query.optimized}, "integer", str(tmp_path), buckets=1)


def test_messages_and_buffers_arrive_as_they_were_sent() -> None:
    here, there = socket.socketpair()
    with here, there:
        send(here, {"a": 1}, [pa.py_buffer(b"xy"), pa.py_buffer(b"")])
        message, buffers = receive(there)
    assert message == {"a": 1}
    assert [bytes(buffer) for buffer in buffers] == [b"xy", b""]


@pytest.mark.parametrize("rows", [2, 100_000])
@pytest.mark.parametrize("shared", [True, False])
def test_batches_arrive_with_their_schemas(rows: int, shared: bool) -> None:
    opened = len(os.listdir("/proc/self/fd"))
    memory = Memory() if shared else None
    here, there = socket.socketpair()
    some = pa.record_batch({"a": range(rows)})
    own = some.replace_schema_metadata({"query": "q"})
    sent = [some, some.slice(1), own, pa.record_batch({"b": ["x"]})]
    with here, there:
        sender = Thread(target=send_batches, args=(here, sent, memory), daemon=True)
        sender.start()
        received = list(receive_batches(there))
        sender.join()
    assert received == sent
    assert [batch.schema.metadata for batch in received] == [batch.schema.metadata for batch in sent]
    if memory is not None:
        memory.close()
    assert len(os.listdir("/proc/self/fd")) == opened


def test_memory_is_written_over_and_shrinks_when_little_is_in_it() -> None:
    memory = Memory()
    here, there = socket.socketpair()
    with here, there:
        for rows in (100_000, 50_000, 1_000_000, 40_000):
            sent = [pa.record_batch({"a": range(rows)})]
            sender = Thread(target=send_batches, args=(here, sent, memory), daemon=True)
            sender.start()
            assert list(receive_batches(there)) == sent
            sender.join()
            assert rows * 8 < os.fstat(memory.handle).st_size < rows * 8 * 4
    memory.close()


def test_a_full_memory_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError("no room")

    memory = Memory()
    monkeypatch.setattr(memory, "fill", full)
    here, there = socket.socketpair()
    sent = [pa.record_batch({"a": range(100_000)})]
    with here, there:
        sender = Thread(target=send_batches, args=(here, sent, memory), daemon=True)
        sender.start()
        assert list(receive_batches(there)) == sent
        sender.join()
    memory.close()


def test_a_host_lends_its_memory_again_when_the_worker_has_used_it(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent: list[Memory] = []
    host = _Host()
    given = [pa.record_batch({"a": range(100_000)})]
    monkeypatch.setattr(host, "_answer", lambda *_: given)
    take = host._memory
    monkeypatch.setattr(host, "_memory", lambda: lent.append(take()) or lent[-1])
    ours, theirs = zip(*(socket.socketpair() for _ in range(2)), strict=True)
    serving = [Thread(target=host.serve, args=(end,), daemon=True) for end in theirs]
    for thread in serving:
        thread.start()
    one, other = (lambda *_, end=end: end for end in ours)
    monkeypatch.setattr(hosts, "_connection", one)
    first = hosts.ask(pipeline, TASK, [])
    assert next(first) == given[0]  # of which it may look at more
    monkeypatch.setattr(hosts, "_connection", other)
    for _ in range(2):
        assert list(hosts.ask(pipeline, TASK, [])) == given
    assert list(first) == []
    for end in ours:
        end.close()
    for thread in serving:
        thread.join()
    assert lent[0] is not lent[1]
    assert lent[1] is lent[2]
    assert {*host._memories} == {*lent}
    for memory in host._memories:
        memory.close()


def test_a_host_is_at_work_while_files_are_passed_on(tmp_path: Path) -> None:
    batches = [pa.record_batch({"a": range(rows)}) for rows in (3, 4, 5)]
    path = BucketFiles(tmp_path / "1-0").write_results(0, batches[:1])
    asked, passed_on = Event(), Event()

    def own() -> Iterator[pa.RecordBatch]:
        asked.set()
        assert passed_on.wait(10)
        yield from batches[1:]

    given = _passed_on([str(path)], own())
    assert next(given) == batches[0]
    assert asked.wait(10)
    passed_on.set()
    assert list(given) == batches[1:]


def test_what_a_host_refuses_is_told_behind_what_lies_in_files(tmp_path: Path) -> None:
    def refused() -> Iterator[pa.RecordBatch]:
        yield from ()
        raise SashError("SASH-SPARK-080", "No room.", remedy="Make room.")

    path = BucketFiles(tmp_path / "1-0").write_results(0, [pa.record_batch({"a": [1]})])
    given = _passed_on([str(path)], refused())
    assert next(given).num_rows == 1
    with pytest.raises(SashError):
        next(given)


def test_a_host_without_memory_to_lend_gives_its_batches_all_the_same(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")  # as on other systems
    host = _Host()
    given = [pa.record_batch({"a": range(100_000)})]
    monkeypatch.setattr(host, "_answer", lambda *_: given)
    ours, theirs = socket.socketpair()
    Thread(target=host.serve, args=(theirs,), daemon=True).start()
    monkeypatch.setattr(hosts, "_connection", lambda *_: ours)
    with ours:
        assert list(hosts.ask(pipeline, TASK, [])) == given


def test_a_host_that_dies_while_it_answers_is_asked_again(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [socket.socketpair() for _ in range(3)]
    many = [pa.record_batch({"a": range(100_000)})]
    send(pairs[0][1], ("given", None))
    send(pairs[1][1], ("given", None))
    send(pairs[1][1], ("shared", 800_000))  # and then not
    send(pairs[2][1], ("given", None))
    memory = Memory()
    send_batches(pairs[2][1], many, memory)
    memory.close()
    for _, host in pairs[:2]:
        host.shutdown(socket.SHUT_WR)
    left = [worker for worker, _ in pairs]
    monkeypatch.setattr(hosts, "_connection", lambda *_: left.pop(0))
    assert list(hosts.ask(pipeline, TASK, [])) == many
    for pair in pairs:
        for end in pair:
            end.close()


def test_a_host_that_dies_again_and_again(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise EOFError

    monkeypatch.setattr(hosts, "_asked", gone)
    with pytest.raises(SashError) as told:
        list(hosts.ask(pipeline, TASK, []))
    assert told.value.code == "SASH-SPARK-083"


def test_a_bucket_that_fails_is_told_of(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = "Traceback ...\nZeroDivisionError: division by zero"
    monkeypatch.setattr(hosts, "_connection", lambda *_: None)
    monkeypatch.setattr(hosts, "send", lambda *_: None)
    monkeypatch.setattr(hosts, "receive", lambda _: (("failed", trace), []))
    with pytest.raises(SashError) as told:
        list(hosts.ask(pipeline, TASK, []))
    assert told.value.code == "SASH-SPARK-084"
    assert "ZeroDivisionError: division by zero" in told.value.message


def test_a_host_that_does_not_start_is_told_of(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(SashError) as told:
            list(hosts.ask(pipeline, TASK, []))
    assert told.value.code == "SASH-SPARK-085"


@pytest.mark.parametrize(("times", "code"), [(1, "SASH-SPARK-085"), (3, "SASH-SPARK-083")])
def test_a_host_that_is_killed_while_it_starts_is_started_again(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, code: str
) -> None:
    """As by the system where memory is short. What ends by itself, here the next one, is not."""
    program, tries = tmp_path / "python", tmp_path / "tries"
    program.write_text(f"#!/bin/sh\necho >> {tries}\n[ $(wc -l < {tries}) -gt {times} ] || kill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with pytest.raises(SashError) as caught:
            list(hosts.ask(pipeline, TASK, []))
    assert caught.value.code == code
    assert len(tries.read_text()) == min(times + 1, 3)


def test_a_worker_that_outlives_its_daemon_guards_its_hosts_itself() -> None:
    with subprocess.Popen([sys.executable, "-c", OUTLIVED], stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate(timeout=60)
    daemon, worker, guardian, before, after = out.split()
    assert guardian == worker
    assert (before, after) == tuple(
        f"{tempfile.gettempdir()}/sash-{os.getuid()}-{each}/0.sock" for each in (daemon, worker)
    )


@pytest.mark.parametrize("parent", [0, 1])
def test_the_first_process_guards_no_host(monkeypatch: pytest.MonkeyPatch, parent: int) -> None:
    monkeypatch.delitem(sys.modules, "pyspark.daemon", raising=False)
    assert hosts._guardian() == os.getppid()
    monkeypatch.setattr(os, "getppid", lambda: parent)
    assert hosts._guardian() == os.getpid()


def test_a_socket_whose_path_would_be_too_long_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "_guardian", lambda: 1234)
    own = f"sash-{os.getuid()}-1234/0.sock"
    place = tmp_path / "t"
    place.mkdir()
    for name, short in (("ü" * 40, False), ("x", True)):
        base = place / name
        base.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(base))
        monkeypatch.setattr(hosts, "_LONGEST_PATH", len(f"{place}/x/{own}"))
        monkeypatch.setattr(hosts, "_SHORT_PLACE", str(place))
        assert hosts._socket_path(0) == f"{base if short else place}/{own}"


def test_no_place_for_a_socket_is_told_with_the_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / ("ü" * 50)
    base.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(base))
    monkeypatch.setattr(hosts, "_SHORT_PLACE", str(tmp_path / "none"))
    with pytest.raises(
        SashError, match=rf"at most \d\d bytes, and this one has {len(str(base)) + 50}"
    ) as told:
        hosts._socket_path(0)
    assert told.value.code == "SASH-SPARK-085"
    assert "TMPDIR" in told.value.remedy


@pytest.mark.skipif(not os.access("/tmp", os.W_OK), reason="nowhere else to listen")
def test_a_host_can_be_reached_however_long_the_path_of_the_temporary_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / ("t" * 200)
    base.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(base))
    monkeypatch.setattr(hosts, "_guardian", lambda: 4_999_999)  # nobody's
    path = Path(hosts._socket_path(0))
    path.parent.mkdir(mode=0o700)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(path))
    finally:
        shutil.rmtree(path.parent)


@pytest.mark.parametrize("guardian", [0, 1])
def test_a_host_refuses_a_guardian_that_lives_for_ever(tmp_path: Path, guardian: int) -> None:
    with pytest.raises(SystemExit):
        main(str(tmp_path / "0.sock"), guardian)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_host_steps_and_ends_with_its_guardian(pipeline: Pipeline) -> None:
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(["sleep", "600"]) as guardian:
        place = Path(folder) / "own"
        place.mkdir()
        path = str(place / "0.sock")
        host = subprocess.Popen([sys.executable, "-m", "sash.spark.buckets.host", path, str(guardian.pid)])
        try:
            while not os.path.exists(path):
                assert host.poll() is None
                time.sleep(0.05)
            rows = pa.table({"ts": [1, 2], "k": [7, 7]})
            pack = Packer(pipeline).pack([("s", rows)], (0, 0), Control(end=True)).column("pack")[0]
            given = hosts._asked(hosts._connection(path, TASK.stage), pipeline, TASK, [pack.as_buffer()])
            assert [batch.num_rows for batch in given] == [3]
        finally:
            hosts._forget(path, TASK.stage)
            guardian.kill()
        assert host.wait(30) == 0
        assert not place.exists()


def test_the_windows_of_a_run_that_is_over_are_let_go(pipeline: Pipeline, tmp_path: Path) -> None:
    pack = Packer(pipeline).pack([("s", pa.table({"ts": [1], "k": [1]}))], (0, 0)).column(1)[0]
    told = pickle.dumps(pipeline)
    host = _Host()
    host._answer((pipeline.digest, told, TASK), [pack.as_buffer()])
    note_end(tmp_path, "another run")
    host.forget_ended()
    assert host._answer((pipeline.digest, None, TASK), [pack.as_buffer()]) is not None
    note_end(tmp_path, TASK.run)
    host.forget_ended()
    assert host._answer((pipeline.digest, None, TASK), [pack.as_buffer()]) is None
    again = replace(TASK, run="again", batch=1)
    host._answer((pipeline.digest, told, again), [pack.as_buffer()])
    host.forget_ended()
    assert host._answer((pipeline.digest, None, again), [pack.as_buffer()]) is not None


def test_a_damaged_note_of_an_end_ends_no_host(pipeline: Pipeline, tmp_path: Path) -> None:
    """Every host looked at it, and died of it again and again."""
    pack = Packer(pipeline).pack([("s", pa.table({"ts": [1], "k": [1]}))], (0, 0)).column(1)[0]
    host = _Host()
    host._answer((pipeline.digest, pickle.dumps(pipeline), TASK), [pack.as_buffer()])
    note_end(tmp_path, TASK.run)
    (tmp_path / "sash" / "ended").write_bytes(b"2\xff3")
    host.forget_ended()
    assert host._answer((pipeline.digest, None, TASK), [pack.as_buffer()]) is not None


def test_the_windows_of_a_temporary_checkpoint_go_with_it(pipeline: Pipeline, tmp_path: Path) -> None:
    for temporary in (False, True):
        place = tmp_path / str(temporary)
        (place / "sash").mkdir(parents=True)
        own = replace(pipeline, checkpoint=str(place), temporary=temporary)
        pack = Packer(own).pack([("s", pa.table({"ts": [1], "k": [1]}))], (0, 0)).column(1)[0]
        host = _Host()
        host._answer((own.digest, pickle.dumps(own), TASK), [pack.as_buffer()])
        host.forget_ended()
        shutil.rmtree(place)
        host.forget_ended()
        assert bool(host._keepers) != temporary


def test_a_checkpoint_that_was_removed_does_not_come_back(pipeline: Pipeline, tmp_path: Path) -> None:
    pack = Packer(pipeline).pack([("s", pa.table({"ts": [1], "k": [1]}))], (0, 0)).column(1)[0]
    keeper = Keeper(pipeline)
    keeper.step(TASK, [pack.as_buffer()])
    shutil.rmtree(tmp_path)
    with pytest.raises(SashError) as told:
        keeper.step(replace(TASK, batch=1), [pack.as_buffer()])
    assert told.value.code == "SASH-SPARK-080"
    assert not tmp_path.exists()


def test_what_killed_hosts_left_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        for daemon in (gone.pid, os.getpid()):
            place = Path(folder) / f"sash-{os.getuid()}-{daemon}"
            place.mkdir()
            (place / "0.sock").touch()
            Path(f"{place}.lock").touch()
        hosts._sweep(folder)
        kept = f"sash-{os.getuid()}-{os.getpid()}"
        assert sorted(os.listdir(folder)) == [kept, f"{kept}.lock"]


def test_a_batch_that_was_left_out_is_told_of(pipeline: Pipeline) -> None:
    """As by a foreachBatch over `to_spark()` that does not look at a batch, whatever reads the stream."""
    packs = Packer(pipeline).pack([("s", pa.table({"ts": [1], "k": [1]}))], (0, 0)).column(1)
    data = [pack.as_buffer() for pack in packs]
    keeper = Keeper(pipeline)
    keeper.step(TASK, data)
    keeper.step(TASK, data)  # played again
    for one, damaged in ((keeper, False), (Keeper(pipeline), True)):
        with pytest.raises(SashError) as caught:
            one.step(replace(TASK, batch=2), data)
        assert caught.value.code == "SASH-SPARK-086"
        assert "atch 1 was never computed" in caught.value.message
        assert ("checkpoint is damaged" in caught.value.message) == damaged


@pytest.mark.parametrize("lost", ["1-0/2.step", "1-0", "."])
def test_state_that_is_lost_is_missed(pipeline: Pipeline, lost: str) -> None:
    keeper = Keeper(pipeline)
    packs = Packer(pipeline).pack([("s", pa.table({"ts": [1], "k": [1]}))], (0, 0)).column(1)
    data = [pack.as_buffer() for pack in packs]
    keeper.step(TASK, data)
    keeper.step(replace(TASK, batch=1), [])  # a batch of a DataFrame without a partition
    keeper.step(replace(TASK, batch=2), data)
    place = Path(pipeline.checkpoint) / "sash" / "state" / lost
    place.unlink() if place.is_file() else shutil.rmtree(place)
    with pytest.raises(SashError) as caught:
        Keeper(pipeline).step(replace(TASK, run="later", batch=3), data)
    assert caught.value.code == "SASH-SPARK-086"


def test_state_is_cleaned_up_however_often_a_run_is_started_anew(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sash.spark.buckets.bucket_files._LEAST_LOG", 0)  # every few batches are merged
    own = replace(pipeline, retain=3)
    for batch in range(80):
        rows = pa.table({"ts": [batch + 1], "k": [batch]})
        packs = Packer(own).pack([("s", rows)], (0, 0)).column(1)
        keeper = Keeper(own)  # every batch by a process of its own
        keeper.step(replace(TASK, batch=batch), [pack.as_buffer() for pack in packs])
    folder = files_of(own.checkpoint, TASK.stage, TASK.bucket).folder
    there = {int(each.name.partition(".")[0]) for each in folder.iterdir()}
    assert there >= {76, 77, 78, 79}  # what is retained
    assert min(there) > 40
