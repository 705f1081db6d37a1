"""What commands show: errors and text, plain when nobody is looking at a terminal."""

from __future__ import annotations

__all__ = ["console", "read_text", "show_error"]

from pathlib import Path

from rich.console import Console
from rich.text import Text

from sash.errors import SashError


def console(*, stderr: bool = False) -> Console:
    """A console that neither wraps nor colours what goes into a file or a pipe."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=240, no_color=True)


def show_error(error: SashError) -> None:
    """The code and what is wrong, the place, what to do: on standard error."""
    screen = console(stderr=True)
    screen.print(Text.assemble((f"{error.code}: ", "bold red"), error.message), soft_wrap=True)
    if error.place is not None:
        screen.print(Text(error.place.render()), soft_wrap=True)
    screen.print(Text.assemble(("what to do: ", "bold"), error.remedy), soft_wrap=True)


def read_text(path: Path) -> str:
    """A file's text, or an error that a user understands."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SashError(
            "SASH-CLI-001",
            f"The file '{path}' cannot be read ({error.strerror or error}).",
            remedy="Check the path and its permissions.",
        ) from None
    except UnicodeDecodeError:
        raise SashError(
            "SASH-CLI-002", f"The file '{path}' is not UTF-8 text.", remedy="Give a text file in UTF-8."
        ) from None
