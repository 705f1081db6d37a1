"""One figure in a process of its own, with a Spark of its own: its record is one line of JSON."""

from __future__ import annotations

import json
import signal
import sys
import traceback

from benchmarks.spark import floor, growth, join, many, multijoin, slide
from sash.errors import SashError

FIGURES = {
    figure.name: figure
    for module in (join, slide, multijoin, growth, floor, many)
    for figure in module.FIGURES
}


def main(name: str, rows: str, trials: str) -> None:
    """Measure and print; what Sash refuses is told in the record, and with its cause on standard error."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves neither folders nor Spark behind
    try:
        record = FIGURES[name].run(int(rows), int(trials))
    except SashError as error:
        traceback.print_exc()
        record = {"name": name, "error": str(error)}
    print(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])
