"""Processes with all that is below them."""

from __future__ import annotations

__all__ = ["family", "kill_family"]

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path


def family(process: int) -> list[int]:
    """A process and all below it."""
    below: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                stat = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                below.setdefault(int(stat[1]), []).append(int(entry))
    found = [process]
    for each in found:
        found += below.get(each, [])
    return found


def kill_family(process: subprocess.Popen[bytes], sign: int = signal.SIGKILL) -> None:
    """All of them at once, without a word."""
    for each in family(process.pid):
        with suppress(ProcessLookupError):
            os.kill(each, sign)
    process.wait()
