"""A bucket's files: written whole or not at all, read back as they were, refused when they are not."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.spark.buckets.bucket_files import BucketFiles, Manifest, read_results


def steps(folder: Path, batches: int) -> BucketFiles:
    files = BucketFiles(folder)
    manifest = Manifest(-1)
    for batch in range(batches):
        manifest = manifest.after(batch, 4, {"n": batch})
        files.write_step(manifest, [pa.py_buffer(b"ab"), pa.py_buffer(bytes([batch, batch]))])
    return files


def test_a_step_is_read_as_it_was_written(tmp_path: Path) -> None:
    files = steps(tmp_path, 3)
    manifest = files.newest(before=2)
    assert manifest is not None
    assert (manifest.batch, manifest.log, manifest.log_bytes, manifest.measures) == (1, (0, 1), 8, {"n": 1})
    assert [bytes(pack) for pack in files.packs(1)] == [b"ab", b"\x01\x01"]
    assert files.newest(before=0) is None


def test_a_snapshot_is_read_as_it_was_written(tmp_path: Path) -> None:
    files = BucketFiles(tmp_path)
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    size = files.write_snapshot(4, {"one/two": table})
    assert size == (tmp_path / "4.snapshot").stat().st_size
    assert files.read_snapshot(4)["one/two"].equals(table)


def test_results_are_written_over_those_of_the_batch_before(tmp_path: Path) -> None:
    files = BucketFiles(tmp_path / "1-0")
    for batch, rows in enumerate([5_000, 9_000, 10]):
        sent = [pa.record_batch({"n": range(rows)}), pa.record_batch({"t": ["x"] * rows})]
        path = files.write_results(batch, sent)
        assert list(read_results(str(path))) == sent
        assert os.listdir(files.folder) == [f"{batch}.results"]
    held = read_results(str(path))
    first = next(held)
    again = files.write_results(2, [pa.record_batch({"n": range(70)})])  # the batch is played again
    assert [first, *held] == sent
    assert next(read_results(str(again))).num_rows == 70


def test_a_merge_keeps_what_is_named_small() -> None:
    manifest = Manifest(0, snapshot=0, snapshot_bytes=1 << 20)
    for batch in range(1, 5):
        manifest = manifest.after(batch, 1 << 18, {})
    assert not manifest.wants_merge
    assert manifest.after(5, 1, {}).wants_merge
    assert manifest.after(5, 1, {}).merged(9).log == ()


def test_a_small_state_is_not_written_anew_with_every_batch() -> None:
    manifest = Manifest(0, snapshot=0, snapshot_bytes=9)
    for batch in range(1, 4):
        manifest = manifest.after(batch, 1 << 20, {})
        assert not manifest.wants_merge
    assert manifest.after(4, 1 << 20, {}).wants_merge


def test_cleaning_leaves_what_is_named(tmp_path: Path) -> None:
    files = steps(tmp_path, 6)
    files.write_snapshot(3, {})
    (tmp_path / ".2.step.77.part").write_bytes(b"begun")
    files.clean(Manifest(4, snapshot=3, log=(4,)))
    assert sorted(os.listdir(tmp_path)) == ["3.snapshot", "3.step", "4.step", "5.step"]


@pytest.mark.parametrize("cut", [3, 30, -1])
def test_a_file_cut_short_is_refused(tmp_path: Path, cut: int) -> None:
    files = steps(tmp_path, 1)
    path = tmp_path / "0.step"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(SashError) as refused:
        files.packs(0)
    assert refused.value.code == "SASH-SPARK-081"


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    files = steps(tmp_path, 1)
    path = tmp_path / "0.step"
    data = bytearray(path.read_bytes())
    for place in (2, 40, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(SashError) as refused:
            files.packs(0)
        assert refused.value.code == "SASH-SPARK-081"


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    files = steps(tmp_path, 1)
    path = tmp_path / "0.step"
    data = bytearray(path.read_bytes())
    data[8] = 99
    path.write_bytes(data)
    with pytest.raises(SashError) as refused:
        files.manifest(0)
    assert refused.value.code == "SASH-SPARK-082"


def test_a_file_of_another_bucket_or_batch_is_told(tmp_path: Path) -> None:
    files, other = steps(tmp_path / "1-0", 2), steps(tmp_path / "1-1", 2)
    table = {"s": pa.table({"a": [1]})}
    files.write_snapshot(1, table)
    other.write_snapshot(1, table)
    shutil.copy(files.folder / "1.step", other.folder / "1.step")
    shutil.copy(files.folder / "1.snapshot", other.folder / "1.snapshot")
    shutil.copy(files.folder / "0.step", files.folder / "1.step")
    for read in (lambda: other.packs(1), lambda: other.read_snapshot(1), lambda: files.manifest(1)):
        with pytest.raises(SashError, match=r"SASH-SPARK-081.*it was written as '1-0/[01]\."):
            read()
    shutil.copytree(files.folder, tmp_path / "moved" / "1-0")  # a checkpoint may lie elsewhere
    assert BucketFiles(tmp_path / "moved" / "1-0").read_snapshot(1)["s"].num_rows == 1


def test_a_file_that_does_not_say_whose_it_is_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = json.dumps
    with monkeypatch.context() as earlier:
        earlier.setattr(json, "dumps", lambda header: dumps({k: v for k, v in header.items() if k != "of"}))
        files = steps(tmp_path / "1-0", 1)
    assert b'"of"' not in (files.folder / "0.step").read_bytes()
    assert len(files.packs(0)) == 2


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(SashError) as refused:
        steps(tmp_path, 1)
    assert refused.value.code == "SASH-SPARK-080"
    assert "disk is full" in refused.value.message
    assert os.listdir(tmp_path) == []
