"""Record batches one after another, in a file or in memory, each readable where it lies.

Batches of several queries have several schemas, and an Arrow stream has one: so it is stream after stream.
"""

from __future__ import annotations

__all__ = ["read_pieces", "write_pieces"]

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import IO

import pyarrow as pa


def write_pieces(file: pa.NativeFile | IO[bytes], batches: Sequence[pa.RecordBatch]) -> None:
    """Batches one after another, those that follow each other with one schema as one stream."""
    for (schema, _), some in groupby(batches, key=lambda batch: (batch.schema, batch.schema.metadata)):
        with pa.ipc.new_stream(file, schema) as writer:
            for batch in some:
                writer.write_batch(batch)


def read_pieces(file: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """What `write_pieces` wrote, as it lies in memory or on disk."""
    with file:
        while file.tell() < file.size():
            yield from pa.ipc.open_stream(file)
