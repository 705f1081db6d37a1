"""One file of a stream as a table: columns made to fit, malformed rows, files that are not there."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.spark.reading.listing import FoundFile
from sash.spark.reading.read_options import reads_itself
from sash.spark.reading.reading import Reading

STREAM = StreamDefinition(
    "packets", (Field("ts", pa.int64()), Field("src", pa.string()), Field("bytes", pa.int32())), 0
)

MINUTE = datetime(1970, 1, 1, 0, 1)


def stream(**types: pa.DataType) -> StreamDefinition:
    """A stream of such columns; the first is time."""
    return StreamDefinition("packets", tuple(Field(name, type_) for name, type_ in types.items()), 0)


def found(path: Path) -> FoundFile:
    return FoundFile(str(path), path.stat().st_size, path.stat().st_mtime_ns)


def reading(path: Path, format: str, definition: StreamDefinition = STREAM, **options: str) -> Reading:
    return Reading.of(definition, format, {"path": str(path.parent), **options})


def csv(tmp_path: Path, text: str | bytes, definition: StreamDefinition = STREAM, **options: str) -> Any:
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return reading(path, "csv", definition, **options).read(found(path))


def json(tmp_path: Path, text: str, definition: StreamDefinition = STREAM, **options: str) -> Any:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    return reading(path, "json", definition, **options).read(found(path))


def parquet(tmp_path: Path, table: pa.Table, definition: StreamDefinition = STREAM, **options: str) -> Any:
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    return reading(path, "parquet", definition, **options).read(found(path))


def raised(code: str, *words: str) -> Any:
    pattern = ".*".join([code, *words])
    return pytest.raises(SashError, match=pattern)


class TestParquet:
    ROWS = pa.table({"bytes": pa.array([5, 6], pa.int32()), "src": ["a", None], "ts": [1, 2]})

    def test_columns_come_in_the_order_of_the_stream(self, tmp_path: Path) -> None:
        read = parquet(tmp_path, self.ROWS)
        assert read.table.to_pydict() == {"ts": [1, 2], "src": ["a", None], "bytes": [5, 6]}
        assert read.malformed == 0

    def test_only_columns_that_are_asked_for_are_read_and_checked(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"ts": [1], "bytes": [1.5]}), path)
        read = Reading.of(STREAM, "parquet", {"path": str(tmp_path)}, ("ts",)).read(found(path))
        assert read.table.to_pydict() == {"ts": [1]}

    def test_names_differ_in_case(self, tmp_path: Path) -> None:
        read = parquet(tmp_path, self.ROWS.rename_columns(["Bytes", "SRC", "ts"]))
        assert read.table.column_names == ["ts", "src", "bytes"]

    @pytest.mark.parametrize(
        ("given", "target"),
        [
            (pa.array([1], pa.int8()), pa.int64()),
            (pa.array([1], pa.uint32()), pa.int64()),
            (pa.array([1.5], pa.float32()), pa.float64()),
            (pa.array([1], pa.int32()), pa.float64()),
            (pa.array([1], pa.int16()), pa.decimal128(10, 2)),
            (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), pa.decimal128(10, 2)),
            (pa.array(["a"]).dictionary_encode(), pa.string()),
            (pa.array(["a"], pa.large_string()), pa.string()),
            (pa.array([b"ab"], pa.binary(2)), pa.binary()),
            (pa.array([date(2024, 1, 1)], pa.date64()), pa.date32()),
            (pa.array([[1]], pa.list_(pa.int32())), pa.list_(pa.int64())),
            (pa.array([{"a": 1}], pa.struct([("a", pa.int32())])), pa.struct([("a", pa.int64())])),
        ],
    )
    def test_casts_that_cannot_fail_are_made(
        self, given: pa.Array, target: pa.DataType, tmp_path: Path
    ) -> None:
        read = parquet(tmp_path, pa.table({"ts": [1], "x": given}), stream(ts=pa.int64(), x=target))
        assert read.table.schema.field("x").type == target
        assert read.table.column("x").null_count == 0

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    @pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
    def test_timestamps_are_microseconds_in_utc(self, unit: str, zone: str | None, tmp_path: Path) -> None:
        instant = datetime(2024, 7, 1, 12, 30, 0, 123_000, tzinfo=UTC)
        given = pa.array([instant], pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, zone))
        read = parquet(tmp_path, pa.table({"ts": given}), stream(ts=pa.timestamp("us")))
        assert read.table.column("ts").to_pylist() == [instant.replace(tzinfo=None)]

    def test_nanoseconds_are_cut(self, tmp_path: Path) -> None:
        given = pa.array([1999, -1], pa.timestamp("ns"))
        read = parquet(tmp_path, pa.table({"ts": given}), stream(ts=pa.timestamp("us")))
        assert read.table.column("ts").cast(pa.int64()).to_pylist() == [1, -1]

    def test_timestamps_as_spark_once_wrote_them(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        instants = pa.table({"ts": pa.array([1_700_000_000_000_000], pa.timestamp("us"))})
        pq.write_table(instants, path, use_deprecated_int96_timestamps=True)
        read = reading(path, "parquet", stream(ts=pa.timestamp("us"))).read(found(path))
        assert read.table == instants

    def test_a_missing_column(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-001", "a.parquet", "'packets' has no column 'bytes' .INT.", "ts, src"):
            parquet(tmp_path, self.ROWS.select(["ts", "src"]))

    def test_several_columns_of_one_name(self, tmp_path: Path) -> None:
        twice = self.ROWS.append_column("bytes", self.ROWS["bytes"])
        with raised("SASH-SOURCE-001", "a.parquet", "more than one column 'bytes'"):
            parquet(tmp_path, twice)
        other = self.ROWS.append_column("other", self.ROWS["bytes"]).append_column("other", self.ROWS["src"])
        assert parquet(tmp_path, other) == parquet(tmp_path, self.ROWS)  # nobody asks for it

    @pytest.mark.parametrize(
        ("given", "shown"), [(pa.array([1, 2]), "BIGINT"), (pa.array(["1", "2"]), "STRING")]
    )
    def test_a_mistyped_column(self, given: pa.Array, shown: str, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-002", "a.parquet", f"has {shown} in column 'bytes' where", "INT"):
            parquet(tmp_path, self.ROWS.set_column(0, "bytes", given))

    def test_a_column_is_judged_by_its_type_even_without_rows(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-002"):
            parquet(tmp_path, pa.table({"ts": [1], "src": ["a"], "bytes": ["x"]}).slice(0, 0))

    def test_null_in_the_time_column(self, tmp_path: Path) -> None:
        rows = pa.table({"ts": [1, None, 3]})
        with raised("SASH-SOURCE-003", "NULL in its TIME column 'ts' in row 2"):
            parquet(tmp_path, rows, stream(ts=pa.int64()))
        read = parquet(tmp_path, rows, stream(ts=pa.int64()), mode="DROPMALFORMED")
        assert (read.table.column("ts").to_pylist(), read.malformed) == ([1, 3], 1)

    def test_a_timestamp_out_of_range(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-003", "4611686018427387904, which is out of range", "row 2"):
            parquet(tmp_path, pa.table({"ts": [1, 2**62]}), stream(ts=pa.int64()))

    @pytest.mark.parametrize(("start", "stop"), [(0, 5), (5, 10), (3, 17), (19, 20), (0, 20), (7, 7)])
    def test_a_range_of_rows(self, start: int, stop: int, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"ts": range(20)}), path, row_group_size=6)
        read = reading(path, "parquet", stream(ts=pa.int64())).read(found(path), start, stop)
        assert read.table.column("ts").to_pylist() == list(range(start, stop))

    def test_an_inspection_knows_rows_and_row_groups(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"ts": range(20)}), path, row_group_size=6)
        known = reading(path, "parquet", stream(ts=pa.int64())).inspect(found(path))
        assert known is not None
        assert (known.rows, known.cuts) == (20, (6, 12, 18, 20))

    def test_a_column_that_does_not_fit_is_told_before_the_file_is_taken(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        pq.write_table(self.ROWS.select(["ts"]), path)
        with raised("SASH-SOURCE-001", "has no column 'src'"):
            reading(path, "parquet").inspect(found(path))


class TestCsv:
    def test_without_a_header_columns_go_by_position(self, tmp_path: Path) -> None:
        read = csv(tmp_path, "1,a,5\n2,,6\n")
        assert read.table.to_pydict() == {"ts": [1, 2], "src": ["a", None], "bytes": [5, 6]}
        assert read.malformed == 0

    def test_with_a_header_they_go_by_name(self, tmp_path: Path) -> None:
        read = csv(tmp_path, "\nx,BYTES,ts,src\n0,5,1,a\n\n0,6,2,b", header="true")
        assert read.table.to_pydict() == {"ts": [1, 2], "src": ["a", "b"], "bytes": [5, 6]}

    def test_a_header_that_lacks_a_column(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-001", "has no column 'bytes'", "ts, src"):
            csv(tmp_path, "ts,src\n1,a\n", header="true")
        with raised("SASH-SOURCE-001"):
            reading(tmp_path / "a.csv", "csv", header="true").inspect(found(tmp_path / "a.csv"))

    def test_only_a_header(self, tmp_path: Path) -> None:
        assert len(csv(tmp_path, "ts,src,bytes\n", header="true").table) == 0
        assert csv(tmp_path, "\n\n").table.schema == reading(tmp_path / "a", "csv").schema

    def test_lines_of_spaces_are_no_rows(self, tmp_path: Path) -> None:
        read = csv(tmp_path, " \n\t\nts,src,bytes\n1,a,5\n   \n2,b,6\n\t", header="true", mode="FAILFAST")
        assert read.table["ts"].to_pylist() == [1, 2]
        assert not read.malformed
        read = csv(tmp_path, "1\ta\t5\n\t\t\n2\tb\t6\n", sep="\t", mode="FAILFAST")
        assert read.table["ts"].to_pylist() == [1, 2]

    def test_separators_quotes_and_escapes(self, tmp_path: Path) -> None:
        text = "1;'a;\\'b\\'';5\n2;C:\\dir;6\n3;'it''s';7\n"
        read = csv(tmp_path, text, sep=";", quote="'")
        assert read.table.column("src").to_pylist() == ["a;'b'", "C:\\dir", "'it''s'"]
        read = csv(tmp_path, "3;'it''s';7\n", sep=";", quote="'", escape="'")
        assert read.table.column("src").to_pylist() == ["it's"]
        assert csv(tmp_path, '1\t"a"\t5\n', delimiter="\\t", quote="").table["src"].to_pylist() == ['"a"']

    def test_nulls(self, tmp_path: Path) -> None:
        text = '1,NA,5\n2,,6\n3,"",7\n4,x,NA\n'
        read = csv(tmp_path, text, nullValue="NA")
        assert read.table.column("src").to_pylist() == [None, None, "", "x"]
        assert (read.table.column("bytes").to_pylist(), read.malformed) == ([5, 6, 7, None], 0)
        assert csv(tmp_path, '3,"",7\n').table.column("src").to_pylist() == [None]

    def test_encodings(self, tmp_path: Path) -> None:
        assert (
            csv(tmp_path, "1,é,5\n".encode("latin-1"), encoding="ISO-8859-1").table["src"][0].as_py() == "é"
        )
        assert csv(tmp_path, b"\xef\xbb\xbf1,\xc3\xa9,5\n").table["src"][0].as_py() == "é"
        assert csv(tmp_path, "1,é,5\n".encode("utf-16"), encoding="utf-16").table["ts"][0].as_py() == 1
        assert csv(tmp_path, b"1,a\xffb,5\n").table["src"][0].as_py() == "a\ufffdb"

    def test_compressed_files(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(b"1,a,5\n"))
        assert len(reading(path, "csv").read(found(path)).table) == 1

    def test_types(self, tmp_path: Path) -> None:
        types = stream(
            ts=pa.timestamp("us"), d=pa.date32(), n=pa.decimal128(5, 2), f=pa.float64(), b=pa.bool_(),
            x=pa.binary(),
        )  # fmt: skip
        read = csv(tmp_path, "2024-07-01T12:00:00.5+02:00,2024-1-2,1.5,1e3,true,ab\n", types)
        assert read.table.to_pylist() == [
            {
                "ts": datetime(2024, 7, 1, 10, 0, 0, 500_000), "d": date(2024, 1, 2), "n": Decimal("1.50"),
                "f": 1000.0, "b": True, "x": b"ab",
            }
        ]  # fmt: skip

    def test_patterns_of_time(self, tmp_path: Path) -> None:
        types = stream(ts=pa.timestamp("us"), d=pa.date32())
        read = csv(
            tmp_path, "01/07/2024 12:00:00.25,2024.07.02\n2024-07-01 12:00:00,2024.07.02\n", types,
            timestampFormat="dd/MM/yyyy HH:mm:ss.SSS", dateFormat="yyyy.MM.dd",
        )  # fmt: skip
        assert read.table.to_pylist() == [
            {"ts": datetime(2024, 7, 1, 12, 0, 0, 250_000), "d": date(2024, 7, 2)}
        ]
        assert read.malformed == 1

    BAD = "1,a,5\n2,b,x\nsoon,c,7\n4,d\n5,e,8,9\n6,f,10\n"

    def test_permissive_reads_null_and_drops_rows_without_time(self, tmp_path: Path) -> None:
        read = csv(tmp_path, self.BAD)
        assert read.table.to_pydict() == {
            "ts": [1, 2, 4, 5, 6], "src": ["a", "b", "d", "e", "f"], "bytes": [5, None, None, 8, 10]
        }  # fmt: skip
        assert read.malformed == 4

    def test_drop_malformed(self, tmp_path: Path) -> None:
        read = csv(tmp_path, self.BAD, mode="dropMalformed")
        assert (read.table.column("ts").to_pylist(), read.malformed) == ([1, 6], 4)

    @pytest.mark.parametrize("text", ["1,a,5\n2,b,x\n", "1,a,5\n2,b\n", "1,a,5\n2,b,6,7\n"])
    def test_fail_fast(self, text: str, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-004", "a.csv", "is malformed in row 2"):
            csv(tmp_path, text, mode="FAILFAST")

    def test_fail_fast_wants_a_timestamp_in_every_row(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-003", "NULL", "row 2"):
            csv(tmp_path, "1,a,5\n,b,6\n", mode="FAILFAST")
        assert csv(tmp_path, "1,a,5\n,b,6\n").malformed == 1

    def test_a_row_is_counted_once(self, tmp_path: Path) -> None:
        assert csv(tmp_path, "x,y,z\n1,a,5\n").malformed == 1

    def test_a_quote_that_is_not_closed_costs_its_line_alone(self, tmp_path: Path) -> None:
        read = csv(tmp_path, '1,a,5\n2,"b,6\n3,"c",7\n')
        assert read.table.column("ts").to_pylist() == [1, 2, 3]
        assert (read.table.column("src").to_pylist(), read.malformed) == (["a", "b,6", "c"], 1)

    def test_values_with_line_ends(self, tmp_path: Path) -> None:
        read = csv(tmp_path, '1,"a\nb",5\n2,c,6\n', multiLine="true")
        assert (read.table.column("src").to_pylist(), read.malformed) == (["a\nb", "c"], 0)
        read = csv(tmp_path, '1,"a\nb",5\n2,c\n', multiLine="true")
        assert (read.table.column("src").to_pylist(), read.malformed) == (["a\nb", "c"], 1)

    def test_hexadecimal_digits_are_no_number(self, tmp_path: Path) -> None:
        assert csv(tmp_path, "1,a,0x1F\n").table.column("bytes").to_pylist() == [None]

    def test_numbers_beyond_their_type(self, tmp_path: Path) -> None:
        read = csv(tmp_path, "1,a,3000000000\n9999999999999999999999,a,5\n")
        assert (read.table.to_pydict(), read.malformed) == ({"ts": [1], "src": ["a"], "bytes": [None]}, 2)

    def test_many_rows_and_blocks(self, tmp_path: Path) -> None:
        count = 700_000
        text = "".join(f"{i},host{i % 100:020d},{i % 7}\n" for i in range(count))
        table = csv(tmp_path, text).table
        assert np.array_equal(table.column("ts").to_numpy(), np.arange(count))

    def test_nested_columns_are_refused(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-002", "CSV has no ARRAY<BIGINT>"):
            csv(tmp_path, "1,2\n", stream(ts=pa.int64(), x=pa.list_(pa.int64())))


class TestJson:
    def test_fields_by_name_and_null_where_there_is_none(self, tmp_path: Path) -> None:
        read = json(tmp_path, '{"ts": 1, "bytes": 5, "other": [1]}\n\n{"src": "b", "ts": 2}')
        assert read.table.to_pydict() == {"ts": [1, 2], "src": [None, "b"], "bytes": [5, None]}
        assert read.malformed == 0

    BAD = (
        '{"ts": 1, "src": "a", "bytes": 5}\n{"ts": 2, "src": "b", "bytes": "x"}\n'
        '{"ts": 3\n[]\n"text"\n{"ts": 4, "src": 7.50, "bytes": 1.5}\n[{"ts": 5}, {"ts": 6}]\n{"src": "c"}\n'
    )

    def test_permissive(self, tmp_path: Path) -> None:
        read = json(tmp_path, self.BAD)
        assert read.table.to_pydict() == {
            "ts": [1, 2, 4, 5, 6], "src": ["a", "b", "7.50", None, None], "bytes": [5, None, None, None, None]
        }  # fmt: skip
        assert read.malformed == 5

    def test_drop_malformed(self, tmp_path: Path) -> None:
        read = json(tmp_path, self.BAD, mode="DROPMALFORMED")
        assert (read.table.column("ts").to_pylist(), read.malformed) == ([1, 5, 6], 5)

    def test_fail_fast(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-004", "a.json", "is malformed in row 2"):
            json(tmp_path, self.BAD, mode="FAILFAST")

    TYPES = stream(
        ts=pa.timestamp("us"), d=pa.date32(), n=pa.decimal128(5, 2), f=pa.float64(), b=pa.bool_(),
        x=pa.binary(), s=pa.struct([("a", pa.int64())]), l=pa.list_(pa.string()),
    )  # fmt: skip
    LINE = (
        '{"ts": "2024-07-01T12:00:00Z", "d": "2024-01-02", "n": 1.5, "f": 1e3, "b": true, "x": "YWI=", '
        '"s": {"a": 1}, "l": ["x"]}\n'
    )

    def test_types_are_read_the_same_with_and_without_a_bad_line(self, tmp_path: Path) -> None:
        expected = {
            "ts": datetime(2024, 7, 1, 12), "d": date(2024, 1, 2), "n": Decimal("1.50"), "f": 1000.0,
            "b": True, "x": b"ab", "s": {"a": 1}, "l": ["x"],
        }  # fmt: skip
        assert json(tmp_path, self.LINE, self.TYPES).table.to_pylist() == [expected]
        read = json(tmp_path, self.LINE + "{\n" + self.LINE, self.TYPES)
        assert (read.table.to_pylist(), read.malformed) == ([expected, expected], 1)

    NESTED = stream(
        ts=pa.int64(),
        s=pa.struct([("a", pa.int32()), ("t", pa.timestamp("us")), ("l", pa.list_(pa.int32()))]),
        m=pa.map_(pa.string(), pa.struct([("a", pa.int32())])), l=pa.list_(pa.int32()),
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("line", "expected", "malformed"),
        [
            ('"s": {"a": 1, "t": 60, "l": [1, null]}', {"s": {"a": 1, "t": MINUTE, "l": [1, None]}}, 0),
            ('"s": {"a": "x", "t": "1970-01-01T00:01:00Z"}', {"s": {"a": None, "t": MINUTE, "l": None}}, 1),
            ('"s": {"a": 1, "l": [1, "x"]}', {"s": {"a": 1, "t": None, "l": None}}, 1),
            ('"s": 5, "l": [7]', {"s": None, "l": [7]}, 1),
            ('"l": {"x": 1}', {"l": None}, 1),
            ('"m": {"k": {"a": 1}, "n": {"a": "x"}}', {"m": [("k", 1), ("n", None)]}, 1),
            ('"m": {"k": {"a": 1}, "n": null}', {"m": [("k", 1), ("n", ...)]}, 0),
            ('"m": {"k": {"a": 1}, "n": 5}', {"m": None}, 1),
        ],
    )
    def test_what_does_not_fit_within_a_nested_value(
        self, tmp_path: Path, line: str, expected: dict[str, Any], malformed: int
    ) -> None:
        """A field of a STRUCT is NULL by itself; an ARRAY or MAP with an unfit element is NULL as a whole."""
        read = json(tmp_path, f'{{"ts": 1, {line}}}\n{{"ts": 2}}\n', self.NESTED)
        row, empty = read.table.to_pylist()
        if row["m"] is not None:
            row["m"] = [(key, ... if value is None else value["a"]) for key, value in row["m"]]
        none = {"s": None, "m": None, "l": None}
        assert (row, empty) == ({"ts": 1, **none, **expected}, {"ts": 2, **none})
        assert read.malformed == malformed

    def test_keys_of_a_map_are_texts(self, tmp_path: Path) -> None:
        with raised("SASH-SOURCE-002", "keys of a MAP are texts"):
            json(tmp_path, '{"ts": 1}\n', stream(ts=pa.int64(), m=pa.map_(pa.int64(), pa.string())))

    def test_numbers_for_times_and_words_for_numbers(self, tmp_path: Path) -> None:
        text = '{"ts": 86400, "f": "NaN"}\n{"ts": 0, "f": "-Infinity"}\n'
        read = json(tmp_path, text, stream(ts=pa.timestamp("us"), f=pa.float64()))
        assert read.table.column("ts").to_pylist() == [datetime(1970, 1, 2), datetime(1970, 1, 1)]
        assert str(read.table.column("f").to_pylist()) == "[nan, -inf]"
        assert read.malformed == 0

    def test_odd_text(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_bytes(b'{"ts": 1, "src": "\xff"}\n{"ts": 2, "src": "\\ud83d"}\n{"ts": 3, "ts": 4}\n')
        read = reading(path, "json").read(found(path))
        assert read.table.column("src").to_pylist() == ["?", None]
        assert read.table.column("ts").to_pylist() == [2, 4]
        assert read.malformed == 1

    def test_an_empty_file(self, tmp_path: Path) -> None:
        assert len(json(tmp_path, "\n").table) == 0


class TestFiles:
    @pytest.mark.parametrize("format", ["parquet", "csv", "json"])
    def test_a_file_that_is_gone(self, format: str, tmp_path: Path) -> None:
        gone = FoundFile(str(tmp_path / "gone"), 10, 0)
        with raised("SASH-SOURCE-005", "gone'", "'packets' is gone", "ignoreMissingFiles"):
            reading(tmp_path / "x", format).read(gone)
        assert len(reading(tmp_path / "x", format, ignoreMissingFiles="true").read(gone).table) == 0
        assert reading(tmp_path / "x", format).inspect(gone) is None

    @pytest.mark.parametrize("format", ["parquet", "csv", "json"])
    def test_a_file_that_changed(self, format: str, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_bytes(b"1,a,5\n")
        before = found(path)
        path.write_bytes(b"1,a,5\n2,b,6\n")
        with raised("SASH-SOURCE-006", "has changed since it was listed with 6 bytes", "move them"):
            reading(path, format).read(before)

    @pytest.mark.parametrize("content", [b"no parquet", b"PAR1" + bytes(100) + b"PAR1"])
    def test_a_file_that_is_no_parquet(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_bytes(content)
        for look in (Reading.read, Reading.inspect):
            with raised("SASH-SOURCE-007", "cannot be read as parquet", "ignoreCorruptFiles"):
                look(reading(path, "parquet"), found(path))
        assert len(reading(path, "parquet", ignoreCorruptFiles="true").read(found(path)).table) == 0

    def test_a_compressed_file_that_is_cut_short(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(b"1,a,5\n" * 1000)[:-20])
        with raised("SASH-SOURCE-007", "cannot be read as csv"):
            reading(path, "csv").read(found(path))


@pytest.mark.parametrize(
    ("format", "options", "expected"),
    [
        ("parquet", {"mergeSchema": "true"}, True),
        ("PARQUET", {"maxFilesPerTrigger": "2"}, True),
        ("json", {"multiLine": "true"}, False),
        ("csv", {"multiLine": "true"}, True),
        ("csv", {"sep": "||"}, False),
        ("csv", {"timestampFormat": "dd MMM yyyy"}, False),
        ("csv", {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"}, True),
        ("csv", {"encoding": "martian"}, False),
        ("csv", {"header": "perhaps"}, False),
        ("parquet", {"cleanSource": "delete"}, False),
        ("orc", {}, False),
        (None, {}, False),
        ("parquet", {"path": "s3a://bucket/x"}, False),
        ("parquet", {"path": "/data/{a,b}"}, False),
        ("parquet", {"path": ""}, False),
    ],
)
def test_what_sash_reads_itself(format: str | None, options: dict[str, str], expected: bool) -> None:
    assert reads_itself(format, {"path": "/data", **options}) is expected


def test_folders_that_spark_reads_better(tmp_path: Path) -> None:
    assert reads_itself("parquet", {"path": str(tmp_path)})
    (tmp_path / "day=1").mkdir()
    assert not reads_itself("parquet", {"path": str(tmp_path)})
    (tmp_path / "day=1").rename(tmp_path / "_spark_metadata")
    assert not reads_itself("parquet", {"path": str(tmp_path)})


@pytest.mark.parametrize(
    "options", [{"maxFilesPerTrigger": "0"}, {"rows_per_trigger": "many"}, {"mode": "x"}]
)
def test_options_that_make_no_sense(options: dict[str, str]) -> None:
    with raised("SASH-SOURCE-009"):
        reads_itself("csv", {"path": "/data", **options})
