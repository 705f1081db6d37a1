"""Columns that nothing above reads are dropped where they come from.

Each node is asked for some of its columns and answers with a narrower node and where those columns
now stand. DISTINCT, set operations, top-k, relation-to-stream operators and count windows over
computed streams need all columns of their input: they compare, order or number whole rows.
"""

from __future__ import annotations

__all__ = ["push_down_projections"]

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sash.language.expressions import Expression, columns_of, remap
from sash.optimizer.rewriting import lifetimes_matter, shown, starts
from sash.plan.nodes import (
    Aggregate,
    Equality,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    Source,
    TableJoin,
    TableScan,
    Union,
    Windowed,
)

Positions = Mapping[int, int]
"""Where the columns of a node stand in the narrower one; at least those that were asked for."""


def push_down_projections(plan: Node) -> Node:
    """The plan without the columns that are not part of its answer, nor needed to find it."""
    return _all_of(plan, lifetimes=False)


def _all_of(node: Node, lifetimes: bool) -> Node:
    """The node with its inputs narrowed and its own columns as they were."""
    return _exactly(node, range(len(node.schema)), lifetimes)


def _exactly(node: Node, wanted: Iterable[int], lifetimes: bool) -> Node:
    """The node narrowed to the wanted columns, in that order."""
    order = list(wanted)
    narrow, positions = _narrowed(node, frozenset(order), lifetimes)
    places = [positions[each] for each in order]
    if places == list(range(len(narrow.schema))):
        return narrow
    columns = shown(narrow.schema)
    return Project(
        narrow, tuple(columns[place] for place in places), tuple(node.schema[each].name for each in order)
    )


def _narrowed(node: Node, wanted: frozenset[int], lifetimes: bool) -> tuple[Node, Positions]:
    """The node without most columns that are not wanted; never without any.

    Where `lifetimes` matter, aggregates and semi-joins stay as wide as they are: with fewer columns a
    row that ends where another begins may become one row that goes on.
    """
    if lifetimes and isinstance(node, Aggregate | SemiJoin):
        wanted = frozenset(range(len(node.schema)))
    lifetimes = lifetimes_matter(node, lifetimes)
    match node:
        case Source() | TableScan():
            return _leaf(node, wanted)
        case Select():
            below, positions = _narrowed(node.input, wanted | columns_of(node.predicate), lifetimes)
            return Select(below, _moved(node.predicate, below, positions)), positions
        case Project():
            return _project(node, wanted, lifetimes)
        case Windowed():
            return _windowed(node, wanted)
        case Union():
            order = sorted(wanted or {0})
            return Union(tuple(_exactly(part, order, lifetimes) for part in node.parts)), _places(order)
        case Join():
            return _join(node, wanted, lifetimes)
        case SemiJoin():
            return _semi_join(node, wanted)
        case TableJoin():
            return _table_join(node, wanted, lifetimes)
        case Aggregate():
            return _aggregate(node, wanted)
        case _:
            whole = node.with_inputs([_all_of(below, lifetimes) for below in node.inputs])
            return whole, _places(range(len(node.schema)))


def _places(order: Iterable[int]) -> dict[int, int]:
    return {old: new for new, old in enumerate(order)}


def _moved(expression: Expression, narrow: Node, positions: Positions) -> Expression:
    """The expression over the narrower node."""
    columns = shown(narrow.schema)
    return remap(expression, {old: columns[new] for old, new in positions.items()})


def _read(expressions: Iterable[Expression | None]) -> frozenset[int]:
    return frozenset(index for each in expressions if each is not None for index in columns_of(each))


def _leaf(node: Source | TableScan, wanted: frozenset[int]) -> tuple[Node, Positions]:
    if len(wanted) == len(node.schema):
        return node, _places(range(len(node.schema)))
    order = sorted(wanted) or [node.time if isinstance(node, Source) else 0]
    columns = shown(node.schema)
    narrow = Project(node, tuple(columns[i] for i in order), tuple(columns[i].name for i in order))
    return narrow, _places(order)


def _project(node: Project, wanted: frozenset[int], lifetimes: bool) -> tuple[Node, Positions]:
    order = sorted(wanted) or [0]
    expressions = tuple(node.expressions[i] for i in order)
    names = tuple(node.names[i] for i in order)
    if isinstance(node.input, (Source, TableScan)):
        return Project(node.input, expressions, names), _places(order)  # narrow enough as it is
    below, positions = _narrowed(node.input, _read(expressions), lifetimes)
    moved = tuple(_moved(each, below, positions) for each in expressions)
    return Project(below, moved, names), _places(order)


def _windowed(node: Windowed, wanted: frozenset[int]) -> tuple[Node, Positions]:
    window = node.window
    if window.kind == "rows" and node.by_value:
        return replace(node, input=_all_of(node.input, lifetimes=False)), _places(range(len(node.schema)))
    needed = wanted.union(window.partition)
    if window.until is not None:
        needed |= {window.until}
    if window.kind == "rows" or window.slide is not None:
        # It holds rows: not even a column that a selection below needed.
        order = sorted(needed) or [0]
        below = _exactly(node.input, order, lifetimes=False)
        positions: Positions = _places(order)
    else:
        below, positions = _narrowed(node.input, needed, lifetimes=False)
    moved = replace(
        window,
        partition=tuple(positions[each] for each in window.partition),
        until=None if window.until is None else positions[window.until],
    )
    return replace(node, input=below, window=moved), positions


def _join(node: Join, wanted: frozenset[int], lifetimes: bool) -> tuple[Node, Positions]:
    offsets = starts(node.parts)
    wanted |= _read([node.residual])
    orders: list[list[int]] = []
    for i, (part, offset) in enumerate(zip(node.parts, offsets, strict=True)):
        asked = {each - offset for each in wanted if 0 <= each - offset < len(part.schema)}
        for equality in node.equalities:
            asked |= _read([equality.left_key] if equality.left == i else [])
            asked |= _read([equality.right_key] if equality.right == i else [])
        orders.append(sorted(asked) or [0])
    parts = tuple(_exactly(part, order, lifetimes) for part, order in zip(node.parts, orders, strict=True))
    own = [_places(order) for order in orders]
    positions = {
        old + before: new + after
        for before, after, places in zip(offsets, starts(parts), own, strict=True)
        for old, new in places.items()
    }
    narrow = replace(
        node,
        parts=parts,
        equalities=tuple(_equality(each, parts, own) for each in node.equalities),
        residual=None,
    )
    if node.residual is not None:
        narrow = replace(narrow, residual=_moved(node.residual, narrow, positions))
    return narrow, positions


def _equality(equality: Equality, parts: Sequence[Node], own: Sequence[Positions]) -> Equality:
    left, right = equality.left, equality.right
    return replace(
        equality,
        left_key=_moved(equality.left_key, parts[left], own[left]),
        right_key=_moved(equality.right_key, parts[right], own[right]),
    )


def _semi_join(node: SemiJoin, wanted: frozenset[int]) -> tuple[Node, Positions]:
    order = sorted(wanted | _read(node.left_keys)) or [0]
    left = _exactly(node.left, order, lifetimes=False)
    right_order = sorted(_read(node.right_keys)) or [0]
    right = _exactly(node.right, right_order, lifetimes=False)
    narrow = replace(
        node,
        left=left,
        right=right,
        left_keys=tuple(_moved(each, left, _places(order)) for each in node.left_keys),
        right_keys=tuple(_moved(each, right, _places(right_order)) for each in node.right_keys),
    )
    return narrow, _places(order)


def _table_join(node: TableJoin, wanted: frozenset[int], lifetimes: bool) -> tuple[Node, Positions]:
    width = len(node.input.schema)
    asked = wanted | _read([*node.input_keys, node.residual])
    if node.time is not None:
        asked |= {node.time}
    below, own = _narrowed(node.input, frozenset(each for each in asked if each < width), lifetimes)
    # The table is looked up whole; its columns stand behind the input's, fewer as those are.
    less = len(below.schema) - width
    positions = dict(own) | {width + i: width + i + less for i in range(len(node.table.schema))}
    residual = node.residual
    if residual is not None:
        both = shown(below.schema + node.table.schema)
        residual = remap(residual, {old: both[new] for old, new in positions.items()})
    narrow = replace(
        node,
        input=below,
        input_keys=tuple(_moved(each, below, own) for each in node.input_keys),
        residual=residual,
        time=None if node.time is None else own[node.time],
    )
    return narrow, positions if node.kind in ("inner", "left") else own


def _aggregate(node: Aggregate, wanted: frozenset[int]) -> tuple[Node, Positions]:
    """Every group stays, for they say which rows there are; aggregates that nobody reads go."""
    groups = len(node.groups)
    order = sorted(wanted.union(range(groups))) or [0]
    calls = [node.aggregates[i - groups] for i in order if i >= groups]
    read = _read([*node.groups, *(each.argument for each in calls)])
    below, positions = _narrowed(node.input, read, lifetimes=False)
    narrow = Aggregate(
        below,
        tuple(_moved(each, below, positions) for each in node.groups),
        tuple(
            each if each.argument is None else replace(each, argument=_moved(each.argument, below, positions))
            for each in calls
        ),
        tuple(node.names[i] for i in order),
        tuple(_narrowed(each, frozenset(), lifetimes=False)[0] for each in node.presence),
    )
    return narrow, _places(order)
