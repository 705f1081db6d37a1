"""Files that are there whole or not at all: written beside their place, synced, renamed."""

from __future__ import annotations

__all__ = ["replace_file"]

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO


def replace_file(path: Path, write: Callable[[IO[bytes]], object], *, sync: bool = True) -> None:
    """Put what `write` writes in place of whatever is at `path`; OSError if that cannot be.

    Without `sync` it outlives the process, but not a loss of power.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder) / "a", lambda file: file.write(b"x"))
    ...     (Path(folder) / "a").read_bytes(), os.listdir(folder)
    (b'x', ['a'])
    """
    temporary: str | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "wb", dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False
        ) as file:
            temporary = file.name
            write(file)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
        temporary = None
        if sync:
            _sync_directory(path.parent)
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable, where directories can be synced."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
