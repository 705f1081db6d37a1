"""A worker's way to the hosts of its node: found by their sockets, started if they are not there."""

from __future__ import annotations

__all__ = ["ask"]

import fcntl
import glob
import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from sash.errors import SashError
from sash.spark.buckets.host import lives
from sash.spark.buckets.keeper import Task
from sash.spark.buckets.messages import USED, receive, receive_batches, send
from sash.spark.pipelines.pipeline import Pipeline

_START_SECONDS = 180.0
"""A host may have to compile the kernels first."""

_LONGEST_PATH = 103
"""A socket's path may have so many bytes on every system; Linux takes four more."""

_SHORT_PLACE = "/tmp"

_connections: dict[tuple[str, int], socket.socket] = {}
"""One to each host for each stage: a stage may be asked while what another gave is being passed on."""


def ask(pipeline: Pipeline, task: Task, packs: Sequence[pa.Buffer]) -> Iterator[pa.RecordBatch]:
    """Let the host that keeps a bucket take a batch; give what the bucket gives.

    A host that died is started again, and makes the bucket anew from disk.
    """
    for attempt in range(3):
        way = _socket_path(task.bucket % pipeline.partitions % pipeline.hosts), task.stage
        try:
            return _asked(_connection(*way), pipeline, task, packs)
        except (EOFError, ConnectionError) as error:
            _forget(*way)
            if attempt == 2:
                raise SashError(
                    "SASH-SPARK-083",
                    f"The process that keeps bucket {task.bucket} died again and again.",
                    remedy="Look whether the node has memory enough for the windows: explain() tells what "
                    "they hold.",
                ) from error
        except BaseException:
            _forget(*way)  # half an answer may be on its way
            raise
    raise AssertionError("the last attempt returns or raises")


def _asked(
    connection: socket.socket, pipeline: Pipeline, task: Task, packs: Sequence[pa.Buffer]
) -> Iterator[pa.RecordBatch]:
    """What the bucket gives, wholly here: nothing is passed on of an answer that breaks off."""
    send(connection, (pipeline.digest, None, task), packs)
    (what, about), _ = receive(connection)
    if what == "unknown":
        send(connection, (pipeline.digest, pickle.dumps(pipeline), task), packs)
        (what, about), _ = receive(connection)
    if what == "given":
        return _until_used(connection, receive_batches(connection))
    if what == "refused":
        raise about
    raise SashError(
        "SASH-SPARK-084",
        f"Bucket {task.bucket} of stage {task.stage} failed in batch {task.batch}: {_last_line(about)}.",
        remedy="Nothing is lost: the batch is played again at the next start. Please report it.\n" + about,
    )


def _until_used(connection: socket.socket, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; behind the last one the host is told that it may use its memory for others."""
    yield from batches
    with suppress(OSError):  # a host that has gone is missed when it is asked again
        send(connection, USED)


def _last_line(trace: str) -> str:
    return trace.strip().splitlines()[-1]


def _guardian() -> int:
    """The process that hosts live as long as: the executor's Python daemon, or the worker that outlived it.

    A worker that outlives its daemon is a child of another process, often of the first of all, which
    would guard a host for ever. But it stays in the group of its daemon, whose number is the daemon's.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    forked = "pyspark.daemon" in sys.modules or getattr(main, "name", None) == "pyspark.daemon"
    parent = os.getpgrp() if forked else os.getppid()
    return parent if parent > 1 and lives(parent) else os.getpid()


def _socket_path(number: int) -> str:
    """Where the host of that number listens; its folder is named after its guardian."""
    place = tempfile.gettempdir()
    below = os.path.join(f"sash-{os.getuid()}-{_guardian()}", f"{number}.sock")
    for each in (place, _SHORT_PLACE):
        path = os.path.join(each, below)
        if len(os.fsencode(path)) <= _LONGEST_PATH and os.access(each, os.W_OK | os.X_OK):
            return path
    longest = _LONGEST_PATH - len(os.fsencode(below)) - 1
    raise SashError(
        "SASH-SPARK-085",
        f"The process that keeps the windows cannot listen in '{place}': a folder for sockets must be "
        f"writable and have a path of at most {longest} bytes, and this one has {len(os.fsencode(place))}.",
        remedy="Let TMPDIR name such a folder, on every executor.",
    )


def _connection(path: str, stage: int) -> socket.socket:
    if (path, stage) not in _connections:
        _connections[path, stage] = _connected(path) or _start(path)
    return _connections[path, stage]


def _forget(path: str, stage: int) -> None:
    connection = _connections.pop((path, stage), None)
    if connection is not None:
        connection.close()


def _connected(path: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    return connection


def _sweep(place: str) -> None:
    """Remove what hosts left that were killed with their executors."""
    for lock in glob.glob(os.path.join(glob.escape(place), f"sash-{os.getuid()}-*.lock")):
        folder = lock.removesuffix(".lock")
        daemon = folder.rpartition("-")[2]
        if daemon.isdigit() and not lives(int(daemon)):
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(FileNotFoundError):
                os.unlink(lock)


def _start(path: str) -> socket.socket:
    """Start a host, one worker at a time, and wait until it listens."""
    folder = os.path.dirname(path)
    _sweep(os.path.dirname(folder))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = _connected(path)
        if connection is not None:
            return connection
        with suppress(FileNotFoundError):
            os.unlink(path)
        guardian = folder.rpartition("-")[2]
        command = [sys.executable, "-m", "sash.spark.buckets.host", path, guardian]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            connection = _connected(path)
            if connection is not None:
                return connection
            time.sleep(0.02)
        if not lives(int(guardian)):
            raise ConnectionError("The guardian died meanwhile; the worker guards the next host itself.")
        if (process.poll() or 0) < 0:
            raise ConnectionError("It was killed before it listened, as for want of memory.")
    raise SashError(
        "SASH-SPARK-085",
        "The process that keeps the windows did not start.",
        remedy="Look into the executor's log; Sash and its libraries must be installed for "
        f"{sys.executable} there.",
    )
