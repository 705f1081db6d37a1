"""The current answer as Parquet, replaced whole with every batch and readable at every moment.

The answer is the relation at the batch's frontier, each row as often as it is there. Batch n's is
that of batch n - 1 and the batch's changes, so that a batch that comes again gives the same. With
several queries, each has a folder of its own below `path`.
"""

from __future__ import annotations

__all__ = ["SnapshotSink"]

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.catalog.planning import Planned
from sash.engine.netting import net
from sash.errors import SashError
from sash.spark.sinks.answer_files import AnswerFiles
from sash.spark.sinks.places import as_file_name, place_of
from sash.spark.sinks.sink import Part, Run, Sink
from sash.spark.types import spark_arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SnapshotSink(Sink):
    """The answers of some queries, each in its own folder."""

    computes_once = True

    def __init__(self, path: str) -> None:
        self._path = _local(path)
        self._answers: dict[str, tuple[AnswerFiles, pa.Schema]] = {}

    @property
    def place(self) -> str | None:
        return place_of(str(self._path))

    def check(self, queries: Mapping[str, Planned]) -> None:
        for name, query in queries.items():
            if query.is_stream:
                raise SashError(
                    "SASH-SPARK-067",
                    f"Query '{name}' is a stream: it has changes, but no answer to keep a snapshot of.",
                    remedy="Make it a relation (windows, and no ISTREAM, DSTREAM or RSTREAM), or choose "
                    "another sink.",
                )

    def open(self, part: Part, run: Run) -> None:
        for name, query in part.queries.items():
            folder = self._path if len(part.queries) == 1 else self._path / as_file_name(name)
            self._answers[name] = (AnswerFiles(folder, run.id), query.schema)

    def close(self) -> None:
        for files, _ in self._answers.values():
            files.close()

    def write(self, batch: DataFrame, number: int) -> None:
        rows = batch.toArrow()
        for name, (files, schema) in self._answers.items():
            own = rows if len(self._answers) == 1 else rows.filter(pc.equal(rows.column("query"), name))
            if number > 0 and own.num_rows == 0:
                files.put(number, None)
                continue
            before = files.before(number)
            before = schema.empty_table() if before is None else before.cast(schema)
            files.put(number, changed(before, own, schema).cast(spark_arrow_schema(schema)))


def changed(before: pa.Table, changes: pa.Table, schema: pa.Schema) -> pa.Table:
    """A relation after changes: each row as often as it is there then.

    >>> before = pa.table({"a": ["x", "y"]})
    >>> changes = pa.table({"a": ["x", "z"], "at": [1, 2], "change": [-1, 2]})
    >>> changed(before, changes, before.schema).to_pylist()
    [{'a': 'y'}, {'a': 'z'}, {'a': 'z'}]
    """
    whole = pa.concat_tables([before, changes.select(schema.names).cast(schema)])
    columns = [_one_array(column) for column in whole.columns]
    weights = changes.column("change").to_numpy().astype(np.int64)
    weights = np.concatenate([np.ones(before.num_rows, np.int64), weights])
    rows, counts = net(columns, np.zeros(len(weights), np.int64), weights)
    if (counts < 0).any():
        raise SashError(
            "SASH-SPARK-069",
            "A snapshot does not have all the rows that its changes take away.",
            remedy="Something else wrote there: start with a new checkpoint and a folder of its own.",
        )
    places = pa.array(np.repeat(rows, counts))
    return pa.Table.from_arrays([column.take(places) for column in columns], schema=schema)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _local(path: str) -> Path:
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    if re.match(r"[a-zA-Z][\w+.-]*:/", path):
        raise SashError(
            "SASH-SPARK-070",
            f"A snapshot cannot be kept in '{path}': only file systems replace a file at once.",
            remedy="Give a folder on a file system of the driver's.",
        )
    return Path(os.path.abspath(path))
