"""Finding files: what a folder, a glob or a single path holds that was not seen before.

Files come in the order of their modification times, then of their names. Names that begin with `_`
or `.` are not data. Local folders are listed by the system, others through Arrow's file systems.
"""

from __future__ import annotations

__all__ = ["FoundFile", "changed_at", "file_system", "find"]

import errno
import fnmatch
import functools
import os
import stat
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

from pyarrow import fs

from sash.errors import SashError
from sash.spark.reading.read_options import SINK_LOG, ReadOptions

_MAGIC = frozenset("*?[")
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What is said of a file or folder that has gone by now, and of a link that leads nowhere."""


class FoundFile(NamedTuple):
    """A file as it was when it was listed; `modified` is in nanoseconds since 1970."""

    path: str
    size: int
    modified: int


@functools.lru_cache(maxsize=16)
def file_system(address: str) -> tuple[fs.FileSystem, str]:
    """Where an address points to: a file system and the path in it.

    >>> file_system("/data/packets")[1]
    '/data/packets'
    """
    if address.startswith("file:"):
        address = "/" + address.removeprefix("file:").lstrip("/")
    if "://" not in address:
        return fs.LocalFileSystem(), address
    return fs.FileSystem.from_uri(address)  # type: ignore[no-any-return]


def find(options: ReadOptions, seen: Container[str]) -> list[FoundFile]:
    """The files that are not seen yet, in order."""
    where, path = file_system(options.path)
    try:
        found = [
            file
            for start in _starts(where, path)
            for file in _walk(where, start, options.recursive, seen, plain=not _MAGIC & set(path))
            if options.name_filter is None or fnmatch.fnmatchcase(_name(file.path), options.name_filter)
        ]
    except FileNotFoundError:
        raise SashError(
            "SASH-SOURCE-008",
            f"There is no folder '{options.path}' to read from.",
            remedy="Check the path of the stream, or make the folder: it may be empty.",
        ) from None
    except OSError as error:
        raise SashError(
            "SASH-SOURCE-008",
            f"The folder '{options.path}' cannot be listed: {error.strerror or error}.",
            remedy="Check its permissions and that the storage is reachable.",
        ) from error
    if isinstance(where, fs.LocalFileSystem) and os.path.isdir(f"{path}/{SINK_LOG}"):  # it is there first
        raise SashError(
            "SASH-SOURCE-012",
            f"A sink of Spark writes to the folder '{options.path}' since Sash began to read it: Sash would "
            "take files that the sink never commits.",
            remedy="Start again with a new checkpoint (Spark then reads what the sink has committed), "
            "or let the sink write to another folder. A stream that a sink feeds is started after the sink.",
        )
    return sorted(found, key=lambda file: (file.modified, file.path))


def changed_at(options: ReadOptions) -> int | None:
    """When a file last came into the folder or left it, in nanoseconds; None if that cannot be told."""
    if options.recursive or "://" in options.path or _MAGIC & set(options.path):
        return None
    try:
        return os.stat(options.path).st_mtime_ns if os.path.isdir(options.path) else None
    except OSError:
        return None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _starts(where: fs.FileSystem, path: str) -> list[str]:
    """The paths that a glob stands for; a plain path stands for itself."""
    parts = path.rstrip("/").split("/")
    first = next((i for i, part in enumerate(parts) if _MAGIC & set(part)), len(parts))
    paths = ["/".join(parts[:first]) or "/"]
    for part in parts[first:]:
        paths = [
            child
            for each in paths
            for child in _children(where, each)
            if fnmatch.fnmatchcase(_name(child), part) and not _hidden(_name(child))
        ]
    return paths


def _children(where: fs.FileSystem, path: str) -> list[str]:
    """What is in a folder; nothing if it is none, or none any more."""
    if not isinstance(where, fs.LocalFileSystem):
        folder = where.get_file_info(path).type == fs.FileType.Directory
        return [info.path for info in where.get_file_info(fs.FileSelector(path))] if folder else []
    try:
        with os.scandir(path) as entries:  # names alone: of many files few are new
            return [entry.path for entry in entries]
    except OSError as error:
        if error.errno in _GONE:
            return []
        raise


def _walk(
    where: fs.FileSystem, path: str, recursive: bool, seen: Container[str], plain: bool
) -> Iterator[FoundFile]:
    """The new files at a path and below it. A plain path has to be there; all else may have gone by now."""
    if path in seen and not plain:
        return
    info = _info(where, path)
    if info.type == fs.FileType.NotFound and plain:
        raise FileNotFoundError(path)
    if info.type == fs.FileType.File and path not in seen:
        yield FoundFile(path, info.size, info.mtime_ns or 0)
    folders = [path] if info.type == fs.FileType.Directory or (plain and not info.is_file) else []
    while folders:
        folder = folders.pop()
        here = isinstance(where, fs.LocalFileSystem)
        try:
            files, below = _local(folder, seen) if here else _remote(where, folder)
        except OSError as error:
            if error.errno in _GONE and not (plain and folder == path):
                continue
            raise
        yield from (file for file in files if file.path not in seen)
        if recursive:
            folders += below
        elif partition := next((each for each in below if "=" in _name(each)), None):
            raise SashError(
                "SASH-SOURCE-008",
                f"The folder '{path}' has partitions: '{_name(partition)}' is a folder of its own.",
                remedy="Set recursiveFileLookup = 'true' if the columns are in the files too, "
                "or give the stream as a DataFrame of spark.readStream.",
            )


def _info(where: fs.FileSystem, path: str) -> fs.FileInfo:
    """What is at a path; links that lead in a circle lead nowhere."""
    try:
        return where.get_file_info(path)
    except OSError as error:
        if error.errno in _GONE:
            return fs.FileInfo(path, fs.FileType.NotFound)
        raise


def _local(folder: str, seen: Container[str]) -> tuple[list[FoundFile], list[str]]:
    """Files and folders in a folder; only what is new is asked for its size and time."""
    files, below = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _hidden(entry.name) or entry.path in seen:
                continue
            try:
                status = entry.stat()
            except OSError as error:
                if error.errno in _GONE:
                    continue
                raise
            if stat.S_ISREG(status.st_mode):
                files.append(FoundFile(entry.path, status.st_size, status.st_mtime_ns))
            elif stat.S_ISDIR(status.st_mode) and not (entry.is_symlink() and _leads_back(entry.path)):
                below.append(entry.path)
    return files, below


def _leads_back(link: str) -> bool:
    """Whether a link leads to a folder that it lies in: everything there would come again and again."""
    target = os.path.realpath(link)
    return any(os.path.realpath(folder) == target for folder in Path(link).parents)


def _remote(where: fs.FileSystem, folder: str) -> tuple[list[FoundFile], list[str]]:
    visible = [info for info in where.get_file_info(fs.FileSelector(folder)) if not _hidden(_name(info.path))]
    files = [info for info in visible if info.type == fs.FileType.File]
    below = [info.path for info in visible if info.type == fs.FileType.Directory]
    return [FoundFile(info.path, info.size, info.mtime_ns or 0) for info in files], below
