"""Writes the tables of the pages that follow from the code: docs/language.md's functions, README's figures.

    python scripts/write_tables.py                 the table of functions
    sash bench engine --json | python scripts/write_tables.py --figures
    (sash bench spark-join --json; sash bench spark-slide --json) | python scripts/write_tables.py --spark

A test says if the functions and their table differ.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from sash.language.functions import describe

ROOT = Path(__file__).resolve().parents[1]


def between(text: str, mark: str, body: str) -> str:
    """The text with what stands between the marks replaced.

    >>> print(between("a\\n<!-- x: begin -->\\nold\\n<!-- x: end -->", "x", "new"))
    a
    <!-- x: begin -->
    new
    <!-- x: end -->
    """
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{body}\n{end}", text)


def figures(results: list[dict[str, Any]]) -> str:
    """Ratio first, rate second, memory beside speed."""
    lines = [
        "| figure | by DuckDB's rate | rows/s | DuckDB rows/s | peak memory, MB (limit) | target | met |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for record in results:
        ratio = "" if record["ratio"] is None else f"{record['ratio']:.2f}"
        peer = "" if record["peer_rows_per_s"] is None else f"{record['peer_rows_per_s']:,}"
        met = "yes" if record["target_met"] and record["memory_ok"] is not False else "no"
        lines.append(
            f"| {record['name']} | {ratio} | {record['rows_per_s']:,} | {peer} "
            f"| {record['peak_bytes'] / 1e6:.1f} ({record['memory_limit_bytes'] / 1e6:.1f}) "
            f"| {record['target']} | {met} |"
        )
    return "\n".join(lines)


def spark_figures(results: list[dict[str, Any]]) -> str:
    """Rate and time of a trigger, and by how much that is more than each peer's."""
    lines = [
        "| figure | rows/s | ms per trigger | times the rate of Spark's own | target | met |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for record in results:
        ratios = ", ".join(f"{name} {ratio:.1f}" for name, ratio in record["ratios"].items())
        met = "yes" if record["target_met"] else "no"
        lines.append(
            f"| {record['name']} | {record['rows_per_s']:,} | {record['ms_per_trigger']:,.0f} | {ratios} "
            f"| {record['target']} | {met} |"
        )
    return "\n".join(lines)


def documents(text: str) -> list[dict[str, Any]]:
    """The results of all JSON objects in a text, one after another."""
    found: list[dict[str, Any]] = []
    while text := text.strip():
        document, end = json.JSONDecoder().raw_decode(text)
        found += document["results"]
        text = text[end:]
    return found


def rewrite(page: Path, mark: str, body: str) -> None:
    """Put a body between a page's marks."""
    page.write_text(between(page.read_text(encoding="utf-8"), mark, body), encoding="utf-8")


if __name__ == "__main__":
    if "--figures" in sys.argv:
        rewrite(ROOT / "README.md", "figures", figures(json.load(sys.stdin)["results"]))
    elif "--spark" in sys.argv:
        rewrite(ROOT / "README.md", "spark figures", spark_figures(documents(sys.stdin.read())))
    else:
        rewrite(ROOT / "docs" / "language.md", "functions", describe())
