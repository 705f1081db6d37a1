"""Tables and their history: every row with the lifetime it has had, per kind of time.

A change takes effect at an instant: one tick after the frontier, or `AT t`. Rows of a stream meet a
table as of their own timestamp ([G06] §3.3.1), so versions are kept for as long as a stream may
still bring a row that saw them. A table serves streams of either kind of time, so each row has one
lifetime in microseconds and one in plain numbers.
"""

from __future__ import annotations

__all__ = ["History", "TableChange", "delete", "effective_instants", "insert", "update"]

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.catalog.clock import EARLIEST, KINDS, Kind, read_instant, same_kind, show_instant
from sash.errors import SashError
from sash.language.statements import TableDefinition
from sash.lifetimes import BEGINNING, FOREVER, Changes, Instant, Instants

Columns = tuple[pa.Array, ...]


@dataclass(frozen=True, eq=False)
class TableChange:
    """Rows that come (+1) and go (-1) at one instant of each kind of time."""

    columns: Columns
    weight: Instants
    at: Mapping[Kind, Instant]

    def changes(self, kind: Kind) -> Changes:
        """The change as a circuit of that kind of time takes it."""
        begin = np.full(len(self.weight), self.at[kind], np.int64)
        return Changes(self.columns, begin, np.full(len(begin), FOREVER, np.int64), self.weight)


@dataclass(frozen=True, eq=False)
class History:
    """All rows of a table that live, will live, or may still be asked for."""

    definition: TableDefinition
    columns: Columns
    begin: Mapping[Kind, Instants]
    until: Mapping[Kind, Instants]

    @staticmethod
    def empty(definition: TableDefinition) -> History:
        """A table without rows."""
        none = {kind: np.empty(0, np.int64) for kind in KINDS}
        return History(definition, tuple(pa.array([], field.type) for field in definition.fields), none, none)

    def __len__(self) -> int:
        return len(self.begin[KINDS[0]])

    @property
    def latest(self) -> np.ndarray:
        """The positions of the rows that have no end: the content after all changes so far."""
        return np.flatnonzero(self.until[KINDS[0]] == FOREVER)

    def last_change(self, kind: Kind) -> Instant:
        """The instant of the latest change, past or to come."""
        begin, until = self.begin[kind], self.until[kind]
        ends = until[until < FOREVER]
        return max(int(begin.max(initial=BEGINNING)), int(ends.max(initial=BEGINNING)))

    def since(self, kind: Kind, frontier: Instant) -> Changes:
        """What a query must be told that begins at a frontier: the rows alive then or later."""
        begin, until = self.begin[kind], self.until[kind]
        alive = np.flatnonzero((until > frontier) & (begin < until))
        ended = alive[until[alive] < FOREVER]
        instants = np.concatenate([begin[alive], until[ended]])
        weight = np.concatenate([np.ones(len(alive), np.int64), np.full(len(ended), -1, np.int64)])
        columns = _take(self.columns, np.concatenate([alive, ended]))
        return Changes(columns, instants, np.full(len(instants), FOREVER, np.int64), weight)

    def forget(self, floors: Mapping[Kind, Instant]) -> History:
        """Without the rows that ended, in every kind of time, before any row still to come."""
        past = [(self.until[kind] <= floors[kind]) & (self.until[kind] < FOREVER) for kind in KINDS]
        dead = np.logical_and.reduce(past)
        if not dead.any():
            return self
        kept = np.flatnonzero(~dead)
        return replace(
            self,
            columns=_take(self.columns, kept),
            begin={kind: self.begin[kind][kept] for kind in KINDS},
            until={kind: self.until[kind][kept] for kind in KINDS},
        )

    def to_arrow(self) -> pa.Table:
        """The history as one table, for a snapshot."""
        names = [f"c{i}" for i in range(len(self.columns))]
        lives = [pa.array(side[kind]) for kind in KINDS for side in (self.begin, self.until)]
        names += [f"{side}_{kind}" for kind in KINDS for side in ("begin", "until")]
        return pa.Table.from_arrays([*self.columns, *lives], names=names)

    @staticmethod
    def from_arrow(definition: TableDefinition, table: pa.Table) -> History:
        """The reverse of `to_arrow`."""
        parts = [(column.chunks, column.type) for column in table.columns]
        whole = [pa.concat_arrays(chunks) if chunks else pa.array([], type_) for chunks, type_ in parts]
        width = len(definition.fields)
        lives = [array.to_numpy() for array in whole[width:]]
        return History(
            definition,
            tuple(whole[:width]),
            {kind: lives[2 * i] for i, kind in enumerate(KINDS)},
            {kind: lives[2 * i + 1] for i, kind in enumerate(KINDS)},
        )


def effective_instants(
    at: object, greatest: Mapping[Kind, Instant], present: Collection[Kind]
) -> tuple[dict[Kind, Instant], frozenset[Kind]]:
    """When a change takes effect in each kind of time, and for which kinds `AT` said so.

    Without AT it is one tick after the greatest frontier of any stream; before there is one, the
    content counts as always so.

    >>> effective_instants(None, {"timestamp": BEGINNING, "integer": 10}, ["integer"])[0]["integer"]
    11
    """
    instants = {k: EARLIEST[k] if greatest[k] <= BEGINNING else greatest[k] + 1 for k in KINDS}
    if at is None:
        return instants, frozenset()
    fitting = list(present) if len(present) == 1 else [k for k in KINDS if same_kind(at, k)]
    kind = fitting[0]
    instant = read_instant(at, kind, what="AT")
    if instant <= greatest[kind]:
        raise SashError(
            "SASH-TIME-006",
            f"AT {at!r} is not after the frontier {show_instant(greatest[kind], kind)}: that time is final.",
            remedy="Leave AT out to change the table one tick after the frontier, or give a later instant.",
        )
    return {**instants, kind: instant}, frozenset([kind])


def insert(history: History, rows: Columns, at: Mapping[Kind, Instant]) -> tuple[History, TableChange]:
    """The table with more rows from an instant on."""
    _check_keys(history, rows, np.flatnonzero(_ends_after(history, at)))
    count = len(rows[0])
    return _append(history, rows, at), TableChange(rows, np.ones(count, np.int64), at)


def update(
    history: History, positions: np.ndarray, rows: Columns, at: Mapping[Kind, Instant]
) -> tuple[History, TableChange]:
    """The table with the rows at `positions` replaced from an instant on."""
    ended, gone = _end(history, positions, at)
    _check_keys(ended, rows, ended.latest, changed=True)
    columns = tuple(pa.concat_arrays([old, new]) for old, new in zip(gone, rows, strict=True))
    weight = np.concatenate([np.full(len(positions), -1, np.int64), np.ones(len(positions), np.int64)])
    return _append(ended, rows, at), TableChange(columns, weight, at)


def delete(
    history: History, positions: np.ndarray, at: Mapping[Kind, Instant]
) -> tuple[History, TableChange]:
    """The table without the rows at `positions` from an instant on."""
    ended, gone = _end(history, positions, at)
    return ended, TableChange(gone, np.full(len(positions), -1, np.int64), at)


def _append(history: History, rows: Columns, at: Mapping[Kind, Instant]) -> History:
    count = len(rows[0])
    return replace(
        history,
        columns=tuple(pa.concat_arrays([old, new]) for old, new in zip(history.columns, rows, strict=True)),
        begin={k: np.append(history.begin[k], np.full(count, at[k], np.int64)) for k in KINDS},
        until={k: np.append(history.until[k], np.full(count, FOREVER, np.int64)) for k in KINDS},
    )


def _end(history: History, positions: np.ndarray, at: Mapping[Kind, Instant]) -> tuple[History, Columns]:
    until = {}
    for kind in KINDS:
        until[kind] = history.until[kind].copy()
        until[kind][positions] = at[kind]
    return replace(history, until=until), _take(history.columns, positions)


def _ends_after(history: History, at: Mapping[Kind, Instant]) -> np.ndarray:
    """Which rows still live at the instant, or will, in some kind of time."""
    alive = [(history.until[k] > at[k]) & (history.begin[k] < history.until[k]) for k in KINDS]
    return np.asarray(np.logical_or.reduce(alive))


def _check_keys(history: History, rows: Columns, rivals: np.ndarray, changed: bool = False) -> None:
    """No row may have a NULL key, or the key of another new row or of a rival's."""
    definition = history.definition
    if not definition.key or not len(rows[0]):
        return
    for i in definition.key:
        if rows[i].null_count:
            raise SashError(
                "SASH-TABLE-004",
                f"Row {rows[i].is_null().index(True).as_py() + 1} has NULL in '{definition.fields[i].name}', "
                f"which is in the primary key of table '{definition.name}'.",
                remedy="Give every row a key.",
            )
    new = [tuple(key) for key in zip(*(rows[i].to_pylist() for i in definition.key), strict=True)]
    first = definition.key[0]
    near = pc.is_in(history.columns[first].take(pa.array(rivals, pa.int64())), value_set=rows[first])
    candidates = _take(history.columns, rivals[near.to_numpy(zero_copy_only=False)])
    taken = set(zip(*(candidates[i].to_pylist() for i in definition.key), strict=True))
    for key in new:
        if key in taken:
            names = ", ".join(definition.fields[i].name for i in definition.key)
            shown = ", ".join(map(repr, key))
            raise SashError(
                "SASH-TABLE-003",
                f"Table '{definition.name}' would have two rows with the key {names} = {shown}."
                if changed
                else f"Table '{definition.name}' has a row with the key {names} = {shown} already.",
                remedy="Choose fewer rows by WHERE, or give each a key of its own."
                if changed
                else "Use UPDATE to change that row, or DELETE it first.",
            )
        taken.add(key)


def _take(columns: Sequence[pa.Array], positions: np.ndarray) -> Columns:
    indices = pa.array(positions, pa.int64())
    return tuple(column.take(indices) for column in columns)
