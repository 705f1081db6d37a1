"""What each operator must keep, and how much that can be.

An edge is unending if its rows pile up for ever: a stream without a window, or what is made of one.
Joins, DISTINCT, set operations and negation would have to keep all of it; selection, projection and
union keep nothing, and an aggregate keeps its groups. Buffers follow the update pattern of the input
([G06] §3.5.2): FIFO for WKS, calendar for WK, keyed for the rest.
"""

from __future__ import annotations

__all__ = ["State", "live", "refuse_unbounded", "state", "unending"]

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sash.errors import SashError
from sash.language.statements import parse_query
from sash.language.syntax import RelationToStream, place_of
from sash.plan.keys import nets
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
    ToStream,
    Union,
    Windowed,
)
from sash.plan.patterns import Pattern, pattern
from sash.plan.wording import counted, duration, is_timestamped, listing, phrase


@dataclass(frozen=True)
class State:
    """What an operator keeps: in which buffers, how much at most, or why that has no end and what to add."""

    kind: str
    bound: str = ""
    unbounded: str | None = None
    fix: str | None = None
    culprit: Source | ToStream | None = None
    """The stream that has no end."""


_NOTHING = State("none")
_BUFFERS = {Pattern.MON: "keyed", Pattern.WKS: "fifo", Pattern.WK: "calendar", Pattern.STR: "keyed"}


def state(node: Node) -> State:
    """What a node itself keeps, its inputs aside.

    >>> import pyarrow as pa
    >>> from sash.language.expressions import Field
    >>> from sash.language.windows import Window
    >>> packets = Source("packets", (Field("ts", pa.int64()), Field("src", pa.string())), 0)
    >>> state(Distinct(Windowed(packets, Window("range", length=60)))).bound
    '2 x distinct (ts, src)'
    >>> state(Distinct(packets)).unbounded
    'every value of packets would be kept forever'
    """
    match node:
        case Windowed():
            return _of_window(node)
        case TableScan():
            return State("keyed", f"rows of {node.name}, and old versions while rows may ask for them")
        case Join() | SemiJoin() | SetOperation():
            return _of_sides(node)
        case Distinct():
            return _of_distinct(node)
        case Aggregate():
            return _of_aggregate(node)
        case TopK():
            return _of_top(node)
        case ToStream():
            return _of_stream(node)
        case _:
            return _NOTHING


def unending(node: Node) -> Source | ToStream | None:
    """The stream that makes the live rows of an edge pile up for ever, or None if they do not."""
    if isinstance(node, (Source, ToStream)):
        return node
    match node:
        case Windowed(window=window):
            return unending(node.input) if window.kind == "unbounded" else None
        case Select() | Project() | TableJoin() | Distinct() | Exchange():
            return unending(node.input)
        case Join() if node.internal and all(node.internal):
            return _streams_below(node)[0]
        case Union() | Join():
            return next((found for found in map(unending, node.parts) if found is not None), None)
        case SemiJoin():
            return unending(node.left)
        case SetOperation(kind="intersect"):
            return None if unending(node.right) is None else unending(node.left)
        case SetOperation():
            return unending(node.left)
        case _:
            return None


def live(node: Node) -> str:
    """How many rows of an edge can live at one instant, in words."""
    match node:
        case Source():
            return f"rows of {node.name}"
        case TableScan():
            return f"rows of {node.name}"
        case Windowed():
            return _in_window(node)
        case Select() | Project() | TableJoin() | Exchange():
            return live(node.input)
        case Union():
            return " + ".join(dict.fromkeys(map(live, node.parts)))
        case Join():
            return " x ".join(map(_enclosed, map(live, node.parts)))
        case SemiJoin() | SetOperation():
            return live(node.left)
        case Distinct():
            return f"distinct ({listing(node.schema, range(len(node.schema)))})"
        case Aggregate():
            return _groups(node)
        case TopK():
            return counted(node.limit, "row")
        case ToStream():
            return f"rows of the {node.kind.upper()} of {' and '.join(_names_below(node))}"
        case _:
            return "rows"


def refuse_unbounded(plan: Node, text: str = "") -> None:
    """Raise an error that says what to add if any operator would keep rows forever.

    With the text of the query that the plan is made of, the error shows the stream in it.
    """
    for below in plan.inputs:
        refuse_unbounded(below, text)
    found = state(plan)
    if found.unbounded is None or found.culprit is None:
        return
    named = _written(found.culprit, parse_query(text)) if text else None
    code, what = _refusal(plan)
    raise SashError(
        code,
        f"{what} needs unbounded memory: {found.unbounded}.",
        remedy=f"{found.fix}, or connect with allow_unbounded=True.",
        place=None if named is None else place_of(named, text),
    )


def _written(culprit: Source | ToStream, query: exp.Expr) -> exp.Expr | None:
    """Where a query names a stream without a window; nowhere if a view does."""
    if isinstance(culprit, Source):
        tables = [each for each in query.find_all(exp.Table) if each.name.lower() == culprit.name.lower()]
        return next((each.this for each in tables if _is_endless(each)), None)
    operators = query.find_all(RelationToStream)
    return next((each for each in operators if each is not query and _is_endless(each.parent)), None)


def _is_endless(item: exp.Expr | None) -> bool:
    window = None if item is None else item.args.get("cql_window")
    return window is None or window.args["kind"] == "unbounded"


def _refusal(node: Node) -> tuple[str, str]:
    match node:
        case Join():
            return "SASH-PLAN-101", "This join"
        case Distinct():
            return "SASH-PLAN-102", "This DISTINCT"
        case SetOperation():
            return "SASH-PLAN-103", f"This {node.kind.upper()}"
        case SemiJoin():
            return "SASH-PLAN-104", "This negation" if node.anti else "This semi-join"
        case Aggregate():
            return "SASH-PLAN-105", "This aggregate"
        case TopK():
            return "SASH-PLAN-106", "This top-k"
        case _:
            return "SASH-PLAN-107", "This relation-to-stream operator"


def _unbounded(kind: str, culprit: Source | ToStream, what: str) -> State:
    reason = f"every {what} of {_called(culprit)} would be kept forever"
    example = "RANGE 10 MINUTES" if is_timestamped(culprit) else "RANGE 600"
    if isinstance(culprit, Source):
        fix = f"Give {culprit.name} a window, for example {culprit.name} [{example}]"
    else:
        fix = f"Give the subquery a window, for example ({culprit.kind.upper()}(...)) [{example}]"
    return State(kind, "", reason, fix, culprit)


def _called(stream: Source | ToStream) -> str:
    return stream.name if isinstance(stream, Source) else f"the {stream.kind.upper()} of a subquery"


def _of_window(node: Windowed) -> State:
    window = node.window
    if window.kind == "rows":
        return State("keyed", _in_window(node))
    if window.slide is not None:
        # Rows wait for the next slide, never longer.
        return State("fifo", f"{live(node.input)} in {duration(window.slide, is_timestamped(node))}")
    return _NOTHING


def _in_window(node: Windowed) -> str:
    window, below = node.window, live(node.input)
    timestamped = is_timestamped(node)
    match window.kind:
        case "range":
            length = (window.length or 0) + (window.slide or 0)
            return f"{below} in {duration(length, timestamped)}"
        case "now":
            return f"{below} of one instant"
        case "until":
            return f"{below} before their {listing(node.schema, (window.until or 0,))}"
        case "unbounded":
            return below
        case "rows":
            count = counted((window.rows or 0) + (window.slide or 1) - 1, "row")
            per = f" per {listing(node.schema, window.partition)}" if window.partition else ""
            within = "" if window.length is None else f" in {duration(window.length, timestamped)}"
            return f"{count}{per}{within}"


def _of_sides(node: Join | SemiJoin | SetOperation) -> State:
    keyed = isinstance(node, SetOperation)
    kind = "keyed" if keyed else "+".join(_BUFFERS[pattern(side)] for side in node.inputs)
    for side in node.inputs:
        culprit = unending(side)
        if culprit is not None:
            return _unbounded(kind, culprit, "row")
    return State(kind, " + ".join(live(side) for side in node.inputs))


def _of_distinct(node: Distinct) -> State:
    culprit = unending(node.input)
    if culprit is not None:
        return _unbounded("keyed", culprit, "value")
    if pattern(node.input) is Pattern.STR:
        return State("keyed", live(node.input))
    return State("keyed", f"2 x {live(node)}")  # δ*: the row in the answer and the one that outlives it


def _groups(node: Aggregate) -> str:
    return f"groups of ({', '.join(map(phrase, node.groups))})" if node.groups else "1 row"


def _of_aggregate(node: Aggregate) -> State:
    culprit = unending(node.input)
    if culprit is None:
        buffer = _BUFFERS[pattern(node.input)]
        kind = "keyed" if buffer == "keyed" else f"keyed+{buffer}"
        return State(kind, f"{_groups(node)} + {live(node.input)}")
    if any(call.distinct for call in node.aggregates):
        return _unbounded("keyed", culprit, "value")
    extremes = any(call.function in ("min", "max") for call in node.aggregates)
    if extremes and pattern(node.input) is not Pattern.MON:
        return _unbounded("keyed", culprit, "value")  # the next extreme may be any row
    return State("keyed", _groups(node))


def _of_top(node: TopK) -> State:
    culprit = unending(node.input)
    if culprit is None:
        return State("keyed", live(node.input))
    if pattern(node.input) is Pattern.MON:
        # Nothing leaves, so no other row can enter.
        return State("keyed", counted(node.limit + node.offset, "row"))
    return _unbounded("keyed", culprit, "row")


def _of_stream(node: ToStream) -> State:
    below = node.input
    netted = nets(below)
    if not netted and node.kind == "istream":
        return _NOTHING if node.slide is None else State("keyed", "what changed in one slide")
    if node.kind == "dstream" and pattern(below) is Pattern.MON:
        return _NOTHING
    kind = "keyed" if netted or node.kind == "rstream" else _BUFFERS[pattern(below)]
    culprit = unending(below)
    return State(kind, live(below)) if culprit is None else _unbounded(kind, culprit, "row")


def _enclosed(words: str) -> str:
    return f"({words})" if " + " in words or " x " in words else words


def _streams_below(node: Node) -> Sequence[Source | ToStream]:
    return [each for each in node.walk() if isinstance(each, (Source, ToStream))]


def _names_below(node: Node) -> list[str]:
    return list(dict.fromkeys(each.name for each in node.walk() if isinstance(each, (Source, TableScan))))
