"""`sash replay FILE.cql`: plays a fixture and shows the changes of its queries."""

from __future__ import annotations

__all__ = ["replay"]

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table


def replay(
    file: Annotated[Path, typer.Argument(help="A fixture: definitions, queries, pushes, expectations.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the exit code and differences.")] = False,
) -> None:
    """Run the fixture FILE and show its changes; exit code 1 if an expectation differs."""
    from sash import testing
    from sash.cli.screen import console, read_text
    from sash.errors import SashError

    text = read_text(file)
    try:
        fixture = testing.parse_fixture(text, file.name)
    except ValueError as error:
        raise SashError(
            "SASH-CLI-007",
            f"The fixture cannot be read: {error}.",
            remedy="Mend that line; tests/cql/README.md tells the format.",
        ) from None
    try:
        transcript = testing.replay(fixture)
    except AssertionError as error:
        console(stderr=True).print(f"{file}, {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    if quiet:
        return
    screen = console()
    if fixture.title:
        screen.print(fixture.title, style="bold", markup=False)
    for name, changes in transcript.changes.items():
        screen.print(changes_table(name, transcript.columns[name], changes))
    for code in transcript.errors:
        screen.print(f"refused as expected: {code}", markup=False)


def changes_table(name: str, columns: tuple[str, ...], changes: list[tuple[object, ...]]) -> Table:
    """Changes (at, values ..., change) in the order of their instants, goings in red and comings in green."""
    from rich.table import Table
    from rich.text import Text

    from sash.testing.cells import show_cell

    table = Table(title=name, title_justify="left")
    for heading in ("at", *columns, "change"):
        table.add_column(heading)
    for row in sorted(changes, key=lambda change: change[0]):  # type: ignore[arg-type, return-value]
        *cells, change = row
        assert isinstance(change, int)
        shown = [Text("NULL", style="dim") if cell is None else Text(show_cell(cell)) for cell in cells]
        table.add_row(*shown, Text(f"{change:+d}", style="green" if change > 0 else "red"))
    return table
