"""A checkpoint: Spark's own folder with Sash's `sash/` in it, held by one run at a time.

Before anything runs, what the checkpoint was made with is compared with what is asked, Spark's logs
are looked at, and a lock is taken that ends with the process. Without a path it is a temporary
folder, removed when the run stops.
"""

from __future__ import annotations

__all__ = ["Checkpoint"]

import atexit
import errno
import json
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from sash.catalog.arguments import path_of
from sash.catalog.atomic_files import replace_file
from sash.errors import SashError
from sash.spark.checkpoints.locking import Lock
from sash.spark.checkpoints.records import Record, check, read_record


class Checkpoint:
    """One folder, taken for one run; `close()` gives it back."""

    def __init__(self, given: object = None, keep: bool = False) -> None:
        """`keep`: a temporary folder stays until the process ends, not until the run does."""
        self.temporary = given is None
        self._keep = keep
        self.path = Path(tempfile.mkdtemp(prefix="sash-checkpoint-")) if given is None else _local(given)
        if self.temporary:
            atexit.register(_remove, self.path)
        self.sash = self.path / "sash"
        try:
            self.sash.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self.sash / "lock", "checkpoint", self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        try:
            self.recorded = self._read()
            check_spark_logs(self.path)
        except BaseException:
            self.close()
            raise

    @property
    def id(self) -> str:
        """Tells this checkpoint from every other; known once it is settled."""
        assert self.recorded is not None, "settle() comes first"
        return self.recorded.id

    @property
    def is_new(self) -> bool:
        """Whether no batch was planned on it yet."""
        return newest(self.path / "offsets") is None

    def settle(self, record: Record) -> None:
        """Bind a new checkpoint to what runs, or see that an old one fits it."""
        if self.recorded is not None:
            check(self.recorded, record, str(self.path))
            return
        try:
            replace_file(self.sash / "format.json", lambda file: file.write(record.to_json()))
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self.recorded = record

    def close(self) -> None:
        """Give the checkpoint back; a temporary one is removed."""
        self._lock.release()
        if self.temporary and not self._keep:
            _remove(self.path)

    def _read(self) -> Record | None:
        path = self.sash / "format.json"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            if newest(self.path / "offsets") is None:
                return None
            raise SashError(
                "SASH-SPARK-057",
                f"'{self.path}' is a checkpoint of Spark without the part that Sash keeps in it.",
                remedy="Give a folder of its own as checkpoint, or take a whole copy of this one.",
            ) from None
        except OSError as error:
            raise _unwritable(self.path, error) from error
        return read_record(content, str(self.path))


def _remove(path: Path) -> None:
    """Remove a folder, also while a host still writes the batch at which a run was stopped."""
    for _ in range(20):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.05)


def newest(folder: Path) -> int | None:
    """The newest batch that one of Spark's logs has; None if it has none."""
    try:
        numbers = [int(name) for name in os.listdir(folder) if name.isdigit()]
    except FileNotFoundError:
        return None
    return max(numbers, default=None)


def check_spark_logs(path: Path) -> None:
    """Raise if Spark could not go on from its own logs: a batch cut short, or committed and never planned."""
    planned, committed = newest(path / "offsets"), newest(path / "commits")
    if committed is not None and (planned is None or planned < committed):
        raise _broken(path, f"batch {committed} is committed, and its offsets are gone")
    metadata = path / "metadata"
    if metadata.exists() and not _names_query(metadata.read_bytes()):
        raise _broken(path, "metadata is not as it was written")
    for folder in ("offsets", "commits"):
        last = newest(path / folder)
        for batch in range(max(0, (last or 0) - 1), (last or 0) + 1):
            file = path / folder / str(batch)
            if last is not None and file.exists() and not _whole(file.read_bytes()):
                raise _broken(path, f"{folder}/{batch} is cut short")


def _whole(content: bytes) -> bool:
    """Whether a file of Spark's logs is a version and lines of JSON ('-' stands for no offset)."""
    try:
        first, *lines = content.decode().splitlines()
        if not re.fullmatch(r"v\d+", first) or not lines:
            return False
        for line in lines:
            if line.strip() not in ("", "-"):
                json.loads(line)
    except ValueError:
        return False
    return True


def _names_query(content: bytes) -> bool:
    """Whether a file of Spark's metadata says which query the checkpoint is of."""
    try:
        metadata = json.loads(content)
    except ValueError:
        return False
    return isinstance(metadata, dict) and isinstance(metadata.get("id"), str)


def _local(given: object) -> Path:
    """The folder that a user names; every node must see it under that name, so it is a path."""
    text = str(path_of(given)) if not isinstance(given, str) else given
    if text.startswith("file:"):
        text = "/" + text.removeprefix("file:").lstrip("/")
    scheme = re.match(r"([a-zA-Z][\w+.-]*):/", text)
    if scheme is not None or not text.strip():
        raise SashError(
            "SASH-SPARK-058",
            f"'{given}' cannot be a checkpoint: it is not a path of a file system.",
            remedy="Give a folder on a file system that the driver and all executors share.",
        )
    return Path(os.path.abspath(text))


def _unwritable(path: Path, error: OSError) -> SashError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    what = "the disk is full" if full else error.strerror or str(error)
    return SashError(
        "SASH-SPARK-059",
        f"The checkpoint '{path}' cannot be written: {what}.",
        remedy="Make room and start again." if full else "Choose a folder that can be read and written.",
    )


def _broken(path: Path, what: str) -> SashError:
    return SashError(
        "SASH-SPARK-060",
        f"Spark's log in the checkpoint '{path}' is broken: {what}.",
        remedy="Take another copy of the checkpoint, or start with a new one.",
    )
