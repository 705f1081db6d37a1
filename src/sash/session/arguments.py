"""What Python callers hand in, checked before anything is done with it."""

from __future__ import annotations

__all__ = ["path_of", "text_of"]

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
