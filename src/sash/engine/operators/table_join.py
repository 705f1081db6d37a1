"""Rows beside a non-retroactive table as of their own timestamps ([G06] §3.3.1).

A change of the table touches only rows that come after it, so the rows themselves are not kept; a
negative row carries the timestamp of its positive and meets the same version. Versions that no row
can ask for any more are forgotten.
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
from sash.engine.state.chains import Asking
from sash.engine.state.keyed_rows import KeyedRows
from sash.language.expressions import Expression
from sash.lifetimes import Changes, Instant


@dataclass(eq=False)
class TableLookup(Operator):
    """Join, left join, semi-join or anti-join of rows with the table's version at their timestamp.

    `keeps_history`: negative rows may still ask for old versions, so none is forgotten.
    """

    table_types: tuple[pa.DataType, ...]
    input_keys: tuple[Expression, ...]
    table_keys: tuple[Expression, ...]
    residual: Expression | None
    kind: Literal["inner", "left", "semi", "anti"]
    time: int | None
    keeps_history: bool
    faults: Faults
    _versions: KeyedRows = field(init=False)

    def __post_init__(self) -> None:
        self._versions = KeyedRows(self.table_types)

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
        if not self.keeps_history:
            self._versions.expire(frontier)
        return result

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
        pieces = list(self._versions.matches(Asking.of(value_words(keys, len(asking))), at, at + 1))
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
        return self._versions.nbytes

    def save(self) -> dict[str, pa.Table]:
        return self._versions.save()

    def load(self, saved: Saved) -> None:
        if saved:
            self._versions.load(saved)
