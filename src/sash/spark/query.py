"""A continuous query on Spark: its plan, and the ways to run it alone."""

from __future__ import annotations

__all__ = ["SparkQuery"]

from html import escape
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from sash.catalog.display import Text
from sash.catalog.planning import Planned
from sash.errors import SashError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sash.spark.database import SparkDatabase
    from sash.spark.handle import Handle


class SparkQuery:
    """A query that is registered in a database on Spark; `db.query(text)` makes one. It runs when started."""

    def __init__(self, database: SparkDatabase, name: str, planned: Planned) -> None:
        self._database = database
        self._dropped = False
        self.name = name
        """The query's name in its database."""
        self.planned = planned
        """The plans, and the names they need."""

    @property
    def text(self) -> str:
        """The query as it was written."""
        return self.planned.text

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer; changes add `at` and `change`."""
        return self.planned.schema

    @property
    def is_stream(self) -> bool:
        """Whether the query is a stream (changes only) rather than a relation."""
        return self.planned.is_stream

    def explain(self) -> Text:
        """The plan that runs: one line per operator, with exchanges where rows change their place."""
        self._check()
        return self._database.explain_queries([self])

    def start(
        self,
        sink: object = "memory",
        *,
        path: object = None,
        checkpoint: object = None,
        trigger: object = None,
        until_end: bool = False,
        **options: Any,
    ) -> Handle:
        """Run the query alone as a Spark query, its changes going to a sink.

        `sink`: a format of Spark's ('parquet', 'delta', 'kafka', ...), 'snapshot' (the current answer
        as Parquet under `path`), 'memory' (a table of the query's name), 'console', 'noop', or a
        function of (batch, id). `checkpoint`: the folder from which a later run goes on; without one
        it is temporary, and removed at the end. `until_end`: read what there is, move time to the
        greatest timestamp seen, and stop.
        """
        self._check()
        return self._database.start_queries(
            [self], sink, path, checkpoint, trigger, until_end, options, name=self.name
        )

    def to_spark(self, checkpoint: object = None) -> DataFrame:
        """The streaming DataFrame of changes: the columns, `at`, `change`.

        State is kept under `checkpoint`: give the same folder here and as `checkpointLocation` to your
        own writeStream, so that one goes with the other. Without one, state is in a temporary folder,
        and what you start can not go on after it stopped. Every batch must be computed whole, which every
        sink does; a foreachBatch that leaves one out is told so in the next.
        """
        self._check()
        return self._database.frame_of([self], checkpoint)

    def drop(self) -> None:
        """Take the query out of its database; a run that was started goes on."""
        self._check()
        self._database.forget(self)
        self._dropped = True

    def answer(self, at: object = None) -> NoReturn:
        """Not on Spark: what the answer is lies with the executors."""
        raise self._elsewhere("answer()", "start it into 'snapshot' and read the file")

    def changes(self) -> NoReturn:
        """Not on Spark: changes go to a sink."""
        raise self._elsewhere("changes()", "start it into 'memory', 'parquet' or a function of (batch, id)")

    def _elsewhere(self, call: str, instead: str) -> SashError:
        return SashError(
            "SASH-SPARK-077",
            f"There is no {call} on Spark: query '{self.name}' runs when it is started.",
            remedy=f"To see it, {instead}; or run the query in-process, with sash.connect().",
        )

    def _check(self) -> None:
        self._database.check_open()
        if self._dropped:
            raise SashError(
                "SASH-SESSION-012",
                f"Query '{self.name}' was dropped.",
                remedy="Register it again with db.query(...).",
            )

    def __repr__(self) -> str:
        kind = "stream" if self.is_stream else "relation"
        return f"<sash query '{self.name}' on Spark: {kind}{', dropped' if self._dropped else ''}>"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(repr(self))}</b></p><pre>{escape(self.text.strip())}</pre>"
