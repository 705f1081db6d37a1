"""Failpoints: places where a process can be made to die, to see that nothing is lost by it.

`SASH_FAILPOINT=name:3` in the environment kills the process the third time that it comes past the
place of that name. Once per file named in `SASH_FAILPOINT_ONCE`: a process that finds the file there
goes on.
"""

from __future__ import annotations

__all__ = ["failpoint"]

import os
import signal
from collections import Counter

_passed: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Die here, if the environment says so."""
    wanted = os.environ.get("SASH_FAILPOINT")
    if wanted is None:
        return
    place, _, count = wanted.partition(":")
    if place != name:
        return
    _passed[name] += 1
    if _passed[name] < int(count or 1):
        return
    once = os.environ.get("SASH_FAILPOINT_ONCE")
    if once is not None:
        try:
            os.close(os.open(once, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
    os.kill(os.getpid(), signal.SIGKILL)
