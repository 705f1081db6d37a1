"""Checkpoints: bound to what they were made with, held by one run, refused where they are broken."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.catalog.clock import EARLIEST
from sash.catalog.names import Catalog
from sash.catalog.planning import plan_query
from sash.catalog.tables import History, insert
from sash.errors import SashError
from sash.language.statements import StreamDefinition, parse
from sash.spark.checkpoints.checkpoint import Checkpoint
from sash.spark.checkpoints.records import FORMAT, Record, record_of
from sash.spark.pipelines.pipeline import StreamSpec, make_pipeline

PACKETS = "CREATE STREAM packets (ts BIGINT, src STRING, bytes BIGINT) TIME ts LATENESS 2"
HOSTS = "CREATE TABLE hosts (ip STRING, owner STRING)"
TALKERS = "SELECT src, SUM(bytes) AS bytes FROM packets [RANGE 60] GROUP BY src"
LONGER = TALKERS.replace("60", "61")
OWNED = "SELECT src, owner FROM packets [RANGE 60], hosts WHERE src = ip"


def record(
    queries: dict[str, str],
    *definitions: str,
    buckets: int = 4,
    rules: tuple[Any, ...] | None = None,
    owner: str = "ann",
    late: str | None = None,
    format: str | None = None,
    until_end: bool = False,
) -> Record:
    """What a checkpoint of these queries would say."""
    catalog = Catalog()
    for text in definitions or (PACKETS, HOSTS):
        (statement,) = parse(text)
        catalog.add(statement.definition)  # type: ignore[union-attr]
    extra = {} if rules is None else {"rules": rules}
    planned = {name: plan_query(text, catalog, **extra) for name, text in queries.items()}  # type: ignore[arg-type]
    streams = [StreamSpec(each, format) for each in catalog if isinstance(each, StreamDefinition)]
    used = {name for each in planned.values() for name in each.tables}
    tables = {}
    for each in catalog.tables:
        if each.name in used:
            rows = (pa.array(["10.0.0.1"]), pa.array([owner]))
            tables[each.name] = insert(History.empty(each), rows, EARLIEST)[0]
    plans = {name: each.optimized for name, each in planned.items()}
    pipeline = make_pipeline(
        streams, plans, "integer", "/tmp/none", buckets=buckets, tables=tables, late=late, until_end=until_end
    )
    return record_of(pipeline, planned)


def refused(code: str, act: Callable[[], object]) -> SashError:
    with pytest.raises(SashError) as caught:
        act()
    assert caught.value.code == code, str(caught.value)
    assert caught.value.remedy
    return caught.value


def settled(path: Path, *args: Any, **kwargs: Any) -> None:
    checkpoint = Checkpoint(path)
    try:
        checkpoint.settle(record(*args, **kwargs))
    finally:
        checkpoint.close()


def test_what_a_checkpoint_was_made_with_is_in_it_and_fits_again(tmp_path: Path) -> None:
    settled(tmp_path / "c", {"talkers": TALKERS})
    facts = json.loads((tmp_path / "c" / "sash" / "format.json").read_text())
    assert facts["format"] == FORMAT
    assert facts["sash"] == sash.__version__
    assert facts["buckets"] == 4
    assert facts["queries"]["talkers"]["text"] == TALKERS
    assert facts["streams"]["packets"]["columns"] == {"ts": "BIGINT", "src": "STRING", "bytes": "BIGINT"}
    settled(tmp_path / "c", {"talkers": TALKERS})
    settled(tmp_path / "c", {"talkers": TALKERS.replace(" FROM", "\n  FROM")})  # the same in other lines
    again = Checkpoint(tmp_path / "c")
    assert again.id == facts["id"]
    assert again.is_new
    again.close()


@pytest.mark.parametrize(
    ("code", "words", "changed"),
    [
        ("SASH-SPARK-052", "Query 'talkers' has changed", {"queries": {"talkers": LONGER}}),
        ("SASH-SPARK-052", "Query 'talkers' of the checkpoint is gone", {"queries": {"other": TALKERS}}),
        ("SASH-SPARK-052", "'more' is not in", {"queries": {"talkers": TALKERS, "more": OWNED}}),
        ("SASH-SPARK-053", "was BIGINT and is INT", {"stream": ("bytes BIGINT", "bytes INT")}),
        ("SASH-SPARK-053", "'dst' of stream 'packets' is new", {"stream": ("bytes", "dst INT, bytes")}),
        ("SASH-SPARK-053", "was 2 and is 3", {"stream": ("LATENESS 2", "LATENESS 3")}),
        ("SASH-SPARK-054", "has 4 buckets, and this pipeline would have 7", {"buckets": 7}),
        ("SASH-SPARK-055", "Query 'talkers' has another plan", {"rules": ()}),
    ],
)  # fmt: skip
def test_a_restart_that_does_not_fit_says_what_changed(
    tmp_path: Path, code: str, words: str, changed: dict[str, Any]
) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    queries = changed.pop("queries", {"talkers": TALKERS})
    definitions = (PACKETS.replace(*changed.pop("stream", ("", ""))), HOSTS)
    error = refused(code, lambda: settled(tmp_path, queries, *definitions, **changed))
    assert words in error.message
    settled(tmp_path, {"talkers": TALKERS})  # what was refused left nothing behind


def test_another_reader_of_a_stream_is_refused(tmp_path: Path) -> None:
    def bound(format: str | None, forget: bool = False) -> None:
        made = record({"talkers": TALKERS}, format=format)
        checkpoint = Checkpoint(tmp_path)
        try:
            if forget:
                made = replace(made, streams={n: without_reader(s) for n, s in made.streams.items()})
            checkpoint.settle(made)
        finally:
            checkpoint.close()

    def without_reader(stream: Mapping[str, Any]) -> dict[str, Any]:
        return {fact: value for fact, value in stream.items() if fact not in ("reader", "beside_sash")}

    bound("parquet")
    bound("csv")
    error = refused("SASH-SPARK-053", lambda: bound(None))
    assert "'packets' was read by Sash and would be read by Spark" in error.message
    (tmp_path / "sash" / "format.json").unlink()
    bound(None, forget=True)  # as an earlier version wrote it
    bound("parquet")


def test_time_that_is_told_beside_dataframes_comes_and_goes_with_the_checkpoint(tmp_path: Path) -> None:
    def bound(folder: str, **given: Any) -> None:
        settled(tmp_path / folder, {"talkers": TALKERS}, **given)

    bound("without")
    bound("with", until_end=True)
    bound("folder", format="parquet")
    error = refused("SASH-SPARK-053", lambda: bound("without", until_end=True))
    assert "All streams are DataFrames, and the checkpoint was made without until_end" in error.message
    error = refused("SASH-SPARK-053", lambda: bound("with"))
    assert "the checkpoint was made with one of until_end" in error.message
    bound("folder", format="parquet", until_end=True)


def test_a_table_that_changed_is_refused(tmp_path: Path) -> None:
    settled(tmp_path, {"owned": OWNED})
    settled(tmp_path, {"owned": OWNED})
    error = refused("SASH-SPARK-056", lambda: settled(tmp_path, {"owned": OWNED}, owner="bob"))
    assert "'hosts'" in error.message


def test_a_view_that_changed_is_another_plan(tmp_path: Path) -> None:
    view = "CREATE VIEW big AS SELECT src, bytes FROM packets [RANGE 60] WHERE bytes > 5"
    query = {"big": "SELECT src FROM big"}
    settled(tmp_path, query, PACKETS, view)
    error = refused("SASH-SPARK-055", lambda: settled(tmp_path, query, PACKETS, view.replace("5", "6")))
    assert "a view" in error.message


def test_late_rows_may_go_elsewhere_and_are_kept_from_the_first_batch_on_or_never(tmp_path: Path) -> None:
    settled(tmp_path / "never", {"talkers": TALKERS})
    error = refused("SASH-SPARK-055", lambda: settled(tmp_path / "never", {"talkers": TALKERS}, late="/late"))
    assert "'late'" in error.message
    settled(tmp_path / "always", {"talkers": TALKERS}, late="/late")
    settled(tmp_path / "always", {"talkers": TALKERS}, late="/elsewhere")


def test_another_sash_goes_on_if_it_makes_the_same_plans(tmp_path: Path) -> None:
    old = replace(record({"talkers": TALKERS}), sash="0.0.9")
    checkpoint = Checkpoint(tmp_path)
    checkpoint.settle(old)
    checkpoint.close()
    settled(tmp_path, {"talkers": TALKERS})
    error = refused("SASH-SPARK-055", lambda: settled(tmp_path, {"talkers": TALKERS}, rules=()))
    assert "Sash 0.0.9" in error.message


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    file = tmp_path / "sash" / "format.json"
    file.write_text(json.dumps({"format": FORMAT + 1, "sash": "9.9", "unheard": True}))
    error = refused("SASH-SPARK-051", lambda: Checkpoint(tmp_path))
    assert "9.9" in error.remedy


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"format": 1}', b'{"format": "x"}', b"\xff"]
)
def test_a_damaged_format_file_is_refused(tmp_path: Path, content: bytes) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    (tmp_path / "sash" / "format.json").write_bytes(content)
    refused("SASH-SPARK-050", lambda: Checkpoint(tmp_path))


def test_a_changed_byte_in_the_format_file_is_told(tmp_path: Path) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    file = tmp_path / "sash" / "format.json"
    whole = file.read_bytes()
    assert whole.count(b'"buckets": 4') == 1
    file.write_bytes(whole.replace(b'"buckets": 4', b'"buckets": 5'))
    refused("SASH-SPARK-050", lambda: Checkpoint(tmp_path))
    for place in range(0, len(whole), 7):
        if not whole[place : place + 1].isspace():  # between entries it makes no difference
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            refused("SASH-SPARK-050", lambda: Checkpoint(tmp_path))
    facts = json.loads(whole)
    del facts["checksum"]
    file.write_text(json.dumps(facts))  # as an earlier version wrote it
    settled(tmp_path, {"talkers": TALKERS})


def test_half_a_file_is_damaged_at_every_length(tmp_path: Path) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    file = tmp_path / "sash" / "format.json"
    whole = file.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 20).astype(int):
        file.write_bytes(whole[:length])
        refused("SASH-SPARK-050", lambda: Checkpoint(tmp_path))


def test_two_runs_on_one_checkpoint(tmp_path: Path) -> None:
    held = Checkpoint(tmp_path)
    error = refused("SASH-SPARK-061", lambda: Checkpoint(tmp_path))
    assert "process" in error.message
    held.close()
    Checkpoint(tmp_path).close()


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    script = (
        "import sys, time; from sash.spark.checkpoints.locking import Lock; from pathlib import Path\n"
        f"lock = Lock(Path({str(tmp_path)!r}) / 'lock', 'checkpoint', Path('here'))\n"
        "print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        from sash.spark.checkpoints.locking import Lock

        error = refused("SASH-SPARK-061", lambda: Lock(tmp_path / "lock", "checkpoint", tmp_path))
        assert str(process.pid) in error.message
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    Lock(tmp_path / "lock", "checkpoint", tmp_path).release()


@pytest.mark.parametrize("call", ["ftruncate", "pwrite"])
def test_a_lock_that_cannot_be_written_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    from sash.spark.checkpoints.locking import Lock

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space left"):
            Lock(tmp_path / "lock", "checkpoint", tmp_path)
    Lock(tmp_path / "lock", "checkpoint", tmp_path).release()


def spark_logs(path: Path, offsets: int, commits: int) -> None:
    """What Spark leaves after so many batches."""
    for folder, count, line in (
        ("offsets", offsets, '{"seq": 1}'),
        ("commits", commits, '{"nextBatchWatermarkMs": 0}'),
    ):
        (path / folder).mkdir(exist_ok=True)
        for batch in range(count):
            (path / folder / str(batch)).write_text(
                f"v1\n{line}\n-" if folder == "offsets" else f"v1\n{line}"
            )


def test_logs_of_spark_that_are_whole_are_taken(tmp_path: Path) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    spark_logs(tmp_path, 3, 2)
    checkpoint = Checkpoint(tmp_path)
    assert not checkpoint.is_new
    checkpoint.close()


@pytest.mark.parametrize("file", ["offsets/2", "offsets/1", "commits/1"])
@pytest.mark.parametrize("content", ["", "v1", 'v1\n{"seq"', "x"])
def test_logs_of_spark_that_are_cut_short_are_refused(tmp_path: Path, file: str, content: str) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    spark_logs(tmp_path, 3, 2)
    (tmp_path / file).write_text(content)
    error = refused("SASH-SPARK-060", lambda: Checkpoint(tmp_path))
    assert file in error.message
    Path(tmp_path / "sash" / "lock").unlink()  # and it is not held any more


@pytest.mark.parametrize("content", [b"", b'{"id":"9771', b'{"id":"9771\xff"}', b'["id"]', b"{}"])
def test_metadata_of_spark_that_are_damaged_are_refused(tmp_path: Path, content: bytes) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    spark_logs(tmp_path, 1, 1)
    (tmp_path / "metadata").write_text('{"id":"9771e213-6cd9-4785-83c7-cb4baf74e878"}')
    Checkpoint(tmp_path).close()
    (tmp_path / "metadata").write_bytes(content)
    assert "metadata" in refused("SASH-SPARK-060", lambda: Checkpoint(tmp_path)).message


def test_offsets_that_are_gone_are_told(tmp_path: Path) -> None:
    settled(tmp_path, {"talkers": TALKERS})
    spark_logs(tmp_path, 1, 2)
    error = refused("SASH-SPARK-060", lambda: Checkpoint(tmp_path))
    assert "batch 1 is committed" in error.message


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    spark_logs(tmp_path, 1, 1)
    refused("SASH-SPARK-057", lambda: Checkpoint(tmp_path))


def test_places_that_cannot_be_a_checkpoint(tmp_path: Path) -> None:
    refused("SASH-SPARK-058", lambda: Checkpoint("s3://bucket/here"))
    refused("SASH-SPARK-058", lambda: Checkpoint(""))
    refused("SASH-SESSION-016", lambda: Checkpoint(5))
    (tmp_path / "file").write_text("x")
    refused("SASH-SPARK-059", lambda: Checkpoint(tmp_path / "file"))
    Checkpoint(f"file://{tmp_path}/c").close()
    assert (tmp_path / "c" / "sash").is_dir()


def test_without_a_path_it_is_temporary() -> None:
    checkpoint = Checkpoint()
    assert checkpoint.path.is_dir()
    checkpoint.close()
    assert not checkpoint.path.exists()
    kept = Checkpoint(keep=True)
    kept.close()
    assert kept.path.exists()
