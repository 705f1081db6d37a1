"""A snapshot's file: one header, Arrow IPC sections back to back, a JSON manifest, one trailer.

| part | bytes |
| --- | --- |
| header | magic `SASHSNAP`, format version (u32), zero (u32) |
| sections | each one Arrow IPC stream |
| manifest | JSON: what the database was, and the offset, length and CRC-32 of every section |
| trailer | offset and length of the manifest (u64 each), its CRC-32 (u32), magic `SASHDONE` |

It is written beside its place, synced and renamed: there is the old snapshot or the new one, whole.
"""

from __future__ import annotations

__all__ = ["FORMAT", "read_snapshot", "write_snapshot"]

import errno
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from sash.catalog.atomic_files import replace_file
from sash.errors import SashError

FORMAT = 6
_MAGIC, _DONE = b"SASHSNAP", b"SASHDONE"
_HEADER, _TRAILER = struct.Struct("<8sII"), struct.Struct("<QQI8s")


def write_snapshot(path: Path, manifest: Mapping[str, Any], sections: Iterable[tuple[str, pa.Table]]) -> None:
    """Write a snapshot in place of whatever is at `path`, whole or not at all."""
    try:
        replace_file(path, lambda file: _write(file, manifest, sections))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full" if full else error.strerror or str(error)
        raise SashError(
            "SASH-STATE-001" if full else "SASH-STATE-002",
            f"The snapshot '{path}' could not be written: {what}.",
            remedy="Make room and save again; an older snapshot there is still whole."
            if full
            else "Choose a place that can be written; an older snapshot there is still whole.",
        ) from error


def _write(file: IO[bytes], manifest: Mapping[str, Any], sections: Iterable[tuple[str, pa.Table]]) -> None:
    file.write(_HEADER.pack(_MAGIC, FORMAT, 0))
    offset = _HEADER.size
    index = []
    for name, table in sections:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        content = sink.getvalue()
        file.write(content)
        index.append({"name": name, "offset": offset, "length": content.size, "crc32": zlib.crc32(content)})
        offset += content.size
    text = json.dumps({**manifest, "sections": index}).encode()
    file.write(text)
    file.write(_TRAILER.pack(offset, len(text), zlib.crc32(text), _DONE))


def read_snapshot(path: Path) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The manifest and the sections by name, every byte of them checked."""
    try:
        with open(path, "rb") as file:
            content = memoryview(file.read())
    except OSError as error:
        raise SashError(
            "SASH-STATE-003",
            f"The snapshot '{path}' could not be read: {error.strerror or error}.",
            remedy="Give the path that was given to save().",
        ) from error
    _check_header(path, content)
    if len(content) < _HEADER.size + _TRAILER.size:
        raise _truncated(path)
    offset, length, checksum, done = _TRAILER.unpack(content[-_TRAILER.size :])
    if done != _DONE or offset + length + _TRAILER.size != len(content):
        raise _truncated(path)
    text = content[offset : offset + length]
    if zlib.crc32(text) != checksum:
        raise _damaged(path, "its manifest")
    manifest: dict[str, Any] = json.loads(bytes(text))
    sections = {}
    for part in manifest.pop("sections"):
        data = content[part["offset"] : part["offset"] + part["length"]]
        if zlib.crc32(data) != part["crc32"]:
            raise _damaged(path, f"its section '{part['name']}'")
        sections[part["name"]] = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    return manifest, sections


def _check_header(path: Path, content: memoryview) -> None:
    start = bytes(content[:8])
    if len(content) < _HEADER.size and _MAGIC.startswith(start):
        raise _truncated(path)
    if start != _MAGIC:
        raise SashError(
            "SASH-STATE-004",
            f"'{path}' is not a snapshot of Sash.",
            remedy="Give the path that was given to save().",
        )
    version = _HEADER.unpack(content[: _HEADER.size])[1]
    if version != FORMAT:
        raise SashError(
            "SASH-STATE-006",
            f"The snapshot '{path}' has format {version}, and this Sash reads format {FORMAT}.",
            remedy=f"Load it with the {'newer' if version > FORMAT else 'older'} Sash that wrote it.",
        )


def _truncated(path: Path) -> SashError:
    return SashError(
        "SASH-STATE-005",
        f"The snapshot '{path}' is cut short.",
        remedy="It was copied in part; take the whole file, or an older snapshot.",
    )


def _damaged(path: Path, what: str) -> SashError:
    return SashError(
        "SASH-STATE-007",
        f"The snapshot '{path}' is damaged: {what} does not match its checksum.",
        remedy="Take another copy of it, or an older snapshot.",
    )
