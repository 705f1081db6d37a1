"""Projection: one column per expression. It holds nothing and keeps lifetimes."""

from __future__ import annotations

__all__ = ["ProjectColumns"]

from collections.abc import Sequence
from dataclasses import dataclass

from sash.engine.expressions import Faults, evaluate
from sash.engine.operator import Operator
from sash.language.expressions import Expression
from sash.lifetimes import Changes, Instant


@dataclass(eq=False)
class ProjectColumns(Operator):
    """Compute `expressions` from each row."""

    expressions: tuple[Expression, ...]
    faults: Faults

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        columns = [evaluate(e, changes.columns, len(changes), self.faults) for e in self.expressions]
        return changes.with_columns(columns)
