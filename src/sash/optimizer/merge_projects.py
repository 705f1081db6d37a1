"""Projections one above the other become one, unless that would compute something twice."""

from __future__ import annotations

__all__ = ["merge_projects"]

from collections import Counter

from sash.language.expressions import Call, Column, Expression, remap
from sash.optimizer.rewriting import bottom_up
from sash.plan.nodes import Node, Project


def merge_projects(plan: Node) -> Node:
    """Project(Project(x)) is one Project whose expressions read x."""
    return bottom_up(plan, _merge)


def _merge(node: Node) -> Node:
    if not (isinstance(node, Project) and isinstance(node.input, Project)):
        return node
    below = node.input
    uses = Counter(index for expression in node.expressions for index in _mentions(expression))
    if any(isinstance(below.expressions[index], Call) and count > 1 for index, count in uses.items()):
        return node
    positions = dict(enumerate(below.expressions))
    return Project(below.input, tuple(remap(each, positions) for each in node.expressions), node.names)


def _mentions(expression: Expression) -> list[int]:
    """The columns an expression reads, as often as it does."""
    if isinstance(expression, Column):
        return [expression.index]
    if isinstance(expression, Call):
        return [index for argument in expression.arguments for index in _mentions(argument)]
    return []
