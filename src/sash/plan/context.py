"""What the building of a plan carries along: the names known, the text for error places, the time.

A view or a common table expression is built where it is used, in its own context: it sees neither
the columns nor the aliases of the query that uses it.
"""

from __future__ import annotations

__all__ = ["Built", "Context", "LocalView", "Names"]

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from sash.errors import SashError
from sash.language.definitions import StreamDefinition, TableDefinition, ViewDefinition
from sash.language.scope import Name
from sash.language.syntax import place_of
from sash.plan.nodes import Node


class Names(Protocol):
    """What a catalog must answer for queries to be built over it."""

    def lookup(self, name: str) -> StreamDefinition | TableDefinition | ViewDefinition | None:
        """The stream, table or view of that name, in any case of letters."""
        ...

    def all_names(self) -> Sequence[str]:
        """Every name, for suggestions."""
        ...


@dataclass(frozen=True)
class Built:
    """The plan of a query, and which of its own operators forbid monotonic output ([G06] §3.3.2)."""

    node: Node
    negations: frozenset[str] = frozenset()
    """In words: "DISTINCT", "a set operation" ..."""
    monotonic: tuple[exp.Expr, ...] = ()
    """The FROM items and operators of this query whose results are never taken back by design."""


@dataclass(frozen=True)
class LocalView:
    """A common table expression: a name for a query inside one query."""

    query: exp.Expr
    alias: exp.Expr
    context: Context


@dataclass(frozen=True)
class Context:
    """Where in a query, or in which view, the builder is."""

    names: Names
    text: str
    query: Callable[[exp.Expr, Context], Built]
    """Builds a query inside this one; here so that the files need not import each other in a ring."""
    local: Mapping[str, LocalView] = field(default_factory=dict)
    beyond: tuple[Name, ...] = ()
    """Names of queries around this one that cannot be used here: for the error that says so."""
    clock: dict[str, str] = field(default_factory=dict)
    """The kind of time of this query's streams (`kind`), and the first stream that has it (`stream`)."""

    def inside(self, around: Sequence[Name]) -> Context:
        """The context of a subquery that may not use the given names of the query around it."""
        return replace(self, beyond=(*self.beyond, *around))

    def error(self, code: str, message: str, remedy: str, node: exp.Expr | None) -> SashError:
        """An error that shows a node's place."""
        place = None if node is None else place_of(node, self.text)
        return SashError(code, message, remedy=remedy, place=place)
