"""Where the tasks of a leg bring what they have for its next stage, and one of them takes it all.

A task that has all buckets has all packs at hand. Several tasks of one node whose next stage has one
bucket leave their packs in files; who is the last to do so takes them, and has that bucket stepped. A
stage of Spark for a few rows would take longer than all else does for a small batch.

A task may be run again, and two tasks of one partition at once where a frame is evaluated twice. So it is
noted in which order the partitions came: every task of the one that came last takes the packs, before or
after whatever others do, and no other task does. Files are a run's own: nothing is taken that a run which
was killed has left.
"""

from __future__ import annotations

__all__ = ["Meeting", "meeting_of"]

import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from sash.catalog.atomic_files import create_file, replace_file
from sash.spark.buckets.bucket_files import BucketFiles, damaged, files_of, unwritable
from sash.spark.failpoints import failpoint
from sash.spark.pipelines.pipeline import Pipeline, Stage

Brought = dict[int, list[pa.Buffer]]
"""Packs by bucket of the next stage."""


class Meeting(Protocol):
    """One batch's packs on their way to the next stage."""

    def bring(self, bucket: int, packs: pa.RecordBatch) -> None:
        """What a bucket has for those of the next stage, as rows for Spark."""

    def take(self) -> Brought | None:
        """All packs, if this task is the one to take them."""


def meeting_of(pipeline: Pipeline, stage: Stage, run: str, batch: int, partition: int) -> Meeting:
    """Where a task brings what buckets of the stage have for the next one."""
    if pipeline.partitions == 1:
        return _AtHand()
    files = files_of(pipeline.checkpoint, stage.number + 1, 0)
    return _InFiles(files, run, batch, partition, pipeline.partitions, pipeline.buckets_of(stage))


class _AtHand:
    """All buckets are this task's own."""

    def __init__(self) -> None:
        self._brought: Brought = {}

    def bring(self, bucket: int, packs: pa.RecordBatch) -> None:
        for number, pack in zip(*packs.columns, strict=True):
            # A copy: the host will use its memory for what the next bucket has.
            self._brought.setdefault(number.as_py(), []).append(pa.py_buffer(pack.as_py()))

    def take(self) -> Brought:
        return self._brought


class _InFiles:
    """Other tasks have other buckets; the next stage has one."""

    def __init__(
        self, files: BucketFiles, run: str, batch: int, partition: int, partitions: int, buckets: int
    ) -> None:
        self._files, self._run, self._batch = files, run, batch
        self._partition, self._partitions, self._buckets = partition, partitions, buckets

    def bring(self, bucket: int, packs: pa.RecordBatch) -> None:
        (pack,) = packs.column(1)
        path = self._from(bucket, self._batch)
        try:
            self._files.make_folder()
            replace_file(path, lambda file: file.write(pack.as_buffer()), sync=False)
        except OSError as error:
            raise unwritable(path, error) from error
        with suppress(FileNotFoundError):
            os.unlink(self._from(bucket, self._batch - 1))
        failpoint("brought")

    def take(self) -> Brought | None:
        if self._place() < min(self._partitions, self._buckets) - 1:
            return None  # somebody was still to come
        failpoint("taken")
        try:
            return {0: [pa.py_buffer(self._from(b, self._batch).read_bytes()) for b in range(self._buckets)]}
        except FileNotFoundError as error:
            raise damaged(Path(error.filename), "it is not there") from error

    def _place(self) -> int:
        """As which one, from 0, the task's partition came; noted for good, in one step: of a task that
        died over a note without its number nobody would know that it came."""
        own = str(self._partition).encode()
        place = 0
        while (here := self._came(place, own)) != own:
            place += here is not None
        with suppress(FileNotFoundError):
            os.unlink(self._note(place, self._batch - 1))
        return place

    def _came(self, place: int, own: bytes) -> bytes | None:
        """Who came at a place: the own partition if nobody else did; None if that is to be asked again."""
        path = self._note(place, self._batch)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            pass
        try:
            return own if create_file(path, lambda file: file.write(own)) else None
        except OSError as error:
            raise unwritable(path, error) from error

    def _from(self, bucket: int, batch: int) -> Path:
        return self._files.folder / f"{batch}.{self._run}.from-{bucket}"

    def _note(self, place: int, batch: int) -> Path:
        return self._files.folder / f"{batch}.{self._run}.came-{place}"
