"""Update patterns: how the rows of an edge of a plan can end ([G06] §3.2, §3.3.2, §3.5.1).

MON: never. WKS: in the order in which they began. WK: at an instant known when they begin, in any
order. STR: some end early, by a negative row. The thesis asks for equally long lifetimes under WKS;
order is what a FIFO needs, so a SLIDE keeps it, and a union of unlike windows does not.
"""

from __future__ import annotations

__all__ = ["Pattern", "is_stream", "pattern"]

from collections.abc import Sequence
from enum import StrEnum

from sash.language.windows import Window
from sash.plan.nodes import (
    Distinct,
    Exchange,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    Source,
    TableJoin,
    TableScan,
    ToStream,
    Union,
    Windowed,
)


class Pattern(StrEnum):
    """What is known of the ends of an edge's rows, from the most to the least."""

    MON = "MON"
    WKS = "WKS"
    WK = "WK"
    STR = "STR"


def pattern(node: Node) -> Pattern:
    """The update pattern of what a node gives.

    >>> import pyarrow as pa
    >>> from sash.language.expressions import Field
    >>> packets = Source("packets", (Field("ts", pa.int64()),), 0)
    >>> recent = Windowed(packets, Window("range", length=60))
    >>> print(pattern(packets), pattern(recent), pattern(Distinct(recent)))
    MON WKS WK
    """
    match node:
        case Source() | ToStream():
            return Pattern.MON
        case TableScan(retroactive=retroactive):
            return Pattern.STR if retroactive else Pattern.MON
        case Windowed(window=window):
            return _of_window(window)
        case Select() | Project() | Exchange():
            return pattern(node.input)
        case TableJoin():
            # A row meets the table as of its own timestamp: rule 1, the input's pattern.
            return pattern(node.input)
        case Union():
            return _of_union(node)
        case Join():
            return _of_join(node)
        case Distinct():
            return _weak([pattern(node.input)])
        case SemiJoin(anti=False):
            # A join with the distinct keys of the right side, whose ends are known (δ*).
            return _weak([pattern(node.left), pattern(node.right)])
        case _:
            return Pattern.STR  # negation, aggregates, top-k: rule 4


def is_stream(node: Node) -> bool:
    """Whether nothing that a node gives ever ends."""
    return pattern(node) is Pattern.MON


def _of_window(window: Window) -> Pattern:
    match window.kind:
        case "range" | "now":
            return Pattern.WKS
        case "until":
            return Pattern.WK
        case "unbounded":
            return Pattern.MON
        case "rows":
            return Pattern.STR


def _weak(inputs: Sequence[Pattern]) -> Pattern:
    """Rule 3: STR if any input is, else WK; but nothing ends where no input ends."""
    if Pattern.STR in inputs:
        return Pattern.STR
    return Pattern.MON if all(each is Pattern.MON for each in inputs) else Pattern.WK


def _of_union(node: Union) -> Pattern:
    worst = _weak([pattern(part) for part in node.parts])
    if worst is Pattern.WK:
        lengths = {_fifo_length(part) for part in node.parts}
        if len(lengths) == 1 and None not in lengths:
            return Pattern.WKS
    return worst


def _of_join(node: Join) -> Pattern:
    if any(pattern(part) is Pattern.STR for part in node.parts):
        return Pattern.STR
    internal = node.internal or (False,) * len(node.parts)
    external = [pattern(part) for part, inside in zip(node.parts, internal, strict=True) if not inside]
    # One external window is not enough for WKS: a pair begins with its later row, whatever its end.
    return _weak(external)


def _fifo_length(node: Node) -> tuple[int | None, int | None] | None:
    """Length and slide of the one kind of window from which all rows of a WKS edge come."""
    match node:
        case Windowed(window=Window(kind="range") as window):
            return window.length, window.slide
        case Windowed(window=Window(kind="now")):
            return 1, None
        case Select() | Project() | TableJoin() | Exchange():
            return _fifo_length(node.input)
        case Union():
            lengths = {_fifo_length(part) for part in node.parts}
            return lengths.pop() if len(lengths) == 1 else None
        case _:
            return None
