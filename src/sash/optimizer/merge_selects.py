"""Selections one above the other become one; a selection on TRUE goes."""

from __future__ import annotations

__all__ = ["merge_selects"]

from sash.optimizer.rewriting import bottom_up, conjunction, conjuncts
from sash.plan.nodes import Node, Select


def merge_selects(plan: Node) -> Node:
    """Select(Select(x, p), q) is Select(x, p AND q): both keep a row only where p and q are true."""
    return bottom_up(plan, _merge)


def _merge(node: Node) -> Node:
    if not isinstance(node, Select):
        return node
    conditions = conjuncts(node.predicate)
    if isinstance(node.input, Select):
        conditions = conjuncts(node.input.predicate) + conditions
        node = Select(node.input.input, node.predicate)
    predicate = conjunction(conditions)
    return node.input if predicate is None else Select(node.input, predicate)
