"""What every operator of a circuit is: a step from changes to changes, and state that can be saved.

Rows on an edge are in order of `begin`; so are the rows an operator gives. Its state between two
steps is exact as of the frontier of the last one.
"""

from __future__ import annotations

__all__ = ["Ends", "Operator", "Saved", "in_order"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from sash.engine.kernels.ordering import argsort_instants
from sash.lifetimes import Changes, Instant

Saved = Mapping[str, pa.Table]
"""An operator's state as Arrow tables by name."""


class Ends(Protocol):
    """Ends to come: a calendar, or what knows them by itself."""

    def __len__(self) -> int: ...

    def due(self, frontier: Instant) -> np.ndarray:
        """When most of what ends up to the frontier does, in no order."""


@dataclass(eq=False)
class Operator:
    """One operator. Stateless ones implement `step` alone."""

    types: tuple[pa.DataType, ...]
    """The types of the columns it gives."""
    ends_are_read: bool = field(default=True, init=False)
    """Whether anyone looks at when the rows that it gives end; if not, they need not be right."""

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        """Take what is certain up to the frontier, give all changes up to it."""
        raise NotImplementedError  # every operator answers

    @property
    def reads_ends(self) -> bool:
        """Whether it matters to it when the rows that it is given end."""
        return True

    @property
    def stride_rows(self) -> int:
        """About how many rows should come or go at once: more are brought to it in several strides."""
        return 65_536

    @property
    def ends(self) -> tuple[Ends, ...]:
        """The ends to come that it knows of: where many fall into one step, the circuit cuts it."""
        return ()

    @property
    def ends_itself(self) -> bool:
        """Whether every row it gives ends within its step or by a negative row, never by its `until`."""
        return False

    @property
    def is_net(self) -> bool:
        """Whether no row that it gives ends at an instant at which an equal one begins."""
        return False

    def contents(self, frontier: Instant) -> Changes:
        """The rows that live now; only where `ends_itself`."""
        raise NotImplementedError  # operators that end their rows themselves answer

    @property
    def rows(self) -> int:
        """How many rows (or groups, or entries) are held."""
        return 0

    @property
    def nbytes(self) -> int:
        """About how many bytes are held."""
        return 0

    def save(self) -> dict[str, pa.Table]:
        """The state, such that `load` into a new operator goes on exactly from here."""
        return {}

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""


def in_order(changes: Changes) -> Changes:
    """The same rows in order of `begin`, as every edge has them."""
    order = argsort_instants(changes.begin)
    return changes if order is None else changes.take(order)
