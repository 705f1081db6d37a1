"""Keys of a relation at an instant, and where changes need no netting.

A change is net: a row that leaves and an equal row that enters at one instant are no change
([G06] §2.1.3). Netting keeps the live rows by value; these facts say where it can be left out.
"""

from __future__ import annotations

__all__ = ["key", "nets"]

from collections.abc import Sequence

from sash.language.expressions import Column, Expression
from sash.language.windows import Window
from sash.plan.nodes import (
    Aggregate,
    Distinct,
    Exchange,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    SetOperation,
    Source,
    TableJoin,
    TableScan,
    TopK,
    Union,
    Windowed,
)
from sash.plan.patterns import Pattern, pattern

Clock = tuple[int, frozenset[int]]
"""A slide (1 for none) and the columns that all hold the time it rounds up."""


def nets(node: Node) -> bool:
    """Whether equal rows can leave and enter at one instant, so that changes must be netted.

    They cannot, and this is False, where
    - nothing ever leaves (MON);
    - equal rows begin together: a row that leaves at τ began before τ, one that enters at τ begins
      there, so they differ. A row begins at the greatest of the timestamps (rounded up to the
      slide) of the windowed rows it is made of; so this holds where all of those time columns are
      in the output. A join of early-ending (STR) inputs is left out: it may meet a negative row and
      a new one at one instant, and gives both pairs, which cancel. A count window is not: a row
      that enters and leaves at one instant has no lifetime and is not given at all;
    - an anti-join's left rows begin together, and end as foreseen: right rows come and go by key,
      so at one instant all rows equal to a given one appear, or all disappear;
    - an aggregate gives a group's row only when it differs from the one before, and rows of other
      groups differ anyway.
    Selection keeps that, and so does a projection that keeps every column. One that drops some can
    make successive rows equal; DISTINCT by δ* ends a row and begins its equal at the same instant.
    """
    if pattern(node) is Pattern.MON:
        return False
    if _clocks(node) is not None:
        return False
    match node:
        case Aggregate():
            return False
        case Select() | Exchange():
            return nets(node.input)
        case Project() if _keeps_all(node):
            return nets(node.input)
        case SemiJoin(anti=True, null_aware=False):
            return pattern(node.left) is Pattern.STR or _clocks(node.left) is None
        case _:
            return True


def key(node: Node) -> frozenset[int] | None:
    """Columns that no two rows alive at one instant agree on, if any are known.

    The empty set means that at most one row lives at a time. NULLs count as equal.
    """
    match node:
        case Aggregate():
            return frozenset(range(len(node.groups)))
        case Select() | TopK() | Exchange():
            return key(node.input)
        case SemiJoin():
            return key(node.left)
        case Distinct():
            return _or_all(key(node.input), node)
        case SetOperation():
            return key(node.left) if node.all else _or_all(key(node.left), node)
        case TableScan():
            return frozenset(node.key) or None
        case Windowed(window=Window(kind="rows", rows=1) as window):
            return frozenset(window.partition)
        case Project():
            return _through(key(node.input), node.expressions)
        case Join() if not any(node.internal):
            return _side_by_side([key(part) for part in node.parts], node.parts)
        case TableJoin():
            return _of_table_join(node)
        case _:
            return None


def _keeps_all(node: Project) -> bool:
    kept = {each.index for each in node.expressions if isinstance(each, Column)}
    return kept == set(range(len(node.input.schema)))


def _clocks(node: Node) -> frozenset[Clock] | None:
    """The clocks whose latest is the instant at which a row begins; None if columns do not say.

    Each clock has at least one column.
    """
    match node:
        case Source():
            return frozenset({(1, frozenset({node.time}))})
        case Windowed():
            return _slid(_clocks(node.input), node.window)
        case Select() | TableJoin() | Exchange():
            return _clocks(node.input)
        case Project():
            return _shown(_clocks(node.input), node.expressions)
        case Union():
            return _common([_clocks(part) for part in node.parts])
        case Join() if pattern(node) is not Pattern.STR:
            return _beside([_clocks(part) for part in node.parts], node.parts)
        case _:
            return None


def _slid(clocks: frozenset[Clock] | None, window: Window) -> frozenset[Clock] | None:
    slide = window.slide or 1
    if clocks is None or slide == 1:
        return clocks
    if window.kind != "range":
        return None  # a count window's slide ends with a later row
    # Below a window there are only streams, and those have no slide of their own.
    return frozenset((slide, columns) for _, columns in clocks)


def _shown(clocks: frozenset[Clock] | None, expressions: Sequence[Expression]) -> frozenset[Clock] | None:
    if clocks is None:
        return None
    origins = [each.index if isinstance(each, Column) else None for each in expressions]
    seen = frozenset(
        (slide, frozenset(i for i, origin in enumerate(origins) if origin in columns))
        for slide, columns in clocks
    )
    return seen if all(columns for _, columns in seen) else None


def _common(parts: Sequence[frozenset[Clock] | None]) -> frozenset[Clock] | None:
    """What holds whichever part a row came from: one clock each, the same slide, the same columns."""
    single: list[Clock] = []
    for clocks in parts:
        if clocks is None or len(clocks) != 1:
            return None
        single.extend(clocks)
    columns = frozenset.intersection(*(each for _, each in single))
    same = len({slide for slide, _ in single}) == 1 and columns
    return frozenset({(single[0][0], columns)}) if same else None


def _beside(parts: Sequence[frozenset[Clock] | None], nodes: Sequence[Node]) -> frozenset[Clock] | None:
    clocks: set[Clock] = set()
    offset = 0
    for own, node in zip(parts, nodes, strict=True):
        if own is None:
            return None
        clocks.update((slide, frozenset(i + offset for i in columns)) for slide, columns in own)
        offset += len(node.schema)
    return frozenset(clocks)


def _or_all(known: frozenset[int] | None, node: Node) -> frozenset[int]:
    return frozenset(range(len(node.schema))) if known is None else known


def _through(known: frozenset[int] | None, expressions: Sequence[Expression]) -> frozenset[int] | None:
    if known is None:
        return None
    shown = {e.index: i for i, e in enumerate(expressions) if isinstance(e, Column)}
    return frozenset(shown[i] for i in known) if known <= shown.keys() else None


def _side_by_side(keys: Sequence[frozenset[int] | None], parts: Sequence[Node]) -> frozenset[int] | None:
    positions: set[int] = set()
    offset = 0
    for known, part in zip(keys, parts, strict=True):
        if known is None:
            return None
        positions.update(i + offset for i in known)
        offset += len(part.schema)
    return frozenset(positions)


def _of_table_join(node: TableJoin) -> frozenset[int] | None:
    own = key(node.input)
    if own is None or node.kind in ("semi", "anti"):
        return own
    table = key(node.table)
    looked_up = {each.index for each in node.table_keys if isinstance(each, Column)}
    if table is not None and table <= looked_up:
        return own  # each row meets at most one row of the table
    return _side_by_side([own, table], [node.input, node.table])
