"""How results cross from Python to Java: the queries share columns, and Spark takes them apart again.

A row of one query among several has NULL in the columns of all the others. Sent as they are, most of the
bytes, and most of Java's work, would be NULLs. So columns of one type share one place where no query
needs both, a query goes by its number, and a projection in Spark puts everything where it belongs.
"""

from __future__ import annotations

__all__ = ["Crossing", "crossing_of"]

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from sash.spark.results import whose_rows
from sash.spark.types import spark_arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sash.spark.pipelines.pipeline import Pipeline

_WHOSE = "whose"
_QUERY, _CHANGE = "query", "change"
_NUMBER, _SIGN = pa.int16(), pa.int32()
"""A query's number and a change cross in as few bytes as they need."""


@dataclass(frozen=True)
class Crossing:
    """Which columns of the result have which place on the way."""

    result: pa.Schema
    queries: tuple[str, ...]
    owners: Mapping[str, tuple[int, ...]]
    """For each column of the result, the numbers of the queries that have it."""
    places: Mapping[str, str]
    """For each column of the result, the column that it crosses in."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that cross."""
        if len(self.queries) == 1:
            return self.result
        fields = {_WHOSE: pa.field(_WHOSE, _NUMBER, nullable=False)}
        for each in self.result:
            if each.name in self.places:
                place, type_ = self.places[each.name], _SIGN if each.name == _CHANGE else each.type
                fields[place] = pa.field(place, type_, each.nullable)
        return pa.schema(list(fields.values()))

    @cached_property
    def _for_spark(self) -> pa.Schema:
        return spark_arrow_schema(self.schema)

    def shared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A query's own rows in the columns that cross, as Spark takes them."""
        schema = self._for_spark
        if batch.schema.equals(schema):
            return batch
        own = dict(zip(batch.schema.names, batch.columns, strict=True))
        if len(self.queries) > 1:
            number = self.queries.index(whose_rows(batch))
            own = {self.places[name]: column for name, column in own.items()}
            own[_WHOSE] = pa.repeat(pa.scalar(number, _NUMBER), batch.num_rows)
        columns = []
        for field in schema:
            column = own.get(field.name)
            if column is None:
                column = pa.nulls(batch.num_rows, field.type)
            columns.append(column if column.type == field.type else column.cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def apart(self, frame: DataFrame) -> DataFrame:
        """What has crossed, in the columns of the result."""
        if len(self.queries) == 1:
            return frame
        from pyspark.sql import functions as f

        whose, sharers = f.col(_WHOSE), Counter(self.places.values())
        columns = []
        for name in self.result.names:
            if name == _QUERY:
                column = f.get(f.array(*map(f.lit, self.queries)), whose)
            else:
                column = f.col(self.places[name])
                if sharers[self.places[name]] > 1:
                    column = f.when(whose.isin(*self.owners[name]), column)
                if name == _CHANGE:
                    column = column.cast("long")
            columns.append(column.alias(name))
        return frame.select(*columns)


def crossing_of(pipeline: Pipeline) -> Crossing:
    """How the results of a pipeline cross."""
    everyone = tuple(range(len(pipeline.queries)))
    names = [{column.name for column in plan.schema} for plan in pipeline.queries.values()]
    owners = {
        each.name: tuple(i for i in everyone if each.name in names[i]) or everyone
        for each in pipeline.schema
        if each.name != _QUERY or len(everyone) == 1
    }
    return Crossing(pipeline.schema, tuple(pipeline.queries), owners, _places(pipeline.schema, owners))


def _places(schema: pa.Schema, owners: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """A place for each column: the first of its type that no query of its has given to another column.

    >>> columns = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("m", pa.int64())])
    >>> _places(columns, {"k": (0, 1), "n": (0,), "m": (1,)})
    {'k': 'c0', 'n': 'c1', 'm': 'c1'}
    """
    taken: dict[str, tuple[pa.DataType, set[int]]] = {}
    places: dict[str, str] = {}
    for field in schema:
        if field.name not in owners:
            continue
        own = set(owners[field.name])
        for place, (type_, used) in taken.items():
            if type_ == field.type and not used & own:
                used |= own
                places[field.name] = place
                break
        else:
            places[field.name] = f"c{len(taken)}"
            taken[places[field.name]] = field.type, own
    return places
