"""Columns between Spark and Sash: schemas both ways, and Arrow batches cast without a look at rows.

TIMESTAMP is Spark's TimestampType: microseconds of UTC, which Arrow batches for Spark must carry as
a zone and which Sash keeps without. A TimestampNTZ from a DataFrame is taken as UTC. Everything else
is one to one; what Spark has and Sash has not (intervals, variants, ...) is refused by name.
"""

from __future__ import annotations

__all__ = ["from_spark", "quoted", "spark_arrow_schema", "spark_schema", "spark_type", "stream_fields"]

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.types as arrow
from pyspark.sql import types as spark

from sash.errors import SashError
from sash.language.expressions import Field, Schema
from sash.language.types import sql_name

_TO_SPARK: dict[pa.DataType, spark.DataType] = {
    pa.bool_(): spark.BooleanType(),
    pa.int8(): spark.ByteType(),
    pa.int16(): spark.ShortType(),
    pa.int32(): spark.IntegerType(),
    pa.int64(): spark.LongType(),
    pa.float32(): spark.FloatType(),
    pa.float64(): spark.DoubleType(),
    pa.string(): spark.StringType(),
    pa.large_string(): spark.StringType(),
    pa.binary(): spark.BinaryType(),
    pa.large_binary(): spark.BinaryType(),
    pa.date32(): spark.DateType(),
    pa.null(): spark.NullType(),
}

_TO_SASH: dict[type[spark.DataType], pa.DataType] = {
    spark.BooleanType: pa.bool_(),
    spark.ByteType: pa.int8(),
    spark.ShortType: pa.int16(),
    spark.IntegerType: pa.int32(),
    spark.LongType: pa.int64(),
    spark.FloatType: pa.float32(),
    spark.DoubleType: pa.float64(),
    spark.StringType: pa.string(),
    spark.CharType: pa.string(),
    spark.VarcharType: pa.string(),
    spark.BinaryType: pa.binary(),
    spark.DateType: pa.date32(),
    spark.TimestampType: pa.timestamp("us"),
    spark.TimestampNTZType: pa.timestamp("us"),
}


def spark_type(type_: pa.DataType) -> spark.DataType:
    """Spark's type for a column that Sash gives.

    >>> spark_type(pa.list_(pa.decimal128(10, 2))).simpleString()
    'array<decimal(10,2)>'
    """
    if type_ in _TO_SPARK:
        return _TO_SPARK[type_]
    if arrow.is_timestamp(type_):
        return spark.TimestampType()
    if arrow.is_decimal(type_):
        return spark.DecimalType(type_.precision, type_.scale)
    if arrow.is_map(type_):
        return spark.MapType(spark_type(type_.key_type), spark_type(type_.item_type))
    if arrow.is_list(type_) or arrow.is_large_list(type_):
        return spark.ArrayType(spark_type(type_.value_type))
    if arrow.is_struct(type_):
        return spark.StructType([spark.StructField(each.name, spark_type(each.type)) for each in type_])
    raise SashError(
        "SASH-SPARK-042",
        f"Spark has no type for {sql_name(type_)}.",
        remedy="CAST the column to a type that docs/language.md lists.",
    )


def spark_schema(fields: Iterable[Field | pa.Field]) -> spark.StructType:
    """Spark's schema of columns that Sash gives: nullable, unless Arrow's fields say otherwise.

    >>> spark_schema([Field("ts", pa.timestamp("us")), Field("n", pa.int64())]).simpleString()
    'struct<ts:timestamp,n:bigint>'
    >>> [each.nullable for each in spark_schema([Field("n", pa.int64()), pa.field("at", pa.int64(), False)])]
    [True, False]
    """
    return spark.StructType(
        [
            spark.StructField(each.name, spark_type(each.type), getattr(each, "nullable", True))
            for each in fields
        ]
    )


def stream_fields(schema: spark.StructType) -> Schema:
    """The columns of a DataFrame as those of a stream.

    >>> schema = spark.StructType().add("ts", "timestamp_ntz").add("src", "string")
    >>> [field.type for field in stream_fields(schema)]
    [TimestampType(timestamp[us]), DataType(string)]
    """
    return tuple(Field(each.name, _sash_type(each.dataType, each.name)) for each in schema.fields)


def _sash_type(type_: spark.DataType, column: str) -> pa.DataType:
    if type(type_) in _TO_SASH:
        return _TO_SASH[type(type_)]
    if isinstance(type_, spark.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, spark.ArrayType):
        return pa.list_(_sash_type(type_.elementType, column))
    if isinstance(type_, spark.MapType):
        return pa.map_(_sash_type(type_.keyType, column), _sash_type(type_.valueType, column))
    if isinstance(type_, spark.StructType):
        return pa.struct([pa.field(each.name, _sash_type(each.dataType, column)) for each in type_.fields])
    raise SashError(
        "SASH-SPARK-043",
        f"Sash has no type for column '{column}', which is {type_.simpleString().upper()} in Spark.",
        remedy="Cast it in the DataFrame before it becomes a stream, or leave it out with select().",
    )


def from_spark(batch: pa.RecordBatch, fields: Sequence[Field]) -> pa.RecordBatch:
    """Columns as Spark hands them over, as the types of a stream; the same object if they are that already.

    Columns go by position: a stage selects what it hands over.

    >>> given = pa.record_batch([pa.array([0], pa.timestamp("us", "UTC"))], ["ts"])
    >>> from_spark(given, [Field("ts", pa.timestamp("us"))]).schema.field("ts").type
    TimestampType(timestamp[us])
    """
    return _cast(batch, pa.schema([(each.name, each.type) for each in fields]))


def spark_arrow_schema(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema in which Spark takes columns of Sash's types: timestamps say that they are UTC.

    >>> spark_arrow_schema(pa.schema([("at", pa.timestamp("us"))])).field("at").type
    TimestampType(timestamp[us, tz=UTC])
    """
    return pa.schema([each.with_type(_with_zone(each.type)) for each in schema])


def _with_zone(type_: pa.DataType) -> pa.DataType:
    if arrow.is_timestamp(type_):
        return pa.timestamp("us", "UTC")
    if arrow.is_map(type_):
        return pa.map_(_with_zone(type_.key_type), _with_zone(type_.item_type))
    if arrow.is_list(type_):
        return pa.list_(_with_zone(type_.value_type))
    if arrow.is_struct(type_):
        return pa.struct([pa.field(each.name, _with_zone(each.type)) for each in type_])
    return type_


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def quoted(names: Iterable[str]) -> list[str]:
    """Names of columns as Spark's `select` takes them, whatever is in them.

    >>> quoted(["a", "two words", "a.b", "c`d"])
    ['`a`', '`two words`', '`a.b`', '`c``d`']
    """
    return ["`" + name.replace("`", "``") + "`" for name in names]
