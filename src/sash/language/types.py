"""SQL types and Arrow types: from the text of a definition or a CAST to Arrow, and back for messages.

Arrow types are the types of Sash. TIMESTAMP is microseconds without a zone, in UTC; nested types
(ARRAY, STRUCT, MAP) pass through as payload.
"""

from __future__ import annotations

__all__ = ["UnknownType", "arrow_type", "sql_name", "with_article"]

import pyarrow as pa
from sqlglot import exp

_TIMESTAMP = pa.timestamp("us")

_SIMPLE: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "CHAR": pa.string(),
    "NCHAR": pa.string(),
    "VARCHAR": pa.string(),
    "NVARCHAR": pa.string(),
    "TEXT": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": _TIMESTAMP,
    "TIMESTAMPTZ": _TIMESTAMP,
    "TIMESTAMPLTZ": _TIMESTAMP,
    "TIMESTAMPNTZ": _TIMESTAMP,
}

_NAMES: dict[pa.DataType, str] = {
    pa.null(): "VOID",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.string_view(): "STRING",
    pa.binary(): "BINARY",
    pa.large_binary(): "BINARY",
    pa.binary_view(): "BINARY",
    pa.date32(): "DATE",
}

_LARGEST_PRECISION = 38


class UnknownType(LookupError):
    """A type that Sash does not have; its text says which."""


def arrow_type(node: exp.Expr) -> pa.DataType:
    """The Arrow type of a parsed SQL type; UnknownType if there is none.

    >>> from sqlglot import exp
    >>> arrow_type(exp.DataType.build("ARRAY<DECIMAL(10, 2)>", dialect="spark"))
    ListType(list<item: decimal128(10, 2)>)
    """
    if not isinstance(node, exp.DataType):
        raise UnknownType(node.sql(dialect="spark"))
    kind = node.this.name if isinstance(node.this, exp.DType) else str(node.this)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    inner = node.expressions
    if kind == "DECIMAL":
        return _decimal(node)
    if kind in ("ARRAY", "LIST") and len(inner) == 1:
        return pa.list_(arrow_type(inner[0]))
    if kind == "MAP" and len(inner) == 2:
        return pa.map_(arrow_type(inner[0]), arrow_type(inner[1]))
    if kind == "STRUCT" and inner and all(isinstance(field, exp.ColumnDef) for field in inner):
        return pa.struct([pa.field(field.name, arrow_type(field.args["kind"])) for field in inner])
    raise UnknownType(node.sql(dialect="spark"))


def _decimal(node: exp.DataType) -> pa.DataType:
    parameters = [parameter.name for parameter in node.expressions]
    if len(parameters) > 2 or not all(parameter.isdigit() for parameter in parameters):
        raise UnknownType(node.sql(dialect="spark"))
    precision = int(parameters[0]) if parameters else 10
    scale = int(parameters[1]) if len(parameters) == 2 else 0
    if not 1 <= precision <= _LARGEST_PRECISION or scale > precision:
        raise UnknownType(node.sql(dialect="spark"))
    return pa.decimal128(precision, scale)


def sql_name(type_: pa.DataType) -> str:
    """A type as one writes it in SQL.

    >>> sql_name(pa.list_(pa.int64())), sql_name(pa.struct([("a", pa.decimal128(10, 2))]))
    ('ARRAY<BIGINT>', 'STRUCT<a: DECIMAL(10, 2)>')
    """
    if type_ in _NAMES:
        return _NAMES[type_]
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if pa.types.is_dictionary(type_):
        return sql_name(type_.value_type)
    if pa.types.is_map(type_):
        return f"MAP<{sql_name(type_.key_type)}, {sql_name(type_.item_type)}>"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return f"ARRAY<{sql_name(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"STRUCT<{', '.join(f'{field.name}: {sql_name(field.type)}' for field in type_)}>"
    if pa.types.is_duration(type_):
        return "INTERVAL"
    return str(type_).upper()


def with_article(name: str) -> str:
    """A noun with `a` or `an` before it.

    >>> with_article("INT"), with_article("BIGINT")
    ('an INT', 'a BIGINT')
    """
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"
