"""Files that are there whole or not at all: written beside their place, synced, renamed or linked."""

from __future__ import annotations

__all__ = ["create_file", "lacks_links", "replace_file"]

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
    with _beside(path, write, sync) as temporary:
        os.replace(temporary, path)
        if sync:
            _sync_directory(path.parent)


def create_file(path: Path, write: Callable[[IO[bytes]], object]) -> bool:
    """Put a file at `path` unless there is one; whether it was put there, unsynced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for content in (b"first", b"second"):
    ...         print(create_file(Path(folder) / "a", lambda file: file.write(content)))
    ...     (Path(folder) / "a").read_bytes(), os.listdir(folder)
    True
    False
    (b'first', ['a'])
    """
    with _beside(path, write, sync=False) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if not lacks_links(error):
                raise
            return _opened_first(path, write)
        return True


def lacks_links(error: OSError) -> bool:
    """Whether a file could not be linked because its file system has no hard links, or no more of them."""
    return error.errno in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


def _opened_first(path: Path, write: Callable[[IO[bytes]], object]) -> bool:
    """Put a file at `path` unless there is one; whoever dies meanwhile leaves it without its content."""
    try:
        with open(path, "xb") as file:
            write(file)
    except FileExistsError:
        return False
    return True


@contextmanager
def _beside(path: Path, write: Callable[[IO[bytes]], object], sync: bool) -> Iterator[str]:
    """A file beside its place, gone at the end if it is still there."""
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
        yield temporary
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
