"""What a file holds, on its way into a stream: columns of the stream's types, and marks on malformed rows.

The three formats give this; the rules that they share are here: rows without a usable timestamp,
Spark's modes for malformed rows, columns found by name.
"""

from __future__ import annotations

__all__ = ["Content", "Unfit", "missing", "named", "settled", "timely"]

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.catalog.clock import LATEST
from sash.engine.values import Mask
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.language.types import sql_name
from sash.lifetimes import BEGINNING


@dataclass(frozen=True)
class Content:
    """Rows of a file, and how many were malformed, those included that are not in the table any more."""

    table: pa.Table
    malformed: int = 0
    marked: Mask | None = None
    """Which of the rows in the table are malformed; None if none is."""


class Unfit(Exception):
    """Why a file does not fit its stream: `what` follows the file's name, then the remedy."""

    def __init__(self, code: str, what: str, remedy: str) -> None:
        super().__init__(code, what, remedy)
        self.code, self.what, self.remedy = code, what, remedy


def named(fields: Sequence[Field], names: Sequence[str]) -> list[int]:
    """For each field the position of the file's column of that name, in any case of letters.

    >>> named([Field("src", pa.string())], ["ts", "SRC"])
    [1]
    """
    lowered = [name.lower() for name in names]
    places = []
    for one in fields:
        if one.name in names:
            places.append(names.index(one.name))
        elif lowered.count(one.name.lower()) == 1:
            places.append(lowered.index(one.name.lower()))
        else:
            raise missing(one, names)
    return places


def missing(field: Field, names: Sequence[str]) -> Unfit:
    """The error for a column that a file lacks."""
    return Unfit(
        "SASH-SOURCE-001",
        f"has no column '{field.name}' ({sql_name(field.type)}); its columns are: {', '.join(names)}.",
        "Move the file out of the folder, or write it with that column.",
    )


def settled(table: pa.Table, marked: Mask, mode: str, texts: Sequence[str] = ()) -> Content:
    """A table some of whose rows are malformed, as the mode has it; `texts` say what is wrong, by row."""
    if not marked.any():
        return Content(table)
    count = int(marked.sum())
    if mode == "FAILFAST":
        row = int(np.flatnonzero(marked)[0])
        raise Unfit(
            "SASH-SOURCE-004",
            f"is malformed in row {row + 1}{f': {texts[row]}' if texts else ''}.",
            "Mend the row, or set mode = 'PERMISSIVE' to read NULL for what cannot be read.",
        )
    if mode == "DROPMALFORMED":
        return Content(table.filter(pa.array(~marked)), count)
    return Content(table, count, marked)


def timely(content: Content, stream: StreamDefinition, mode: str) -> Content:
    """Only rows with a timestamp in range: under FAILFAST the others are an error, else they are dropped."""
    time = stream.fields[stream.time].name
    column = content.table.column(time)
    if column.null_count == 0 and _in_range(column):
        return content
    plain = pa.chunked_array(column.chunks, column.type).cast(pa.int64())
    good = pc.and_(pc.greater(plain, BEGINNING), pc.less(plain, LATEST)).fill_null(False)
    lost = ~good.to_numpy()
    if mode == "FAILFAST":
        row = int(np.flatnonzero(lost)[0])
        has = "NULL" if not column[row].is_valid else f"{plain[row].as_py()}, which is out of range,"
        raise Unfit(
            "SASH-SOURCE-003",
            f"has {has} in its TIME column '{time}' in row {row + 1}.",
            "Give every row a timestamp, or set mode = 'DROPMALFORMED' to leave such rows out.",
        )
    known = content.marked if content.marked is not None else np.zeros(len(lost), bool)
    return replace(
        content,
        table=content.table.filter(good),
        malformed=content.malformed + int((lost & ~known).sum()),
        marked=None,
    )


def _in_range(column: pa.ChunkedArray) -> bool:
    if not len(column):
        return True
    ends = pc.min_max(column)
    least, greatest = (ends[name].cast(pa.int64()).as_py() for name in ("min", "max"))
    return bool(least > BEGINNING and greatest < LATEST)
