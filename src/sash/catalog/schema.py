"""A stream's definition from Python: an Arrow schema, or a dict of Arrow types or SQL type names."""

from __future__ import annotations

__all__ = ["stream_definition"]

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sash.catalog.arguments import text_of
from sash.catalog.clock import parse_duration
from sash.catalog.columns import settle
from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.scope import suggestion
from sash.language.statements import StreamDefinition
from sash.language.types import UnknownType, arrow_type, sql_name


def stream_definition(
    name: str, schema: pa.Schema | Mapping[str, Any], time: str, lateness: object = 0
) -> StreamDefinition:
    """The definition that `db.create_stream` asks for.

    >>> packets = stream_definition("packets", {"ts": "BIGINT", "src": pa.large_string()}, "ts", 2)
    >>> packets.fields[1].type, packets.timed, packets.lateness
    (DataType(string), 'integer', 2)
    """
    if not isinstance(name, str) or not name:
        raise _refused("A stream needs a name.", "Give it as text.")
    if not isinstance(schema, (pa.Schema, Mapping)):
        raise _refused(
            f"A value of type {type(schema).__name__} is no schema.",
            "Give a pyarrow.Schema or a dict such as {'ts': 'TIMESTAMP', 'src': 'STRING'}.",
        )
    pairs = [(f.name, f.type) for f in schema] if isinstance(schema, pa.Schema) else list(schema.items())
    for column, _ in pairs:
        text_of(column, "The name of a column")
    fields = tuple(Field(column, _type(column, given)) for column, given in pairs)
    names = [field.name for field in fields]
    if len({each.lower() for each in names}) < len(names):
        raise _refused(f"Stream '{name}' has two columns of one name.", "Give every column its own name.")
    if time not in names:
        raise _refused(f"There is no column '{time}' to carry time.", suggestion(str(time), names))
    place = names.index(time)
    type_ = fields[place].type
    if not (pa.types.is_integer(type_) or pa.types.is_timestamp(type_)):
        raise _refused(
            f"The TIME column '{time}' is {sql_name(type_)}.",
            "It must be a TIMESTAMP or an integer; choose another.",
        )
    definition = StreamDefinition(name, fields, place)
    return StreamDefinition(name, fields, place, parse_duration(lateness, definition.timed))


def _type(column: str, given: object) -> pa.DataType:
    if isinstance(given, str):
        try:
            return arrow_type(exp.DataType.build(given, dialect="spark"))
        except (UnknownType, SqlglotError, ValueError):
            pass
    elif isinstance(given, pa.DataType) and (settled := settle(given)) is not None:
        return settled
    raise _refused(
        f"Sash has no type {given} for column '{column}'.",
        "Choose a type from docs/language.md, and convert the rows before they are pushed.",
    )


def _refused(message: str, remedy: str) -> SashError:
    return SashError("SASH-SESSION-015", message, remedy=remedy)
