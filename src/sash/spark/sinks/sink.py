"""What a sink is: something that takes the changes of some queries, batch by batch, each batch once."""

from __future__ import annotations

__all__ = ["Part", "Run", "Sink", "lacks_option"]

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.catalog.planning import Planned
from sash.errors import SashError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Run:
    """What every sink of a run is told."""

    spark: SparkSession
    name: str
    """The name of the Spark query, and of the table that the memory sink fills."""
    checkpoint: Path
    id: str
    """The checkpoint's: batch 3 of one checkpoint is not batch 3 of another."""
    is_new: bool
    """Whether the checkpoint has no batch yet."""
    trigger: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """The rows that go to one sink: those of some queries."""

    sink: Sink
    queries: Mapping[str, Planned]
    name: str = "main"
    """The sink's, if it has one."""

    @property
    def columns(self) -> list[str]:
        """The columns of these queries, each name once."""
        return list(dict.fromkeys(name for query in self.queries.values() for name in query.schema.names))


class Sink(ABC):
    """One place to write to. It is told of a run, then of each batch in order; a batch may come again."""

    computes_once = False
    """Whether `write` computes the whole batch in one go, so that nothing need be kept for it."""

    @property
    def place(self) -> str | None:
        """The folder that it fills, and nobody else may; None if it fills none."""
        return None

    @abstractmethod
    def check(self, queries: Mapping[str, Planned]) -> None:
        """Raise if such queries cannot go here."""

    @abstractmethod
    def open(self, part: Part, run: Run) -> None:
        """Get ready for a run, before its first batch."""

    @abstractmethod
    def write(self, batch: DataFrame, number: int) -> None:
        """Take the changes of a batch; one that was taken before must not be doubled."""

    def close(self) -> None:  # noqa: B027 - most have nothing to do
        """The run is over, or could not be started; `open` may not have come to its end."""


def lacks_option(sink: str, option: str) -> SashError:
    """The error for a sink that needs to be told more."""
    return SashError(
        "SASH-SPARK-062",
        f"The sink '{sink}' needs a {option}.",
        remedy=f"Give it as {option}=..., or {option} = '...' in CREATE SINK ... WITH.",
    )
