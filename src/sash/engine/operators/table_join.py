"""Rows beside a non-retroactive table as of their own timestamps ([G06] §3.3.1).

A change of the table touches only rows that come after it, so the rows themselves are not kept; a
negative row carries the timestamp of its positive and meets the same version. Versions that no row
can ask for any more are forgotten: where negative rows come, those between the timestamps that live.
Where a count window slides, rows come late and nobody knows which: there all versions stay.
"""

from __future__ import annotations

__all__ = ["TableLookup"]

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.encoding import any_null, value_words
from sash.engine.expressions import Faults, evaluate
from sash.engine.netting import net
from sash.engine.operator import Operator, Saved
from sash.engine.state import upkeep
from sash.engine.state.chains import Asking
from sash.engine.state.keyed_rows import KeyedRows
from sash.engine.state.saving import arrays_table, changes_of, changes_table, table_arrays
from sash.language.expressions import Expression
from sash.lifetimes import Changes, Instant


@dataclass(eq=False)
class TableLookup(Operator):
    """Join, left join, semi-join or anti-join of rows with the table's version at their timestamp.

    `asked_again` says when old versions may be asked for: not where no row is negative; by negative rows,
    for those that their positives met; or by rows that a window held back until it slid.
    """

    table_types: tuple[pa.DataType, ...]
    input_keys: tuple[Expression, ...]
    table_keys: tuple[Expression, ...]
    residual: Expression | None
    kind: Literal["inner", "left", "semi", "anti"]
    time: int | None
    asked_again: Literal["never", "while they live", "at any time"]
    faults: Faults
    _versions: KeyedRows = field(init=False)
    _seen: _LiveInstants | None = field(init=False)
    """Which timestamps may be asked for again, where any may."""
    _look_at: int = field(init=False, default_factory=lambda: upkeep.FEW)

    def __post_init__(self) -> None:
        self._versions = KeyedRows(self.table_types)
        self._seen = _LiveInstants() if self.asked_again == "while they live" else None

    def step(self, inputs: Sequence[Changes], frontier: Instant) -> Changes:
        rows, table = inputs
        self._note(table)
        matched, beside = self._matches(rows)
        if self.kind == "semi":
            result = rows.take(np.unique(matched))
        elif self.kind == "anti":
            result = rows.take(np.setdiff1d(np.arange(len(rows)), matched))
        else:
            result = self._side_by_side(rows, matched, beside)
        if self.asked_again == "never":
            self._versions.expire(frontier)
        elif self._seen is not None:
            self._seen.note(self._timestamps(rows), rows)
            if len(self._seen) + len(self._versions) >= self._look_at:
                self._forget(self._seen.cleared(frontier))
                self._look_at = max(upkeep.FEW, 2 * (len(self._seen) + len(self._versions)))
        return result

    def _forget(self, asked: np.ndarray) -> None:
        """Keep what tells the versions at the given instants apart, and the one of now."""
        saved = self._versions.save()
        if not saved:
            return
        changes = changes_of(saved["rows"])
        # Changes between two instants that may be asked for show as one: those that cancel are gone.
        kept, weights = net(changes.columns, np.searchsorted(asked, changes.begin), changes.weight)
        left = changes.take(kept)
        left = Changes(left.columns, left.begin, left.until, weights)
        self._versions = KeyedRows(self.table_types)
        if len(kept):
            self._versions.load({"rows": changes_table(left), "key0": saved["key0"].take(pa.array(kept))})

    def _note(self, table: Changes) -> None:
        """Take up the table's changes."""
        keys = [evaluate(key, table.columns, len(table), self.faults) for key in self.table_keys]
        nulls = any_null(keys)
        if nulls is not None:
            table = table.filter(~nulls)
            keys = [evaluate(key, table.columns, len(table), self.faults) for key in self.table_keys]
        self._versions.add(table, [Asking.of(value_words(keys, len(table)))])

    def _matches(self, rows: Changes) -> tuple[np.ndarray, list[pa.Array]]:
        """Positions of rows with a match, rising, and the table's columns beside each."""
        asking = np.arange(len(rows))
        keys = [evaluate(key, rows.columns, len(rows), self.faults) for key in self.input_keys]
        nulls = any_null(keys)
        if nulls is not None:
            asking = np.flatnonzero(~nulls)
            keys = [key.take(pa.array(asking)) for key in keys]
        at = self._timestamps(rows)[asking]
        pieces = list(self._versions.matches(Asking.of(value_words(keys, len(asking))), at))
        probes = (
            np.concatenate([asking[piece.probes] for piece in pieces]) if pieces else np.empty(0, np.int64)
        )
        numbers = np.concatenate([piece.rows for piece in pieces]) if pieces else np.empty(0, np.int64)
        beside = self._versions.payload.take(numbers)
        if len(numbers) and not self._versions.all_ones:
            kept, copies = net(beside, probes, self._versions.weights(numbers))
            kept = np.repeat(kept, copies)  # a table without a key may hold a row several times
            probes, beside = probes[kept], [column.take(pa.array(kept)) for column in beside]
        if self.residual is not None and len(probes):
            columns = [*rows.take(probes).columns, *beside]
            passed = pc.fill_null(evaluate(self.residual, columns, len(probes), self.faults), False)
            kept = np.flatnonzero(passed.to_numpy(zero_copy_only=False))
            probes, beside = probes[kept], [column.take(pa.array(kept)) for column in beside]
        order = np.argsort(probes, kind="stable")
        return probes[order], [column.take(pa.array(order)) for column in beside]

    def _timestamps(self, rows: Changes) -> np.ndarray:
        if self.time is None:
            return rows.begin
        column = rows.columns[self.time]
        whole = column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column.cast(pa.int64())
        instants: np.ndarray = whole.to_numpy()
        return instants

    def _side_by_side(self, rows: Changes, matched: np.ndarray, beside: list[pa.Array]) -> Changes:
        if self.kind == "left":
            alone = np.setdiff1d(np.arange(len(rows)), matched)
            order = np.argsort(np.concatenate([matched, alone]), kind="stable")
            matched = np.concatenate([matched, alone])[order]
            padding = [pa.nulls(len(alone), type_) for type_ in self.table_types]
            beside = [
                pa.concat_arrays(pair).take(pa.array(order)) for pair in zip(beside, padding, strict=True)
            ]
        left = rows.take(matched)
        return left.with_columns([*left.columns, *beside])

    @property
    def rows(self) -> int:
        return len(self._versions)

    @property
    def nbytes(self) -> int:
        return self._versions.nbytes + (0 if self._seen is None else self._seen.nbytes)

    def save(self) -> dict[str, pa.Table]:
        seen = {} if self._seen is None else {"seen": self._seen.save()}
        return self._versions.save() | seen

    def load(self, saved: Saved) -> None:
        versions = {name: table for name, table in saved.items() if name != "seen"}
        if versions:
            self._versions.load(versions)
        if self._seen is not None:
            self._seen.load(saved["seen"])


class _LiveInstants:
    """The timestamps of the rows that live: what came and what went, added up now and then."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._held = 0

    def __len__(self) -> int:
        return self._held

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return 24 * self._held

    def note(self, instants: np.ndarray, rows: Changes) -> None:
        """Rows, or their negations, with these timestamps."""
        if len(rows):
            self._parts.append((instants, rows.until, rows.weight))
            self._held += len(rows)

    def cleared(self, frontier: Instant) -> np.ndarray:
        """The timestamps that still live, rising, once each; the others are forgotten."""
        instants, until, weight = self._all()
        ahead = np.flatnonzero(until > frontier)
        pairs, where = np.unique(np.stack([instants[ahead], until[ahead]]), axis=1, return_inverse=True)
        sums = np.zeros(pairs.shape[1], np.int64)
        np.add.at(sums, where.ravel(), weight[ahead])
        left = np.flatnonzero(sums)
        self._clear()
        self._parts, self._held = [(pairs[0][left], pairs[1][left], sums[left])], len(left)
        return np.unique(pairs[0][left])

    def _all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self._parts:
            return (np.empty(0, np.int64),) * 3
        instants, until, weight = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        return instants, until, weight

    def save(self) -> pa.Table:
        """What is held, as a table."""
        return arrays_table(dict(zip(("instant", "until", "weight"), self._all(), strict=True)))

    def load(self, saved: pa.Table) -> None:
        """What `save` wrote."""
        arrays = table_arrays(saved)
        self._parts = [(arrays["instant"], arrays["until"], arrays["weight"])]
        self._held = len(arrays["instant"])
