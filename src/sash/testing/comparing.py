"""Comparing rows without regard to order, and showing a difference so that the eye finds the cell.

Doubles are equal within one part in a billion, NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

__all__ = ["assert_same_rows", "differences", "net", "same_cell"]

import math
from collections.abc import Iterable, Sequence

from .cells import show_cell

Row = tuple[object, ...]

TOLERANCE = 1e-9


def same_cell(left: object, right: object) -> bool:
    """True if two cells hold the same value.

    >>> same_cell(0.1 + 0.2, 0.3), same_cell(float("nan"), float("nan")), same_cell(1, True)
    (True, True, False)
    """
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=1e-12)
    left, right = _in_order(left), _in_order(right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same_cell, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _in_order(cell: object) -> object:
    """A struct or a map as its items: a map comes as pairs from Arrow and as an object from JSON."""
    return tuple(cell.items()) if isinstance(cell, dict) else cell


def _exact_part(row: Row) -> tuple[object, ...]:
    """What two equal rows certainly share: all cells but the doubles."""
    return tuple("double" if isinstance(cell, float) else _hashable(cell) for cell in row)


def _hashable(cell: object) -> object:
    cell = _in_order(cell)
    if isinstance(cell, (list, tuple)):
        return tuple(_hashable(item) for item in cell)
    return (type(cell).__name__, cell) if isinstance(cell, bool) else cell


def net(changes: Iterable[tuple[Row, int]]) -> list[tuple[Row, int]]:
    """Rows with their changes added up, zero sums left out; rows with equal cells are one.

    >>> net([((1, "a"), 1), ((1, "b"), 1), ((1, "a"), -1)])
    [((1, 'b'), 1)]
    """
    groups: dict[object, list[list[object]]] = {}
    for row, change in changes:
        entries = groups.setdefault(_exact_part(row), [])
        for entry in entries:
            if all(map(same_cell, entry[0], row)):  # type: ignore[call-overload]
                entry[1] += change  # type: ignore[operator]
                break
        else:
            entries.append([row, change])
    return [(e[0], e[1]) for entries in groups.values() for e in entries if e[1]]  # type: ignore[misc]


def differences(actual: Iterable[Row], expected: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that only `actual` has and those that only `expected` has, as bags.

    >>> differences([(1,), (2,)], [(2,), (3,)])
    ([(1,)], [(3,)])
    """
    signed = [(tuple(row), 1) for row in actual] + [(tuple(row), -1) for row in expected]
    surplus: list[Row] = []
    missing: list[Row] = []
    for row, count in net(signed):
        (surplus if count > 0 else missing).extend([row] * abs(count))
    return surplus, missing


def assert_same_rows(
    actual: Iterable[Row], expected: Iterable[Row], columns: Sequence[str] = (), what: str = "The rows"
) -> None:
    """Raise AssertionError, with the differing cells marked, unless both are the same bag of rows.

    >>> assert_same_rows([(1, "a")], [(1, "b")], ["ts", "src"])
    Traceback (most recent call last):
    ...
    AssertionError: The rows differ:
               | ts | src |
      expected | 1  | b   |
      got      | 1  | a   |
                      ^
    """
    surplus, missing = differences(actual, expected)
    if surplus or missing:
        raise AssertionError(f"{what} differ:\n" + "\n".join(_report(surplus, missing, columns)))


def _report(surplus: list[Row], missing: list[Row], columns: Sequence[str]) -> list[str]:
    left = [tuple(map(show_cell, row)) for row in surplus]
    right = [tuple(map(show_cell, row)) for row in missing]
    header = tuple(columns) or tuple(str(i) for i in range(len((left + right)[0])))
    widths = [max(map(len, column)) for column in zip(header, *left, *right, strict=True)]

    def line(label: str, cells: Sequence[str]) -> str:
        body = " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"  {label:<8} | {body} |"

    report = [line("", header)]
    for wanted in right:
        report.append(line("expected", wanted))
        twin = max(left, key=lambda got: sum(map(str.__eq__, got, wanted)), default=None)
        if twin is None or not any(map(str.__eq__, twin, wanted)):
            continue
        left.remove(twin)
        report.append(line("got", twin))
        marks = [("^" * max(1, len(a)) if a != b else "") for a, b in zip(twin, wanted, strict=True)]
        marked = "   ".join(mark.ljust(width) for mark, width in zip(marks, widths, strict=True))
        report.append(" " * 13 + marked.rstrip())
    report += [line("got", got) for got in left]
    return report
