"""Memory above that of the idle process: a thread reads the resident set while work goes on."""

from __future__ import annotations

__all__ = ["Sampler", "resident_bytes"]

import gc
import os
import threading
from pathlib import Path
from types import TracebackType

import pyarrow as pa

STATM = Path("/proc/self/statm")
INTERVAL_SECONDS = 0.002


def resident_bytes() -> int:
    """Pages of this process that are in memory now, in bytes."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Sampler:
    """Within `with`, the highest resident set and the highest fill of Arrow's pool, above the start.

    Arrow's pool is part of the resident set; it is told apart to see where memory goes.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        self.arrow_peak_bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Sampler:
        gc.collect()
        pa.default_memory_pool().release_unused()
        self._idle_bytes = resident_bytes()
        self._idle_arrow_bytes = pa.total_allocated_bytes()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL_SECONDS):
            self._look()

    def _look(self) -> None:
        self.peak_bytes = max(self.peak_bytes, resident_bytes() - self._idle_bytes)
        self.arrow_peak_bytes = max(
            self.arrow_peak_bytes, pa.total_allocated_bytes() - self._idle_arrow_bytes
        )
