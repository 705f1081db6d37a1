"""Parquet files: typed columns, rows known before they are read, ranges of rows read by row group."""

from __future__ import annotations

__all__ = ["inspect", "read"]

from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from sash.language.expressions import Field
from sash.language.types import sql_name
from sash.spark.reading.content import Content, Unfit, named
from sash.spark.reading.widening import widened, widens


def inspect(source: pa.NativeFile, fields: Sequence[Field]) -> tuple[int, tuple[int, ...]]:
    """How many rows a file has and where its row groups end; its columns are checked."""
    file = _open(source)
    _columns(file.schema_arrow, fields)
    ends = _ends(file.metadata)
    return file.metadata.num_rows, ends


def read(source: pa.NativeFile, fields: Sequence[Field], start: int, stop: int | None) -> Content:
    """The rows from `start` to before `stop`; only row groups that hold some of them are read."""
    file = _open(source)
    names = _columns(file.schema_arrow, fields)
    ends = _ends(file.metadata)
    total = file.metadata.num_rows
    stop = total if stop is None else min(stop, total)
    groups = [i for i, end in enumerate(ends) if end > start and _begin(ends, i) < stop]
    if start >= stop or not groups:
        return Content(pa.schema([pa.field(one.name, one.type) for one in fields]).empty_table())
    # Spark runs one task per core: threads of Arrow's own would only wait for each other.
    table = file.read_row_groups(groups, columns=list(dict.fromkeys(names)), use_threads=False)
    skipped = _begin(ends, groups[0])
    if (start, stop) != (skipped, skipped + len(table)):
        table = table.slice(start - skipped, stop - start)
    columns = [_widened(table.column(name), one) for name, one in zip(names, fields, strict=True)]
    return Content(pa.Table.from_arrays(columns, names=[one.name for one in fields]))


def _open(source: pa.NativeFile) -> pq.ParquetFile:
    return pq.ParquetFile(source, coerce_int96_timestamp_unit="us")


def _ends(metadata: pq.FileMetaData) -> tuple[int, ...]:
    return tuple(accumulate(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)))


def _begin(ends: Sequence[int], group: int) -> int:
    return ends[group - 1] if group else 0


def _columns(schema: pa.Schema, fields: Sequence[Field]) -> list[str]:
    """The file's own names of the columns, which are there and fit."""
    places = named(fields, schema.names)
    for place, one in zip(places, fields, strict=True):
        if schema.names.count(schema.names[place]) > 1:
            raise Unfit(
                "SASH-SOURCE-001",
                f"has more than one column '{schema.names[place]}', and none is the one of the stream.",
                "Write the file with one column of that name, or move it out of the folder.",
            )
        found = schema.field(place).type
        if not widens(found, one.type):
            raise _mistyped(one, found)
    return [schema.names[place] for place in places]


def _widened(column: pa.ChunkedArray, field: Field) -> pa.ChunkedArray:
    try:
        return widened(column, field.type)
    except pa.ArrowInvalid:  # a timestamp in seconds that microseconds have no room for
        raise _mistyped(field, column.type) from None


def _mistyped(field: Field, found: pa.DataType) -> Unfit:
    return Unfit(
        "SASH-SOURCE-002",
        f"has {sql_name(found)} in column '{field.name}' where the stream has {sql_name(field.type)}.",
        f"Write the file with that type, or define the stream's column as {sql_name(found)} and use CAST.",
    )
