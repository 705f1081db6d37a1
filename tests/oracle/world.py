"""Which rows count: the oracle's own clocks, tables and histories, fed with what a session is fed.

A stream's frontier is its greatest timestamp less its LATENESS less one tick, or what it was advanced
to; rows at or before it are late. A query sees the rows that became final after it was added, up to
the least frontier of its streams.
"""

from __future__ import annotations

__all__ = ["World"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sash.language.binder import Binder
from sash.language.expressions import Expression
from sash.language.scope import Scope, names_of
from sash.language.statements import (
    CreateStream,
    CreateTable,
    Delete,
    Drop,
    InsertInto,
    Statement,
    StreamDefinition,
    TableDefinition,
    Update,
)
from sash.plan.nodes import Node, Source, TableScan

from .casts import cast
from .relations import Change, Oracle
from .scalars import evaluate
from .values import Bag, Row, instant_of, plain, plain_row

BEGINNING = -(2**62)
EARLIEST = {"timestamp": -62_135_596_800_000_000, "integer": BEGINNING + 1}


@dataclass
class _Stream:
    definition: StreamDefinition
    rows: list[tuple[int, int, Row]] = field(default_factory=list)
    frontier: int = BEGINNING
    idle: bool = False
    late: int = 0


@dataclass
class _Table:
    definition: TableDefinition
    latest: list[Row] = field(default_factory=list)
    log: dict[str, list[tuple[int, Row, int]]] = field(
        default_factory=lambda: {"timestamp": [], "integer": []}
    )


@dataclass
class _Query:
    plan: Node
    kind: str
    streams: tuple[str, ...]
    start: int
    floors: Mapping[str, int]
    """How far each stream had come when the query was added: what was final then it never sees."""
    frontier: int
    drained: int | None = None


class World:
    """Everything an oracle must know to judge a session."""

    def __init__(self) -> None:
        self.streams: dict[str, _Stream] = {}
        self.tables: dict[str, _Table] = {}
        self.queries: dict[str, _Query] = {}
        self.arrivals = 0

    def execute(self, statement: Statement, text: str) -> None:
        """A statement that the session accepted."""
        match statement:
            case CreateStream(definition):
                self.streams[definition.name.lower()] = _Stream(definition)
            case CreateTable(definition):
                self.tables[definition.name.lower()] = _Table(definition)
            case InsertInto() | Update() | Delete():
                self._edit(statement, text)
            case Drop(_, name):
                self.streams.pop(name.lower(), None)
                self.tables.pop(name.lower(), None)

    def add_query(self, name: str, plan: Node) -> None:
        """A query that the session accepted, by its unoptimised plan."""
        names = tuple({node.name.lower() for node in _everything(plan) if isinstance(node, Source)})
        kind = self.streams[names[0]].definition.timed if names else self._only_kind()
        floors = {stream: self.streams[stream].frontier for stream in names}
        frontier = self._frontier(names, kind)
        self.queries[name] = _Query(plan, kind, names, frontier, floors, frontier)

    def push(self, stream: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Rows that the session accepted, late ones among them."""
        one = self.streams[stream.lower()]
        fields = one.definition.fields
        if one.idle and rows:
            floors = [q.frontier for q in self.queries.values() if stream.lower() in q.streams]
            one.frontier = max([one.frontier, *floors])
            one.idle = False
        frontier, greatest = one.frontier, BEGINNING
        for given in rows:
            by_name = {name.lower(): value for name, value in given.items()}
            row = plain_row(by_name.get(f.name.lower()) for f in fields)
            ts = instant_of(row[one.definition.time])
            assert ts is not None
            if ts <= frontier:
                one.late += 1
                continue
            self.arrivals += 1
            one.rows.append((ts, self.arrivals, row))
            greatest = max(greatest, ts)
        one.frontier = max(frontier, greatest - one.definition.lateness - 1)
        self._move()

    def advance(self, at: int, kind: str) -> None:
        """Every row up to an instant is in, in all streams of that kind of time (or the only kind)."""
        kinds = {stream.definition.timed for stream in self.streams.values()}
        for stream in self.streams.values():
            if len(kinds) == 1 or stream.definition.timed == kind:
                stream.frontier = max(stream.frontier, at)
        self._move()

    def idle(self, name: str) -> None:
        """A stream is taken out until its next row; what it has is final."""
        stream = self.streams[name.lower()]
        stream.frontier = max([stream.frontier, *(ts for ts, _, _ in stream.rows)])
        stream.idle = True
        self._move()

    def oracle(self, name: str, horizon: int | None = None) -> Oracle:
        """The judge of one query, over the history it can see."""
        query = self.queries[name]
        history = {
            node.name: [
                row
                for row in self.streams[node.name.lower()].rows
                if row[0] > query.floors[node.name.lower()]
            ]
            for node in _everything(query.plan)
            if isinstance(node, Source)
        }
        tables = {
            node.name: self.tables[node.name.lower()].log[query.kind]
            for node in _everything(query.plan)
            if isinstance(node, TableScan)
        }
        return Oracle(query.plan, history, tables, query.frontier if horizon is None else horizon)

    def changes(self, name: str) -> list[Change]:
        """The net changes of a query since this was last asked, as a session's `changes()` gives them."""
        query = self.queries[name]
        oracle = self.oracle(name)
        first = query.drained is None
        found: list[Change] = []
        if first and query.start > BEGINNING:
            found = [(query.start, row, n) for row, n in oracle.relation_at(query.start).items()]
        after = query.start if first else query.drained
        query.drained = query.frontier
        return found + oracle.changes(after)

    def answer(self, name: str, at: int | None = None) -> Bag:
        """The relation at the frontier, or at a later instant as if no further row came."""
        query = self.queries[name]
        at = query.frontier if at is None else at
        return self.oracle(name, max(at, query.frontier)).relation_at(at)

    def _frontier(self, names: Sequence[str], kind: str) -> int:
        known = [self.streams[name] for name in names]
        active = [stream.frontier for stream in known if not stream.idle]
        if active:
            return min(active)
        if not known:
            known = [stream for stream in self.streams.values() if stream.definition.timed == kind]
        return max((stream.frontier for stream in known), default=BEGINNING)

    def _move(self) -> None:
        for query in self.queries.values():
            query.frontier = max(query.frontier, self._frontier(query.streams, query.kind))

    def _only_kind(self) -> str:
        kinds = {stream.definition.timed for stream in self.streams.values()}
        return kinds.pop() if len(kinds) == 1 else "timestamp"

    def _edit(self, statement: InsertInto | Update | Delete, text: str) -> None:
        table = self.tables[statement.table.lower()]
        at = self._effective(statement.at)
        fields = table.definition.fields
        if isinstance(statement, InsertInto):
            names = [n.lower() for n in statement.columns or [f.name for f in fields]]
            binder = Binder(Scope(()), text, "VALUES")
            for given in statement.rows:
                values = {n: binder.bind(e) for n, e in zip(names, given, strict=True)}
                row = tuple(_value(values.get(f.name.lower()), (), f.type) for f in fields)
                self._change(table, at, row, 1)
            return
        binder = Binder(Scope(names_of(table.definition.name, fields)), text, "WHERE")
        where = None if statement.where is None else binder.bind(statement.where)
        chosen = [row for row in table.latest if where is None or evaluate(where, row) is True]
        for row in chosen:
            self._change(table, at, row, -1)
        if isinstance(statement, Update):
            new = {n.lower(): binder.bind(e) for n, e in statement.assignments}
            for row in chosen:
                updated = tuple(
                    _value(new[f.name.lower()], row, f.type) if f.name.lower() in new else row[i]
                    for i, f in enumerate(fields)
                )
                self._change(table, at, updated, 1)

    def _change(self, table: _Table, at: Mapping[str, int], row: Row, weight: int) -> None:
        if weight > 0:
            table.latest.append(row)
        else:
            table.latest.remove(row)
        for kind, log in table.log.items():
            log.append((at[kind], row, weight))

    def _effective(self, at: object) -> dict[str, int]:
        """One tick after the greatest frontier of any stream, unless said otherwise."""
        instants = {}
        for kind, earliest in EARLIEST.items():
            frontiers = [s.frontier for s in self.streams.values() if s.definition.timed == kind]
            greatest = max(frontiers, default=BEGINNING)
            instants[kind] = earliest if greatest <= BEGINNING else greatest + 1
        if at is not None:
            instants["integer" if isinstance(at, int) else "timestamp"] = _instant(at)
        return instants


def _everything(plan: Node) -> list[Node]:
    return list(plan.walk())


def _instant(at: object) -> int:
    if isinstance(at, str):
        from datetime import datetime

        return instant_of(plain(datetime.fromisoformat(at))) or 0
    assert isinstance(at, int)
    return at


def _value(expression: Expression | None, row: Row, type_: object) -> object:
    if expression is None:
        return None
    value = evaluate(expression, row)
    return None if value is None else plain(cast(value, expression.type, type_))
