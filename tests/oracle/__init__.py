"""The oracle: what a plan means, evaluated from the full history at every instant ([G06] Definition 3.1).

Plain Python over plain values, slow and obvious. It shares no code with the engine: only the plan's
nodes are common to both. `values` says what equal and smaller mean, `scalars` and `aggregates` what
expressions mean, `relations` what a node holds at an instant, `world` which rows count at all.
"""

from __future__ import annotations

__all__ = ["Oracle", "World", "evaluate"]

from .relations import Oracle
from .scalars import evaluate
from .world import World
