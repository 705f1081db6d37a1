"""Beginnings and ends as events: what a sweep over the instants of a step goes through.

A row is +weight at its beginning and -weight at its end. Ends beyond the frontier wait in a calendar
until the step in which they fall.
"""

from __future__ import annotations

__all__ = ["events_of"]

from collections.abc import Sequence

import numpy as np

from sash.engine.kernels.ordering import argsort_instants
from sash.engine.state.calendar import Arrays, Calendar
from sash.lifetimes import Changes, Instant


def events_of(rows: Sequence[tuple[Changes, Arrays]], ends: Calendar, frontier: Instant) -> Arrays:
    """(instants, deltas, *marks) in time order, from rows with their marks and from `ends`.

    Marks are arrays beside the rows, such as the slot of each row's key.
    """
    parts = [ends.pop(frontier)]
    for changes, marks in rows:
        if not len(changes):
            continue
        parts.append((changes.begin, changes.weight, *marks))
        going: Arrays = (changes.until, -changes.weight, *marks)
        now = changes.until <= frontier
        if now.any():
            parts.append(tuple(part[now] for part in going))
            going = tuple(part[~now] for part in going)
        ends.add(going)
    events: Arrays = tuple(np.concatenate(group) for group in zip(*parts, strict=True))
    order = argsort_instants(events[0])
    return events if order is None else tuple(part[order] for part in events)
