"""DISTINCT over rows that differ anyway goes."""

from __future__ import annotations

__all__ = ["remove_distinct"]

from sash.optimizer.rewriting import lifetimes_matter
from sash.plan.keys import key
from sash.plan.nodes import Distinct, Node


def remove_distinct(plan: Node) -> Node:
    """Where the input has a key at every instant, no two live rows are equal: DISTINCT is its input.

    Not below what tells lifetimes apart: DISTINCT joins those of equal rows that follow each other.
    """
    return _remove(plan, lifetimes=False)


def _remove(node: Node, lifetimes: bool) -> Node:
    if isinstance(node, Distinct) and not lifetimes and key(node.input) is not None:
        return _remove(node.input, lifetimes)
    below = lifetimes_matter(node, lifetimes)
    return node.with_inputs([_remove(each, below) for each in node.inputs])
