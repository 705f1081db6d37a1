"""What Python callers hand in, checked before anything is done with it."""

from __future__ import annotations

__all__ = ["check_settings", "path_of", "setting_refused", "text_of"]

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path

from sash.errors import SashError


def text_of(value: object, what: str) -> str:
    """The value, if it is text.

    >>> text_of("SELECT a FROM s", "The query")
    'SELECT a FROM s'
    """
    if isinstance(value, str):
        return value
    raise SashError(
        "SASH-SESSION-016",
        f"{what} must be text, not {type(value).__name__}.",
        remedy="Decode it first." if isinstance(value, bytes) else "Give a str.",
    )


def path_of(value: object) -> Path:
    """The value as a path."""
    try:
        return Path(value)  # type: ignore[arg-type]
    except TypeError:
        raise SashError(
            "SASH-SESSION-016",
            f"The path must be text or a path, not {type(value).__name__}.",
            remedy="Give a str or a pathlib.Path.",
        ) from None


def check_settings(given: Iterable[str], known: Collection[str]) -> None:
    """Raise for a setting that there is not, with the one that may be meant."""
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            meant = f"Did you mean '{close[0]}'?" if close else f"There are: {', '.join(sorted(known))}."
            raise SashError("SASH-SESSION-005", f"There is no setting '{name}'.", remedy=meant)


def setting_refused(name: str, value: object, remedy: str) -> SashError:
    """The error for a setting that cannot have that value."""
    return SashError("SASH-SESSION-005", f"The setting '{name}' cannot be {value!r}.", remedy=remedy)
