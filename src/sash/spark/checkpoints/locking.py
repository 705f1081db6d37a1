"""A lock on a folder that ends with the process that holds it, however that ends."""

from __future__ import annotations

__all__ = ["Lock"]

import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path

from sash.errors import SashError


class Lock:
    """Held from the start; `release()` gives it back. On file systems without locks it holds nothing."""

    def __init__(self, file: Path, what: str, folder: Path) -> None:
        """`what` the folder is, for the message to whoever comes second."""
        self._handle: int | None = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(self._handle)
            self.release()
            raise SashError(
                "SASH-SPARK-061",
                f"The {what} '{folder}' is in use{holder}.",
                remedy=f"Stop that run first, or give this one a {what} of its own.",
            ) from None
        except OSError:
            return
        facts = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, facts.encode(), 0)
        except OSError:  # the disk is full: whoever starts again in this process must not meet its own lock
            self.release()
            raise

    def release(self) -> None:
        """Let the next one have it."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)


def _holder(handle: int) -> str:
    with suppress(ValueError, KeyError, OSError):
        facts = json.loads(os.pread(handle, 1000, 0))
        return f" by process {facts['pid']} on {facts['host']}"
    return ""
