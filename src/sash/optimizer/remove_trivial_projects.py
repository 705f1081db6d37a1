"""Projections that change nothing go."""

from __future__ import annotations

__all__ = ["remove_trivial_projects"]

from sash.language.expressions import Column
from sash.optimizer.rewriting import bottom_up
from sash.plan.nodes import Node, Project


def remove_trivial_projects(plan: Node) -> Node:
    """A projection on all columns in their order, with their names, is its input."""
    return bottom_up(plan, _remove)


def _remove(node: Node) -> Node:
    if not isinstance(node, Project):
        return node
    order = [each.index if isinstance(each, Column) else None for each in node.expressions]
    same = order == list(range(len(node.input.schema))) and node.schema == node.input.schema
    return node.input if same else node
