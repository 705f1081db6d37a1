"""Text files mean to Sash what they mean to Spark's own readers, malformed rows and odd cells included."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.spark.reading.listing import FoundFile
from sash.spark.reading.reading import Reading

pytestmark = pytest.mark.slow

STREAM = StreamDefinition(
    "s",
    (
        Field("ts", pa.timestamp("us")),
        Field("text", pa.string()),
        Field("whole", pa.int32()),
        Field("real", pa.float64()),
        Field("exact", pa.decimal128(6, 2)),
        Field("day", pa.date32()),
        Field("yes", pa.bool_()),
    ),
    0,
)
SCHEMA = "ts TIMESTAMP, text STRING, whole INT, real DOUBLE, exact DECIMAL(6, 2), day DATE, yes BOOLEAN"
NO_OPTIONS: Mapping[str, str] = {}
GOOD = "2024-07-01T12:00:00Z,a,1,1.5,2.25,2024-07-01,true"

CSV = {
    "plain": GOOD,
    "too few": "2024-07-01T12:00:00Z,a,1",
    "too many": f"{GOOD},more,and more",
    "empty cells": "2024-07-01T12:00:00Z,,,,,,",
    "bad cells": "2024-07-01T12:00:00Z,b,x,y,z,q,maybe",
    "a number too large": "2024-07-01T12:00:00Z,c,3000000000,1e400,99999.99,2024-02-30,false",
    "hexadecimal": "2024-07-01T12:00:00Z,c,0x1F,1.0,1,2024-02-03,false",
    "zones": "2024-07-01T12:00:00+02:00,d,-1,-0.0,-1,2024-01-01,FALSE",
    "a space for T": "2024-07-01 12:00:00.123456,d,7,NaN,1,2024-01-01,True",
    "quotes": '2024-07-01T12:00:00Z,"a, b",1,1.0,1,2024-01-01,true',
    "escapes": '2024-07-01T12:00:00Z,"say \\"x\\"",1,1.0,1,2024-01-01,true',
    "backslashes": "2024-07-01T12:00:00Z,C:\\dir,1,1.0,1,2024-01-01,true",
    "a backslash at the end": r'2024-07-01T12:00:00Z,"C:\\dir, x\\",1,1.0,1,2024-01-01,true',
    "escaped backslashes and quotes": r'2024-07-01T12:00:00Z,"a\\\\\"b",1,1.0,1,2024-01-01,true',
    "a quote in backslashes": r'2024-07-01T12:00:00Z,"say \\\"x\\\"",1,1.0,1,2024-01-01,true',
    "an escape without quotes": r"2024-07-01T12:00:00Z,C:\"x,1,1.0,1,2024-01-01,true",
    "an escape that escapes nothing": r'2024-07-01T12:00:00Z,"a\,b\n",1,1.0,1,2024-01-01,true',
    "an empty quoted cell": '2024-07-01T12:00:00Z,"",1,1.0,1,2024-01-01,true',
    "words": "2024-07-01T12:00:00Z,d,7,-Inf,1,2024-01-01,True",
    "other words": "2024-07-01T12:00:00Z,d,7,nan,1,2024-01-01,yes",
    "spaces": "2024-07-01T12:00:00Z,  a  , 5, 1.5,1 ,2024-01-01, true",
    "signs and dots": "2024-07-01T12:00:00Z,a,+5,.5,+1,2024-1-2,1",
    "too exact": "2024-07-01T12:00:00.123456789,a,5.0,1e3,1.555,2024-01-02T10:00:00,true",
    "no day": "soon,a,1,1.0,1,2024-01-01,true",
    "doubled quotes": '2024-07-01T12:00:00Z,"a""b",1,1.0,1,2024-01-01,true',
    "a cell that goes on": '2024-07-01T12:00:00Z,"a"b,1,1.0,1,2024-01-01,true',
    "a cell that goes on with a quote": '2024-07-01T12:00:00Z,"a"b"c,1,1.0,1,2024-01-01,true',
    "quotes within quotes": '2024-07-01T12:00:00Z,"a"b"c",1,1.0,1,2024-01-01,true',
    "a space after quotes": '2024-07-01T12:00:00Z,"a" ,1,1.0,1,2024-01-01,true',
    "a word after quotes": '2024-07-01T12:00:00Z,"a" b ,1,1.0,1,2024-01-01,true',
    "a separator before a cell goes on": '2024-07-01T12:00:00Z,"a,b"c,1,1.0,1,2024-01-01,true',
    "a separator after doubled quotes": '2024-07-01T12:00:00Z,"a""b,c",1,1.0,1,2024-01-01,true',
    "a separator before a stray quote": '2024-07-01T12:00:00Z,"a,"b,c",1,1.0,1,2024-01-01,true',
    "three quotes": '2024-07-01T12:00:00Z,"""a""",1,1.0,1,2024-01-01,true',
    "three quotes at first": '2024-07-01T12:00:00Z,"""a",1,1.0,1,2024-01-01,true',
    "three quotes at last": '2024-07-01T12:00:00Z,"a""",1,1.0,1,2024-01-01,true',
    "only quotes": '2024-07-01T12:00:00Z,"""",1,1.0,1,2024-01-01,true',
    "an escape before a cell goes on": '2024-07-01T12:00:00Z,"a\\"b"c,1,1.0,1,2024-01-01,true',
    "an escape after doubled quotes": '2024-07-01T12:00:00Z,"a""b\\"c",1,1.0,1,2024-01-01,true',
    "quotes that do not begin a cell": '2024-07-01T12:00:00Z,a"b",1,1.0,1,2024-01-01,true',
    "a separator in quotes": '2024-07-01T12:00:00Z,",",1,1.0,1,2024-01-01,true',
    "quotes that are not closed": '2024-07-01T12:00:00Z,"a""b,1,1.0,1,2024-01-01,true',
    "empty quotes twice": '2024-07-01T12:00:00Z,"" "",1,1.0,1,2024-01-01,true',
    "a comma in a decimal": '2024-07-01T12:00:00Z,a,1,1.0,"1,5",2024-01-01,true',
    "thousands": '2024-07-01T12:00:00Z,a,1,1.0,"-1,000.5",2024-01-01,true',
    "commas around": '2024-07-01T12:00:00Z,a,1,1.0,"1,,5,",2024-01-01,true',
    "only a comma": '2024-07-01T12:00:00Z,a,1,1.0,",",2024-01-01,true',
    "a comma and a power": '2024-07-01T12:00:00Z,a,1,1.0,"1,5e2",2024-01-01,true',
    "several points": '2024-07-01T12:00:00Z,a,1,1.0,"1.2,3.4",2024-01-01,true',
    "a T and no clock": "2024-07-01T,a,1,1.0,1,2024-01-01T,true",
    "a colon and nothing": "2024-07-01T12:,a,1,1.0,1,2024-01-01,true",
    "a day and a zone": "2024-07-01Z,a,1,1.0,1,2024-01-01,true",
    "a space and no clock": "2024-07-01 ,a,1,1.0,1,2024-01-01 x,true",
    "blank lines": f" \n\t\n{GOOD}\n   \n\n{GOOD}\n\t \t\n",
    "a region": "2024-07-01 12:00:00 Europe/Berlin,a,1,1.0,1,2024-01-01,true",
    "a region in winter": "2024-01-01T12:00:00.5Asia/Kolkata,a,1,1.0,1,2024-01-01,true",
    "a region and no seconds": "2024-07-01 12:00 Europe/Berlin,a,1,1.0,1,2024-01-01,true",
    "a region and no clock": "2024-07-01 Europe/Berlin,a,1,1.0,1,2024-01-01,true",
    "a time that a region jumps over": "2024-03-31 02:30:00 Europe/Berlin,a,1,1.0,1,2024-01-01,true",
    "a time that a region has twice": "2024-10-27 02:30:00 Europe/Berlin,a,1,1.0,1,2024-01-01,true",
    "no such region": "2024-07-01 12:00:00 Europe/Nowhere,a,1,1.0,1,2024-01-01,true",
    "a region in small letters": "2024-07-01 12:00:00 europe/berlin,a,1,1.0,1,2024-01-01,true",
    "a region with a sign": "2024-07-01 12:00:00 Etc/GMT+5,a,1,1.0,1,2024-01-01,true",
    "a region long ago": "1800-07-01 12:00:00 Europe/Berlin,a,1,1.0,1,2024-01-01,true",
    "a region of three parts": " 2024-07-01 12:00:00  America/Argentina/Ushuaia ,a,1,1.0,1,2024-01-01,true",
    "half of a region": "2024-07-01 12:00:00 America/Argentina,a,1,1.0,1,2024-01-01,true",
    "a day that is none in a region": "2024-02-30 12:00:00 Europe/Berlin,a,1,1.0,1,2024-01-01,true",
    "unicode": "2024-07-01T12:00:00Z,grüß €,1,1.0,1,2024-01-01,true",
}
JSON = {
    "plain": '{"ts": "2024-07-01T12:00:00Z", "text": "a", "whole": 1, "real": 1.5, "exact": 2.25, '
    '"day": "2024-07-01", "yes": true}',
    "few": '{"ts": "2024-07-01T12:00:00Z"}',
    "more": '{"ts": "2024-07-01T12:00:00Z", "text": "a", "other": {"x": [1]}}',
    "wrong kinds": '{"ts": "2024-07-01T12:00:00Z", "text": 7.50, "whole": "1", "real": "x", "yes": "true"}',
    "nested in text": '{"ts": "2024-07-01T12:00:00Z", "text": {"x": [1, 2.5, null]}}',
    "exact numbers in text": '{"ts": "2024-07-01T12:00:00Z", "text": '
    '{"price": 1.10, "id": 12345678901234567.891, "ü": "€"}}',
    "objects in text as written": '{"ts": "2024-07-01T12:00:00Z", "text":  {"a":1,  "b" : [1.10, 1E2], '
    '"c": {}, "d": "\\u00e9\\"\\/", "a": 2} , "whole": 5}',
    "an array in text as written": '{"ts": "2024-07-01T12:00:00Z", "text": [1,2,  {"é":NaN}]}',
    "single quotes": """{'ts':'2024-07-01T12:00:00Z', "text": 'a"b', 'whole': 1}""",
    "a single quote in quotes": r"""{'ts':'2024-07-01T12:00:00Z', "text": "it's", 'whole': 1}""",
    "an escaped single quote": r"""{'ts':'2024-07-01T12:00:00Z', "text": 'it\'s\n\u00e9 \"', 'whole': 1}""",
    "an escaped single quote in quotes": r"""{"ts":"2024-07-01T12:00:00Z", "text": "it\'s"}""",
    "a single quoted object in text": r"""{'ts':'2024-07-01T12:00:00Z', 'text': {'a':'b', "c":'\''}}""",
    "an array in single quotes": "[{'ts':'2024-07-01T12:00:00Z'},{'ts':'2024-07-02T12:00:00Z', 'whole': 2}]",
    "a tab in single quotes": "{'ts':'2024-07-01T12:00:00Z','text':'a\tb'}",
    "carriage returns": '{"ts": "2024-07-01T12:00:00Z"}\r{"ts": "2024-07-02T12:00:00Z", "whole": 2}\r',
    "line ends of each kind": '{"ts": "2024-07-01T12:00:00Z"}\r\n{"ts": "2024-07-02T12:00:00Z"}\r\r\n\n'
    '{"ts": "2024-07-03T12:00:00Z"}\n\r{"ts": "2024-07-04T12:00:00Z"}',
    "a carriage return in an object": '{"ts": "2024-07-01T12:00:00Z"\r, "whole": 1}',
    "a T and no clock": '{"ts": "2024-07-01T12:00:00Z", "whole": 1}\n{"ts": "2024-07-01T"}',
    "a comma in a decimal": '{"ts": "2024-07-01T12:00:00Z", "exact": "1,5"}',
    "blank lines": '  \n{"ts": "2024-07-01T12:00:00Z"}\n \t\n',
    "a region": '{"ts": "2024-07-01 12:00:00 Europe/Berlin", "text": "a"}',
    "no quotes": "{ts:'2024-07-01T12:00:00Z'}",
    "true in text": '{"ts": "2024-07-01T12:00:00Z", "text": true}',
    "whole for real": '{"ts": "2024-07-01T12:00:00Z", "real": 3, "exact": 3}',
    "real for whole": '{"ts": "2024-07-01T12:00:00Z", "whole": 3.0}',
    "too large": '{"ts": "2024-07-01T12:00:00Z", "whole": 3000000000, "exact": 99999.99}',
    "words": '{"ts": "2024-07-01T12:00:00Z", "real": "NaN"}',
    "infinity": '{"ts": "2024-07-01T12:00:00Z", "real": "-Infinity"}',
    "too long": '{"ts": "2024-07-01T12:00:00Z", "exact": 123456}',
    "days": '{"ts": "2024-07-01T12:00:00Z", "day": 5}',
    "two objects": '{"ts": "2024-07-01T12:00:00Z", "whole": 1} {"ts": "2024-07-01T12:00:00Z"}',
    "seconds": '{"ts": 86400}',
    "not json": '{"ts": "2024-07-01T12:00:00Z", ',
    "an array": '[{"ts": "2024-07-01T12:00:00Z", "whole": 1}, {"ts": "2024-07-01T12:00:00Z", "whole": 2}]',
    "nulls": '{"ts": "2024-07-01T12:00:00Z", "text": null, "whole": null, "yes": null}',
    "bad dates": '{"ts": "2024-07-01T12:00:00Z", "day": "2024-02-30"}',
}

NESTED_STREAM = StreamDefinition(
    "s",
    (
        Field("ts", pa.timestamp("us")),
        Field("one", pa.struct([("a", pa.int32()), ("day", pa.date32()), ("many", pa.list_(pa.int32()))])),
        Field("many", pa.list_(pa.struct([("a", pa.float64()), ("b", pa.binary())]))),
        Field("named", pa.map_(pa.string(), pa.struct([("a", pa.decimal128(6, 2))]))),
    ),
    0,
)
NESTED_SCHEMA = (
    "ts TIMESTAMP, one STRUCT<a: INT, day: DATE, many: ARRAY<INT>>, "
    "many ARRAY<STRUCT<a: DOUBLE, b: BINARY>>, named MAP<STRING, STRUCT<a: DECIMAL(6, 2)>>"
)
NESTED = {
    name: f'{{"ts": "2024-07-01T12:00:00Z", {line}}}'
    for name, line in {
        "all": '"one": {"a": 1, "day": "2024-07-01", "many": [1, null]}, "many": [{"a": 1.5}, null], '
        '"named": {"x": {"a": 1.5}, "y": null}',
        "empty": '"one": {}, "many": [], "named": {}',
        "more": '"one": {"a": 1, "other": [1, {"x": 2}]}',
        "a bad field": '"one": {"a": "x", "day": "2024-07-01"}',
        "a bad day": '"one": {"a": 1, "day": "soon"}',
        "a bad element": '"one": {"a": 1, "many": [1, "x", 3]}, "many": [{"a": 2}]',
        "a bad field of an element": '"many": [{"a": "x", "b": "YWI="}, {"a": 1, "b": 5}]',
        "an element of another kind": '"many": [{"a": 1}, 5]',
        "a bad field of a value": '"named": {"x": {"a": "y"}, "y": {"a": 1}}',
        "a value of another kind": '"named": {"x": 5, "y": {"a": 1}}',
        "other kinds": '"one": 5, "many": {"a": 1}, "named": [1]',
        "a number too large": '"one": {"a": 3000000000}, "named": {"x": {"a": 123456}}',
    }.items()
}


def by_sash(
    path: Path,
    format: str,
    mode: str,
    stream: StreamDefinition = STREAM,
    options: Mapping[str, str] = NO_OPTIONS,
) -> list[str]:
    file = FoundFile(str(path), path.stat().st_size, 0)
    read = Reading.of(stream, format, {"path": str(path), "mode": mode, **options}).read(file)
    return [str(row) for row in read.table.to_pylist()]


def by_spark(
    spark: Any,
    folder: Path,
    format: str,
    mode: str,
    stream: StreamDefinition = STREAM,
    schema: str = SCHEMA,
    options: Mapping[str, str] = NO_OPTIONS,
) -> dict[str, list[str]]:
    """The rows of all files in a folder, by file."""
    frame = spark.read.schema(schema).options(mode=mode, **options).format(format).load(str(folder))
    rows = frame.where("ts IS NOT NULL").select("*", "_metadata.file_name").toArrow()
    files = rows.column("file_name").to_pylist()
    types = pa.schema([pa.field(one.name, one.type) for one in stream.fields])
    said: dict[str, list[str]] = {path.name: [] for path in folder.iterdir()}
    for file, row in zip(files, rows.drop(["file_name"]).cast(types, safe=False).to_pylist(), strict=True):
        said[unquote(file)].append(str(row))
    return said


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize(("format", "lines"), [("csv", CSV), ("json", JSON)])
def test_each_line_and_all_together(
    spark: Any, format: str, lines: dict[str, str], mode: str, tmp_path: Path
) -> None:
    for name, line in {**lines, "all": "\n".join(lines.values())}.items():
        (tmp_path / name.replace(" ", "_")).write_bytes(f"{line}\n".encode())
    theirs = by_spark(spark, tmp_path, format, mode)
    assert len(theirs) == len(lines) + 1
    assert {name: by_sash(tmp_path / name, format, mode) for name in theirs} == theirs


BAD_BYTES = {
    "at the end of a text": b'"text": "caf\xe9", "whole": 1}\n{"ts": "2024-07-01T12:00:00Z", "whole": 2}',
    "in a text": b'"text": "caf\xe9 au lait", "whole": 1}',
    "more than one": b'"text": "\xff\xfe", "whole": 1}',
    "a cut character": b'"text": "\xf0\x9f\x98", "whole": 1}',
    "for a number": b'"whole": "\xe9", "real": 2.5}',
    "for a day": b'"day": "\xe9", "real": 2.5}',
    "in another field": b'"other": "caf\xe9", "whole": 1}',
    "in a name": b'"\xff": 5, "whole": 1}',
    "after the object": b'"text": "\xc3\xa9", "whole": 1} \xff',
    "before another line": b'"text": "\xe9a"}\n{"ts": "2024-07-01T12:00:00Z", "text": "\xc3\xa9"}',
}


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_bytes_that_are_no_text_in_json(spark: Any, mode: str, tmp_path: Path) -> None:
    for name, line in BAD_BYTES.items():
        (tmp_path / name.replace(" ", "_")).write_bytes(b'{"ts": "2024-07-01T12:00:00Z", ' + line + b"\n")
    theirs = by_spark(spark, tmp_path, "json", mode)
    assert len(theirs) == len(BAD_BYTES)
    assert {name: by_sash(tmp_path / name, "json", mode) for name in theirs} == theirs


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_in_quotes(spark: Any, end: str, tmp_path: Path) -> None:
    rest = f"1,1.5,2.25,2024-07-01,true{end}"
    line = f'2024-07-01T12:00:00Z,"a{end}b{end}{end}",{rest}'
    (tmp_path / "a").write_bytes((line + line).encode())
    options = {"multiLine": "true"}
    theirs = by_spark(spark, tmp_path, "csv", "PERMISSIVE", options=options)
    assert len(theirs["a"]) == 2
    assert {"a": by_sash(tmp_path / "a", "csv", "PERMISSIVE", options=options)} == theirs


@pytest.mark.parametrize("options", [{"escape": '"'}, {"multiLine": "true"}])
def test_quotes_with_other_options(spark: Any, options: dict[str, str], tmp_path: Path) -> None:
    for name, line in {
        name: line for name, line in CSV.items() if '"' in line and "twice" not in name
    }.items():
        (tmp_path / name.replace(" ", "_")).write_text(f"{line}\n", encoding="utf-8")
    theirs = by_spark(spark, tmp_path, "csv", "PERMISSIVE", options=options)
    assert {name: by_sash(tmp_path / name, "csv", "PERMISSIVE", options=options) for name in theirs} == theirs


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_nested_values_of_json(spark: Any, mode: str, tmp_path: Path) -> None:
    for name, line in {**NESTED, "all together": "\n".join(NESTED.values())}.items():
        (tmp_path / name.replace(" ", "_")).write_text(f"{line}\n", encoding="utf-8")
    theirs = by_spark(spark, tmp_path, "json", mode, NESTED_STREAM, NESTED_SCHEMA)
    assert len(theirs) == len(NESTED) + 1
    assert {name: by_sash(tmp_path / name, "json", mode, NESTED_STREAM) for name in theirs} == theirs


def test_compressed_files(spark: Any, tmp_path: Path) -> None:
    """Each kind that Spark knows by the ending of a file's name; what it writes itself as well."""
    text = f"{GOOD}\n".encode() * 10_000
    packed = {
        "a.csv.gz": gzip.compress(text),
        "a.csv.GZIP": gzip.compress(text),
        "a.csv.bz2": bz2.compress(text),
        "a.csv.zst": pa.compress(text, codec="zstd", asbytes=True),
        "a.csv.deflate": zlib.compress(text),
        "two.csv.deflate": zlib.compress(text) + zlib.compress(text),
        "empty.csv.snappy": b"",
        "other.csv.br": text,
    }
    folder = tmp_path / "packed"
    folder.mkdir()
    for name, data in packed.items():
        (folder / name).write_bytes(data)
    for kind in ("snappy", "deflate", "bzip2"):
        frame = spark.read.text(str(folder / "a.csv.gz")).coalesce(1)
        frame.write.mode("overwrite").option("compression", kind).text(str(tmp_path / "written"))
        (path,) = (tmp_path / "written").glob("part-*")
        path.rename(folder / f"{kind}{path.suffix}")
    theirs = by_spark(spark, folder, "csv", "PERMISSIVE")
    assert len(theirs["snappy.snappy"]) == 10_000
    assert {name: by_sash(folder / name, "csv", "PERMISSIVE") for name in theirs} == theirs


@pytest.mark.parametrize("name", ["a.csv.deflate", "a.csv.snappy", "a.csv.lz4"])
def test_compressed_files_that_are_damaged(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"\0\0\0\x20\0\0\0\x09" + f"{GOOD}\n".encode())
    with pytest.raises(SashError, match="cannot be read as csv"):
        by_sash(path, "csv", "PERMISSIVE")
