"""The way in: pushed rows, whatever they come as, turned into a stream's columns.

Arrow tables, batches and anything with the Arrow PyCapsule interface, pandas, polars, lists of
dicts. Columns are matched by name, in any case of letters. All is checked here, before anything
changes: a push is all or nothing. The time column becomes NumPy without a copy.
"""

from __future__ import annotations

__all__ = ["Batch", "admit"]

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.catalog.clock import LATEST
from sash.catalog.columns import Misfit, fit, from_values
from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.language.types import sql_name, with_article
from sash.lifetimes import BEGINNING, Instants


@dataclass(frozen=True, eq=False)
class Batch:
    """Accepted rows: one array per column of the stream, and their timestamps."""

    columns: tuple[pa.Array, ...]
    ts: Instants

    def __len__(self) -> int:
        return len(self.ts)


def admit(rows: object, stream: StreamDefinition) -> Batch:
    """The rows as the stream's columns, or the error that names column, row and value."""
    columns = _columns(rows, stream)
    return Batch(columns, _timestamps(columns[stream.time], stream))


def _columns(rows: object, stream: StreamDefinition) -> tuple[pa.Array, ...]:
    if isinstance(rows, pa.RecordBatch):
        return _match(rows.schema.names, rows.columns, stream)
    if isinstance(rows, (list, tuple)):
        return _from_dicts(rows, stream)
    table = _as_table(rows, stream)
    if table is not None:
        return _match(table.column_names, [_whole(column) for column in table.columns], stream)
    if isinstance(rows, Iterable) and not isinstance(rows, (str, bytes, Mapping)):
        return _from_dicts(list(rows), stream)
    raise _not_rows(rows, stream)


def _as_table(rows: object, stream: StreamDefinition) -> pa.Table | None:
    """Whatever knows how to be an Arrow table; None if this does not."""
    try:
        if isinstance(rows, pa.Table):
            return rows
        if type(rows).__module__.partition(".")[0] == "pandas":
            return _from_pandas(rows, stream)
        if hasattr(rows, "__arrow_c_stream__"):
            return pa.table(rows)
        if hasattr(rows, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(rows)])
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise _not_rows(rows, stream) from error
    return None


def _from_pandas(frame: object, stream: StreamDefinition) -> pa.Table:
    """A data frame, column by column, so that a column of mixed objects can be named."""
    names: list[str] = [str(name) for name in frame.columns]  # type: ignore[attr-defined]
    known = {field.name: field for field in stream.fields}
    arrays = []
    for position, name in enumerate(_as_defined(names, stream)):
        series = frame.iloc[:, position]  # type: ignore[attr-defined]
        try:
            arrays.append(_whole(pa.array(series, from_pandas=True)))
        except (pa.ArrowException, TypeError, ValueError) as error:
            field = known.get(name)
            values = [None if value != value else value for value in series]
            column = None if field is None else from_values(values, field.type)
            if column is None:
                raise _surplus(name, stream) from error
            if isinstance(column, Misfit):
                raise _misfit(column, field, stream) from error  # type: ignore[arg-type]
            arrays.append(column)
    return pa.Table.from_arrays(arrays, names=names)


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array of a column; without a copy if it is one already."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)


def _match(
    names: Sequence[str], arrays: Sequence[pa.Array], stream: StreamDefinition
) -> tuple[pa.Array, ...]:
    """The stream's columns in its own order, found by name and made to fit."""
    names = _as_defined(names, stream)
    given = dict(zip(names, arrays, strict=True))
    if len(given) < len(names):
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise SashError(
            "SASH-DATA-007",
            f"Column '{twice}' comes twice in the rows for stream '{stream.name}'.",
            remedy="Give every column once.",
        )
    columns = []
    for field in stream.fields:
        array = given.pop(field.name, None)
        if array is None:
            raise _missing(field, stream, names)
        fitted = array if array.type == field.type else fit(array, field.type)
        if isinstance(fitted, Misfit):
            raise _misfit(fitted, field, stream)
        columns.append(fitted)
    for name in given:
        raise _surplus(name, stream)
    return tuple(columns)


def _as_defined(names: Sequence[str], stream: StreamDefinition) -> list[str]:
    """The names with those that differ only in case from a column's written as that column's.

    A name that is a column's to the letter stays its own, and of several that could be one none is.
    """
    lowered = [name.lower() if isinstance(name, str) else "" for name in names]
    meant = {
        field.name.lower(): field.name
        for field in stream.fields
        if field.name not in names and lowered.count(field.name.lower()) == 1
    }
    return [meant.get(lower, name) for name, lower in zip(names, lowered, strict=True)]


def _from_dicts(rows: Sequence[object], stream: StreamDefinition) -> tuple[pa.Array, ...]:
    expected = {field.name for field in stream.fields}
    rows = list(rows)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise SashError(
                "SASH-DATA-001",
                f"Row {number} for stream '{stream.name}' is not a dict but {type(row).__name__}.",
                remedy="Give a list of dicts, an Arrow table or batch, or a pandas or polars frame.",
            )
        if row.keys() != expected:
            row = dict(zip(_as_defined(list(row), stream), row.values(), strict=True))
            _check_keys(row, number, stream)
            rows[number - 1] = row
    columns = []
    for field in stream.fields:
        column = from_values([row[field.name] for row in rows], field.type)  # type: ignore[index]
        if isinstance(column, Misfit):
            raise _misfit(column, field, stream)
        columns.append(column)
    return tuple(columns)


def _check_keys(row: Mapping[str, object], number: int, stream: StreamDefinition) -> None:
    for field in stream.fields:
        if field.name not in row:
            raise _missing(field, stream, list(row), number)
    known = {field.name for field in stream.fields}
    for name in row:
        if name not in known:
            raise _surplus(name, stream, number, row[name])


def _timestamps(column: pa.Array, stream: StreamDefinition) -> Instants:
    name = stream.fields[stream.time].name
    if column.null_count:
        row = column.is_null().index(True).as_py() + 1
        raise SashError(
            "SASH-DATA-005",
            f"Row {row} for stream '{stream.name}' has NULL in its TIME column '{name}'.",
            remedy="Every row needs a timestamp; leave such rows out or give them one.",
        )
    plain = column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column
    ts: Instants = plain.to_numpy(zero_copy_only=True).astype(np.int64, copy=False)
    if len(ts) and not (int(ts.min()) > BEGINNING and int(ts.max()) < LATEST):
        row = int(np.flatnonzero((ts <= BEGINNING) | (ts >= LATEST))[0])
        raise SashError(
            "SASH-DATA-006",
            f"Row {row + 1} for stream '{stream.name}' has {int(ts[row])} in its TIME column '{name}', "
            "which is out of range.",
            remedy="Timestamps lie between -2^62 and 2^62 ticks.",
        )
    return ts


def _not_rows(rows: object, stream: StreamDefinition) -> SashError:
    return SashError(
        "SASH-DATA-001",
        f"A value of type {type(rows).__name__} cannot be read as rows for stream '{stream.name}'.",
        remedy="Give a list of dicts, an Arrow table or batch, or a pandas or polars frame.",
    )


def _missing(
    field: Field, stream: StreamDefinition, names: Sequence[str], row: int | None = None
) -> SashError:
    where = f"Row {row}" if row is not None else "The rows"
    lacks = f"{'has' if row is not None else 'have'} no column '{field.name}'"
    near = next((name for name in names if str(name).lower() == field.name.lower()), None)
    remedy = f"Give '{field.name}' ({sql_name(field.type)}); NULL is allowed if it is not the TIME column."
    if near is not None:
        remedy = f"Name one column '{field.name}': '{near}' and others differ from it only in case."
    return SashError("SASH-DATA-002", f"{where} for stream '{stream.name}' {lacks}.", remedy=remedy)


def _surplus(name: str, stream: StreamDefinition, row: int | None = None, value: object = None) -> SashError:
    columns = ", ".join(field.name for field in stream.fields)
    where = "The rows" if row is None else f"Row {row}"
    with_value = "" if row is None else f" (value {_short(value)})"
    return SashError(
        "SASH-DATA-003",
        f"{where} for stream '{stream.name}' brought a column '{name}'{with_value} that it does not have.",
        remedy=f"Its columns are: {columns}.",
    )


def _misfit(misfit: Misfit, field: Field, stream: StreamDefinition) -> SashError:
    if misfit.value is None:
        return SashError(
            "SASH-DATA-004",
            f"Column '{field.name}' of the rows for stream '{stream.name}' is {sql_name(misfit.type)}, "
            f"which does not become {sql_name(field.type)}.",
            remedy=f"Give it as {sql_name(field.type)}.",
        )
    return SashError(
        "SASH-DATA-004",
        f"Row {misfit.row} for stream '{stream.name}' has {_short(misfit.value)} in column '{field.name}', "
        f"which is not {with_article(sql_name(field.type))}.",
        remedy=f"Give values that are {sql_name(field.type)} or become it without loss.",
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
