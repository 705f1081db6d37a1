"""Where changes go: any sink of Spark, a function per batch, the current answer as Parquet; one or several.

A sink alone is Spark's own wherever Spark has one. Several sinks share one Spark query: each batch is
computed once and split, and each sink remembers the batches it has, so that a batch that comes again
is never written twice.
"""

from __future__ import annotations

__all__ = ["Part", "Run", "Sink", "check_places", "lacks_option", "resolve", "start"]

from sash.spark.sinks.places import check_places
from sash.spark.sinks.resolving import resolve
from sash.spark.sinks.sink import Part, Run, Sink, lacks_option
from sash.spark.sinks.starting import start
