"""The names of a database: streams, tables and views, in the order in which they were made.

Names are the same in any case of letters and shared by all three kinds. What is in use by a view
cannot be dropped; the database adds what is in use by a query.
"""

from __future__ import annotations

__all__ = ["Catalog", "Definition", "in_use", "names_in", "taken"]

from collections.abc import Iterator

from sqlglot import exp

from sash.errors import Place, SashError
from sash.language.definitions import place_of_name
from sash.language.scope import suggestion
from sash.language.statements import StreamDefinition, TableDefinition, ViewDefinition

Definition = StreamDefinition | TableDefinition | ViewDefinition

_KINDS: dict[type, str] = {StreamDefinition: "stream", TableDefinition: "table", ViewDefinition: "view"}


def names_in(query: exp.Expr) -> frozenset[str]:
    """The names (in lower case) that stand where a stream, table or view may stand.

    >>> from sqlglot import parse_one
    >>> sorted(names_in(parse_one("SELECT * FROM a, B WHERE x IN (SELECT y FROM c)")))
    ['a', 'b', 'c']
    """
    return frozenset(table.name.lower() for table in query.find_all(exp.Table))


class Catalog:
    """What the names mean; the plan's builder asks it (`plan.builder.Names`)."""

    def __init__(self) -> None:
        self._definitions: dict[str, Definition] = {}

    def __iter__(self) -> Iterator[Definition]:
        return iter(self._definitions.values())

    def lookup(self, name: str) -> Definition | None:
        """The stream, table or view of that name, in any case of letters."""
        return self._definitions.get(name.lower())

    def all_names(self) -> list[str]:
        """Every name, for suggestions."""
        return [definition.name for definition in self]

    @property
    def streams(self) -> list[StreamDefinition]:
        """The streams, oldest first."""
        return [one for one in self if isinstance(one, StreamDefinition)]

    @property
    def tables(self) -> list[TableDefinition]:
        """The tables, oldest first."""
        return [one for one in self if isinstance(one, TableDefinition)]

    def add(self, definition: Definition) -> None:
        """Give a name a meaning; it must not have one."""
        self.check_free(definition.name)
        self._definitions[definition.name.lower()] = definition

    def check_free(self, name: str) -> None:
        """Raise if a name has a meaning already."""
        other = self.lookup(name)
        if other is not None:
            raise taken(_KINDS[type(other)], other.name, place_of_name(name))

    def stream(self, name: str) -> StreamDefinition:
        """The stream of that name, or the error that says what there is."""
        definition = self._wanted(name, "stream")
        if not isinstance(definition, StreamDefinition):
            raise self._wrong_kind(name, definition, "stream")
        return definition

    def table(self, name: str) -> TableDefinition:
        """The table of that name, or the error that says what there is."""
        definition = self._wanted(name, "table")
        if not isinstance(definition, TableDefinition):
            raise self._wrong_kind(name, definition, "table")
        return definition

    def droppable(self, kind: str, name: str) -> Definition:
        """The definition that `DROP kind name` means, if no view needs it."""
        definition = self._wanted(name, kind)
        if _KINDS[type(definition)] != kind:
            raise self._wrong_kind(name, definition, kind)
        for other in self:
            if isinstance(other, ViewDefinition) and definition.name.lower() in names_in(other.query):
                raise in_use(kind, definition.name, f"view '{other.name}'", place_of_name(name))
        return definition

    def remove(self, definition: Definition) -> None:
        """Forget a name."""
        del self._definitions[definition.name.lower()]

    def _wanted(self, name: str, kind: str) -> Definition:
        definition = self.lookup(name)
        if definition is None:
            known = [one.name for one in self if _KINDS[type(one)] == kind]
            raise SashError(
                "SASH-SESSION-001",
                f"There is no {kind} '{name}'.",
                remedy=suggestion(name, known),
                place=place_of_name(name),
            )
        return definition

    def _wrong_kind(self, name: str, definition: Definition, kind: str) -> SashError:
        known = [one.name for one in self if _KINDS[type(one)] == kind]
        return SashError(
            "SASH-SESSION-003",
            f"'{definition.name}' is a {_KINDS[type(definition)]}, not a {kind}.",
            remedy=suggestion(definition.name, known),
            place=place_of_name(name),
        )


def taken(kind: str, name: str, place: Place | None) -> SashError:
    """The error for a name that has a meaning already."""
    return SashError(
        "SASH-SESSION-002",
        f"There is a {kind} '{name}' already.",
        remedy="Choose another name, or drop that one first.",
        place=place,
    )


def in_use(kind: str, name: str, user: str, place: Place | None) -> SashError:
    """The error for dropping what something still needs."""
    return SashError(
        "SASH-SESSION-004",
        f"The {kind} '{name}' is in use by {user}.",
        remedy=f"Drop {user} first.",
        place=place,
    )
