"""Packing: what is computed row by row before the windows, and which bucket each row goes to.

It runs where rows enter (a task of Sash's own source, or a `mapInArrow` over a DataFrame) and between
stages. Rows of one key go to one bucket, by a hash that is the same everywhere.
"""

from __future__ import annotations

__all__ = ["PACK_SCHEMA", "Packer", "dealt", "packed", "pointer"]

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sash.engine.compile import operator_for
from sash.engine.encoding import hashes_of, key_words
from sash.engine.expressions import Faults, evaluate
from sash.engine.operator import Operator, in_order
from sash.lifetimes import FOREVER, Changes, repeated
from sash.plan.nodes import Exchange, Node, Source
from sash.spark.buckets.packs import Control, Pack, Seen, write_pack, write_pointer
from sash.spark.pipelines.pipeline import Pipeline

NO_CONTROL = Control()

PACK_SCHEMA = pa.schema([("bucket", pa.int32()), ("pack", pa.binary())])


class Packer:
    """Makes packs of the rows of streams."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._faults = Faults()
        self._flows: dict[str, list[tuple[Exchange, list[Operator]]]] = {}
        entry = pipeline.stages[0]
        for name, stream in entry.streams.items():
            flow = entry.flows[name]
            self._flows.setdefault(stream, []).append((flow, self._operators(flow.input)))

    def _operators(self, node: Node) -> list[Operator]:
        """The row-wise part of a flow, from the stream upwards."""
        if isinstance(node, Source):
            return []
        return [*self._operators(node.inputs[0]), operator_for(node, self._faults)]

    def pack(
        self,
        parts: Sequence[tuple[str, pa.Table]],
        order: tuple[int, ...],
        control: Control = NO_CONTROL,
        malformed: Mapping[str, int] | None = None,
    ) -> pa.RecordBatch:
        """All packs of one task: for each stream a table of the columns that are read, by name.

        Two parts of one stream may follow each other; rows keep their order.
        """
        self._faults.counts.clear()
        rows: list[dict[str, list[Changes]]] = [{} for _ in range(self._pipeline.buckets)]
        seen: dict[str, Seen] = {}
        for stream, table in parts:
            changes = self._changes(stream, table)
            past = seen.get(stream, Seen())
            if len(changes):
                greatest = int(changes.begin.max())
                past = Seen(past.rows + len(changes), max(greatest, past.greatest or greatest))
            seen[stream] = past
            for flow, operators in self._flows.get(stream, ()):
                given = changes
                for operator in operators:
                    given = operator.step([given], FOREVER)
                for bucket, own in dealt(given, flow, self._pipeline.buckets, order[-1], self._faults):
                    rows[bucket].setdefault(flow.name, []).append(own)
        for stream, count in (malformed or {}).items():
            seen[stream] = replace(seen.get(stream, Seen()), malformed=count)
        faults = dict(self._faults.counts)
        whole = [{name: Changes.concat(some) for name, some in own.items()} for own in rows]
        return packed([Pack(order, own, seen, control, faults=faults) for own in whole])

    def _changes(self, stream: str, table: pa.Table) -> Changes:
        """A stream's rows with all its columns, those that nobody reads as NULLs."""
        definition = self._pipeline.stream(stream).definition
        known = set(table.column_names)
        columns = [
            _one_array(table.column(field.name)) if field.name in known else pa.nulls(len(table), field.type)
            for field in definition.fields
        ]
        times = columns[definition.time]
        begin = (times.cast(pa.int64()) if times.type != pa.int64() else times).to_numpy()
        n = len(begin)
        return in_order(Changes(tuple(columns), begin, repeated(FOREVER, n), repeated(1, n)))


def dealt(
    changes: Changes, flow: Exchange, buckets: int, here: int, faults: Faults
) -> list[tuple[int, Changes]]:
    """The rows of a flow by bucket; where it does not matter, they stay together in bucket `here`."""
    if not len(changes):
        return []
    if flow.keys is None:
        return [(here % buckets, changes)]
    if not flow.keys or buckets == 1:
        return [(0, changes)]
    keys = [evaluate(key, changes.columns, len(changes), faults) for key in flow.keys]
    # The middle bits: the ends serve the tables and the order inside a bucket.
    numbers = (hashes_of(key_words(keys, len(changes))) >> np.uint64(20)) % np.uint64(buckets)
    order = np.argsort(numbers.astype(np.int16), kind="stable")
    stops = np.cumsum(np.bincount(numbers.astype(np.int64), minlength=buckets))
    sorted_rows = changes.take(order)
    starts = [0, *stops[:-1].tolist()]
    return [
        (bucket, sorted_rows.slice(start, stop))
        for bucket, (start, stop) in enumerate(zip(starts, stops.tolist(), strict=True))
        if stop > start
    ]


def packed(packs: Sequence[Pack]) -> pa.RecordBatch:
    """One pack per bucket as rows for Spark."""
    return _for_spark(range(len(packs)), [write_pack(pack) for pack in packs])


def pointer(bucket: int, path: str) -> pa.RecordBatch:
    """Where a bucket's results are as a row for Spark."""
    return _for_spark([bucket], [write_pointer(path)])


def _for_spark(buckets: Sequence[int], data: Sequence[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(buckets, pa.int32()), pa.array(data, pa.binary())], schema=PACK_SCHEMA
    )


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
