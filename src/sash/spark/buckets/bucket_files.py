"""What a bucket leaves on disk: a log of its batches, merged into a snapshot from time to time.

| file | holds |
| --- | --- |
| `<batch>.step` | the packs of a batch, and the manifest as of that batch |
| `<batch>.snapshot` | the bucket's state after that batch |
| `<batch>.results` | rows of queries that end here, for the last leg to pick up; no part of the state |
| `<batch>.<run>.from-<bucket>`, `<batch>.<run>.came-<place>` | what tasks bring for a batch (`meeting.py`) |

A manifest names a snapshot (or none) and the batches to play after it. Files are written beside
their place and renamed, so they are whole or not there, and never change. A log is merged when it
outweighs the snapshot before it: what is written per batch follows what the batch brought, whatever
the window holds. What a retained batch's manifest names is kept, everything older goes.
"""

from __future__ import annotations

__all__ = ["FORMAT", "BucketFiles", "Manifest", "damaged", "files_of", "read_results", "unwritable"]

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.catalog.atomic_files import replace_file
from sash.errors import SashError
from sash.spark.buckets.narrowing import narrow_table, wide_table
from sash.spark.buckets.pieces import read_pieces, write_pieces
from sash.spark.failpoints import failpoint

FORMAT = 8
_MAGIC = b"SASHSTEP"
_HEADER = struct.Struct("<8sIIQ")  # magic, format, checksum of the header's text, its length
_LEAST_LOG = 64 << 10
_LEAST_BATCHES = 4
"""A log of fewer bytes or batches is not worth a merge: writing all state takes longer than writing packs."""
_COMPRESSED = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=1))


@dataclass(frozen=True)
class Manifest:
    """Where a bucket stands after a batch: a snapshot, and the batches played since."""

    batch: int
    snapshot: int | None = None
    snapshot_bytes: int = 0
    log: tuple[int, ...] = ()
    log_bytes: int = 0
    measures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def oldest(self) -> int:
        """The oldest batch of which a file is named."""
        named = [*self.log[:1], *([] if self.snapshot is None else [self.snapshot])]
        return min(named, default=self.batch)

    @property
    def nbytes(self) -> int:
        """How many bytes the named files hold."""
        return self.snapshot_bytes + self.log_bytes

    def after(self, batch: int, nbytes: int, measures: Mapping[str, Any]) -> Manifest:
        """With one more batch in the log."""
        log = (*self.log, batch)
        return Manifest(batch, self.snapshot, self.snapshot_bytes, log, self.log_bytes + nbytes, measures)

    def merged(self, nbytes: int) -> Manifest:
        """With everything in a new snapshot."""
        return Manifest(self.batch, self.batch, nbytes, (), 0, self.measures)

    @property
    def wants_merge(self) -> bool:
        """Whether the log outweighs the snapshot, and is worth it."""
        enough = len(self.log) >= _LEAST_BATCHES
        return enough and self.log_bytes > max(self.snapshot_bytes, _LEAST_LOG)


def files_of(checkpoint: str, stage: int, bucket: int) -> BucketFiles:
    """Where a bucket's files are."""
    return BucketFiles(Path(checkpoint) / "sash" / "state" / f"{stage}-{bucket}")


class BucketFiles:
    """The files of one bucket, in a folder of their own."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def newest(self, before: int) -> Manifest | None:
        """The manifest of the last batch before the given one; None if there is none."""
        batches = self.batches(before)
        return self.manifest(batches[-1]) if batches else None

    def batches(self, before: int) -> list[int]:
        """The batches before the given one of which there is a manifest, in order."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        numbers = [int(n.removesuffix(".step")) for n in names if n.endswith(".step") and n[0].isdigit()]
        return sorted(number for number in numbers if number < before)

    def manifest(self, batch: int) -> Manifest:
        """The manifest as of a batch; its packs are left unread."""
        header, _ = self._header(self._step(batch))
        return Manifest(
            batch, header["snapshot"], header["snapshot_bytes"], tuple(header["log"]), header["log_bytes"],
            header["measures"],
        )  # fmt: skip

    def packs(self, batch: int) -> list[pa.Buffer]:
        """The packs of a batch."""
        return self._read(self._step(batch))[1]

    def write_step(self, manifest: Manifest, packs: Sequence[pa.Buffer]) -> int:
        """A batch's packs with the manifest as of that batch; how many bytes that takes."""
        header = {
            "snapshot": manifest.snapshot, "snapshot_bytes": manifest.snapshot_bytes,
            "log": list(manifest.log), "log_bytes": manifest.log_bytes, "measures": dict(manifest.measures),
            "sizes": [pack.size for pack in packs],
        }  # fmt: skip
        written = self._write(self._step(manifest.batch), header, packs)
        failpoint("step-written")
        return written

    def write_snapshot(self, batch: int, tables: Mapping[str, pa.Table]) -> int:
        """The state after a batch; how many bytes it takes."""
        bodies = []
        for table in tables.values():
            bits, others = narrow_table(table)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, others.schema, options=_COMPRESSED) as writer:
                writer.write_table(others)
            bodies += [bits, sink.getvalue()]
        header = {"names": list(tables), "sizes": [body.size for body in bodies]}
        failpoint("merging")
        return self._write(self._snapshot(batch), header, bodies)

    def read_snapshot(self, batch: int) -> dict[str, pa.Table]:
        """The state that `write_snapshot` wrote."""
        header, bodies = self._read(self._snapshot(batch))
        written = zip(bodies[::2], bodies[1::2], strict=True)
        tables = [wide_table(bits, pa.ipc.open_stream(others).read_all()) for bits, others in written]
        return dict(zip(header["names"], tables, strict=True))

    def write_results(self, batch: int, results: Sequence[pa.RecordBatch]) -> Path:
        """Rows of a batch, each piece with its schema; where they are.

        They are written over those of the batch before, which is done: fresh pages of a file cost several
        times what the copy does.
        """
        path, begun = self._results(batch), self.folder / f".{batch}.results.over.part"
        try:
            self.make_folder()
            try:
                os.rename(self._results(batch - 1), begun)
            except FileNotFoundError:
                replace_file(path, lambda file: write_pieces(file, results), sync=False)
                return path
            with open(begun, "r+b") as file:
                write_pieces(file, results)
                file.truncate()
            os.replace(begun, path)
        except OSError as error:
            raise unwritable(path, error) from error
        return path

    def remove_results(self, batch: int) -> None:
        """Remove the rows of a batch that is done, if there are any."""
        with suppress(FileNotFoundError):
            os.unlink(self._results(batch))

    def clean(self, manifest: Manifest) -> None:
        """Remove what is older than anything the manifest, the oldest retained one, names."""
        for name in os.listdir(self.folder):
            batch, _, _ = name.partition(".")
            if (batch.isdigit() and int(batch) < manifest.oldest) or _is_orphan(name, manifest.batch):
                with suppress(FileNotFoundError):
                    os.unlink(self.folder / name)
                failpoint("cleaning")

    def make_folder(self) -> None:
        """Make the folder and the one above, which is for all buckets; no more: a checkpoint that was
        removed, as a temporary one is at its run's end, is not to come back in parts."""
        for folder in (self.folder.parent, self.folder):
            folder.mkdir(exist_ok=True)

    def _step(self, batch: int) -> Path:
        return self.folder / f"{batch}.step"

    def _snapshot(self, batch: int) -> Path:
        return self.folder / f"{batch}.snapshot"

    def _results(self, batch: int) -> Path:
        return self.folder / f"{batch}.results"

    def _write(self, path: Path, header: Mapping[str, Any], bodies: Sequence[pa.Buffer]) -> int:
        checksums = [zlib.crc32(body) for body in bodies]
        text = json.dumps({"of": _of(path), **header, "checksums": checksums}).encode()
        start = _HEADER.pack(_MAGIC, FORMAT, zlib.crc32(text), len(text))
        try:
            self.make_folder()
            replace_file(path, lambda file: file.writelines([start, text, *bodies]), sync=False)
        except OSError as error:
            raise unwritable(path, error) from error
        return int(_HEADER.size + len(text) + sum(body.size for body in bodies))

    def _header(self, path: Path) -> tuple[dict[str, Any], pa.Buffer]:
        """A file's header, checked, and all of its bytes."""
        try:
            with pa.memory_map(str(path)) as file:
                content = file.read_buffer()
        except (OSError, pa.ArrowException) as error:
            raise damaged(path, f"it cannot be read ({error})") from error
        if content.size < _HEADER.size:
            raise damaged(path, "it is cut short")
        magic, format_, checksum, length = _HEADER.unpack(content[: _HEADER.size])
        if magic != _MAGIC:
            raise damaged(path, "it is not a file of Sash")
        if format_ != FORMAT:
            raise SashError(
                "SASH-SPARK-082",
                f"The state '{path}' has format {format_}, and this Sash reads format {FORMAT}.",
                remedy="Go on with the Sash that wrote it, or start with a new checkpoint.",
            )
        if content.size < _HEADER.size + length:
            raise damaged(path, "it is cut short")
        text = content.slice(_HEADER.size, length)
        if zlib.crc32(text) != checksum:
            raise damaged(path, "its header does not match its checksum")
        header: dict[str, Any] = json.loads(bytes(text))
        if header.get("of", _of(path)) != _of(path):  # earlier files do not say
            raise damaged(path, f"it was written as '{header['of']}'")
        if content.size != _HEADER.size + length + sum(header["sizes"]):
            raise damaged(path, "it is cut short")
        return header, content

    def _read(self, path: Path) -> tuple[dict[str, Any], list[pa.Buffer]]:
        """A file's header and bodies, every byte checked."""
        header, content = self._header(path)
        bodies = []
        at = content.size - sum(header["sizes"])
        for size, expected in zip(header["sizes"], header["checksums"], strict=True):
            bodies.append(content.slice(at, size))
            at += size
            if zlib.crc32(bodies[-1]) != expected:
                raise damaged(path, "its content does not match its checksum")
        return header, bodies


def read_results(path: str) -> Iterator[pa.RecordBatch]:
    """What `write_results` wrote, piece by piece, as it lies in memory or on disk."""
    try:
        yield from read_pieces(pa.memory_map(path))
    except FileNotFoundError as error:
        raise damaged(Path(path), "it is not there") from error


def _of(path: Path) -> str:
    """What a file is of, wherever the checkpoint lies: the stage and bucket, and the batch."""
    return f"{path.parent.name}/{path.name}"


def _is_orphan(name: str, batch: int) -> bool:
    """Whether a file was begun, by a task that died, for a batch that is long done."""
    parts = name.split(".")
    return parts[-1] == "part" and parts[1].isdigit() and int(parts[1]) <= batch


def unwritable(path: Path, error: OSError) -> SashError:
    """The error for a file that could not be put in its place."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full" if full else error.strerror or str(error)
    return SashError(
        "SASH-SPARK-080",
        f"The state '{path}' could not be written: {why}.",
        remedy="Make room under the checkpoint and start again: it goes on from the last batch."
        if full
        else "Choose a checkpoint that every executor can write to.",
    )


def damaged(path: Path, why: str) -> SashError:
    """The error for a file that is not as it was written."""
    return SashError(
        "SASH-SPARK-081",
        f"The state '{path}' is damaged: {why}.",
        remedy="Put back a copy of the whole checkpoint, or start with a new one.",
    )
