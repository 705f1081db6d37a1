"""The nodes that CQL adds to SQL's syntax trees ([G06] §2.1.3, §3.4), and where a node stands in its text.

A `WindowClause` hangs on a FROM or JOIN item (a table or a subquery) as its `cql_window`. A
`RelationToStream` stands where a query may stand. Offsets are those of the whole text that was
parsed; sqlglot keeps them in a node's `meta`, `end` being that of the last character.
"""

from __future__ import annotations

__all__ = [
    "RelationToStream", "StreamCall", "WindowClause", "blanked", "evenly_nested", "place_between", "place_of",
]  # fmt: skip

import re
from typing import ClassVar

from sqlglot import Token, exp

from sash.errors import Place


class WindowClause(exp.Expression):
    """A window in square brackets, as written: lengths in the units given, columns by name.

    kind: "range", "rows", "now", "until" or "unbounded"; length, length_unit: of RANGE; rows: of
    ROWS; slide, slide_unit; partition: columns; until: a column; internal: a bool.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True, "length": False, "length_unit": False, "rows": False, "slide": False,
        "slide_unit": False, "partition": False, "until": False, "internal": False,
    }  # fmt: skip


class RelationToStream(exp.Expression):
    """ISTREAM, DSTREAM, RSTREAM or WSTREAM of a whole query.

    this: the query; kind: the operator in lower case; restore: a bool; window: WSTREAM's own.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "restore": False, "window": False}


class StreamCall(exp.Expression):
    """One of the same operators written inside a SELECT list; none is left when parsing is done."""

    arg_types: ClassVar[dict[str, bool]] = {
        "expressions": True,
        "kind": True,
        "restore": False,
        "window": False,
        "distinct": False,
    }


_LONG = 16


def evenly_nested(node: exp.Expr | None) -> exp.Expr | None:
    """A long chain of one connector (a OR b OR c ...), nested by halves instead of from the left.

    Walks go down as deep as an expression is nested, and chains that programs write can be very long.

    >>> from sqlglot import parse_one
    >>> chain = evenly_nested(parse_one(" OR ".join(f"a = {i}" for i in range(1000))))
    >>> max(each.depth for each in chain.find_all(exp.Or)), chain.sql()[:23]
    (9, 'a = 0 OR a = 1 OR a = 2')
    """
    parts: list[exp.Expr] = []
    first = node
    while type(first) is type(node) and isinstance(first, exp.And | exp.Or):
        parts.append(first.expression)
        first = first.this
    if node is None or first is None or len(parts) < _LONG:
        return node

    def nested(few: list[exp.Expr]) -> exp.Expr:
        middle = len(few) // 2
        return type(node)(this=nested(few[:middle]), expression=nested(few[middle:])) if middle else few[0]

    return nested([first, *reversed(parts)])


def blanked(text: str, end: int) -> str:
    """The text with all before an offset blanked, so that lines and columns after it stay what they are.

    >>> blanked("INSERT INTO a SELECT 1", 14)
    '              SELECT 1'
    """
    return re.sub(r"[^\n]", " ", text[:end]) + text[end:]


def place_between(text: str, first: Token, last: Token | None = None) -> Place:
    """From the first character of one token to the last of another (or of the same)."""
    return Place(text, first.start, (last or first).end + 1)


def place_of(node: exp.Expr, text: str) -> Place | None:
    """Where a node stands in the text it was parsed from: its own token, or all that it holds.

    A node without any offsets (a constant NULL, say) is shown where its parent stands.

    >>> from sqlglot import parse_one
    >>> text = "SELECT a + bb FROM s"
    >>> place_of(parse_one(text).selects[0], text)
    Place(text='SELECT a + bb FROM s', start=7, end=13)
    """
    at: exp.Expr | None = node
    while at is not None:
        spans = [_span(at)] if _span(at) else [_span(part) for part in at.walk()]
        known = [span for span in spans if span is not None]
        if known:
            start, end = min(span[0] for span in known), max(span[1] for span in known)
            return Place(text, start, min(end + 1, len(text))) if start < len(text) else None
        at = at.parent
    return None


def _span(node: exp.Expr) -> tuple[int, int] | None:
    start, end = node.meta.get("start"), node.meta.get("end")
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None
