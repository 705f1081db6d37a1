"""A function of (batch, id) as a sink: Spark's foreachBatch, with the batch kept during the call."""

from __future__ import annotations

__all__ = ["FunctionSink"]

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sash.catalog.planning import Planned
from sash.spark.sinks.sink import Part, Run, Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FunctionSink(Sink):
    """Calls a function with each batch's rows and number.

    A batch whose commit was cut short comes again under the same number, with the same rows: what the
    function writes must be keyed by it.
    """

    def __init__(self, function: Callable[[DataFrame, int], Any]) -> None:
        self._function = function

    def check(self, queries: Mapping[str, Planned]) -> None:
        return None

    def open(self, part: Part, run: Run) -> None:
        return None

    def write(self, batch: DataFrame, number: int) -> None:
        try:
            self._function(batch, number)
        except Exception:
            raise
        except BaseException as error:  # sys.exit() would end Py4J's thread, and Spark wait for it forever
            raise RuntimeError(f"the function ended by {type(error).__name__}: {error}") from error
