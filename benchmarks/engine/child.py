"""One figure in a process of its own: its record goes to standard output as one line of JSON."""

from __future__ import annotations

import json
import sys

from benchmarks.engine import distinct, groups, join, not_exists, partition_rows, tick, topk

FIGURES = {
    figure.name: figure
    for module in (join, groups, topk, distinct, not_exists, partition_rows, tick)
    for figure in module.FIGURES
}


def main(name: str, rows: str, trials: str) -> None:
    """Measure and print."""
    print(json.dumps(FIGURES[name].run(int(rows), int(trials))))


if __name__ == "__main__":
    main(*sys.argv[1:])
