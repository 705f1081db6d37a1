"""State as Arrow tables: how rows with lifetimes and plain arrays are written down and read back."""

from __future__ import annotations

__all__ = ["arrays_table", "changes_of", "changes_table", "table_arrays", "under"]

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.lifetimes import Changes

_LIFETIME = ("begin", "until", "weight")


def changes_table(changes: Changes) -> pa.Table:
    """Rows and lifetimes side by side; the columns are named by position."""
    names = [*map(str, range(len(changes.columns))), *_LIFETIME]
    lifetimes = [pa.array(part) for part in (changes.begin, changes.until, changes.weight)]
    return pa.table([*changes.columns, *lifetimes], names=names)


def changes_of(table: pa.Table) -> Changes:
    """The rows that `changes_table` wrote.

    >>> one = Changes((pa.array(["a"]),), np.array([1]), np.array([2]), np.array([1]))
    >>> changes_of(changes_table(one)).until.tolist()
    [2]
    """
    columns = [table.column(i).combine_chunks() for i in range(table.num_columns)]
    begin, until, weight = (column.to_numpy(zero_copy_only=False) for column in columns[-3:])
    return Changes(tuple(columns[:-3]), begin, until, weight)


def arrays_table(arrays: Mapping[str, np.ndarray]) -> pa.Table:
    """Equally long arrays as a table."""
    return pa.table({name: pa.array(array) for name, array in arrays.items()})


def table_arrays(table: pa.Table) -> dict[str, np.ndarray]:
    """The arrays that `arrays_table` wrote, writable."""
    return {name: np.array(table.column(name).to_numpy(), copy=True) for name in table.column_names}


def under(prefix: str, saved: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables whose names begin with `prefix/`, by the rest of their names.

    >>> sorted(under("a", {"a/x": pa.table({}), "ab/x": pa.table({}), "a/b/y": pa.table({})}))
    ['b/y', 'x']
    """
    start = f"{prefix}/"
    return {name.removeprefix(start): table for name, table in saved.items() if name.startswith(start)}
