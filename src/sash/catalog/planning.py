"""From a query's text to what every database runs: its plan, the optimizer's, and the names it needs."""

from __future__ import annotations

__all__ = ["Planned", "fingerprint", "free_name", "kind_of", "plan_query"]

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from sqlglot import exp

from sash.catalog.arguments import text_of
from sash.catalog.clock import Kind
from sash.catalog.names import Catalog, names_in
from sash.errors import SashError
from sash.language.statements import StreamDefinition, ViewDefinition, parse_query, too_deep
from sash.optimizer import RULES, Rule, optimize
from sash.plan.bounds import refuse_unbounded
from sash.plan.builder import build
from sash.plan.nodes import Node, Source, TableScan
from sash.plan.patterns import Pattern, pattern


@dataclass(frozen=True)
class Planned:
    """A query that a database accepted."""

    text: str
    plan: Node
    """The plan before the optimizer."""
    optimized: Node
    """The plan after the optimizer: what runs."""
    uses: frozenset[str]
    """The streams, tables and views that the query needs, through views too, in lower case."""

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """The streams that the plan reads, each once, in lower case."""
        read = (node.name.lower() for node in self.optimized.walk() if isinstance(node, Source))
        return tuple(dict.fromkeys(read))

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables that the plan reads, each once, in lower case."""
        read = (node.name.lower() for node in self.optimized.walk() if isinstance(node, TableScan))
        return tuple(dict.fromkeys(read))

    @property
    def is_stream(self) -> bool:
        """Whether the query is a stream (changes only) rather than a relation."""
        return pattern(self.optimized) is Pattern.MON

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        return pa.schema([(field.name, field.type) for field in self.optimized.schema])


def plan_query(
    text: str,
    catalog: Catalog,
    *,
    rules: tuple[Rule, ...] = RULES,
    allow_unbounded: bool = True,
) -> Planned:
    """The plans of a query; an error if one of its operators would keep rows forever, unless allowed.

    >>> from sash.catalog.schema import stream_definition
    >>> names = Catalog()
    >>> names.add(stream_definition("packets", {"ts": "BIGINT", "src": "STRING"}, "ts"))
    >>> planned = plan_query("SELECT DISTINCT src FROM packets [RANGE 60]", names)
    >>> planned.streams, planned.schema.names
    (('packets',), ['src'])
    """
    text = text_of(text, "A query")
    tree = parse_query(text)
    plan = build(tree, catalog, text=text)
    try:
        if not allow_unbounded:
            refuse_unbounded(plan, text)
        return Planned(text, plan, optimize(plan, rules), _uses(tree, catalog))
    except RecursionError:
        raise too_deep(text) from None


def fingerprint(plan: Node) -> str:
    """What tells a plan from every other: state that was kept under one fits no other."""
    return hashlib.sha256(repr(plan).encode()).hexdigest()


def _uses(tree: exp.Expr, catalog: Catalog) -> frozenset[str]:
    found: set[str] = set()
    new = names_in(tree)
    while new:
        found |= new
        views = [one for one in map(catalog.lookup, new) if isinstance(one, ViewDefinition)]
        new = frozenset(name for view in views for name in names_in(view.query)) - found
    return frozenset(found)


def free_name(name: str | None, taken: Collection[str], numbered: int) -> tuple[str, int]:
    """The name for a new query: the one given, if it is free, or the next of q1, q2, ...

    `numbered` is how many such names were given so far, and comes back as it is then.

    >>> free_name(None, ["q1", "q3"], 1), free_name(None, ["q1", "q3"], 2), free_name("alerts", ["q1"], 1)
    (('q2', 2), ('q4', 4), ('alerts', 1))
    """
    if name is None:
        numbered += 1
        while f"q{numbered}" in taken:
            numbered += 1
        return f"q{numbered}", numbered
    if not text_of(name, "A query's name") or name in taken:
        raise SashError(
            "SASH-SESSION-009",
            f"There is a query '{name}' already." if name in taken else "A query needs a name.",
            remedy="Choose another name, or drop that query first.",
        )
    return name, numbered


def kind_of(streams: Iterable[StreamDefinition], all_streams: Iterable[StreamDefinition] = ()) -> Kind:
    """The kind of time of a query: its streams', or without any that of all streams, if they agree."""
    kinds = {stream.timed for stream in streams} or {stream.timed for stream in all_streams}
    return kinds.pop() if len(kinds) == 1 else "timestamp"
