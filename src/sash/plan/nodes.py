"""Logical plan nodes: frozen, with their schema derived from their inputs.

A node says what is computed, never how. An edge that is monotonic (MON) is a stream; every other
edge is a relation that changes. Columns are known by position.
"""

from __future__ import annotations

__all__ = [
    "Aggregate", "Distinct", "Equality", "Exchange", "Join", "Node", "Project", "Select",
    "SemiJoin", "SetOperation", "SortKey", "Source", "TableJoin", "TableScan", "ToStream", "TopK",
    "Union", "Windowed",
]  # fmt: skip

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from sash.language.expressions import AggregateCall, Expression, Field, Schema
from sash.language.windows import Window


@dataclass(frozen=True)
class Node:
    """A step of a plan. Subclasses say what they read in `inputs` and give in `schema`."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes below, in order."""
        return ()

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same node over other inputs (of the same schemas)."""
        assert not inputs
        return self

    @property
    def schema(self) -> Schema:
        """The columns this node gives."""
        raise NotImplementedError  # every subclass answers

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first."""
        yield self
        for child in self.inputs:
            yield from child.walk()


@dataclass(frozen=True)
class Source(Node):
    """A stream as it comes: each row begins at its timestamp and never ends."""

    name: str
    fields: Schema
    time: int
    """The position of the column that carries application time."""

    @property
    def schema(self) -> Schema:
        return self.fields


@dataclass(frozen=True)
class TableScan(Node):
    """A table; RETROACTIVE ones are relations in their own right, others are looked up by rows."""

    name: str
    fields: Schema
    key: tuple[int, ...]
    retroactive: bool

    @property
    def schema(self) -> Schema:
        return self.fields


@dataclass(frozen=True)
class _Unary(Node):
    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, input=inputs[0])

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Exchange(_Unary):
    """Rows that are computed in one place and go on in another, by the hash of `keys`.

    No keys: all rows go to one place. None: it does not matter where a row goes. What is above runs
    in another process; for it this node is where rows come in, under `name`.
    """

    keys: tuple[Expression, ...] | None

    @cached_property
    def name(self) -> str:
        """A name that is the same wherever the same rows go the same way."""
        return f"flow-{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Windowed(_Unary):
    """A stream seen through a window: gives each row its lifetime.

    `by_value` says that rows of one instant have no arrival order of their own (the stream is
    computed, not pushed): count windows then take them in the order of their values, NULLs first.
    """

    window: Window
    by_value: bool = False


@dataclass(frozen=True)
class Select(_Unary):
    """The rows for which the predicate is true (not false, not NULL)."""

    predicate: Expression


@dataclass(frozen=True)
class Project(_Unary):
    """One column per expression."""

    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def _schema(self) -> Schema:
        return tuple(Field(name, e.type) for name, e in zip(self.names, self.expressions, strict=True))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class Union(Node):
    """UNION ALL: the bags added up; the first input names the columns."""

    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, parts=tuple(inputs))

    @property
    def schema(self) -> Schema:
        return self.parts[0].schema


@dataclass(frozen=True)
class Equality:
    """Two inputs of a join must agree: an expression over each one's own columns.

    NULL equals nothing, unless `null_safe`.
    """

    left: int
    left_key: Expression
    right: int
    right_key: Expression
    null_safe: bool = False


@dataclass(frozen=True)
class Join(Node):
    """The n-way join: pairs (triples ...) that agree and pass the residual predicate.

    The schema is the inputs' schemas side by side; the residual reads that. Without equalities it
    is a theta join, without either a cross join. Where `internal[i]`, rows of input i match while
    they live but results outlive them ([G06] §3.3.2).
    """

    parts: tuple[Node, ...]
    equalities: tuple[Equality, ...]
    residual: Expression | None = None
    internal: tuple[bool, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, parts=tuple(inputs))

    @cached_property
    def _schema(self) -> Schema:
        return tuple(field for part in self.parts for field in part.schema)

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class _Binary(Node):
    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True)
class SemiJoin(_Binary):
    """The left rows for which a right row with the same keys lives (`anti`: for which none does).

    NULL keys match nothing, unless `null_safe`. `null_aware` is NOT IN: a NULL on either side of a
    comparison that could match leaves the left row out, save when no right row of its group lives
    (the last key is then the compared one; the keys before it are the correlation).
    """

    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    anti: bool
    null_safe: bool = False
    null_aware: bool = False


@dataclass(frozen=True)
class TableJoin(Node):
    """A stream's rows beside the rows of a non-retroactive table as of their own timestamps.

    `time` is the position of the timestamp in the input, or None to take the instant at which the
    row begins. The schema is the input's, then (for inner and left) the table's; the residual
    reads both.
    """

    input: Node
    table: TableScan
    input_keys: tuple[Expression, ...]
    table_keys: tuple[Expression, ...]
    residual: Expression | None
    kind: Literal["inner", "left", "semi", "anti"]
    time: int | None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input, self.table)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        table = inputs[1]
        assert isinstance(table, TableScan)
        return replace(self, input=inputs[0], table=table)

    @cached_property
    def _schema(self) -> Schema:
        beside = self.table.schema if self.kind in ("inner", "left") else ()
        return self.input.schema + beside

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class Distinct(_Unary):
    """One copy of each row, for as long as any lives."""


@dataclass(frozen=True)
class SetOperation(_Binary):
    """EXCEPT or INTERSECT, of sets or (`all`) of bags. NULLs are equal here, as in SQL."""

    kind: Literal["except", "intersect"]
    all: bool


@dataclass(frozen=True)
class Aggregate(Node):
    """GROUP BY: one row per group that has rows; the groups' columns, then the aggregates'.

    Without groups there is one row from the first instant at which any of `presence` had one:
    the windows below, before any selection.
    """

    input: Node
    groups: tuple[Expression, ...]
    aggregates: tuple[AggregateCall, ...]
    names: tuple[str, ...]
    presence: tuple[Node, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input, *self.presence)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, input=inputs[0], presence=tuple(inputs[1:]))

    @cached_property
    def _schema(self) -> Schema:
        types = [e.type for e in self.groups] + [a.type for a in self.aggregates]
        return tuple(Field(name, type_) for name, type_ in zip(self.names, types, strict=True))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class SortKey:
    """One term of ORDER BY."""

    index: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class TopK(_Unary):
    """ORDER BY ... LIMIT: the first rows; ties by the remaining columns, ascending, NULLs first."""

    order: tuple[SortKey, ...]
    limit: int
    offset: int = 0


@dataclass(frozen=True)
class ToStream(_Unary):
    """A relation as a stream: what came, what went, or all of it whenever it changes.

    With `slide`, RSTREAM speaks at each multiple of it instead. With `restore`, ISTREAM and RSTREAM
    also report at each slide what began and ended since the last ([G06] §3.3.4).
    """

    kind: Literal["istream", "dstream", "rstream"]
    slide: int | None = None
    restore: bool = False
