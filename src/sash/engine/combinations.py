"""Combinations: rows of a join's inputs that belong together, by number until something is made of them."""

from __future__ import annotations

__all__ = ["Combinations", "in_time_order", "with_signs"]

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sash.engine.kernels.ordering import merge_order
from sash.lifetimes import FOREVER, repeated


@dataclass(frozen=True, eq=False)
class Combinations:
    """Row numbers per input (None where not bound yet) and their common lifetime."""

    numbers: tuple[np.ndarray | None, ...]
    begin: np.ndarray
    until: np.ndarray

    @property
    def bound(self) -> tuple[np.ndarray, ...]:
        """The row numbers of every input."""
        return tuple(n for n in self.numbers if n is not None)

    def take(self, positions: np.ndarray) -> Combinations:
        """Those at the given positions."""
        numbers = tuple(None if n is None else n[positions] for n in self.numbers)
        return Combinations(numbers, self.begin[positions], self.until[positions])


def in_time_order(found: Sequence[Sequence[Combinations]]) -> Combinations | None:
    """All that was found, in order of beginnings, as it is within each term; None if that is nothing.

    >>> term = Combinations((np.array([0, 1]),), np.array([2, 4]), np.array([9, 9]))
    >>> other = Combinations((np.array([2]),), np.array([3]), np.array([9]))
    >>> in_time_order([[term], [other]]).numbers[0].tolist()
    [0, 2, 1]
    """
    terms = [_joined(term) for term in found if term]
    if not terms:
        return None
    whole, *others = terms
    for other in others:
        order, begin = merge_order(whole.begin, other.begin)
        both = _joined([whole, other])
        whole = Combinations(tuple(part[order] for part in both.bound), begin, both.until[order])
    return whole


def with_signs(
    came: Combinations | None, went: Combinations | None
) -> tuple[Combinations | None, np.ndarray | None]:
    """What came at its beginning and what went a tick after it, in time order; 1 or -1 for each, or all came.

    Negative ones follow, so that no end is foreseen.
    """
    if went is None:
        return None if came is None else _endless(came.numbers, came.begin), None
    if came is None:
        return _endless(went.numbers, went.begin + 1), np.full(len(went.begin), -1)
    order, at = merge_order(came.begin, went.begin + 1)
    numbers = (np.concatenate(both)[order] for both in zip(came.bound, went.bound, strict=True))
    return _endless(tuple(numbers), at), np.where(order < len(came.begin), 1, -1)


def _endless(numbers: tuple[np.ndarray | None, ...], at: np.ndarray) -> Combinations:
    return Combinations(numbers, at, repeated(FOREVER, len(at)))


def _joined(parts: Sequence[Combinations]) -> Combinations:
    """Some combinations, one after another."""
    if len(parts) == 1:
        return parts[0]
    numbers = tuple(map(np.concatenate, zip(*(part.bound for part in parts), strict=True)))
    begin, until = (np.concatenate([getattr(part, name) for part in parts]) for name in ("begin", "until"))
    return Combinations(numbers, begin, until)
