"""A plan as a tree of lines: what each operator does, its update pattern, what it keeps, how much.

One line per operator, inputs below it, the pattern in square brackets: what the optimizer did and
what the engine will choose can be read off. An operator that is read in several places is drawn in
the first and named in the others.
"""

from __future__ import annotations

__all__ = ["explain", "headline"]

from collections.abc import Iterator, Mapping

from sash.plan.bounds import state
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
    SortKey,
    Source,
    TableJoin,
    TableScan,
    TopK,
    ToStream,
    Union,
    Windowed,
)
from sash.plan.patterns import pattern
from sash.plan.wording import duration, is_timestamped, phrase, window_phrase


def explain(plan: Node, source: str | None = None, notes: Mapping[Node, str] | None = None) -> str:
    """The plan as text: one line per operator; the query's text first if `source` is given.

    `notes` adds words to the lines of some nodes, such as counters.

    >>> import pyarrow as pa
    >>> from sash.language.expressions import Field
    >>> from sash.language.windows import Window
    >>> packets = Source("packets", (Field("ts", pa.timestamp("us")), Field("src", pa.string())), 0)
    >>> print(explain(Distinct(Windowed(packets, Window("range", length=60_000_000)))))
    distinct [WK] state=keyed bound=2 x distinct (ts, src)
    └─ range 60 s [WKS] state=none
       └─ stream packets [MON] state=none
    """
    lines = list(_lines(plan, "", "", notes or {}, _marks(plan), set()))
    return "\n".join(lines if source is None else [source.strip(), *lines])


def headline(node: Node) -> str:
    """What one node does, in a few words."""
    match node:
        case Source():
            return f"stream {node.name}"
        case TableScan():
            return f"{'retroactive ' if node.retroactive else ''}table {node.name}"
        case Windowed():
            return window_phrase(node.window, node.schema, is_timestamped(node))
        case Select():
            return f"select {phrase(node.predicate)}"
        case Project():
            return f"project {_columns(node)}"
        case Union():
            return "union all"
        case Exchange():
            return _exchange(node)
        case Join():
            return _join(node)
        case SemiJoin():
            pairs = zip(node.left_keys, node.right_keys, strict=True)
            sign = " <=> " if node.null_safe else " = "
            on = " and ".join(f"{phrase(left)}{sign}{phrase(right)}" for left, right in pairs)
            name = ("not in" if node.null_aware else "anti-join") if node.anti else "semi-join"
            return f"{name} on {on}" if on else name
        case TableJoin():
            return _table_join(node)
        case Distinct():
            return "distinct"
        case SetOperation():
            return f"{node.kind} all" if node.all else node.kind
        case Aggregate():
            return _aggregate(node)
        case TopK():
            skipped = f" after {node.offset}" if node.offset else ""
            order = ", ".join(_order(key, node) for key in node.order)
            return f"top {node.limit}{skipped} by {order}" if order else f"top {node.limit}{skipped}"
        case ToStream():
            name = f"{node.kind}-restore" if node.restore else node.kind
            if node.slide is None:
                return name
            return f"{name} every {duration(node.slide, is_timestamped(node))}"
        case _:
            return type(node).__name__.lower()


def _lines(
    node: Node, lead: str, rest: str, notes: Mapping[Node, str], marks: dict[Node, str], told: set[Node]
) -> Iterator[str]:
    if node in told and node in marks:
        yield f"{lead}{marks[node]} again: {headline(node)}"
        return
    told.add(node)
    mark = f" {marks[node]}" if node in marks else ""
    yield f"{lead}{_line(node)}{' ' + notes[node] if notes and node in notes else ''}{mark}"
    below = _below(node)
    for child in below[:-1]:
        yield from _lines(child, f"{rest}├─ ", f"{rest}│  ", notes, marks, told)
    for child in below[-1:]:
        yield from _lines(child, f"{rest}└─ ", f"{rest}   ", notes, marks, told)


def _below(node: Node) -> tuple[Node, ...]:
    """What is drawn below a node: not what only tells a global aggregate when to begin."""
    return node.inputs[:1] if isinstance(node, Aggregate) else node.inputs


def _marks(plan: Node) -> dict[Node, str]:
    """A mark for each node that is read in several places, in the order in which they are drawn.

    It runs once; and an outer join, which reads its sides twice or more, would double the tree.
    """
    met: set[Node] = set()
    again: set[Node] = set()

    def visit(node: Node) -> None:
        if node in met:
            again.add(node)
            return
        met.add(node)
        order.append(node)
        for child in _below(node):
            visit(child)

    order: list[Node] = []
    visit(plan)
    shared = [node for node in order if node in again and node.inputs]
    return {node: f"#{number}" for number, node in enumerate(shared, 1)}


def _line(node: Node) -> str:
    kept = state(node)
    bound = kept.bound if kept.unbounded is None else f"unbounded: {kept.unbounded}"
    return f"{headline(node)} [{pattern(node)}] state={kept.kind}{' bound=' + bound if bound else ''}"


def _columns(node: Project) -> str:
    pairs = zip(map(phrase, node.expressions), node.names, strict=True)
    return ", ".join(text if text == name else f"{text} as {name}" for text, name in pairs)


def _exchange(node: Exchange) -> str:
    if node.keys is None:
        return "exchange, anywhere"
    return f"exchange by {', '.join(map(phrase, node.keys))}" if node.keys else "exchange, to one bucket"


def _join(node: Join) -> str:
    conditions = [
        f"{phrase(each.left_key)} {'<=>' if each.null_safe else '='} {phrase(each.right_key)}"
        for each in node.equalities
    ]
    if node.residual is not None:
        conditions.append(phrase(node.residual))
    name = f"join on {' and '.join(conditions)}" if conditions else "cross join"
    inside = [str(i + 1) for i, internal in enumerate(node.internal) if internal]
    return f"{name}, internal {', '.join(inside)}" if inside else name


def _table_join(node: TableJoin) -> str:
    pairs = zip(node.input_keys, node.table_keys, strict=True)
    conditions = [f"{phrase(own)} = {phrase(other)}" for own, other in pairs]
    if node.residual is not None:
        conditions.append(phrase(node.residual))
    on = f" on {' and '.join(conditions)}" if conditions else ""
    return f"{node.kind} table join{on}"


def _aggregate(node: Aggregate) -> str:
    calls = []
    for call in node.aggregates:
        inner = "*" if call.argument is None else phrase(call.argument)
        calls.append(f"{call.function}({'distinct ' if call.distinct else ''}{inner})")
    if node.groups:
        groups = ", ".join(map(phrase, node.groups))
        return f"group by {groups}: {', '.join(calls)}" if calls else f"group by {groups}"
    names = dict.fromkeys(
        each.name for part in node.presence for each in part.walk() if isinstance(each, (Source, TableScan))
    )
    since = f", from the first row of {' or '.join(names)}" if names else ""
    return f"aggregate {', '.join(calls)}{since}"


def _order(key: SortKey, node: TopK) -> str:
    name = node.schema[key.index].name
    # Spark's defaults go without saying.
    nulls = "" if key.nulls_first != key.descending else f" nulls {'first' if key.nulls_first else 'last'}"
    return f"{name}{' desc' if key.descending else ''}{nulls}"
