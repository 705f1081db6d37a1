"""Union of bags: the inputs merged in time order, the first input's rows first at equal instants."""

from __future__ import annotations

__all__ = ["UnionAll"]

from collections.abc import Sequence
from dataclasses import dataclass

from sash.engine.operator import Operator, in_order
from sash.lifetimes import Changes, Instant


@dataclass(eq=False)
class UnionAll(Operator):
    """Add up the inputs. It holds nothing."""

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        parts = [changes for changes in inputs if len(changes)]
        return in_order(Changes.concat(parts)) if parts else inputs[0]
