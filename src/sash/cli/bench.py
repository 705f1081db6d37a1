"""`sash bench NAME`: measures Sash beside its peers and says which targets are met.

The measuring code is the checkout's `benchmarks` folder; it is not part of the installed package.
"""

from __future__ import annotations

__all__ = ["bench"]

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

_SUITES = (
    "Which suite: engine (in-process, beside DuckDB), or beside Spark's own operators: spark-join, "
    "spark-slide, spark-multijoin, spark-growth, spark-floor, spark-many."
)


def bench(
    name: Annotated[str, typer.Argument(help=_SUITES)] = "engine",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    rows: Annotated[
        int | None, typer.Option(min=1000, help="Rows that go into each figure; each suite has its number.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Timed trials; the median counts.")] = 3,
    only: Annotated[list[str] | None, typer.Option(help="One figure's name; may be repeated.")] = None,
) -> None:
    """Measure Sash beside its peers on the same data in one run."""
    import json as json_format

    from sash.cli.screen import console

    suite = load(name)
    names = chosen(suite, only)
    progress = console(stderr=True)
    results: list[dict[str, Any]] = []
    for position, record in enumerate(suite.run(rows or suite.rows, trials, names), 1):
        results.append(record)
        if progress.is_terminal:
            progress.print(f"{position} of {len(names)}: {record['name']}", style="dim")
    if json:
        print(json_format.dumps({"results": results}, indent=2))
    else:
        console().print(report(results) if name == "engine" else report_spark(results))
    if any("error" in record for record in results):
        raise typer.Exit(1)


def load(name: str) -> Any:
    """The suite of that name, from the checkout that this package is installed from."""
    import importlib
    import sys
    from pathlib import Path

    from sash.errors import SashError

    root = Path(__file__).resolve().parents[3]
    folder = root / "benchmarks"
    if not (folder / "engine").is_dir():
        raise SashError(
            "SASH-CLI-004",
            "The benchmarks are not part of the installed package.",
            remedy="Clone the repository and run `make bench` there.",
        )
    sys.path.insert(0, str(root))
    rooms = sorted(entry.parent.name for entry in folder.glob("*/__init__.py"))
    packages = [importlib.import_module(f"benchmarks.{room}") for room in rooms]
    suites = {suite.name: suite for package in packages for suite in package.SUITES}
    if name not in suites:
        raise SashError(
            "SASH-CLI-005", f"There is no suite '{name}'.", remedy=f"Choose one of: {', '.join(suites)}."
        )
    return suites[name]


def chosen(suite: Any, only: list[str] | None) -> list[str]:
    """The figures asked for, in the suite's order; all if none is named."""
    from sash.errors import SashError

    for unknown in set(only or ()) - set(suite.figures):
        raise SashError(
            "SASH-CLI-006",
            f"There is no figure '{unknown}'.",
            remedy=f"Choose from: {', '.join(suite.figures)}.",
        )
    return [name for name in suite.figures if not only or name in only]


def report(results: list[dict[str, Any]]) -> Table:
    """Ratio first, rate second, memory beside them."""
    table = _table(
        "ratio: Sash's rate by DuckDB's",
        "figure", "ratio", "rows/s", "DuckDB rows/s", "peak MB", "limit MB", "target", "met",
    )  # fmt: skip
    for record in results:
        if "error" in record:
            table.add_row(record["name"], *[""] * 5, record["error"], "no")
            continue
        met = record["target_met"] and record["memory_ok"] is not False
        table.add_row(
            record["name"],
            "" if record["ratio"] is None else f"{record['ratio']:.2f}",
            f"{record['rows_per_s']:,}",
            "" if record["peer_rows_per_s"] is None else f"{record['peer_rows_per_s']:,}",
            f"{record['peak_bytes'] / 1e6:.1f}",
            f"{record['memory_limit_bytes'] / 1e6:.1f}",
            record["target"],
            "yes" if met else "no",
        )
    return table


def report_spark(results: list[dict[str, Any]]) -> Table:
    """A line per figure, and below it one per peer."""
    table = _table(
        "ratio: Sash's rate by the peer's", "figure", "ratio", "rows/s", "ms per trigger", "same answer",
        "target", "met",
    )  # fmt: skip
    for record in results:
        if "error" in record:
            table.add_row(record["name"], *[""] * 4, record["error"], "no")
            continue
        same = {True: "yes", False: "no", None: ""}[record.get("same_answer")]
        met = "" if not record["target"] else "yes" if record["target_met"] else "no"
        table.add_row(record["name"], "", *_speed(record), same, record["target"], met)
        for peer, figures in record.get("peers", {}).items():
            table.add_row(f"  {peer}", f"{record['ratios'][peer]:.2f}", *_speed(figures))
    return table


def _speed(figures: dict[str, Any]) -> tuple[str, str]:
    return f"{figures['rows_per_s']:,}", f"{figures['ms_per_trigger']:,.0f}"


def _table(title: str, *headings: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in headings:
        words = heading in ("figure", "target", "met", "same answer")
        table.add_column(heading, justify="left" if words else "right")
    return table
