"""Selection: the rows for which a predicate is true. It holds nothing and keeps lifetimes."""

from __future__ import annotations

__all__ = ["SelectRows"]

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from sash.engine.expressions import Faults, evaluate
from sash.engine.operator import Operator
from sash.language.expressions import Expression
from sash.lifetimes import Changes, Instant


@dataclass(eq=False)
class SelectRows(Operator):
    """Keep what passes `predicate`; false and NULL do not."""

    predicate: Expression
    faults: Faults

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        (changes,) = inputs
        if not len(changes):
            return changes
        passed = evaluate(self.predicate, changes.columns, len(changes), self.faults)
        mask = pc.fill_null(passed, False).to_numpy(zero_copy_only=False)
        return changes.filter(mask)
