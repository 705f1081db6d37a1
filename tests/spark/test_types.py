"""Columns between Spark and Sash: every type of Sash goes to Spark and comes back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark_types

import sash
from sash.errors import SashError
from sash.language.coercion import common_type
from sash.language.expressions import Field
from sash.spark.buckets.crossing import crossed
from sash.spark.types import from_spark, spark_arrow_schema, spark_schema, stream_fields

STAMP = pa.timestamp("us")
FIELDS = (
    Field("truth", pa.bool_()),
    Field("tiny", pa.int8()),
    Field("small", pa.int16()),
    Field("int", pa.int32()),
    Field("big", pa.int64()),
    Field("float", pa.float32()),
    Field("double", pa.float64()),
    Field("price", pa.decimal128(10, 2)),
    Field("text", pa.string()),
    Field("raw", pa.binary()),
    Field("day", pa.date32()),
    Field("ts", STAMP),
    Field("list", pa.list_(STAMP)),
    Field("map", pa.map_(pa.string(), STAMP)),
    Field("struct", pa.struct([("t", STAMP), ("d", pa.decimal128(5, 1))])),
)
NOON = datetime(2024, 7, 1, 12)
ROW: tuple[Any, ...] = (
    True, 1, 2, 3, 4, 0.5, 0.25, Decimal("1.50"), "é", b"\x00\xff", date(2024, 7, 1), NOON,
    [NOON, None], [("a", NOON)], {"t": NOON, "d": Decimal("0.5")},
)  # fmt: skip


def batch(*rows: tuple[Any, ...]) -> pa.RecordBatch:
    columns = [
        pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), FIELDS, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([(f.name, f.type) for f in FIELDS]))


def to_spark(rows: pa.RecordBatch) -> pa.RecordBatch:
    return crossed(rows, spark_arrow_schema(rows.schema))


def test_a_schema_there_and_back_is_the_same() -> None:
    assert stream_fields(spark_schema(FIELDS)) == FIELDS


def test_timestamps_carry_utc_to_spark_at_every_depth() -> None:
    there = to_spark(batch(ROW))
    zoned = pa.timestamp("us", "UTC")
    assert there.schema.field("ts").type == zoned
    assert there.schema.field("list").type == pa.list_(zoned)
    assert there.schema.field("map").type == pa.map_(pa.string(), zoned)
    assert there.schema.field("struct").type.field("t").type == zoned
    assert from_spark(there, FIELDS).equals(batch(ROW))


def test_nothing_is_copied_where_nothing_changes() -> None:
    plain = pa.record_batch({"n": pa.array([1], pa.int64())})
    assert to_spark(plain) is plain
    assert from_spark(plain, [Field("n", pa.int64())]) is plain


def test_timestamps_of_any_zone_and_none_are_utc_instants() -> None:
    berlin = pa.array([0], pa.timestamp("us", "Europe/Berlin"))
    given = pa.record_batch([berlin, berlin.cast(STAMP)], ["zoned", "plain"])
    fields = [Field("zoned", STAMP), Field("plain", STAMP)]
    assert from_spark(given, fields).to_pylist() == [
        {"zoned": datetime(1970, 1, 1), "plain": datetime(1970, 1, 1)}
    ]


def test_a_timestamp_without_zone_is_taken_from_a_data_frame() -> None:
    schema = spark_types.StructType().add("ts", "timestamp_ntz").add("name", spark_types.VarcharType(5))
    assert stream_fields(schema) == (Field("ts", STAMP), Field("name", pa.string()))


def test_what_sash_has_no_type_for_is_refused_by_name() -> None:
    schema = spark_types.StructType().add("span", "interval day to second")
    with pytest.raises(SashError) as caught:
        stream_fields(schema)
    assert caught.value.code == "SASH-SPARK-043"
    assert "'span'" in str(caught.value)
    assert "INTERVAL DAY TO SECOND" in str(caught.value)
    with pytest.raises(SashError) as caught:
        spark_schema([Field("span", pa.duration("us"))])
    assert caught.value.code == "SASH-SPARK-042"


def test_a_python_stage_of_spark_takes_and_gives_every_type(spark: Any) -> None:
    """NULLs too, and a session whose zone is not UTC."""
    fields, result = FIELDS, spark_arrow_schema(batch(ROW).schema)

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in batches:
            own = from_spark(each, fields)
            assert own.schema.types == [field.type for field in fields]
            yield crossed(own, result)

    rows = batch(ROW, (None,) * len(FIELDS))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = spark.createDataFrame(pa.Table.from_batches([to_spark(rows)]))
        assert frame.schema == spark_schema(FIELDS)
        out = frame.mapInArrow(stage, spark_schema(FIELDS)).toArrow().combine_chunks().to_batches()[0]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert from_spark(out, FIELDS).to_pylist() == rows.to_pylist()
    assert NOON.replace(tzinfo=UTC) in out.column("ts").to_pylist()


def test_a_query_has_nulls_of_every_type_in_the_columns_of_others(spark: Any) -> None:
    rows = batch(ROW)
    result = pa.schema([pa.field("query", pa.string(), nullable=False), *rows.schema])

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            for query, names in (("one", ["big", "text"]), ("other", ["struct", "truth"])):
                own = rows.select(names).replace_schema_metadata({"query": query})
                yield crossed(own, spark_arrow_schema(result))

    out = spark.range(1).coalesce(1).mapInArrow(stage, spark_schema(result)).toArrow().to_pylist()
    assert [row["query"] for row in out] == ["one", "other"]
    given = [{name for name, value in row.items() if value is not None} for row in out]
    assert given == [{"query", "big", "text"}, {"query", "struct", "truth"}]


MEETING = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(),
    *(pa.decimal128(*size) for size in (
        (1, 0), (5, 2), (18, 2), (20, 20), (30, 10), (37, 1), (38, 0), (38, 6), (38, 18), (38, 37), (38, 38),
    )),
]  # fmt: skip


def test_numbers_meet_as_they_do_in_spark(spark: Any) -> None:
    pairs = [(left, right) for left in MEETING for right in MEETING]
    names = [spark_schema([Field("n", type_)])[0].dataType.simpleString() for type_ in MEETING]
    of_spark = [
        f"coalesce(CAST(NULL AS {left}), CAST(NULL AS {right})) AS n" for left in names for right in names
    ]
    schema = spark.sql(f"SELECT {', '.join(of_spark)}").schema
    assert [field.type for field in stream_fields(schema)] == [common_type(pair) for pair in pairs]


def test_decimals_are_compared_as_in_spark(spark: Any) -> None:
    """Beside 38 digits before the point those behind it are rounded away, in Spark as in Sash."""
    texts = ["1.00", "1.01", "1.50", "-0.49"], ["1", "2", "0", "12345678901234567890123456789012345678"]
    wide = [[f"CAST('{text}' AS DECIMAL({size}))" for text in some]
            for some, size in zip(texts, ("18, 2", "38, 0"), strict=True)]  # fmt: skip
    asked = [f"{left} {sign} {right}" for left in wide[0] for right in wide[1] for sign in ("=", "<")]
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT) TIME ts")
        listed = ", ".join(f"{each} AS c{i}" for i, each in enumerate(asked))
        query = db.query(f"SELECT {listed} FROM s [NOW]")
        db.push("s", [{"ts": 1}])
        db.advance(1)
        said = list(query.changes().to_pylist()[0].values())[: len(asked)]
    assert said == list(spark.sql(f"SELECT {', '.join(asked)}").collect()[0])
