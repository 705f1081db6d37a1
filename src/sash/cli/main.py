"""The command's front door: which commands there are, and how an error looks.

Exit codes: 0 all is well, 1 an expectation failed or a run broke off, 2 the input or the command line
is at fault, 128 and more: stopped by that signal.
"""

from __future__ import annotations

__all__ = ["app", "main"]

import sys
from typing import Annotated

import typer

from sash.cli import bench, demo, explain, replay, run
from sash.errors import SashError

app = typer.Typer(
    name="sash",
    help="Continuous queries over sliding windows, with exact answers at every instant.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("replay")(replay.replay)
app.command("explain")(explain.explain)
app.command("demo")(demo.demo)
app.command("bench")(bench.bench)


def _show_version(asked: bool) -> None:
    if asked:
        from sash import __version__

        typer.echo(f"sash {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The version, no more.")
    ] = False,
) -> None:
    """Continuous queries over sliding windows, with exact answers at every instant."""


def main() -> None:
    """Run the command line; a SashError becomes a message on standard error and exit code 2."""
    try:
        app()
    except SashError as error:
        from sash.cli.screen import show_error

        show_error(error)
        sys.exit(2)
    except BrokenPipeError:
        # The reader (say, `head`) has seen enough; nothing more can be written, not even by Python's exit.
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
