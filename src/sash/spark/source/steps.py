"""The next step of a pipeline's source: which new files, how much of them, and what time it is.

Limits per trigger hold per stream: files, rows, bytes. A Parquet file beyond them is cut, where a row
group ends if that will do, else anywhere. Decisions that depend on the clock (a stream that is idle,
a heartbeat, the end of a run) are made here, on the driver, and noted with the step.
"""

from __future__ import annotations

__all__ = ["Limits", "Steps", "StreamFiles"]

import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sash.spark.reading.listing import FoundFile, changed_at, find
from sash.spark.reading.reading import Inspection, Reading
from sash.spark.source.files import Entry, FileLog, Slice

_FRESH = 1_000_000_000
"""Nanoseconds for which a listing is good enough while files wait."""


@dataclass(frozen=True)
class Limits:
    """How much one step may take; None means no limit."""

    files: int | None = None
    rows: int | None = None
    bytes: int | None = None

    def within(self, other: Limits) -> Limits:
        """The tighter of both, limit by limit."""
        return Limits(
            _least(self.files, other.files), _least(self.rows, other.rows), _least(self.bytes, other.bytes)
        )

    def less(self, one: Slice, lines: int | None = None) -> Limits:
        """What is left after a slice; `lines` stand for rows that are not known."""
        rows = (lines or 0) if one.taken is None else one.taken
        return Limits(_left(self.files, 1), _left(self.rows, rows), _left(self.bytes, one.weight))


class StreamFiles:
    """The files of one stream that wait, and the one of which a part is taken."""

    def __init__(self, reading: Reading, seen: set[str], cut: Slice | None) -> None:
        self.reading = reading
        self.limits = Limits(reading.options.max_files, reading.options.max_rows, reading.options.max_bytes)
        self._seen = seen
        self._cut = cut
        self._waiting: list[FoundFile] = []
        self._looked = 0
        self._as_of: int | None = None
        self._inspected: dict[FoundFile, Inspection] = {}

    @property
    def waits(self) -> bool:
        """Whether there is something to read."""
        return bool(self._waiting) or self._cut is not None

    def look(self) -> None:
        """List the folder, if what waits is not fresh and enough; what is new waits behind what is older."""
        now = time.time_ns()
        if self._waiting and 0 <= now - self._looked < _FRESH:
            return
        as_of = changed_at(self.reading.options)
        # A clock that ticks slowly may give one time to two changes, hence the distance.
        if as_of is not None and as_of == self._as_of and self._looked - as_of > _FRESH:
            return
        found = find(self.reading.options, self._seen)
        self._waiting = [file for file in found if file.size]  # of others the writer has only begun
        self._looked, self._as_of = now, None if found else as_of

    def take(self, limits: Limits) -> list[Slice]:
        """The slices of the next step."""
        taken: list[Slice] = []
        for file, start in self._in_order():
            inspection = self._inspect(file, start)
            if inspection is None:
                continue
            if (one := _fitting(file, start, inspection, limits, bool(taken))) is None:
                break
            taken.append(one)
            limits = limits.less(one, inspection.lines)
            if one.unfinished:
                break
        self._forget(taken)
        return taken

    def _in_order(self) -> Iterator[tuple[FoundFile, int]]:
        if self._cut is not None and self._cut.stop is not None:
            yield self._cut.file, self._cut.stop
        yield from ((file, 0) for file in self._waiting)

    def _inspect(self, file: FoundFile, start: int) -> Inspection | None:
        if file not in self._inspected:
            inspection = self.reading.inspect(file)
            if inspection is None and start:  # part of it is read: that the rest is lost must be told
                assert self._cut is not None
                inspection = Inspection(self._cut.rows)
            if inspection is None:
                self._waiting = [other for other in self._waiting if other is not file]
                return None
            self._inspected[file] = inspection
        return self._inspected[file]

    def _forget(self, taken: Sequence[Slice]) -> None:
        if not taken:
            return
        paths = {one.path for one in taken}
        self._seen |= paths
        self._waiting = [file for file in self._waiting if file.path not in paths]
        self._cut = taken[-1] if taken[-1].unfinished else None
        last = self._cut.file if self._cut else None
        self._inspected = {file: known for file, known in self._inspected.items() if file == last}


class Steps:
    """Makes the steps of a pipeline's source, one after the other."""

    def __init__(
        self,
        readings: Mapping[str, Reading],
        log: FileLog,
        until_end: bool = False,
        idle_timeout: float | None = None,
        heartbeat: float | None = None,
        end_file: str | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._log = log
        self._streams = {
            name: StreamFiles(reading, set(log.past.seen.get(name, ())), log.past.cut.get(name))
            for name, reading in readings.items()
        }
        self._until_end = until_end
        self._idle_timeout = idle_timeout
        self._heartbeat = heartbeat
        self._end_file = end_file
        self._clock = clock
        self._began = clock()
        self._closed = False
        self._end: int | None = None
        """The step with which this run moved time to its end."""

    def close(self) -> None:
        """Take what is there now and nothing that comes later."""
        self._look()
        self._closed = True

    def next(self, unlimited: bool = False, overall: Limits | None = None) -> Entry | None:
        """Note the next step; None if there is nothing to do."""
        if not self._closed:
            self._look()
            self._closed = self._until_end
        now = max(self._clock(), self._log.past.now)
        slices: dict[str, list[Slice]] = {}
        left = overall or Limits()
        for name, stream in self._streams.items():
            if own := stream.take(left if unlimited else stream.limits.within(left)):
                slices[name] = own
                left = functools.reduce(Limits.less, own, left)
        entry = self._decided(slices, now)
        if entry is not None:
            self._log.append(entry)
        return entry

    def _look(self) -> None:
        for stream in self._streams.values():
            stream.look()

    def _decided(self, slices: Mapping[str, Sequence[Slice]], now: int) -> Entry | None:
        past = self._log.past
        idle = self._idle(slices, now)
        entry = Entry(past.number + 1, now, slices, idle)
        if slices:
            return entry
        if self._until_end:
            if any(stream.waits for stream in self._streams.values()) or self._is_at_the_end():
                return None
            self._end = entry.number
            return replace(entry, end=True)
        if self._closed:
            return None
        beats = self._heartbeat is not None and now - max(past.now, self._began) >= self._heartbeat * 1e6
        return entry if beats or idle - past.idle else None

    def _is_at_the_end(self) -> bool:
        """Whether time has come to its end, or may not yet. What other sources gave since an earlier run
        moved it there is not in the log, so with such sources each run does so once."""
        past = self._log.past
        if self._end_file is None:
            return past.ended
        return past.number == self._end or not os.path.exists(self._end_file)

    def _idle(self, slices: Mapping[str, Sequence[Slice]], now: int) -> frozenset[str]:
        """Streams without a file for longer than the timeout; one stays idle until it has a file again."""
        quiet = {name for name, stream in self._streams.items() if name not in slices and not stream.waits}
        if self._idle_timeout is None or self._until_end:
            return frozenset()
        latest = self._log.past.latest
        return frozenset(
            name
            for name in quiet
            if name in self._log.past.idle
            or now - max(latest.get(name, 0), self._began) >= self._idle_timeout * 1e6
        )


def _fitting(file: FoundFile, start: int, known: Inspection, left: Limits, begun: bool) -> Slice | None:
    """As much of a file as fits into what is left; None if none of it does. The first always gives some."""
    whole = Slice(*file, start, known.rows, known.rows)
    if left.files == 0:
        return None
    if known.rows is None:
        lines = known.lines or 0
        fits = (left.bytes is None or file.size <= left.bytes) and (left.rows is None or lines <= left.rows)
        return whole if fits or not begun else None
    room = _least(left.rows, None if left.bytes is None else left.bytes * known.rows // max(file.size, 1))
    if room is None or known.rows - start <= room:
        return whole
    cut = max((end for end in known.cuts if start < end <= start + room), default=None)
    if cut is None and begun:
        return None
    return whole._replace(stop=cut or start + max(room, 1))


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(limit - used, 0)
