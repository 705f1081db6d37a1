"""When state is looked through for what is dead: never while it is small, then as often as it has doubled."""

from __future__ import annotations

__all__ = ["FEW"]

FEW = 1024
"""Fewer rows than these are kept as they are, dead or alive. Tests make it less, so read it where it is."""
