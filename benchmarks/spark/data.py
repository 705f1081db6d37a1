"""Generated streams as Parquet files: one file per stream and trigger, in the order of their names and times.

All columns besides the time are BIGINT. Who is to see only the first triggers gets a folder of links.
"""

from __future__ import annotations

__all__ = ["Files", "written"]

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_WRITTEN = 1_700_000_000
"""Seconds since 1970 at which the first trigger's files claim to be written."""


@dataclass(frozen=True)
class Files:
    """The files of some streams; `rows` counts those of all streams, by trigger."""

    folder: Path
    columns: Mapping[str, tuple[str, ...]]
    rows: tuple[int, ...]

    @property
    def triggers(self) -> int:
        """How many there are."""
        return len(self.rows)

    def path(self, stream: str) -> Path:
        """The folder of a stream."""
        return self.folder / stream

    def first(self, triggers: int) -> Files:
        """Only the first triggers."""
        if triggers >= self.triggers:
            return self
        part = Files(self.folder / f"first-{triggers}", self.columns, self.rows[:triggers])
        if not part.folder.exists():
            part.make_folders()
            part.fill(self)
        return part

    def make_folders(self) -> None:
        """The streams' folders, with nothing in them."""
        for stream in self.columns:
            self.path(stream).mkdir(parents=True)

    def fill(self, other: Files) -> None:
        """Link as many of another's files as these have triggers."""
        for number in range(self.triggers):
            for stream in self.columns:
                os.link(other.path(stream) / _name(number), self.path(stream) / _name(number))

    def definitions(self) -> str:
        """CREATE STREAM for each, one file per trigger."""
        return "".join(
            f"CREATE STREAM {stream} (ts TIMESTAMP, {', '.join(f'{name} BIGINT' for name in names)}) TIME ts "
            f"WITH (format = 'parquet', path = '{self.path(stream)}', maxFilesPerTrigger = '1');"
            for stream, names in self.columns.items()
        )


def written(folder: Path, streams: Mapping[str, pa.Table], trigger_rows: int) -> Files:
    """Tables (ts, and BIGINT columns) as files: each trigger has so many rows, the same of every stream."""
    own = max(1, trigger_rows // len(streams))
    rows: list[int] = []
    for stream, table in streams.items():
        (folder / stream).mkdir(parents=True)
        in_zone = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
        for number in range(table.num_rows // own):
            path = folder / stream / _name(number)
            pq.write_table(in_zone.slice(number * own, own), path)
            os.utime(path, (_WRITTEN + number, _WRITTEN + number))
        rows = [own * len(streams)] * (table.num_rows // own)
    columns = {stream: tuple(table.column_names[1:]) for stream, table in streams.items()}
    return Files(folder, columns, tuple(rows))


def _name(number: int) -> str:
    return f"{number:05d}.parquet"
