"""The file log: which files, and which rows of them, each step of a pipeline's source took.

A step is one file `<checkpoint>/sash/files/<number>.json`, written once and whole before Spark hears
of it, so that a batch that is run again sees the same files: a folder is never listed again for a
step that is noted. From time to time what all steps saw is gathered in `seen-<number>.json`, and
steps that no batch can ask for any more are deleted.
"""

from __future__ import annotations

__all__ = ["Entry", "FileLog", "Past", "Slice", "Taken", "progress"]

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pyarrow import fs

from sash.errors import SashError
from sash.spark.checkpoints.sealing import open_sealed, sealed
from sash.spark.reading.listing import FoundFile, file_system

_GATHER = 64
"""So many steps, at least, stand alone before they are gathered."""


class Slice(NamedTuple):
    """Rows of a file from `start` to before `stop`, of `rows` in all; None: to the end, not known."""

    path: str
    size: int
    modified: int
    start: int = 0
    stop: int | None = None
    rows: int | None = None

    @property
    def file(self) -> FoundFile:
        """The file, as it was listed."""
        return FoundFile(self.path, self.size, self.modified)

    @property
    def unfinished(self) -> bool:
        """Whether more of the file is to come."""
        return self.stop is not None and self.rows is not None and self.stop < self.rows

    @property
    def taken(self) -> int | None:
        """How many rows these are; None if that is not known before they are read."""
        stop = self.rows if self.stop is None else self.stop
        return None if stop is None else stop - self.start

    @property
    def weight(self) -> int:
        """Its share of the file's bytes."""
        return self.size if not self.rows or self.taken is None else self.size * self.taken // self.rows


@dataclass(frozen=True)
class Entry:
    """One step: the slices by stream, and what was decided about time; `now` is in microseconds."""

    number: int
    now: int
    slices: Mapping[str, Sequence[Slice]] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()
    end: bool = False


@dataclass
class Past:
    """What all steps so far come to: files seen, files cut short, when a stream last had a file."""

    number: int = 0
    now: int = 0
    seen: dict[str, set[str]] = field(default_factory=dict)
    cut: dict[str, Slice] = field(default_factory=dict)
    latest: dict[str, int] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()
    ended: bool = False

    def add(self, entry: Entry) -> None:
        """One step more."""
        self.number, self.now, self.idle, self.ended = entry.number, entry.now, entry.idle, entry.end
        for stream, slices in entry.slices.items():
            if slices:
                self.seen.setdefault(stream, set()).update(one.path for one in slices)
                self.latest[stream] = entry.now
                self.cut.pop(stream, None)
                if slices[-1].unfinished:
                    self.cut[stream] = slices[-1]


class Taken(NamedTuple):
    """What steps took of a stream: files, their bytes, and rows as far as they are known beforehand."""

    files: int
    bytes: int
    rows: int | None


_Parsed = TypeVar("_Parsed", Entry, Past)


class FileLog:
    """The log of one pipeline; it is read once and then kept in step."""

    def __init__(self, checkpoint: str) -> None:
        self._where, root = file_system(checkpoint)
        self._folder = f"{root.rstrip('/')}/sash/files"
        self._entries: dict[int, Entry] = {}
        self._gathered = 0
        self._oldest = 1
        self.past = self._load()

    def entry(self, number: int) -> Entry:
        """A step that is noted."""
        if number not in self._entries:
            self._entries[number] = self._read(number, f"{number}.json", _entry)
        return self._entries[number]

    def append(self, entry: Entry) -> None:
        """Note the next step."""
        assert entry.number == self.past.number + 1, "steps are noted once and in order"
        self._write(f"{entry.number}.json", _entry_to_json(entry))
        self._entries[entry.number] = entry
        self.past.add(entry)

    def clean(self, done: int, retain: int) -> None:
        """Gather what is seen and delete old steps; batches up to step `done` are through."""
        for number in [number for number in self._entries if number <= done]:
            del self._entries[number]
        due = max(_GATHER, sum(map(len, self.past.seen.values())) // 100)
        if self.past.number - self._gathered < due:
            return
        before, self._gathered = self._gathered, self.past.number
        self._write(f"seen-{self._gathered}.json", _past_to_json(self.past))
        keep = min(self._gathered, done - retain) + 1
        for number in range(self._oldest, keep):
            self._delete(f"{number}.json")
        self._oldest = max(self._oldest, keep)
        if before:
            self._delete(f"seen-{before}.json")

    def _load(self) -> Past:
        self._where.create_dir(self._folder, recursive=True)
        names = [info.base_name for info in self._where.get_file_info(fs.FileSelector(self._folder))]
        numbers = sorted(int(name[:-5]) for name in names if name[:-5].isdigit())
        gathered = [int(name[5:-5]) for name in names if name.startswith("seen-") and name.endswith(".json")]
        self._gathered = max(gathered, default=0)
        self._oldest = min(numbers, default=self._gathered + 1)
        past = self._read(self._gathered, f"seen-{self._gathered}.json", _past) if gathered else Past()
        for number in (number for number in numbers if number > self._gathered):
            if number != past.number + 1:
                raise self._damaged(f"{past.number + 1}.json", "it is missing")
            past.add(self.entry(number))
        self._entries.clear()
        return past

    def _read(self, number: int, name: str, parse: Callable[[dict[str, Any]], _Parsed]) -> _Parsed:
        try:
            with self._where.open_input_stream(f"{self._folder}/{name}") as source:
                content = open_sealed(source.read())
        except FileNotFoundError:
            raise self._damaged(name, "it is missing") from None
        except (OSError, ValueError) as error:
            raise self._damaged(name, str(error)) from error
        if content.get("version") != 1:
            raise self._damaged(name, "it is not in a form that this Sash knows")
        try:
            parsed = parse(content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._damaged(name, "a part of it is missing or is none of a file log") from error
        if parsed.number != number:
            raise self._damaged(name, f"it is that of step {parsed.number}")
        return parsed

    def _write(self, name: str, content: dict[str, Any]) -> None:
        """Under another name first, so that it is there whole or not at all."""
        unfinished = f"{self._folder}/.{name}.{uuid.uuid4().hex}"
        try:
            with self._where.open_output_stream(unfinished) as sink:
                sink.write(sealed({"version": 1, **content}))
            self._where.move(unfinished, f"{self._folder}/{name}")
        except OSError as error:
            self._delete(unfinished.rpartition("/")[2])
            raise SashError(
                "SASH-SOURCE-011",
                f"The file log '{self._folder}' cannot be written: {error.strerror or error}.",
                remedy="Make room or mend the permissions and start again; nothing is lost.",
            ) from error

    def _delete(self, name: str) -> None:
        try:
            self._where.delete_file(f"{self._folder}/{name}")
        except FileNotFoundError:
            pass
        except OSError:  # what stays behind is small and harms nobody
            pass

    def _damaged(self, name: str, why: str) -> SashError:
        return SashError(
            "SASH-SOURCE-010",
            f"The file log of the checkpoint is damaged at '{self._folder}/{name}': {why}.",
            remedy="Restore the checkpoint from a copy, or start with a new one.",
        )


def progress(checkpoint: str, start: int, end: int) -> dict[str, Taken]:
    """What the steps after `start` up to `end` took, by stream; rows are None if they are not known."""
    log = FileLog(checkpoint)
    taken: dict[str, Taken] = {}
    for number in range(start + 1, end + 1):
        for stream, slices in log.entry(number).slices.items():
            files, size, rows = taken.get(stream, Taken(0, 0, 0))
            own = [one.taken for one in slices]
            known = None if rows is None or None in own else rows + sum(n for n in own if n is not None)
            taken[stream] = Taken(files + len(slices), size + sum(one.weight for one in slices), known)
    return taken


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    slices = {stream: [list(one) for one in some] for stream, some in entry.slices.items()}
    return {
        "number": entry.number, "now": entry.now, "slices": slices, "idle": sorted(entry.idle),
        "end": entry.end,
    }  # fmt: skip


def _entry(content: dict[str, Any]) -> Entry:
    slices = {stream: [Slice(*one) for one in some] for stream, some in content["slices"].items()}
    return Entry(content["number"], content["now"], slices, frozenset(content["idle"]), content["end"])


def _past_to_json(past: Past) -> dict[str, Any]:
    return {
        "number": past.number, "now": past.now, "latest": past.latest, "idle": sorted(past.idle),
        "seen": {stream: sorted(paths) for stream, paths in past.seen.items()},
        "cut": {stream: list(one) for stream, one in past.cut.items()}, "ended": past.ended,
    }  # fmt: skip


def _past(content: dict[str, Any]) -> Past:
    return Past(
        content["number"],
        content["now"],
        {stream: set(paths) for stream, paths in content["seen"].items()},
        {stream: Slice(*one) for stream, one in content["cut"].items()},
        content["latest"],
        frozenset(content["idle"]),
        content["ended"],
    )
