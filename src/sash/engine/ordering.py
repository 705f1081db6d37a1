"""Orders that answers depend on: the rows of one instant by value, columns as Spark sorts them."""

from __future__ import annotations

__all__ = ["by_value_within_instants"]

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.lifetimes import Changes


def by_value_within_instants(changes: Changes) -> Changes:
    """Rows in order of (begin, values), NULLs first, each as often as its weight says.

    A computed stream has no arrival order of its own; this one depends on nothing but the rows.

    >>> at, ends, weights = np.array([5, 5, 5]), np.array([9, 9, 9]), np.array([1, 1, 2])
    >>> rows = Changes((pa.array([2, None, 1]),), at, ends, weights)
    >>> by_value_within_instants(rows).columns[0].to_pylist()
    [None, 1, 1, 2]
    """
    names = [str(i) for i in range(len(changes.columns))]
    keyed = {"begin": pa.array(changes.begin)}
    keys = [("begin", "ascending")]
    for name, column in zip(names, changes.columns, strict=True):
        nan_last = pc.is_nan(column) if pa.types.is_floating(column.type) else None
        keyed[f"null{name}"] = pc.is_valid(column).cast(pa.int8())
        keys.append((f"null{name}", "ascending"))
        if nan_last is not None:
            keyed[f"nan{name}"] = nan_last.cast(pa.int8())
            keys.append((f"nan{name}", "ascending"))
        keyed[name] = column
        keys.append((name, "ascending"))
    order = pc.sort_indices(pa.table(keyed), sort_keys=keys).to_numpy()
    ordered = changes.take(np.repeat(order, changes.weight[order]))
    return Changes(ordered.columns, ordered.begin, ordered.until, np.ones(len(ordered), np.int64))
