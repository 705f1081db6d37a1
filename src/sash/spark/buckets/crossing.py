"""How results cross from Python to Java: each query's rows in the columns of all.

A row of one query among several has NULL in the columns of all the others. That sends more bytes than
columns that queries share would, but a projection in Spark that takes those apart again costs as much.
"""

from __future__ import annotations

__all__ = ["crossed"]

from functools import lru_cache

import pyarrow as pa

from sash.spark.results import AT_ONCE, QUERY, whose_rows


def crossed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A query's own rows in the columns of the result, as Spark takes them.

    >>> own = pa.record_batch([pa.array([1, 2])], pa.schema([("n", pa.int64())], metadata={"query": "q"}))
    >>> both = pa.schema([("query", pa.string()), ("m", pa.int64()), ("n", pa.int64())])
    >>> crossed(own, both).slice(1).to_pylist()
    [{'query': 'q', 'm': None, 'n': 2}]
    """
    if batch.schema.equals(schema):
        return batch
    rows = batch.num_rows
    own = dict(zip(batch.schema.names, batch.columns, strict=True))
    if QUERY in schema.names and QUERY not in own:
        own[QUERY] = _name(whose_rows(batch), rows)
    columns = [own[field.name] if field.name in own else _nulls(field.type, rows) for field in schema]
    given = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(given, schema=schema)


def _name(query: str, rows: int) -> pa.Array:
    return _names(query).slice(0, rows) if rows <= AT_ONCE else pa.repeat(query, rows)


@lru_cache(maxsize=64)
def _names(query: str) -> pa.Array:
    return pa.repeat(query, AT_ONCE)


def _nulls(type_: pa.DataType, rows: int) -> pa.Array:
    return _many_nulls(type_).slice(0, rows) if rows <= AT_ONCE else pa.nulls(rows, type_)


@lru_cache(maxsize=64)
def _many_nulls(type_: pa.DataType) -> pa.Array:
    return pa.nulls(AT_ONCE, type_)
