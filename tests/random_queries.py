"""Random queries over three small streams and two tables, as text, each with the operators it uses.

Every operator can stand at the top and below every other one that allows it. Streams are short,
instants few and windows small, so that answers are mostly not empty. The same seed gives the same pair.
"""

from __future__ import annotations

__all__ = ["OPERATORS", "Pair", "draw_pair"]

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from random import Random

from random_operators import LOWEST, OPERATORS
from random_parts import COLUMNS, Scope, make
from sash.testing.cells import render_table, show_cell

STREAMS = """CREATE STREAM r (ts BIGINT, k INT, s STRING, x DOUBLE, d DECIMAL(6, 2),
  b BOOLEAN, y DATE, m TIMESTAMP) TIME ts{r_late};
CREATE STREAM p (ts BIGINT, k INT, s STRING, x DOUBLE, d DECIMAL(6, 2),
  b BOOLEAN, y DATE, m TIMESTAMP) TIME ts;
CREATE STREAM e (ts BIGINT, k INT, s STRING, ends BIGINT) TIME ts;
CREATE TABLE t (k INT, name STRING, PRIMARY KEY (k));
CREATE TABLE u (k INT, name STRING) RETROACTIVE;
"""


@dataclass
class Pair:
    """A query and streams for it, as the text of a fixture without expectations."""

    sql: str
    operators: list[str]
    setup: str
    pushes: dict[str, list[dict[str, object]]]
    tables: list[str]

    def fixture(self) -> str:
        """The pair as a fixture's text."""
        lines = [
            "-- A random query and random streams",
            "SETTINGS allow_unbounded = true",
            self.setup.rstrip(),
        ]
        lines += [*self.tables, f"QUERY q AS {self.sql};"]
        for stream, rows in self.pushes.items():
            if rows:
                cells = [[show_cell(value) for value in row.values()] for row in rows]
                lines += render_table(f"PUSH {stream}", list(rows[0]), cells)
        return "\n".join([*lines, "ADVANCE 45", "CHANGES q"]) + "\n"


_ODD = [-0.0, -1.0, float("nan"), float("inf"), float("-inf")]

_DAYS = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 2), date(1969, 12, 31)]
_MOMENTS = [datetime(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6), datetime(1969, 12, 31, 23, 59, 59, 9)]


def _rows(random: Random, stream: str) -> list[dict[str, object]]:
    rows, ts = [], random.randint(0, 3)
    for _ in range(random.randint(4, 12)):
        ts += random.choice([0, 0, 1, 1, 2, 4])
        row: dict[str, object] = {"ts": ts, "k": random.choice([0, 1, 1, 2, 3, None])}
        row["s"] = random.choice(["a", "a", "b", "c", None])
        if stream == "e":
            row["ends"] = random.choice([None, ts + random.randint(0, 9), ts + random.randint(1, 5)])
        else:
            row["x"] = random.choice([0.0, 1.0, 1.0, 2.0, 2.0, 2.5, 3.0, None, random.choice(_ODD)])
            row["d"] = random.choice(
                [Decimal("0.50"), Decimal("1.50"), Decimal("1.50"), Decimal("-2.25"), None]
            )
            row["b"] = random.choice([True, True, False, None])
            row["y"] = random.choice([*_DAYS, None])
            row["m"] = random.choice([*_MOMENTS, None])
        rows.append(row)
    return rows


def _table_changes(random: Random) -> list[str]:
    """Changes of both tables, in the order of their instants."""
    changes = [
        "INSERT INTO t VALUES (0, 'zero'), (1, 'one') AT 1;",
        "INSERT INTO u VALUES (1, 'a'), (2, 'b') AT 1;",
    ]
    at = 1
    for _ in range(random.randint(0, 4)):
        at += random.randint(1, 5)
        key = random.randint(0, 3)
        changes.append(random.choice([
            f"UPDATE t SET name = 'new{at}' WHERE k = {key} AT {at};",
            f"DELETE FROM t WHERE k = {key} AT {at};",
            f"INSERT INTO t VALUES ({at + 10}, 'x') AT {at};",
            f"INSERT INTO u VALUES ({key}, 'c') AT {at};",
            f"DELETE FROM u WHERE k = {key} AT {at};",
        ]))  # fmt: skip
    return changes


def draw_pair(random: Random, top: str, below: str | None = None) -> Pair:
    """A query with `top` at the top and `below` below it (under another top if need be); streams for it."""
    below = None if top in LOWEST else below
    for attempt in range(400):
        top = random.choice(list(OPERATORS)) if attempt % 30 == 29 else top
        draft = make(top, Scope(random, random.choice([1, 1, 2, 2, 3]), wanted=below, top=True))
        if below is None or below in draft.operators[1:]:
            break
    late = random.choice([0, 0, 3])
    setup = STREAMS.format(r_late=f" LATENESS {late}" if late else "")
    pushes = {stream: _rows(random, stream) for stream in COLUMNS}
    return Pair(draft.sql, draft.operators, setup, pushes, _table_changes(random))
