"""The columns of a pipeline's results: each query's, side by side, then `at`, `change` and `query`."""

from __future__ import annotations

__all__ = ["AT_ONCE", "QUERY", "check_columns", "kind_of_all", "own_columns", "whose_rows"]

from collections.abc import Mapping

import pyarrow as pa

from sash.catalog.clock import Kind
from sash.catalog.planning import Planned
from sash.errors import SashError
from sash.language.types import sql_name, with_article

QUERY = "query"
"""The column that says whose rows they are; a batch's schema says it under this name, too."""
AT_ONCE = 16_384
"""Rows that a batch of results has at most."""


def check_columns(queries: Mapping[str, Planned]) -> None:
    """Raise if the queries' columns cannot stand side by side in one frame.

    Queries may share a column if it has one name and one type. Spark knows no case of letters, so
    names that differ in it alone are one name too many.
    """
    known: dict[str, tuple[str, str, object]] = {}
    for query, planned in queries.items():
        for field in planned.optimized.schema:
            key = field.name.lower()
            if key == QUERY and len(queries) > 1:
                raise SashError(
                    "SASH-SPARK-072",
                    f"Query '{query}' has a column '{field.name}', and so have changes of several queries.",
                    remedy=f"Give it another name with AS, such as AS my_{key}.",
                )
            other = known.setdefault(key, (field.name, query, field.type))
            if other[0] != field.name:
                raise SashError(
                    "SASH-SPARK-073",
                    f"Column '{other[0]}' of query '{other[1]}' and column '{field.name}' of query '{query}' "
                    "are one name to Spark.",
                    remedy="Give one of them another name with AS, or start the queries one by one.",
                )
            if other[2] != field.type:
                raise SashError(
                    "SASH-SPARK-073",
                    f"Column '{field.name}' is {with_article(sql_name(other[2]))} in query '{other[1]}' and "
                    f"{with_article(sql_name(field.type))} in query '{query}'.",
                    remedy="Give one of them another name with AS, or start the queries one by one.",
                )


def kind_of_all(kinds: Mapping[str, Kind]) -> Kind:
    """The kind of time that all queries have; an error if they differ."""
    first = next(iter(kinds))
    for query, kind in kinds.items():
        if kind != kinds[first]:
            raise SashError(
                "SASH-SPARK-074",
                f"Query '{first}' runs on {_words(kinds[first])} and query '{query}' on {_words(kind)}.",
                remedy="Start them one by one: queries that run together share one kind of time.",
            )
    return kinds[first]


def _words(kind: Kind) -> str:
    return "timestamps" if kind == "timestamp" else "plain numbers"


def own_columns(table: pa.Table, query: str) -> list[pa.RecordBatch]:
    """A query's rows in batches that know whose they are; not too large, so that memory is used again."""
    table = table.replace_schema_metadata({QUERY: query})
    return [batch for batch in table.to_batches(max_chunksize=AT_ONCE) if batch.num_rows]


def whose_rows(batch: pa.RecordBatch) -> str:
    """The query whose rows these are.

    >>> (some,) = own_columns(pa.table({"n": [1, 2]}), "q")
    >>> whose_rows(some)
    'q'
    """
    name: bytes = batch.schema.metadata[QUERY.encode()]
    return name.decode()
