"""Which lanes the aggregates of one GROUP BY need, who feeds them, and which columns come of them.

Lane 0 counts rows. Every distinct argument is evaluated once and feeds its features; MIN and MAX
have one lane each, the number of the value that is the extreme (state/extremes.py). Lanes are laid out
narrow first; the first value that does not fit widens them all (accumulators.py).
"""

from __future__ import annotations

__all__ = ["ExtremeFeed", "Feed", "Lanes"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sash.engine.accumulators import Feature, IntegerSum, feature_for
from sash.engine.finishing import finish
from sash.engine.kernels.triples import TERMS
from sash.engine.values import Faults
from sash.language.expressions import AggregateCall, Expression

_KIND = {"count": "count", "sum": "sum", "avg": "sum"}


@dataclass(eq=False)
class Placed:
    """A feature and where its lanes begin."""

    kind: str
    feature: Feature
    int_at: int
    float_at: int


@dataclass(eq=False)
class Feed:
    """An argument (or its distinct values) and the features it feeds; the first counts its values."""

    argument: Expression
    distinct: bool
    parts: list[Placed] = field(default_factory=list)

    def part(self, kind: str) -> Placed:
        """The feature of a kind."""
        return next(placed for placed in self.parts if placed.kind == kind)

    def carries(self, values: pa.Array) -> bool:
        """Whether the lanes are wide enough for these values."""
        return all(placed.feature.carries(values) for placed in self.parts)

    def shrinking(self, values: pa.Array) -> list[tuple[slice, float]]:
        """Which float lanes must be multiplied by what before these values can be written."""
        factors = [(placed, placed.feature.shrink(values)) for placed in self.parts]
        return [
            (slice(placed.float_at, placed.float_at + TERMS * placed.feature.triples), factor)
            for placed, factor in factors
            if factor != 1.0
        ]

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        """What each row adds to the lanes [n, lanes] of this feed."""
        for placed in self.parts:
            int_end = placed.int_at + placed.feature.ints
            float_end = placed.float_at + TERMS * placed.feature.triples
            placed.feature.write(
                values, weight, ints[:, placed.int_at : int_end], floats[:, placed.float_at : float_end]
            )


@dataclass(frozen=True, eq=False)
class ExtremeFeed:
    """An argument whose MIN or MAX is in a lane."""

    argument: Expression
    largest: bool
    lane: int


class Lanes:
    """The lanes of some aggregates: `ints` of integers, `floats` of doubles (three to a triple)."""

    def __init__(self, aggregates: Sequence[AggregateCall], wide: bool = False) -> None:
        self._aggregates = tuple(aggregates)
        self.wide = wide
        self.ints = 1
        self.floats = 0
        self.feeds: list[Feed] = []
        self.extremes: list[ExtremeFeed] = []
        counts: list[int] = []
        for call in aggregates:
            if call.argument is None:
                continue
            if call.function in ("min", "max"):
                self._extreme(call.argument, call.function == "max")
            else:
                self._place(self._feed(call.argument, call.distinct), call, counts)
        self.counts = np.array(counts, np.int64)
        """For each triple, the lane that counts the values in it."""

    def _feed(self, argument: Expression, distinct: bool) -> Feed:
        for feed in self.feeds:
            if feed.argument == argument and feed.distinct == distinct:
                return feed
        self.feeds.append(Feed(argument, distinct))
        return self.feeds[-1]

    def _place(self, feed: Feed, call: AggregateCall, counts: list[int]) -> None:
        for kind in ("count", _KIND.get(call.function, "spread")):
            if any(placed.kind == kind for placed in feed.parts):
                continue
            feature = feature_for(kind, feed.argument.type, self.wide or (kind == "count" and feed.distinct))
            own = feature.ints + feature.triples > 0
            feed.parts.append(Placed(kind, feature, self.ints if own else 0, self.floats))
            counts += [feed.parts[0].int_at] * feature.triples
            self.ints += feature.ints
            self.floats += TERMS * feature.triples

    def _extreme(self, argument: Expression, largest: bool) -> int:
        for place, feed in enumerate(self.extremes):
            if feed.argument == argument and feed.largest == largest:
                return place
        self.extremes.append(ExtremeFeed(argument, largest, self.ints))
        self.ints += 1
        return len(self.extremes) - 1

    @property
    def telling(self) -> np.ndarray | None:
        """The lanes that are equal exactly where a group's rows are; None if lanes cannot tell."""
        return self.telling_of(self._aggregates)

    def telling_of(self, calls: Sequence[AggregateCall]) -> np.ndarray | None:
        """The same for rows that have some of the aggregates."""
        lanes: set[int] = set()
        for call in calls:
            if call.argument is not None and call.function in ("min", "max"):
                lanes.add(self.extremes[self._extreme(call.argument, call.function == "max")].lane)
                continue
            lane = self.lane_of(call)
            if lane is None:
                return None
            lanes.add(lane)
        return np.array(sorted(lanes), np.int64)

    def lane_of(self, call: AggregateCall) -> int | None:
        """The lane that is an aggregate itself, a number and never NULL; None if there is none."""
        if call.argument is None:
            return 0
        if call.function not in ("count", "sum"):
            return None
        placed = self._feed(call.argument, call.distinct).part(call.function)
        # A sum is NULL where no value is; in narrow lanes there is one in every row.
        plain = isinstance(placed.feature, IntegerSum) and not self.wide and not call.distinct
        return placed.int_at if call.function == "count" or plain else None

    def widened(self) -> Lanes:
        """The same aggregates in wide lanes."""
        wide = Lanes(self._aggregates, wide=True)
        wide.restore_scales(self.scales)
        return wide

    def spread_out(self, ints: np.ndarray, wide: Lanes) -> np.ndarray:
        """Lanes [n, i] of this layout in a wide one."""
        out = np.zeros((len(ints), wide.ints), np.int64)
        out[:, 0] = ints[:, 0]
        for own, other in zip(self.extremes, wide.extremes, strict=True):
            out[:, other.lane] = ints[:, own.lane]
        for feed, wide_feed in zip(self.feeds, wide.feeds, strict=True):
            for placed, target in zip(feed.parts, wide_feed.parts, strict=True):
                lanes = ints[:, placed.int_at : placed.int_at + max(1, placed.feature.ints)]
                placed.feature.widened(lanes, out[:, target.int_at : target.int_at + target.feature.ints])
        return out

    def finish(
        self, ints: np.ndarray, floats: np.ndarray, fresh: np.ndarray, faults: Faults,
        extreme: Callable[[int, np.ndarray], pa.Array],
    ) -> list[pa.Array]:  # fmt: skip
        """The aggregates' columns in states [lanes, n]; faults are counted where `fresh`."""
        columns: list[pa.Array] = []
        for call in self._aggregates:
            if call.argument is None:
                columns.append(pa.array(ints[0]))
            elif call.function in ("min", "max"):
                place = self._extreme(call.argument, call.function == "max")
                columns.append(extreme(place, ints[self.extremes[place].lane]))
            else:
                columns.append(self._finish(call, call.argument, ints, floats, fresh, faults))
        return columns

    def _finish(
        self, call: AggregateCall, argument: Expression, ints: np.ndarray, floats: np.ndarray,
        fresh: np.ndarray, faults: Faults,
    ) -> pa.Array:  # fmt: skip
        feed = self._feed(argument, call.distinct)
        placed = feed.part(_KIND.get(call.function, "spread"))
        own_ints = ints[placed.int_at : placed.int_at + placed.feature.ints]
        own_floats = floats[placed.float_at : placed.float_at + TERMS * placed.feature.triples]
        count = ints[feed.parts[0].int_at]
        scale = placed.feature.scale
        return finish(
            call.function, argument.type, call.type, count, own_ints, own_floats, scale, fresh, faults
        )

    @property
    def scales(self) -> list[float]:
        """Each feature's scale, to be saved with the lanes."""
        return [placed.feature.scale for feed in self.feeds for placed in feed.parts]

    def restore_scales(self, scales: Sequence[float]) -> None:
        """Take over what `scales` gave."""
        placed = [placed for feed in self.feeds for placed in feed.parts]
        for each, scale in zip(placed, scales, strict=True):
            each.feature.scale = scale
