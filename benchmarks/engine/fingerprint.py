"""Do two lists of changes say the same? Sums that depend neither on order, nor on cuts, nor on netting."""

from __future__ import annotations

__all__ = ["Fingerprint"]

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass
class Fingerprint:
    """Per column, the sum over rows of change x instant x value, in 64 bits that wrap round.

    A row that comes and goes at one instant adds nothing; a row given as +2 adds what two rows do.

    >>> once = Fingerprint.of(pa.table({"k": [7], "at": [3], "change": [2]}))
    >>> twice = Fingerprint.of(pa.table({"k": [7, 7], "at": [3, 3], "change": [1, 1]}))
    >>> once == twice, once == Fingerprint.of(pa.table({"k": [7], "at": [4], "change": [2]}))
    (True, False)
    """

    sums: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(table: pa.Table) -> Fingerprint:
        """The fingerprint of one table whose last columns are `at` and `change`."""
        result = Fingerprint()
        result.add(table)
        return result

    def add(self, table: pa.Table) -> None:
        """Count in more changes."""
        change = whole(table.column(table.num_columns - 1))
        at = whole(table.column(table.num_columns - 2))
        with np.errstate(over="ignore"):
            signed = change * (at * np.int64(2) + np.int64(1))
            self._sum(-1, change)
            self._sum(-2, signed)
            for position in range(table.num_columns - 2):
                self._sum(position, signed * (whole(table.column(position)) + np.int64(1)))

    def _sum(self, position: int, values: np.ndarray) -> None:
        total = (self.sums.get(position, 0) + int(values.sum())) % 2**64
        self.sums[position] = total


def whole(column: pa.ChunkedArray) -> np.ndarray:
    """Any column as 64-bit whole numbers: text keys by their digits, fractions by their bits."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_slice_codeunits(column, 1)
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"))
    elif pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy(), np.float64).view(np.int64)
    return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)
