"""When a global aggregate has a row: from the first instant at which any of its inputs had one.

Its inputs are the windows below it, before any selection: an aggregate over rows that were all
filtered out still has a row. They are told by one constant column, so that they cost little.
"""

from __future__ import annotations

__all__ = ["presence"]

from collections.abc import Iterator

import pyarrow as pa

from sash.language.expressions import Literal
from sash.plan.nodes import Node, Project, Source, TableJoin, TableScan, ToStream, Windowed


def presence(node: Node) -> tuple[Node, ...]:
    """The windows (and unwindowed streams, and tables) below a node, each once."""
    leaves = dict.fromkeys(_leaves(node))
    return tuple(Project(leaf, (Literal(True, pa.bool_()),), ("present",)) for leaf in leaves)


def _leaves(node: Node) -> Iterator[Node]:
    match node:
        case Source() | TableScan() | ToStream():
            yield node
        case Windowed():
            source = _unasked(node.input)
            width = len(source.schema)
            named = (*node.window.partition, node.window.until or 0)
            # A count window, or one that names a table's column, was put above the look-up by hand.
            whole = node.window.kind == "rows" or any(position >= width for position in named)
            yield node if whole else Windowed(source, node.window, node.by_value)
        case TableJoin():
            yield from _leaves(node.input)  # rows ask the table; it brings none of its own
        case _:
            for child in node.inputs:
                yield from _leaves(child)


def _unasked(node: Node) -> Node:
    """A stream without the tables that its rows ask on their way into a window."""
    return _unasked(node.input) if isinstance(node, TableJoin) else node
