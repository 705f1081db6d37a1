"""The host: a process on each node that keeps buckets in memory between batches.

Spark hands a bucket's rows to whichever Python worker is free, so a worker's own memory is of little
use from batch to batch. A worker therefore passes the packs on, over a local socket, to the host that
keeps the bucket. Hosts are started by the first worker that needs one and end by themselves when the
executor's Python daemon has gone, or the worker if it has outlived the daemon.
"""

from __future__ import annotations

__all__ = ["lives", "main"]

import gc
import os
import pickle
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa

from sash.engine.parallel import alone
from sash.errors import SashError
from sash.spark.buckets.keeper import Keeper
from sash.spark.buckets.messages import USED, Memory, receive, send, send_batches

_CORES = os.cpu_count() or 1
_SILENCE = 900.0
"""Seconds after which a query that asks for nothing is forgotten."""
_LOOK = 2.0
"""Seconds between looks for runs that are over."""


class _Host:
    def __init__(self) -> None:
        self._keepers: dict[str, Keeper] = {}
        self._lock = threading.Lock()
        self._memories: list[Memory] = []
        """Those that no worker looks at."""

    def serve(self, connection: socket.socket) -> None:
        """Answer one worker until it goes."""
        lent: Memory | None = None
        with connection, suppress(EOFError, ConnectionError):
            while True:
                message, buffers = receive(connection)
                self._give_back(lent)  # who speaks again has used what was given
                lent = None
                if message != USED:
                    answer, given = self._answered(message, buffers)
                    send(connection, answer)
                    if answer[0] == "given":
                        lent = self._memory()
                        send_batches(connection, given, lent)
        self._give_back(lent)

    def _answered(
        self, message: Any, buffers: Sequence[pa.Buffer]
    ) -> tuple[tuple[str, object], Sequence[pa.RecordBatch]]:
        """What the worker is told, and the batches that it is given."""
        try:
            given = self._answer(message, buffers)
        except SashError as error:
            return ("refused", error), ()
        except BaseException:
            return ("failed", traceback.format_exc()), ()
        return ("unknown" if given is None else "given", None), given or ()

    def _memory(self) -> Memory | None:
        """Memory to give batches in, used before if there is some; None if the system has none to give."""
        with self._lock:
            if self._memories:
                return self._memories.pop()
        with suppress(OSError):
            return Memory()
        return None

    def _give_back(self, memory: Memory | None) -> None:
        if memory is not None:
            with self._lock:
                self._memories.append(memory)

    def _answer(self, message: Any, buffers: Sequence[pa.Buffer]) -> Sequence[pa.RecordBatch] | None:
        """What the bucket gives; None if the pipeline must be told first."""
        digest, pipeline, task = message
        with self._lock:
            if pipeline is not None:
                self._keepers.setdefault(digest, Keeper(pickle.loads(pipeline)))
            keeper = self._keepers.get(digest)
            if keeper is None:
                return None
            keeper.used = time.monotonic()
            self._forget(keeper, task.run)
        step = partial(keeper.step, task, buffers)
        return alone(step) if keeper.hosts >= _CORES else step()  # other hosts have the other cores

    def _forget(self, current: Keeper, run: str) -> None:
        """Leave nothing behind of queries that were started again, or have long been silent.

        What is needed after all is made again from disk.
        """
        current.forget_other_runs(run)
        for digest, keeper in list(self._keepers.items()):
            replaced = keeper is not current and keeper.checkpoint == current.checkpoint
            if replaced or time.monotonic() - keeper.used > _SILENCE:
                del self._keepers[digest]

    def forget_ended(self) -> None:
        """Let go of what belongs to runs that are over; a new one on their checkpoint starts from disk."""
        with self._lock:
            keepers = dict(self._keepers)
        ended = [digest for digest, keeper in keepers.items() if keeper.ended]
        unused: list[Memory] = []
        with self._lock:
            for digest in ended:
                self._keepers.pop(digest, None)
            if ended:
                unused, self._memories = self._memories, []
        for memory in unused:
            memory.close()
        if ended:
            del keepers
            gc.collect()
            pa.default_memory_pool().release_unused()


def main(path: str, guardian: int) -> None:
    """Serve at a socket until the guardian process has gone."""
    if guardian <= 1:  # who lives for ever guards nothing
        raise SystemExit(f"Process {guardian} does not guard hosts.")
    host = _Host()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    listener.settimeout(0.5)
    gc.collect()
    gc.freeze()
    looked = time.monotonic()
    try:
        while lives(guardian):
            if time.monotonic() - looked > _LOOK:
                host.forget_ended()
                looked = time.monotonic()
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                connection.settimeout(None)
                threading.Thread(target=host.serve, args=(connection,), daemon=True).start()
    finally:
        with suppress(OSError):
            os.unlink(path)
        folder = os.path.dirname(path)
        with suppress(OSError):  # the last host leaves nothing behind
            os.rmdir(folder)
            os.unlink(f"{folder}.lock")


def lives(process: int) -> bool:
    """Whether there is such a process, and not only its end to be noticed."""
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:  # another user's, or a system without /proc
        return True


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
    os._exit(0)  # threads that serve workers which have gone need no farewell
