"""Where the rows of streams and tables come from: Sash's own reader, any source of Spark, a DataFrame."""

from __future__ import annotations

__all__ = ["Feed", "frame_feed", "option_feed", "table_rows"]

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sash.catalog.schema import stream_definition
from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition, TableDefinition
from sash.language.types import sql_name
from sash.plan.wording import counted
from sash.spark.failures import sash_error
from sash.spark.pipelines.pipeline import StreamSpec
from sash.spark.reading.read_options import reads_itself
from sash.spark.types import from_spark, quoted, spark_schema, stream_fields

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MALFORMED = "_sash_malformed"
"""The column in which Spark keeps a line of text that could not be read whole."""


@dataclass(frozen=True)
class Feed:
    """A stream as a pipeline takes it: files that Sash reads itself, a frame, or nothing yet."""

    spec: StreamSpec
    frame: DataFrame | None = None

    @property
    def definition(self) -> StreamDefinition:
        """The stream."""
        return self.spec.definition

    @property
    def is_fed(self) -> bool:
        """Whether there is a source."""
        return self.frame is not None or self.spec.format is not None


def frame_feed(name: str, frame: DataFrame, time: str, lateness: object) -> Feed:
    """A streaming DataFrame as a stream with its columns."""
    if not frame.isStreaming:
        raise SashError(
            "SASH-SPARK-046",
            f"The DataFrame for stream '{name}' is not a streaming one.",
            remedy="Make it with spark.readStream, or load it as a table: CREATE TABLE ... WITH (...).",
        )
    fields = stream_fields(frame.schema)
    schema = pa.schema([(field.name, field.type) for field in fields])
    return Feed(StreamSpec(stream_definition(name, schema, time, lateness)), frame)


def option_feed(spark: SparkSession, definition: StreamDefinition) -> Feed:
    """The source that WITH (format = ..., ...) names, if it names one."""
    options = dict(definition.options)
    format = options.pop("format", None)
    if format is None:
        if options:
            raise SashError(
                "SASH-SPARK-047",
                f"Stream '{definition.name}' has options, but no format.",
                remedy="Add format = 'parquet', 'csv', 'json', 'kafka' or another source of Spark's to WITH.",
            )
        return Feed(StreamSpec(definition))
    if reads_itself(format, options):
        return Feed(StreamSpec(definition, format.lower(), options))
    return Feed(StreamSpec(definition), _loaded(spark, definition, format, options))


def _loaded(
    spark: SparkSession, definition: StreamDefinition, format: str, options: Mapping[str, str]
) -> DataFrame:
    """The stream's columns from one of Spark's sources, by name; some sources have a schema of their own."""
    reader = spark.readStream.format(format).options(**options)
    wanted = spark_schema(definition.fields)
    try:
        try:
            frame = reader.schema(wanted).load()
        except Exception as error:
            if "user-specified schema" not in str(error) and "USER_SPECIFIED_SCHEMA" not in str(error):
                raise
            frame = spark.readStream.format(format).options(**options).load()
    except Exception as error:
        raise sash_error(error) from error
    known = {field.name.lower(): field for field in stream_fields(frame.schema)}
    for field in definition.fields:
        found = known.get(field.name.lower())
        if found is None:
            raise _unfit(definition, field, f"is not there; it has {', '.join(map(repr, frame.columns))}")
        if found.type != field.type:
            raise _unfit(definition, field, f"is {sql_name(found.type)} there, not {sql_name(field.type)}")
    return frame.select(*quoted(field.name for field in definition.fields))


def _unfit(definition: StreamDefinition, field: Field, what: str) -> SashError:
    return SashError(
        "SASH-SPARK-048",
        f"Column '{field.name}' of stream '{definition.name}' does not fit its source: it {what}.",
        remedy="Correct CREATE STREAM, or give a DataFrame with the right columns to create_stream().",
    )


def table_rows(spark: SparkSession, definition: TableDefinition) -> pa.RecordBatch | None:
    """The rows that a table's WITH (format = ..., path = ...) names, as of now; None if it names none."""
    options = dict(definition.options)
    format = options.pop("format", None)
    if format is None:
        return None
    given = {name.lower(): value for name, value in options.items()}
    if format.lower() == "csv" and "enforceschema" not in given:
        options["enforceSchema"] = "false"  # else Spark goes by position, whatever the header says
    schema, columns = spark_schema(definition.fields), [field.name for field in definition.fields]
    permissive = given.get("mode", "permissive").lower() == "permissive"
    if format.lower() in ("csv", "json") and permissive and "columnnameofcorruptrecord" not in given:
        options["columnNameOfCorruptRecord"] = _MALFORMED
        schema, columns = schema.add(_MALFORMED, "string"), [*columns, _MALFORMED]
    try:
        frame = spark.read.format(format).schema(schema).options(**options).load()
        rows = frame.select(*quoted(columns)).toArrow()
    except Exception as error:
        raise sash_error(error) from error
    if _MALFORMED in columns:
        _tell_malformed(definition.name, rows.column(_MALFORMED))
        rows = rows.drop([_MALFORMED])
    whole = [pa.concat_arrays(c.chunks) if c.num_chunks else pa.array([], c.type) for c in rows.columns]
    return from_spark(pa.RecordBatch.from_arrays(whole, names=rows.column_names), definition.fields)


def _tell_malformed(table: str, lines: pa.ChunkedArray) -> None:
    """Warn if lines of a table could not be read whole: what is NULL for that is not to go unnoticed."""
    bad = lines.drop_null()
    if len(bad):
        warnings.warn(
            f"{len(bad)} of {counted(len(lines), 'row')} of table '{table}' could not be read whole, and "
            f"what could not is NULL. The first is: {bad[0].as_py()[:200]!r}. mode = 'FAILFAST' in WITH "
            "refuses such a table, 'DROPMALFORMED' leaves such rows out.",
            RuntimeWarning,
            stacklevel=2,
        )
