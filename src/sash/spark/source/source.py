"""Spark's data source `sash`: all folder streams of one pipeline, read and packed.

Spark starts a process for each thing it asks of a source, so that what is imported here is kept small.

Offsets are numbers of steps in the file log (`files.py`); `steps.py` makes them on the driver. A task
reads a run of slices that follow each other, so that rows arrive in the order of their files, and
gives packs for all buckets, which carry the time of the batch even where there are no rows.
"""

from __future__ import annotations

__all__ = ["SashSource", "SashStreamReader", "SourcePartition", "pack_option", "spread"]

import base64
import functools
import pickle
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from sash.errors import SashError
from sash.spark.buckets.workers import settle
from sash.spark.failures import telling

if TYPE_CHECKING:
    import pyarrow as pa

    from sash.spark.buckets.packing import Packer
    from sash.spark.buckets.packs import Control
    from sash.spark.pipelines.pipeline import Pipeline
    from sash.spark.reading.reading import Reading
    from sash.spark.source.files import Entry, FileLog, Slice
    from sash.spark.source.steps import Limits, Steps

Part = tuple[str, "Slice"]

_LARGEST = 3 << 29
"""Bytes that one batch of packs may hold: a binary column of Arrow ends at 2 GiB."""

_WORTH_CUTTING = 10_000
"""Rows: smaller slices are not divided among tasks."""

_NO_LIMIT_OF_ITS_OWN = 2**31 - 1


def pack_option(pipeline: Pipeline) -> str:
    """A pipeline as the text of the source's option `pipeline`."""
    return base64.b64encode(zlib.compress(pickle.dumps(pipeline), 1)).decode("ascii")


@functools.lru_cache(maxsize=8)
def _unpacked(text: str) -> Pipeline:
    from sash.spark.pipelines.pipeline import Pipeline

    pipeline = pickle.loads(zlib.decompress(base64.b64decode(text)))
    assert isinstance(pipeline, Pipeline)
    return pipeline


@functools.lru_cache(maxsize=8)
def _readings(text: str) -> dict[str, Reading]:
    from sash.spark.reading.reading import Reading

    pipeline = _unpacked(text)
    return {
        spec.definition.name: Reading.of(
            spec.definition, spec.format, spec.options, pipeline.columns(spec.definition.name)
        )
        for spec in pipeline.streams
        if spec.format is not None
    }


@functools.lru_cache(maxsize=8)
def _packer(text: str) -> Packer:
    from sash.spark.buckets.packing import Packer  # and with it the kernels, which the driver does not need

    return Packer(_unpacked(text))


class SashSource(DataSource):  # type: ignore[misc]
    """`spark.readStream.format("sash").option("pipeline", pack_option(pipeline))`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "sash"

    def schema(self) -> str:
        """Packs: `PACK_SCHEMA`, as Spark writes it."""
        return "bucket int, pack binary"

    def streamReader(self, schema: StructType) -> SashStreamReader:
        """The reader; it is sent to workers, so it holds text alone."""
        return SashStreamReader(self.options["pipeline"])


@dataclass
class SourcePartition(InputPartition):  # type: ignore[misc]
    """What one task reads: its place in the batch, its slices in order, what to tell of time."""

    order: tuple[int, int]
    parts: tuple[Part, ...]
    control: Control


class SashStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans on the driver, in one process for the whole query; reads in workers."""

    def __init__(self, pipeline: str) -> None:
        self._text = pipeline
        self._planner: tuple[FileLog, Steps] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_text": self._text, "_planner": None}

    def initialOffset(self) -> dict[str, int]:
        """Before the first step."""
        return {"seq": 0}

    @telling
    def getDefaultReadLimit(self) -> ReadLimit:
        """Limits hold per stream, so Spark is told only whether there are any."""
        readings = _readings(self._text).values()
        options = [reading.options for reading in readings]
        limited = any(one.max_files or one.max_rows or one.max_bytes for one in options)
        return ReadMaxFiles(_NO_LIMIT_OF_ITS_OWN) if limited else ReadAllAvailable()

    @telling
    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this run reads."""
        self._steps.close()

    @telling
    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The next step, or `start` if there is none. A step that is noted already is taken as it is."""
        last = self._log.past.number
        if start["seq"] > last:
            raise SashError(
                "SASH-SOURCE-010",
                f"Spark's checkpoint has come to step {start['seq']} of the files, but Sash's file log "
                f"ends at {last}.",
                remedy="Restore the checkpoint as a whole from a copy, or start with a new one.",
            )
        everything = isinstance(limit, ReadAllAvailable)
        if start["seq"] < last:
            return {"seq": last if everything else start["seq"] + 1}
        entry = self._steps.next(unlimited=everything, overall=_limits(limit))
        return start if entry is None else {"seq": entry.number}

    def reportLatestOffset(self) -> dict[str, int] | None:
        """The last step that is noted."""
        return None if self._planner is None else {"seq": self._log.past.number}

    @telling
    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[SourcePartition]:
        """The slices of all steps after `start`, up to `end`, for as many tasks as the pipeline has.

        Where there is nothing yet, one task says so: every batch reaches every bucket.
        """
        entries = [self._log.entry(number) for number in range(start["seq"] + 1, end["seq"] + 1)]
        parts = [(name, one) for entry in entries for name, some in entry.slices.items() for one in some]
        control = _control(entries, beats=_unpacked(self._text).heartbeat is not None)
        return [
            SourcePartition((end["seq"], index), tuple(run), control)
            for index, run in enumerate(spread(parts, _unpacked(self._text).tasks))
        ]

    @telling
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read and pack what one task has to; several batches if one would be too large."""
        assert isinstance(partition, SourcePartition)
        settle()
        packer, readings = _packer(self._text), _readings(self._text)
        most = _LARGEST // (len(_unpacked(self._text).stages[0].flows) + 1)
        tables: list[tuple[str, pa.Table]] = []
        malformed: dict[str, int] = {}
        size = chunk = 0
        for name, one in partition.parts:
            read = readings[name].read(one.file, one.start, one.stop)
            malformed[name] = malformed.get(name, 0) + read.malformed
            for piece in _pieces(read.table, most):
                if size and size + piece.nbytes > most:
                    yield packer.pack(tables, (*partition.order, chunk), partition.control)
                    tables, size, chunk = [], 0, chunk + 1
                tables.append((name, piece))
                size += piece.nbytes
        order = (*partition.order, chunk) if chunk else partition.order
        yield packer.pack(tables, order, partition.control, malformed)

    @telling
    def commit(self, end: dict[str, int]) -> None:
        """Batches up to here are through: old steps can go."""
        self._log.clean(end["seq"], _unpacked(self._text).retain)

    def stop(self) -> None:
        """Nothing is held open."""

    @property
    def _log(self) -> FileLog:
        return self._plan()[0]

    @property
    def _steps(self) -> Steps:
        return self._plan()[1]

    def _plan(self) -> tuple[FileLog, Steps]:
        if self._planner is None:
            from sash.spark.source.files import FileLog
            from sash.spark.source.steps import Steps

            pipeline = _unpacked(self._text)
            log = FileLog(pipeline.checkpoint)
            steps = Steps(
                _readings(self._text),
                log,
                pipeline.until_end,
                pipeline.idle_timeout,
                pipeline.heartbeat,
                pipeline.end_file,
            )
            self._planner = log, steps
        return self._planner


def spread(parts: Sequence[Part], tasks: int) -> list[list[Part]]:
    """The parts as at most so many runs of about equal bytes, in order; a Parquet slice may be divided.

    >>> from sash.spark.source.files import Slice
    >>> [len(run) for run in spread([("s", Slice(f"f{i}", 10, 0)) for i in range(4)], 2)]
    [2, 2]
    >>> spread([], 2)
    [[]]
    """
    parts = [(name, one) for name, one in parts if one.taken != 0]
    total = sum(one.weight for _, one in parts)
    runs: list[list[Part]] = [[] for _ in range(min(tasks, max(total, 1)))]
    before = 0
    for name, one in parts:
        rest: Slice | None = one
        while rest is not None:
            index = min(before * len(runs) // max(total, 1), len(runs) - 1)
            room = (index + 1) * total // len(runs) - before
            piece, rest = _divided(rest, room)
            # A slice that is not divided goes to the run in which its middle lies.
            middle = min((before + piece.weight // 2) * len(runs) // max(total, 1), len(runs) - 1)
            runs[max(index, middle)].append((name, piece))
            before += piece.weight
    return [run for run in runs if run] or [[]]


def _divided(one: Slice, room: int) -> tuple[Slice, Slice | None]:
    """A slice cut to about `room` bytes, and the rest, if both are worth a task's while."""
    rows = one.taken
    if rows is None or one.weight <= room:
        return one, None
    first = rows * room // max(one.weight, 1)
    if min(first, rows - first) < _WORTH_CUTTING:
        return one, None
    middle = one.start + first
    return one._replace(stop=middle), one._replace(start=middle)


def _pieces(table: pa.Table, most: int) -> Iterator[pa.Table]:
    """A table in pieces that are not much larger than so many bytes."""
    count = table.nbytes // most + 1
    rows = -(-len(table) // count)
    return (table.slice(i * rows, rows) for i in range(count))


def _control(entries: Sequence[Entry], beats: bool) -> Control:
    """What a batch's packs tell of time; the clock on the wall only where a heartbeat was asked for."""
    from sash.spark.buckets.packs import Control

    if not entries:
        return Control()
    last = entries[-1]
    return Control(last.idle, any(entry.end for entry in entries), last.now if beats else None)


def _limits(limit: ReadLimit) -> Limits | None:
    from sash.spark.source.steps import Limits

    if isinstance(limit, ReadMaxFiles) and limit.max_files < _NO_LIMIT_OF_ITS_OWN:
        return Limits(files=limit.max_files)
    if isinstance(limit, ReadMaxRows):
        return Limits(rows=limit.max_rows)
    if isinstance(limit, ReadMaxBytes):
        return Limits(bytes=limit.max_bytes)
    return None
