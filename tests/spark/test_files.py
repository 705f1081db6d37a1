"""Finding files, taking them in steps, and the log that remembers what was taken."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.spark.reading import listing
from sash.spark.reading.listing import find
from sash.spark.reading.read_options import read_options
from sash.spark.reading.reading import Reading
from sash.spark.source import steps
from sash.spark.source.files import Entry, FileLog, Slice, Taken, progress
from sash.spark.source.steps import Limits, Steps

STREAM = StreamDefinition("s", (Field("ts", pa.int64()),), 0)


def put(folder: Path, name: str, rows: int = 10, *, at: int = 1, group: int = 1000) -> Path:
    """A Parquet file of so many rows, modified at a second of our choice."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"ts": range(rows)}), path, row_group_size=group)
    os.utime(path, (at, at))
    return path


def names(folder: Path, seen: set[str] | None = None, path: str | None = None, **options: str) -> list[str]:
    found = find(read_options("parquet", {"path": path or str(folder), **options}), seen or set())
    return [str(Path(file.path).relative_to(folder)) for file in found]


class Source:
    """Steps over folders, with a clock that is moved by hand."""

    def __init__(
        self, tmp_path: Path, streams: dict[str, dict[str, str]] | None = None, **settings: Any
    ) -> None:
        self.now = 1_000_000_000
        self.tmp_path = tmp_path
        readings = {
            name: Reading.of(STREAM, "parquet", {"path": str(tmp_path / name), **options})
            for name, options in (streams or {"s": {}}).items()
        }
        for name in readings:
            (tmp_path / name).mkdir(exist_ok=True)
        self.log = FileLog(str(tmp_path / "checkpoint"))
        self.steps = Steps(readings, self.log, clock=lambda: self.now, **settings)

    def step(self, **arguments: Any) -> Any:
        """The next step in short: by stream (file, start, stop)."""
        entry = self.steps.next(**arguments)
        if entry is None:
            return None
        return {
            name: [(Path(one.path).name, one.start, one.stop) for one in slices]
            for name, slices in entry.slices.items()
        }


class TestListing:
    def test_in_order_of_time_then_name_without_hidden_files(self, tmp_path: Path) -> None:
        for name, at in [("b", 2), ("c", 1), ("a", 2), ("_x", 1), (".y", 1)]:
            put(tmp_path, name, at=at)
        assert names(tmp_path) == ["c", "a", "b"]

    def test_only_what_is_new(self, tmp_path: Path) -> None:
        seen = {str(put(tmp_path, "a"))}
        put(tmp_path, "b")
        assert names(tmp_path, seen) == ["b"]

    def test_folders_below(self, tmp_path: Path) -> None:
        put(tmp_path, "a")
        put(tmp_path, "x/b")
        put(tmp_path, "x/y/c")
        put(tmp_path, "x/_temporary/d")
        assert names(tmp_path) == ["a"]
        assert names(tmp_path, recursiveFileLookup="true") == ["a", "x/b", "x/y/c"]

    def test_names_that_match(self, tmp_path: Path) -> None:
        for name in ("a.parquet", "b.crc", "x1/c.parquet", "x2/d.parquet", "y/e.parquet"):
            put(tmp_path, name)
        assert names(tmp_path, pathGlobFilter="*.parquet") == ["a.parquet"]
        assert names(tmp_path, path=f"{tmp_path}/x*") == ["x1/c.parquet", "x2/d.parquet"]
        assert names(tmp_path, path=f"{tmp_path}/x?/[cd].*") == ["x1/c.parquet", "x2/d.parquet"]
        assert names(tmp_path, path=f"{tmp_path}/z*") == []

    def test_what_is_no_file_is_passed_over(self, tmp_path: Path) -> None:
        put(tmp_path, "x/a.csv")
        (tmp_path / "x" / "dangling.csv").symlink_to("/nowhere/at/all")
        (tmp_path / "x" / "circle.csv").symlink_to("circle.csv")
        (tmp_path / "x" / "up.csv").symlink_to(tmp_path)
        os.mkfifo(tmp_path / "x" / "pipe.csv")
        assert names(tmp_path, path=f"{tmp_path}/x") == ["x/a.csv"]
        assert names(tmp_path, path=f"{tmp_path}/x/*.csv") == ["x/a.csv"]
        assert names(tmp_path, path=f"{tmp_path}/x/[!u]*.csv/*") == []
        assert names(tmp_path, recursiveFileLookup="true") == ["x/a.csv"]
        (tmp_path / "y").mkdir()
        (tmp_path / "y" / "x").symlink_to("../x")  # a link that leads elsewhere is followed
        assert names(tmp_path, path=f"{tmp_path}/y", recursiveFileLookup="true") == ["y/x/a.csv"]

    @pytest.mark.parametrize("path", ["{}/*.csv", "{}/x*/*", "{}/x*", "{}"])
    @pytest.mark.parametrize("gone", ["x1/a.csv", "x1"])
    def test_what_goes_while_it_is_listed_is_passed_over(
        self, path: str, gone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a.csv", "b.csv", "x1/a.csv", "x2/b.csv"):
            put(tmp_path, name)
        scan = os.scandir

        def listed_and_gone(folder: str) -> Any:
            with scan(folder) as entries:
                found = list(entries)
            for each in ("a.csv", gone):
                shutil.rmtree(tmp_path / each, ignore_errors=True)
                (tmp_path / each).unlink(missing_ok=True)
            return nullcontext(iter(found))

        monkeypatch.setattr(listing, "os", SimpleNamespace(**vars(os) | {"scandir": listed_and_gone}))
        found = names(tmp_path, path=path.format(tmp_path), recursiveFileLookup="true")
        assert found == {"{}/*.csv": ["b.csv"], "{}": ["b.csv", "x2/b.csv"]}.get(path, ["x2/b.csv"])

    def test_a_seen_file_of_a_glob_is_not_looked_at(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = {str(put(tmp_path, "a"))}
        monkeypatch.setattr(listing, "_info", lambda *_: pytest.fail("it was looked at"))
        assert names(tmp_path, seen, path=f"{tmp_path}/*") == []

    def test_a_sink_that_begins_to_write_there_is_told_of(self, tmp_path: Path) -> None:
        put(tmp_path, "a")
        (tmp_path / "_spark_metadata").mkdir()
        with pytest.raises(SashError, match=r"SASH-SOURCE-012.*never commits.*new checkpoint"):
            names(tmp_path)

    def test_a_single_file_and_an_address(self, tmp_path: Path) -> None:
        path = put(tmp_path, "a")
        assert names(tmp_path, path=str(path)) == ["a"]
        assert names(tmp_path, path=f"file://{tmp_path}") == ["a"]
        assert names(tmp_path, path=f"file:{tmp_path}") == ["a"]

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(SashError, match=r"SASH-SOURCE-008: There is no folder .*gone"):
            names(tmp_path, path=f"{tmp_path}/gone")

    def test_a_partitioned_folder(self, tmp_path: Path) -> None:
        put(tmp_path, "day=1/a")
        with pytest.raises(SashError, match=r"SASH-SOURCE-008.*'day=1' is a folder.*recursiveFileLookup"):
            names(tmp_path)
        assert names(tmp_path, recursiveFileLookup="true") == ["day=1/a"]


class TestSteps:
    def test_every_file_once(self, tmp_path: Path) -> None:
        source = Source(tmp_path)
        assert source.step() is None
        put(tmp_path / "s", "a", 10)
        put(tmp_path / "s", "b", 20)
        assert source.step() == {"s": [("a", 0, 10), ("b", 0, 20)]}
        assert source.step() is None
        put(tmp_path / "s", "c", 30)
        assert Source(tmp_path).step() == {"s": [("c", 0, 30)]}

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"maxFilesPerTrigger": "2"}, [[("a", 0, 10), ("b", 0, 10)], [("c", 0, 10)]]),
            ({"maxRowsPerTrigger": "25"}, [[("a", 0, 10), ("b", 0, 10)], [("c", 0, 10)]]),
            ({"rows_per_trigger": "30"}, [[("a", 0, 10), ("b", 0, 10), ("c", 0, 10)]]),
            ({"maxBytesPerTrigger": "1"}, [[(n, i, i + 1)] for n in "abc" for i in range(10)]),
        ],
    )
    def test_limits(self, options: dict[str, str], expected: list[Any], tmp_path: Path) -> None:
        for name in "abc":
            put(tmp_path / "s", name)
        source = Source(tmp_path, {"s": options})
        assert [source.step() for _ in expected] == [{"s": step} for step in expected]
        assert source.step() is None

    def test_a_large_file_is_cut_at_row_groups_first(self, tmp_path: Path) -> None:
        put(tmp_path / "s", "a", 30, at=1)
        put(tmp_path / "s", "b", 100, at=2, group=40)
        put(tmp_path / "s", "c", 250, at=3, group=250)
        source = Source(tmp_path, {"s": {"maxRowsPerTrigger": "100"}})
        steps = [source.step()["s"] for _ in range(5)]
        assert steps == [
            [("a", 0, 30), ("b", 0, 40)],
            [("b", 40, 100)],
            [("c", 0, 100)],
            [("c", 100, 200)],
            [("c", 200, 250)],
        ]

    def test_a_cut_file_goes_on_after_a_restart(self, tmp_path: Path) -> None:
        put(tmp_path / "s", "a", 10)
        limits = {"s": {"maxRowsPerTrigger": "4"}}
        assert Source(tmp_path, limits).step() == {"s": [("a", 0, 4)]}
        assert Source(tmp_path, limits).step() == {"s": [("a", 4, 8)]}
        assert Source(tmp_path, limits).step() == {"s": [("a", 8, 10)]}
        assert Source(tmp_path, limits).step() is None

    def test_text_files_count_by_lines_and_are_not_cut(self, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path / "checkpoint"))
        for name in "abc":
            (tmp_path / name).write_text("1\n" * 6)
        options = {"path": f"{tmp_path}/?", "maxRowsPerTrigger": "12"}
        lines = Steps({"s": Reading.of(STREAM, "csv", options)}, log)
        taken = [[Path(one.path).name for one in entry.slices["s"]] for entry in (lines.next(), lines.next())]
        assert taken == [["a", "b"], ["c"]]

    def test_limits_of_spark_and_none(self, tmp_path: Path) -> None:
        streams = {"s": {"maxFilesPerTrigger": "1"}, "t": {}}
        for stream in streams:
            for name in "abc":
                put(tmp_path / stream, name)
        source = Source(tmp_path, streams)
        assert source.step(overall=Limits(files=2)) == {"s": [("a", 0, 10)], "t": [("a", 0, 10)]}
        assert {n: len(some) for n, some in source.step(unlimited=True).items()} == {"s": 2, "t": 2}

    def test_a_file_that_vanishes_before_it_is_taken_is_not_missed(self, tmp_path: Path) -> None:
        source = Source(tmp_path, {"s": {"maxFilesPerTrigger": "1"}}, until_end=True)
        for name in "abc":
            put(tmp_path / "s", name)
        assert source.step() == {"s": [("a", 0, 10)]}
        (tmp_path / "s" / "b").unlink()
        assert source.step() == {"s": [("c", 0, 10)]}

    def test_a_file_that_cannot_be_read_is_not_noted(self, tmp_path: Path) -> None:
        put(tmp_path / "s", "a")
        (tmp_path / "s" / "b").write_text("no parquet")
        source = Source(tmp_path)
        with pytest.raises(SashError, match="SASH-SOURCE-007"):
            source.step()
        (tmp_path / "s" / "b").unlink()
        assert Source(tmp_path).step() == {"s": [("a", 0, 10)]}

    def test_a_file_without_bytes_is_not_ready(self, tmp_path: Path) -> None:
        source = Source(tmp_path)
        (tmp_path / "s" / "a").touch()
        os.utime(tmp_path / "s", (1, 1))
        assert source.step() is None
        put(tmp_path / "s", "a")
        os.utime(tmp_path / "s", (1, 1))
        assert source.step() == {"s": [("a", 0, 10)]}

    def test_a_folder_that_has_not_changed_is_not_listed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = Source(tmp_path)
        os.utime(tmp_path / "s", (1, 1))
        assert source.step() is None
        with monkeypatch.context() as patch:
            patch.setattr(steps, "find", lambda *_: pytest.fail("listed in vain"))
            assert source.step() is None
        put(tmp_path / "s", "a")
        assert source.step() == {"s": [("a", 0, 10)]}

    def test_files_without_rows(self, tmp_path: Path) -> None:
        put(tmp_path / "s", "a", 0)
        source = Source(tmp_path, {"s": {"maxRowsPerTrigger": "5"}})
        assert source.step() == {"s": [("a", 0, 0)]}
        assert source.step() is None


class TestTime:
    def test_until_end_reads_what_is_there_then_ends(self, tmp_path: Path) -> None:
        put(tmp_path / "s", "a")
        put(tmp_path / "s", "b")
        source = Source(tmp_path, {"s": {"maxFilesPerTrigger": "1"}}, until_end=True)
        assert source.step() == {"s": [("a", 0, 10)]}
        put(tmp_path / "s", "c")
        assert source.step() == {"s": [("b", 0, 10)]}
        assert source.step() == {}
        assert source.log.entry(3).end
        assert source.step() is None
        again = Source(tmp_path, until_end=True)
        assert again.step() == {"s": [("c", 0, 10)]}
        assert again.step() == {}
        assert Source(tmp_path, until_end=True).step() is None

    def test_until_end_without_files_ends(self, tmp_path: Path) -> None:
        source = Source(tmp_path, until_end=True)
        assert source.step() == {}
        assert source.step() is None

    def test_beside_other_sources_each_run_ends_when_they_are_through(self, tmp_path: Path) -> None:
        end = tmp_path / "end"
        for _ in range(2):
            source = Source(tmp_path, until_end=True, end_file=str(end))
            assert source.step() is None
            end.touch()
            assert source.step() == {}
            assert source.log.entry(source.log.past.number).end
            assert source.step() is None
            end.unlink()

    def test_what_is_there_now(self, tmp_path: Path) -> None:
        put(tmp_path / "s", "a")
        source = Source(tmp_path, heartbeat=1)
        source.steps.close()
        put(tmp_path / "s", "b")
        assert source.step() == {"s": [("a", 0, 10)]}
        source.now += 10_000_000
        assert source.step() is None

    def test_heartbeats(self, tmp_path: Path) -> None:
        source = Source(tmp_path, heartbeat=2)
        assert source.step() is None
        source.now += 2_000_000
        assert source.step() == {}
        assert source.log.entry(1).now == source.now
        source.now += 1_999_999
        assert source.step() is None
        source.now += 1
        assert source.step() == {}

    def test_idle_streams(self, tmp_path: Path) -> None:
        source = Source(tmp_path, {"s": {}, "t": {}}, idle_timeout=5)
        put(tmp_path / "s", "a")
        source.step()
        assert source.log.past.idle == frozenset()
        source.now += 5_000_000
        put(tmp_path / "s", "b")
        assert source.step() == {"s": [("b", 0, 10)]}
        assert source.log.past.idle == {"t"}
        source.now += 5_000_000
        assert source.step() == {}, "that a stream falls idle is news"
        assert source.log.past.idle == {"s", "t"}
        source.now += 5_000_000
        assert source.step() is None
        again = Source(tmp_path, {"s": {}, "t": {}}, idle_timeout=5)
        put(tmp_path / "t", "c")
        assert again.step() == {"t": [("c", 0, 10)]}
        assert again.log.past.idle == {"s"}, "it stays idle until it has a file"

    def test_time_never_goes_back(self, tmp_path: Path) -> None:
        source = Source(tmp_path)
        put(tmp_path / "s", "a")
        source.step()
        source.now -= 5
        put(tmp_path / "s", "b")
        source.step()
        assert source.log.entry(2).now == source.log.entry(1).now


_OTHER = '{"version": 1, "number": 1, "now": 1, "slices": {"s": [1]}, "idle": [], "end": false}'


class TestLog:
    def test_a_step_comes_back_as_it_was(self, tmp_path: Path) -> None:
        entry = Entry(1, 5, {"s": [Slice("/a", 10, 7, 0, 4, 9), Slice("/b", 1, 2)]}, frozenset({"t"}), True)
        FileLog(str(tmp_path)).append(entry)
        log = FileLog(f"file:{tmp_path}")
        assert log.entry(1) == entry
        assert log.past.seen == {"s": {"/a", "/b"}}
        assert (log.past.ended, log.past.idle) == (True, {"t"})

    def test_gathering_keeps_what_was_seen_and_the_last_steps(self, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path))
        for number in range(1, 201):
            log.append(Entry(number, number, {"s": [Slice(f"/{number}", 1, 1, 0, 1, 2)]}))
            log.clean(number - 1, 100)
        kept = {path.name for path in (tmp_path / "sash" / "files").iterdir()}
        assert kept == {"seen-192.json", *(f"{n}.json" for n in range(92, 201))}
        again = FileLog(str(tmp_path))
        assert again.past == log.past
        assert again.past.cut["s"].path == "/200"
        assert again.entry(120).slices["s"][0].path == "/120"
        again.clean(200, 100)
        again.append(Entry(201, 201))
        assert FileLog(str(tmp_path)).past.number == 201

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2}', '{"version": 1}', _OTHER])
    def test_a_damaged_step(self, content: str, tmp_path: Path) -> None:
        FileLog(str(tmp_path)).append(Entry(1, 1))
        (tmp_path / "sash" / "files" / "1.json").write_text(content)
        with pytest.raises(SashError, match=r"SASH-SOURCE-010.*1\.json"):
            FileLog(str(tmp_path))

    @pytest.mark.parametrize("name", ["1.json", "seen-64.json"])
    def test_a_changed_byte(self, name: str, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path))
        for number in range(1, 65 if "seen" in name else 2):
            log.append(Entry(number, number, {"s": [Slice(f"/{number}", 1, 1, 0, 1, 2)]}))
        log.clean(log.past.number, 100)
        file, past = tmp_path / "sash" / "files" / name, log.past
        whole, codes = file.read_bytes(), set()
        for place in range(len(whole)):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            try:
                assert FileLog(str(tmp_path)).past == past  # of the checksum's own name, that is
                assert b'"checksum"' not in file.read_bytes()
            except SashError as error:
                codes.add(error.code)
        assert codes == {"SASH-SOURCE-010"}

    def test_a_step_in_place_of_another(self, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path))
        for number in (1, 2):
            log.append(Entry(number, 1, {"s": [Slice(f"/{number}", 1, 1)]}))
        folder = tmp_path / "sash" / "files"
        shutil.copy(folder / "1.json", folder / "2.json")
        with pytest.raises(SashError, match=r"SASH-SOURCE-010.*2\.json': it is that of step 1"):
            FileLog(str(tmp_path))

    def test_a_step_without_a_checksum_is_an_earlier_version_s(self, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path))
        log.append(Entry(1, 1, {"s": [Slice("/a", 100, 1)]}))
        file = tmp_path / "sash" / "files" / "1.json"
        content = json.loads(file.read_text())
        assert content.pop("checksum")
        file.write_text(json.dumps(content))
        assert FileLog(str(tmp_path)).past == log.past

    def test_a_lost_step(self, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path))
        for number in (1, 2, 3):
            log.append(Entry(number, 1))
        (tmp_path / "sash" / "files" / "2.json").unlink()
        with pytest.raises(SashError, match=r"SASH-SOURCE-010.*2\.json': it is missing"):
            FileLog(str(tmp_path))

    def test_what_a_crash_leaves_behind_is_ignored(self, tmp_path: Path) -> None:
        FileLog(str(tmp_path)).append(Entry(1, 1))
        (tmp_path / "sash" / "files" / ".2.json.abc").write_text("{")
        assert FileLog(str(tmp_path)).past.number == 1

    def test_a_full_disk(self, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path))
        log._folder = "/dev/full/x"
        with pytest.raises(SashError, match=r"SASH-SOURCE-011.*cannot be written"):
            log.append(Entry(1, 1))

    def test_progress(self, tmp_path: Path) -> None:
        log = FileLog(str(tmp_path))
        log.append(Entry(1, 1, {"s": [Slice("/a", 100, 1, 0, 5, 10)]}))
        log.append(Entry(2, 1, {"s": [Slice("/a", 100, 1, 5, 10, 10)], "t": [Slice("/b", 7, 1)]}))
        assert progress(str(tmp_path), 0, 1) == {"s": Taken(1, 50, 5)}
        assert progress(str(tmp_path), 0, 2) == {"s": Taken(2, 100, 10), "t": Taken(1, 7, None)}

    def test_the_log_is_plain_json(self, tmp_path: Path) -> None:
        FileLog(str(tmp_path)).append(Entry(1, 1, {"s": [Slice("/a", 100, 1)]}))
        content = json.loads((tmp_path / "sash" / "files" / "1.json").read_text())
        assert content["slices"] == {"s": [["/a", 100, 1, 0, None, None]]}
