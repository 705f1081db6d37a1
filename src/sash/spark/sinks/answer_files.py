"""The files of one snapshot: an answer per batch, the newest of them for everyone to read.

| file | for |
| --- | --- |
| `answer.parquet` | everyone else: who opens it reads what it was then (`successive_parquet`) |
| `_spark_metadata/0` | Spark, which lists first and opens later: its own file sink's log, naming a version |
| `_answer=<checkpoint>-<batch>.parquet` | the versions: for Spark, and for a batch that comes again |
| `_spark_metadata/.lock` | whoever would fill the folder at the same time |

Everything is put in place by a rename. A version stays while a batch may start from it, and for as
long as a reader who has just listed it may take to open it.
"""

from __future__ import annotations

__all__ = ["AnswerFiles"]

import errno
import json
import os
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sash.catalog.atomic_files import lacks_links, replace_file
from sash.errors import SashError
from sash.spark.checkpoints.locking import Lock
from sash.spark.failpoints import failpoint
from sash.spark.sinks.successive_parquet import write_successor

_BATCHES = 4
_SECONDS = 60.0
_BLOCK = 32 << 20


class AnswerFiles:
    """The snapshot in a folder, as one checkpoint fills it."""

    def __init__(self, folder: Path, id: str) -> None:
        self._folder, self._id = folder, id
        self._log, self._newest = folder / "_spark_metadata", folder / "answer.parquet"
        try:
            self._log.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self._log / ".lock", "snapshot", folder)
        except OSError as error:
            raise _unwritable(folder, error) from error
        # Since when versions are not needed for a batch. Those that earlier runs left: since the last link
        # to them was made or taken away, which is what moves the time of a file's change.
        began = time.monotonic() - time.time()
        self._past = {each.name: began + each.stat().st_ctime for each in folder.glob("_answer=*.parquet")}

    def close(self) -> None:
        """Let another run fill the folder."""
        self._lock.release()

    def before(self, number: int) -> pa.Table | None:
        """The answer that a batch starts from; None for the first."""
        if number == 0:
            return None
        version = self._existing(number - 1)
        try:
            return pq.read_table(version)
        except (OSError, pa.ArrowException) as error:
            raise SashError(
                "SASH-SPARK-068",
                f"The snapshot in '{self._folder}' has no answer to go on from: '{version.name}' is damaged "
                f"({error}).",
                remedy="Put back a copy of the folder, or start with a new checkpoint.",
            ) from error

    def put(self, number: int, answer: pa.Table | None) -> None:
        """Make an answer the newest: that of a batch, or (None) that of the batch before once more."""
        try:
            version = self._version(number)
            if answer is None:
                _link(self._existing(number - 1), version)
            else:
                before = [self._newest, *(self._version(number - back) for back in range(1, _BATCHES))]
                replace_file(version, lambda file: write_successor(file, answer, before))
            failpoint("snapshot-written")
            self._name(version)
            failpoint("snapshot-named")
            _link(version, self._newest)
            self._forget(number)
        except OSError as error:
            raise _unwritable(self._folder, error) from error

    def _version(self, number: int) -> Path:
        # Spark takes no file whose name begins with an underscore, unless there is an equals sign in it.
        return self._folder / f"_answer={self._id}-{number}.parquet"

    def _existing(self, number: int) -> Path:
        version = self._version(number)
        if not version.exists():
            raise SashError(
                "SASH-SPARK-068",
                f"The snapshot in '{self._folder}' has no answer of batch {number} to go on from.",
                remedy="Give the path that this checkpoint wrote to before, or start with a new checkpoint.",
            )
        return version

    def _name(self, version: Path) -> None:
        """Tell Spark's readers of a version, and of no other."""
        facts = version.stat()
        entry = {
            "path": version.as_uri().replace("%3D", "="), "size": facts.st_size, "isDir": False,
            "modificationTime": facts.st_mtime_ns // 1_000_000, "blockReplication": 1, "blockSize": _BLOCK,
            "action": "add",
        }  # fmt: skip
        replace_file(self._log / "0", lambda file: file.write(f"v1\n{json.dumps(entry)}".encode()))

    def _forget(self, number: int) -> None:
        """Remove the versions that nobody needs any more, those of other checkpoints too.

        Their own times do not tell: versions of one answer are one file by several names.
        """
        kept = {self._version(each).name for each in range(number - _BATCHES + 1, number + 1)}
        now = time.monotonic()
        names = {each.name for each in self._folder.glob("_answer=*.parquet")}
        self._past = {name: self._past.get(name, now) for name in names - kept}
        for name, since in self._past.items():
            if now - since > _SECONDS:
                with suppress(FileNotFoundError):
                    (self._folder / name).unlink()


def _link(old: Path, new: Path) -> None:
    """Let `new` be the file `old`, at once, whatever `new` was."""
    beside = new.with_name(f".{new.name}.link")
    with suppress(FileNotFoundError):
        os.unlink(beside)
    try:
        os.link(old, beside)
    except OSError as error:
        if not lacks_links(error):
            raise
        replace_file(new, lambda file: file.write(old.read_bytes()))  # no hard links there
        return
    os.replace(beside, new)
    with suppress(FileNotFoundError):
        os.unlink(beside)  # renaming one link onto another of the same file does nothing


def _unwritable(folder: Path, error: OSError) -> SashError:
    taken = error.errno in (errno.ENOTDIR, errno.EEXIST)
    return SashError(
        "SASH-SPARK-070",
        f"The snapshot in '{folder}' cannot be written: {error.strerror or error}.",
        remedy="Give a folder, or a path that is not there yet."
        if taken
        else "Make room or choose another folder, and start again with the same checkpoint.",
    )
