"""Parquet files that take each other's place under one name, for readers that open the name twice.

Many readers (pyarrow's by path among them) open a file for its footer and once more for its data. If
another file has come to that name in between, they look for the old data in the new file. So a
successor has its predecessors' data as well, where it was: such a reader gets the answer whose footer
it read. Parquet allows bytes that no footer speaks of.
"""

from __future__ import annotations

__all__ = ["write_successor"]

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

_MAGIC = 4
_SPARE = 1 << 20
"""Beyond the newest predecessor, older ones are kept while all together take no more than this."""


@dataclass(frozen=True)
class _Extent:
    """Where in a file the data of its footer lies."""

    start: int
    stop: int
    path: Path

    def meets(self, other: _Extent) -> bool:
        return self.start < other.stop and other.start < self.stop

    def read(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.stop - self.start)


def write_successor(file: IO[bytes], table: pa.Table, predecessors: Iterable[Path]) -> None:
    """Write a table as Parquet, with the data of the files before it (newest first) where they have it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     old, new = Path(folder) / "old", Path(folder) / "new"
    ...     with open(old, "wb") as file:
    ...         write_successor(file, pa.table({"a": [1, 2]}), [])
    ...     footer = pq.read_metadata(old)
    ...     with open(new, "wb") as file:
    ...         write_successor(file, pa.table({"a": [3]}), [old])
    ...     by_old_footer = pq.ParquetFile(new, metadata=footer).read()
    ...     pq.read_table(new)["a"].to_pylist(), by_old_footer["a"].to_pylist()
    ([3], [1, 2])
    """
    kept = sorted(_kept(predecessors), key=lambda extent: extent.start)
    for place in _places(kept):
        if _written_at(place, file, table, kept):
            return


def _kept(predecessors: Iterable[Path]) -> list[_Extent]:
    """The data to keep: the newest predecessor's, and of others what does not lie in the same place."""
    kept: list[_Extent] = []
    for path in predecessors:
        extent = _extent(path)
        if extent is None or any(extent.meets(each) for each in kept):
            continue
        if kept and sum(each.stop - each.start for each in [*kept, extent]) > _SPARE:
            break
        kept.append(extent)
    return kept


def _extent(path: Path) -> _Extent | None:
    """Where a file has its data; None if it has none or is none."""
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return None
    chunks = [
        footer.row_group(group).column(column)
        for group in range(footer.num_row_groups)
        for column in range(footer.num_columns)
    ]
    if not chunks:
        return None
    starts = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
    stops = [start + chunk.total_compressed_size for start, chunk in zip(starts, chunks, strict=True)]
    return _Extent(min(starts), max(stops), path)


def _places(kept: Sequence[_Extent]) -> Iterator[int]:
    """Where the new data may begin: in a gap that looks large enough; then behind everything."""
    likely = max((each.stop - each.start for each in kept), default=0)
    end = _MAGIC
    for each in kept:
        if each.start - end >= likely > 0:
            yield end
        end = each.stop
    yield end


def _written_at(place: int, file: IO[bytes], table: pa.Table, kept: Sequence[_Extent]) -> bool:
    """Write the file with the new data at a place; False if that runs into data to keep."""
    file.seek(0)
    file.truncate()
    out = pa.PythonFile(file, mode="w")
    with pq.ParquetWriter(out, table.schema) as writer:
        for each in kept:
            if each.start < place:
                _fill(out, each.start)
                out.write(each.read())
        _fill(out, place)
        writer.write_table(table)
        for each in kept:
            if each.start >= place:
                if out.tell() > each.start:
                    return False
                _fill(out, each.start)
                out.write(each.read())
    return True


def _fill(out: pa.NativeFile, place: int) -> None:
    out.write(bytes(place - out.tell()))
