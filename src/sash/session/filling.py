"""Whether a query that was added late has seen enough: how long its windows take to fill.

A query starts empty. Its answer is whole once every window holds only rows that came after the
start: after the longest time window, and after as many rows as a count window holds. Of windows
whose end nobody knows (UNTIL, UNBOUNDED below an operator that remembers, PARTITION BY without
RANGE) this can never be said.
"""

from __future__ import annotations

__all__ = ["Horizon", "horizon_of"]

from collections.abc import Mapping
from dataclasses import dataclass, field

from sash.language.windows import Window
from sash.plan.bounds import unending
from sash.plan.nodes import Node, Project, Select, Source, TableJoin, ToStream, Union, Windowed


@dataclass(frozen=True)
class Horizon:
    """How many ticks, and how many rows of which streams, it takes; `ticks` is None for 'never known'."""

    ticks: int | None = 0
    rows: Mapping[str, int] = field(default_factory=dict)

    def beside(self, other: Horizon) -> Horizon:
        """What both take."""
        ticks = None if self.ticks is None or other.ticks is None else max(self.ticks, other.ticks)
        names = {**self.rows, **other.rows}
        return Horizon(ticks, {n: max(self.rows.get(n, 0), other.rows.get(n, 0)) for n in names})

    def after(self, ticks: int | None) -> Horizon:
        """What it takes if a window of so many ticks comes on top."""
        return Horizon(None if self.ticks is None or ticks is None else self.ticks + ticks, self.rows)


def horizon_of(plan: Node) -> Horizon:
    """How long the windows of a plan take to fill.

    >>> import pyarrow as pa
    >>> from sash.language.expressions import Field
    >>> packets = Source("packets", (Field("ts", pa.int64()),), 0)
    >>> horizon_of(Windowed(packets, Window("range", length=60, slide=5))).ticks
    65
    """
    below = Horizon()
    for part in plan.inputs:
        below = below.beside(horizon_of(part))
    if isinstance(plan, Windowed):
        window = plan.window
        counted = _projected(plan.input)
        if window.kind == "rows" and not window.partition and isinstance(counted, Source):
            needed = (window.rows or 0) + (window.slide or 1)
            return below.beside(Horizon(0, {counted.name: needed}))
        return below.after(_ticks(window))
    remembers = not isinstance(plan, (Source, Select, Project, Union, TableJoin, ToStream))
    if remembers and any(unending(part) is not None for part in plan.inputs):
        return below.after(None)
    return below


def _projected(node: Node) -> Node:
    """What is below projections, which keep the number of rows."""
    return _projected(node.input) if isinstance(node, Project) else node


def _ticks(window: Window) -> int | None:
    match window.kind:
        case "range":
            return (window.length or 0) + (window.slide or 0)
        case "now" | "unbounded":
            return 0
        case "rows":
            return window.length
        case _:
            return None
