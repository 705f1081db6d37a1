"""Writing anew what a fixture expects: answers by the oracle, errors and plans by the session."""

from __future__ import annotations

__all__ = ["rewrite"]

from pathlib import Path
from typing import Any

from judging import Judge, judge
from oracle.values import plain_row, row_key
from sash.errors import SashError
from sash.testing import read_fixture
from sash.testing.cells import render_table, show_cell
from sash.testing.fixtures import Step
from sash.testing.replaying import shown_place


def rewrite(path: Path, session_factory: Any) -> bool:
    """Write a fixture anew; true if anything changed."""
    fixture = read_fixture(path)
    _, player = judge(fixture, session_factory, lenient=True)
    lines = fixture.text.splitlines()
    for step in reversed(fixture.steps):
        end = step.error.lines[1] if step.error else step.lines[1]
        lines[step.lines[0] : end] = _lines(step, player, lines[step.lines[0] : step.lines[1]])
    text = "\n".join(lines) + "\n"
    if text == fixture.text:
        return False
    path.write_text(text, encoding="utf-8")
    return True


def _lines(step: Step, player: Judge, old: list[str]) -> list[str]:
    """The lines of a step with what it expects."""
    key = step.lines[0]
    if key in player.failed:
        head = [old[0].partition("|")[0].replace("(none)", "").rstrip()] if not step.acts else old
        return head + _error(player.failed[key])
    while old and not old[-1].strip():
        old = old[:-1]
    if key in player.plans:
        return [f"EXPLAIN {step.name}", *(f"| {line}".rstrip() for line in player.plans[key])]
    if key not in player.noted:
        return old
    header, rows = player.noted[key]
    lead = " ".join(filter(None, [step.kind.upper(), step.name, step.text]))
    if not rows:
        return [f"{lead} (none)"]
    rows = sorted(rows, key=lambda row: row_key(plain_row(row)))
    cells = [[show_cell(value) for value in row] for row in rows]
    if step.kind == "changes":
        cells = [[*row[:-1], f"{int(row[-1]):+d}"] for row in cells]
    return render_table(lead, header, cells)


def _error(error: SashError) -> list[str]:
    return [f"ERROR {error.code} {error.message}", *(f"  | {line}" for line in shown_place(error))]
