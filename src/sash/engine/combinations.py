"""Combinations: rows of a join's inputs that belong together, by number until something is made of them."""

from __future__ import annotations

__all__ = ["Combinations", "in_time_order", "with_signs"]

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sash.engine.gathering import picked
from sash.engine.kernels.ordering import merge_order


@dataclass(frozen=True, eq=False)
class Combinations:
    """Row numbers per input (None where not bound yet), and the instants at which they are looked at."""

    numbers: tuple[np.ndarray | None, ...]
    at: np.ndarray

    @property
    def bound(self) -> tuple[np.ndarray, ...]:
        """The row numbers of every input."""
        return tuple(n for n in self.numbers if n is not None)

    def take(self, positions: np.ndarray) -> Combinations:
        """Those at the given positions."""
        numbers = tuple(None if n is None else picked(n, positions) for n in self.numbers)
        return Combinations(numbers, picked(self.at, positions))


def in_time_order(found: Sequence[Sequence[Combinations]]) -> Combinations | None:
    """All that was found, in time order, as it is within each term; None if that is nothing.

    >>> term = Combinations((np.array([0, 1]),), np.array([2, 4]))
    >>> other = Combinations((np.array([2]),), np.array([3]))
    >>> in_time_order([[term], [other]]).numbers[0].tolist()
    [0, 2, 1]
    """
    terms = [_joined(term) for term in found if term]
    if not terms:
        return None
    whole, *others = terms
    for other in others:
        order, at = merge_order(whole.at, other.at)
        whole = _merged(whole, other, order, at)
    return whole


def with_signs(
    came: Combinations | None, went: Combinations | None
) -> tuple[Combinations | None, np.ndarray | None]:
    """What came and, a tick later than it says, what went, in time order; 1 or -1 for each, or None: 1."""
    if went is None:
        return came, None
    if came is None:
        return Combinations(went.numbers, went.at + 1), np.full(len(went.at), -1)
    order, at = merge_order(came.at, went.at + 1)
    return _merged(came, went, order, at), np.where(order < len(came.at), 1, -1)


def _merged(one: Combinations, other: Combinations, order: np.ndarray, at: np.ndarray) -> Combinations:
    numbers = (picked(np.concatenate(both), order) for both in zip(one.bound, other.bound, strict=True))
    return Combinations(tuple(numbers), at)


def _joined(parts: Sequence[Combinations]) -> Combinations:
    """Some combinations, one after another."""
    if len(parts) == 1:
        return parts[0]
    numbers = tuple(map(np.concatenate, zip(*(part.bound for part in parts), strict=True)))
    return Combinations(numbers, np.concatenate([part.at for part in parts]))
