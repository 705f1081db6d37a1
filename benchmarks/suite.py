"""A suite: figures that one `sash bench NAME` measures, each in a process of its own."""

from __future__ import annotations

__all__ = ["Suite"]

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.targets import Record


@dataclass(frozen=True)
class Suite:
    """What can be measured under one name, and the module that measures one figure of it."""

    name: str
    figures: tuple[str, ...]
    """In the order of the report."""
    rows: int
    """How many rows go into each figure if nobody says otherwise."""
    child: str

    def run(self, rows: int, trials: int, figures: Sequence[str]) -> Iterator[Record]:
        """One record per figure, as they come; a figure that fails gives a record with `error`."""
        root = Path(__file__).resolve().parents[1]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(root), str(root / "src")))}
        for figure in figures:
            command = [sys.executable, "-m", self.child, figure, str(rows), str(trials)]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode == 0:
                yield json.loads(done.stdout.splitlines()[-1])
            else:
                yield {"name": figure, "error": f"the measuring process ended with code {done.returncode}"}
