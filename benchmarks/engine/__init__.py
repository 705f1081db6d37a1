"""The in-process engine beside DuckDB: joins, groups, top-k, distinct, negation, count windows, the clock.

`run` measures figures one after another, each in a process of its own, and gives one record for each.
"""

from __future__ import annotations

__all__ = ["NAMES", "run"]

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

NAMES = (
    "join_istream",
    "join_relation",
    "join_strings",
    "group_slide_1s",
    "group_eager",
    "topk",
    "distinct",
    "not_exists",
    "partition_rows",
    "tick",
)
"""Every figure, in the order of the report."""


def run(rows: int, trials: int, names: Sequence[str] = NAMES) -> Iterator[dict[str, Any]]:
    """One record per figure, as they come."""
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(root), str(root / "src")))}
    for name in names:
        command = [sys.executable, "-m", "benchmarks.engine.child", name, str(rows), str(trials)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            yield json.loads(done.stdout.splitlines()[-1])
        else:
            yield {"name": name, "error": f"the measuring process ended with code {done.returncode}"}
