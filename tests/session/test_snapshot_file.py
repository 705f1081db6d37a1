"""A snapshot's file is whole, or one clear error says what is wrong with it."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.session.snapshot import read_snapshot, write_snapshot

TABLE = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]})


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "db.sash"
    write_snapshot(path, {"hello": [1]}, [("one", TABLE), ("none", TABLE.slice(0, 0))])
    return path


def code_of(path: Path) -> str:
    with pytest.raises(SashError) as caught:
        read_snapshot(path)
    return caught.value.code


def test_what_is_written_is_read(snapshot: Path) -> None:
    manifest, sections = read_snapshot(snapshot)
    assert manifest == {"hello": [1]}
    assert sections["one"].equals(TABLE)
    assert sections["none"].num_rows == 0


def test_cut_anywhere_it_is_refused(snapshot: Path) -> None:
    content = snapshot.read_bytes()
    for length in range(len(content)):
        snapshot.write_bytes(content[:length])
        assert code_of(snapshot) == "SASH-STATE-005"


def test_every_changed_byte_is_noticed(snapshot: Path) -> None:
    content = bytearray(snapshot.read_bytes())
    for place in (*range(16, len(content), 7), len(content) - 1):
        damaged = content.copy()
        damaged[place] ^= 0x40
        snapshot.write_bytes(damaged)
        assert code_of(snapshot) in ("SASH-STATE-005", "SASH-STATE-007")


def test_other_files_are_foreign(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("something else, which is long enough to be anything")
    assert code_of(path) == "SASH-STATE-004"
    assert code_of(tmp_path / "missing") == "SASH-STATE-003"
    assert code_of(tmp_path) == "SASH-STATE-003"


def test_a_newer_format_is_told(snapshot: Path) -> None:
    content = bytearray(snapshot.read_bytes())
    content[8:12] = struct.pack("<I", 99)
    snapshot.write_bytes(content)
    assert code_of(snapshot) == "SASH-STATE-006"


def full_disk() -> Iterator[tuple[str, pa.Table]]:
    yield "one", TABLE
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_snapshot_and_nothing_else(snapshot: Path) -> None:
    before = snapshot.read_bytes()
    with pytest.raises(SashError, match=r"SASH-STATE-001.*disk is full"):
        write_snapshot(snapshot, {}, full_disk())
    assert snapshot.read_bytes() == before
    assert os.listdir(snapshot.parent) == [snapshot.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_is_really_full(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot.read_bytes()
    real = os.fsync
    full = os.open("/dev/full", os.O_WRONLY)

    def sync(handle: int) -> None:
        os.write(full, b"x")  # fails as a full disk does
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(SashError, match="SASH-STATE-001"):
        write_snapshot(snapshot, {}, [("one", TABLE)])
    os.close(full)
    assert snapshot.read_bytes() == before
    assert os.listdir(snapshot.parent) == [snapshot.name]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SashError, match="SASH-STATE-002"):
        write_snapshot(tmp_path / "nowhere" / "db.sash", {}, [])
