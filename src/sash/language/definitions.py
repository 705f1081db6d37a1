"""What statements say: definitions of streams, tables and views, and one frozen class per statement.

Columns of definitions are typed and known by position; queries and conditions are still syntax
trees, with offsets into `text`.
"""

from __future__ import annotations

__all__ = [
    "CreateSink", "CreateStream", "CreateTable", "CreateView", "Delete", "Drop", "InsertInto",
    "InsertQuery", "Name", "Query", "Statement", "StreamDefinition", "TableDefinition", "Update",
    "ViewDefinition", "place_of_name",
]  # fmt: skip

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from sash.errors import Place
from sash.language.expressions import Schema

Options = tuple[tuple[str, str], ...]


class Name(str):
    """A name as it stands in a text, so that an error about it can show the place.

    Copied to another process it is the name alone.
    """

    place: Place

    def __new__(cls, name: str, place: Place) -> Name:
        self = super().__new__(cls, name)
        self.place = place
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return str, (str(self),)


def place_of_name(name: str) -> Place | None:
    """Where a name stands in a text; None if it comes from elsewhere.

    >>> place_of_name(Name("packets", Place("DROP STREAM packets", 12, 19))).start, place_of_name("packets")
    (12, None)
    """
    return name.place if isinstance(name, Name) else None


@dataclass(frozen=True)
class StreamDefinition:
    """A stream: its columns, which of them is time, and how late rows may be, in ticks."""

    name: str
    fields: Schema
    time: int
    lateness: int = 0
    options: Options = ()

    @property
    def timed(self) -> Literal["timestamp", "integer"]:
        """The kind of time: what a tick is."""
        return "timestamp" if pa.types.is_timestamp(self.fields[self.time].type) else "integer"


@dataclass(frozen=True)
class TableDefinition:
    """A table: its columns, the positions of its key, and whether its changes reach back."""

    name: str
    fields: Schema
    key: tuple[int, ...] = ()
    retroactive: bool = False
    options: Options = ()


@dataclass(frozen=True)
class ViewDefinition:
    """A name for a query. `text` is the statement, which can be parsed again."""

    name: str
    query: exp.Expression
    text: str


@dataclass(frozen=True)
class CreateStream:
    """CREATE STREAM name (...) TIME column LATENESS d WITH (...)."""

    definition: StreamDefinition


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE name (..., PRIMARY KEY (...)) RETROACTIVE WITH (...)."""

    definition: TableDefinition


@dataclass(frozen=True)
class CreateView:
    """CREATE VIEW name AS query."""

    definition: ViewDefinition


@dataclass(frozen=True)
class CreateSink:
    """CREATE SINK name WITH (...)."""

    name: str
    options: Options


@dataclass(frozen=True)
class Query:
    """A query on its own."""

    query: exp.Expression
    text: str


@dataclass(frozen=True)
class InsertInto:
    """INSERT INTO table VALUES ... AT t; no columns means all, in order."""

    table: str
    columns: tuple[str, ...] | None
    rows: tuple[tuple[exp.Expression, ...], ...]
    at: int | str | None = None
    text: str = ""


@dataclass(frozen=True)
class InsertQuery:
    """INSERT INTO sink SELECT ...: a pipeline."""

    sink: str
    query: exp.Expression
    text: str = ""


@dataclass(frozen=True)
class Update:
    """UPDATE table SET column = value, ... WHERE condition AT t."""

    table: str
    assignments: tuple[tuple[str, exp.Expression], ...]
    where: exp.Expression | None = None
    at: int | str | None = None
    text: str = ""


@dataclass(frozen=True)
class Delete:
    """DELETE FROM table WHERE condition AT t."""

    table: str
    where: exp.Expression | None = None
    at: int | str | None = None
    text: str = ""


@dataclass(frozen=True)
class Drop:
    """DROP STREAM, TABLE, VIEW or SINK name; the kind in lower case."""

    kind: str
    name: str


Statement = (
    CreateStream
    | CreateTable
    | CreateView
    | CreateSink
    | Query
    | InsertInto
    | InsertQuery
    | Update
    | Delete
    | Drop
)
