"""Which operators end their rows themselves although the ends are foreseen: those right below the answer.

Between operators a known end costs nothing: `until` is trusted ([G06] §2.3.3). The answer, though,
shows every end as a change. An operator that has its rows at hand by key or by number writes these
ends itself, and the output need not hold every row a second time.
"""

from __future__ import annotations

__all__ = ["closing"]

from sash.engine.compile import reads
from sash.engine.expressions import can_fault
from sash.language.expressions import Expression
from sash.plan.nodes import Join, Node, Project, Select, Union


def closing(plan: Node) -> frozenset[Node]:
    """The nodes whose rows reach the answer, as they are or row by row, and nothing else.

    None where an end would be computed, and its faults counted, a second time.
    """
    path, last = _towards(plan)
    faulting = any(can_fault(e) for node in path for e in _expressions(node))
    elsewhere = {read for node in _all(plan) - path for read in reads(node)}
    return frozenset() if faulting or elsewhere & last else frozenset(path | last)


def _towards(plan: Node) -> tuple[set[Node], set[Node]]:
    """The nodes without state at the top, and those they read."""
    path: set[Node] = set()
    last: set[Node] = set()
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Select | Union) or (
            isinstance(node, Project) and not isinstance(node.input, Join)
        ):
            path.add(node)
            waiting.extend(reads(node))
        else:
            last.add(node)
    return path, last


def _expressions(node: Node) -> tuple[Expression, ...]:
    if isinstance(node, Project):
        return node.expressions
    return (node.predicate,) if isinstance(node, Select) else ()


def _all(plan: Node) -> set[Node]:
    found: set[Node] = set()
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(reads(node))
    return found
