"""DuckDB beside us: the same question over the same Arrow data, as one batch into an Arrow table."""

from __future__ import annotations

__all__ = ["DuckDB"]

import time
from collections.abc import Mapping

import duckdb
import pyarrow as pa

THREADS = 2


class DuckDB:
    """A connection on two threads that knows the streams as Arrow tables.

    >>> peer = DuckDB({"s": pa.table({"a": [1, 2]})}, "SELECT SUM(a) AS total FROM s")
    >>> peer.answer().to_pylist() == [{"total": 3}]
    True
    """

    def __init__(self, streams: Mapping[str, pa.Table], question: str) -> None:
        self.name = f"duckdb {duckdb.__version__}, {THREADS} threads, one batch"
        self._question = question
        self._connection = duckdb.connect(config={"threads": THREADS})
        self._connection.execute("SET TimeZone = 'UTC'")
        for name, table in streams.items():
            self._connection.register(name, table)

    def answer(self) -> pa.Table:
        """The answer as an Arrow table."""
        return self._connection.sql(self._question).to_arrow_table()

    def seconds(self) -> float:
        """How long one answer takes."""
        started = time.perf_counter()
        self.answer()
        return time.perf_counter() - started
