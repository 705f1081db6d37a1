"""One flow per stream and key: queries that bring a stream's rows together in the same way share it.

The shared flow carries the columns that any of them reads; what each computes row by row before its
window then runs behind the exchange.
"""

from __future__ import annotations

__all__ = ["share", "source_columns", "source_of"]

from collections.abc import Mapping

from sash.language.expressions import Column, Expression, Literal, columns_of, remap
from sash.plan.nodes import Exchange, Node, Project, Select, Source

Way = tuple[Source, tuple[Expression, ...] | None]
"""A stream and the keys of its rows."""


def share(plans: Mapping[str, Node], *, whole: bool = False) -> dict[str, Node]:
    """The placed plans with equal ways of a stream made one flow.

    `whole`: every flow carries all rows of its stream with all columns, so that late ones can be kept.
    """
    ways: dict[Way, dict[Exchange, None]] = {}
    for plan in plans.values():
        for node in plan.walk():
            if isinstance(node, Exchange) and source_of(node.input) is not None:
                ways.setdefault(_way(node), {})[node] = None
    replaced: dict[Exchange, Node] = {}
    for (source, keys), flows in ways.items():
        if whole or len(flows) > 1:
            replaced |= _one_flow(source, keys, list(flows), whole)
    return {name: _with(plan, replaced) for name, plan in plans.items()}


def source_of(node: Node) -> Source | None:
    """The stream below what is computed row by row, the part before an exchange; None if it is more."""
    while isinstance(node, Select | Project):
        node = node.input
    return node if isinstance(node, Source) else None


def _way(flow: Exchange) -> Way:
    source = source_of(flow.input)
    assert source is not None
    keys = flow.keys
    node = flow.input
    while keys is not None and not isinstance(node, Source):
        if isinstance(node, Project):
            positions = dict(enumerate(node.expressions))
            keys = tuple(remap(key, positions) for key in keys)
        (node,) = node.inputs
    return source, keys


def _one_flow(
    source: Source, keys: tuple[Expression, ...] | None, flows: list[Exchange], whole_rows: bool
) -> dict[Exchange, Node]:
    """One exchange of the columns that all need, and each one's own row-wise part above it."""
    needed = {source.time} | set().union(*(columns_of(key) for key in keys or ()))
    if whole_rows:
        needed = set(range(len(source.fields)))
    for flow in flows:
        needed |= source_columns(flow.input)
    places = {position: i for i, position in enumerate(sorted(needed))}
    fields = [source.fields[position] for position in places]
    columns = tuple(Column(p, f.type, f.name) for p, f in zip(places, fields, strict=True))
    moved: dict[int, Expression] = {c.index: Column(places[c.index], c.type, c.name) for c in columns}
    all_of_them = len(columns) == len(source.fields)
    carried = source if all_of_them else Project(source, columns, tuple(field.name for field in fields))
    own = None if keys is None else tuple(remap(key, moved) for key in keys)
    shared = Exchange(carried, own)
    whole = tuple(moved.get(i, Literal(None, field.type)) for i, field in enumerate(source.fields))
    names = tuple(field.name for field in source.fields)
    restored = shared if all_of_them else Project(shared, whole, names)
    return {flow: _rebased(flow.input, restored) for flow in flows}


def source_columns(node: Node) -> set[int]:
    """The positions of the stream's columns that a row-wise part reads.

    >>> import pyarrow as pa
    >>> from sash.language.expressions import Field
    >>> packets = Source("packets", (Field("ts", pa.int64()), Field("src", pa.string())), 0)
    >>> source_columns(Project(packets, (Column(1, pa.string(), "src"),), ("src",)))
    {1}
    """
    wanted: list[Expression] = [Column(i, field.type, field.name) for i, field in enumerate(node.schema)]
    while not isinstance(node, Source):
        if isinstance(node, Select):
            wanted.append(node.predicate)
        elif isinstance(node, Project):
            positions = dict(enumerate(node.expressions))
            wanted = [remap(each, positions) for each in wanted]
        (node,) = node.inputs
    return set().union(*map(columns_of, wanted))


def _rebased(node: Node, base: Node) -> Node:
    if isinstance(node, Source):
        return base
    return node.with_inputs([_rebased(child, base) for child in node.inputs])


def _with(node: Node, replaced: Mapping[Exchange, Node]) -> Node:
    if isinstance(node, Exchange) and node in replaced:
        return replaced[node]
    return node.with_inputs([_with(child, replaced) for child in node.inputs]) if node.inputs else node
