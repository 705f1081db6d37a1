"""INSERT, UPDATE and DELETE: statements about a table, evaluated on its columns.

Values are bound to the table's columns and made to fit their types; a value that cannot be computed
(an overflow, a division by zero) is an error here, not a NULL: nothing streams past, so nothing
needs to be carried on.
"""

from __future__ import annotations

__all__ = ["edit"]

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sash.catalog.clock import EARLIEST, KINDS, Kind, show_instant
from sash.catalog.columns import Misfit, fit
from sash.catalog.tables import Columns, History, TableChange, delete, effective_instants, insert, update
from sash.engine.expressions import Faults, evaluate
from sash.errors import Place, SashError
from sash.language.binder import Binder
from sash.language.definitions import place_of_name
from sash.language.expressions import Expression, Field
from sash.language.scope import Scope, names_of, suggestion
from sash.language.statements import Delete, InsertInto, Update
from sash.language.syntax import place_of
from sash.language.types import sql_name
from sash.lifetimes import Instant
from sash.plan.wording import counted


def edit(
    statement: InsertInto | Update | Delete,
    history: History,
    greatest: Mapping[Kind, Instant],
    present: Collection[Kind],
    text: str,
) -> tuple[History, TableChange]:
    """The table after a statement, and what changed; the table given is left as it was.

    `greatest` is the greatest frontier of each kind of time, `present` the kinds that streams have.
    """
    at, said = effective_instants(statement.at, greatest, present)
    if isinstance(statement, InsertInto):
        return insert(history, _inserted(statement, history, text), at)
    at = _in_order(history, at, said, present)
    chosen = _chosen(history, statement.where, text)
    if isinstance(statement, Delete):
        return delete(history, chosen, at)
    return update(history, chosen, _updated(statement, history, chosen, text), at)


def _in_order(
    history: History, at: dict[Kind, Instant], said: Collection[Kind], present: Collection[Kind]
) -> dict[Kind, Instant]:
    """UPDATE and DELETE speak of the table as it stands after its changes, so they come after them."""
    ordered = dict(at)
    for kind in KINDS:
        last = history.last_change(kind)
        if last <= at[kind]:
            continue
        if kind in present and (not said or kind in said):
            known = at[kind] > EARLIEST[kind]  # else it is from before any row
            order = f"after {show_instant(at[kind], kind)}" if known else "and this one would come before it"
            raise SashError(
                "SASH-TABLE-006",
                f"Table '{history.definition.name}' has a change at {show_instant(last, kind)} already, "
                f"{order}.",
                remedy="Make changes in the order of their instants: give AT that instant or a later one.",
            )
        ordered[kind] = last
    return ordered


def _inserted(statement: InsertInto, history: History, text: str) -> Columns:
    definition = history.definition
    fields = definition.fields
    named = [f.name for f in fields] if statement.columns is None else list(statement.columns)
    positions = [_position(name, history) for name in named]
    if len(set(positions)) < len(positions):
        raise SashError(
            "SASH-TABLE-001",
            "A column is named twice in INSERT.",
            remedy="Name every column once.",
            place=place_of_name(named[next(i for i, p in enumerate(positions) if p in positions[:i])]),
        )
    for number, row in enumerate(statement.rows, 1):
        if len(row) != len(positions):
            raise SashError(
                "SASH-TABLE-001",
                f"Row {number} has {counted(len(row), 'value')} for {counted(len(positions), 'column')} "
                f"of '{definition.name}'.",
                remedy=f"Give values for: {', '.join(named)}.",
                place=_place_of_row(row, text),
            )
    binder = Binder(Scope(()), text, "VALUES")
    columns = []
    for i, field in enumerate(fields):
        if i not in positions:
            columns.append(pa.nulls(len(statement.rows), field.type))
            continue
        place = positions.index(i)
        values = [_value(binder, row[place], field, n) for n, row in enumerate(statement.rows, 1)]
        columns.append(pa.concat_arrays(values))
    return tuple(columns)


def _updated(statement: Update, history: History, chosen: np.ndarray, text: str) -> Columns:
    indices = pa.array(chosen, pa.int64())
    old = [column.take(indices) for column in history.columns]
    new = list(old)
    binder = _binder(history, text, "SET")
    for name, expression in statement.assignments:
        i = _position(name, history)
        field = history.definition.fields[i]
        place = place_of(expression, text)
        new[i] = _computed(binder.bind(expression), place, old, len(chosen), field)
    return tuple(new)


def _chosen(history: History, where: exp.Expr | None, text: str) -> np.ndarray:
    latest = history.latest
    if where is None:
        return latest
    indices = pa.array(latest, pa.int64())
    columns = [column.take(indices) for column in history.columns]
    faults = Faults()
    mask = evaluate(_binder(history, text, "WHERE").predicate(where), columns, len(latest), faults)
    chosen: np.ndarray = latest[mask.fill_null(False).to_numpy(zero_copy_only=False)]
    return chosen


def _binder(history: History, text: str, clause: str) -> Binder:
    return Binder(Scope(names_of(history.definition.name, history.definition.fields)), text, clause)


def _value(binder: Binder, written: exp.Expr, field: Field, row: int) -> pa.Array:
    bound = binder.bind(written)
    try:
        return _computed(bound, place_of(written, binder.text), [], 1, field)
    except SashError as error:
        message = f"In row {row}: {error.message}"
        raise SashError(error.code, message, remedy=error.remedy, place=error.place) from error


def _place_of_row(row: tuple[exp.Expression, ...], text: str) -> Place | None:
    first, last = place_of(row[0], text), place_of(row[-1], text)
    return None if first is None or last is None else Place(text, first.start, last.end)


def _computed(
    expression: Expression, place: Place | None, columns: list[pa.Array], length: int, field: Field
) -> pa.Array:
    """The values of an expression as a column's type, every one of them computed; `place` is for errors."""
    faults = Faults()
    array = evaluate(expression, columns, length, faults)
    if faults.total:
        raise SashError(
            "SASH-TABLE-005",
            f"A value for column '{field.name}' cannot be computed ({', '.join(faults.counts)}).",
            remedy="Leave out such rows by WHERE, or write NULL where it is meant.",
            place=place,
        )
    fitted = fit(array, field.type)
    if isinstance(fitted, Misfit):
        value = fitted.value
        what = f"A value of {sql_name(fitted.type)}" if value is None else f"The value {value!r}"
        raise SashError(
            "SASH-TABLE-005",
            f"{what} does not fit column '{field.name}', which is {sql_name(field.type)}.",
            remedy="Give a value of that type, or CAST it.",
            place=place,
        )
    return fitted


def _position(name: str, history: History) -> int:
    for i, field in enumerate(history.definition.fields):
        if field.name.lower() == name.lower():
            return i
    raise SashError(
        "SASH-TABLE-002",
        f"Table '{history.definition.name}' has no column '{name}'.",
        remedy=suggestion(name, (field.name for field in history.definition.fields)),
        place=place_of_name(name),
    )
