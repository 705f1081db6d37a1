"""The bank: money moves between accounts, so the total is 0 at every instant that is reported.

Each transfer is one row of a stream that a query reads twice, as a debit and as a credit. Whatever the
window, both halves must come and go at the same instant.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest

HALVES = """(SELECT debtor AS account, -amount AS amount FROM transfers {window} AS d
 UNION ALL SELECT creditor AS account, amount FROM transfers {window} AS c) AS halves"""

WINDOWS = [
    "[UNBOUNDED]", "[RANGE 9]", "[RANGE 9 SLIDE 4]", "[ROWS 6]", "[ROWS 6 SLIDE 3]", "[NOW]", "[UNTIL due]",
    "[PARTITION BY debtor ROWS 2]", "[PARTITION BY creditor ROWS 3 RANGE 7]",
]  # fmt: skip


def transfers(random: Random, count: int) -> list[dict[str, Any]]:
    """Transfers with ties in time, up to 3 ticks out of order."""
    rows, now = [], 0
    for _ in range(count):
        now += random.choice([0, 0, 1, 2])
        debtor, creditor = random.sample(["ada", "bob", "cyd", "dan"], 2)
        due = now + random.randint(0, 12)
        rows.append(
            {"ts": now, "debtor": debtor, "creditor": creditor, "amount": random.randint(1, 90), "due": due}
        )
    return sorted(rows, key=lambda row: row["ts"] + random.randint(0, 3))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_total_is_zero_at_every_reported_instant(window: str, seed: int, sessions: Any) -> None:
    random = Random(seed)
    db = sessions[0](allow_unbounded=True)
    db.execute(
        "CREATE STREAM transfers (ts BIGINT, debtor STRING, creditor STRING, amount BIGINT, due BIGINT) "
        "TIME ts LATENESS 3"
    )
    halves = HALVES.format(window=window)
    balances = db.query(f"SELECT account, SUM(amount) AS balance FROM {halves} GROUP BY account")
    total = db.query(f"SELECT SUM(amount) AS total, COUNT(*) AS halves FROM {halves}")
    rows = transfers(random, 60)
    seen: list[tuple[int, int]] = []
    while rows:
        size = random.randint(1, 9)
        db.push("transfers", rows[:size])
        rows = rows[size:]
        seen += moved(balances.changes(), "balance")
        assert all(row["total"] in (0, None) for row in total.changes().to_pylist())
    db.advance(500)
    seen += moved(balances.changes(), "balance")
    books: dict[int, int] = defaultdict(int)
    for at, amount in seen:
        books[at] += amount
    assert books, "nothing was reported"
    assert all(amount == 0 for amount in books.values()), {
        at: amount for at, amount in books.items() if amount
    }
    db.close()


def moved(changes: Any, column: str) -> list[tuple[int, int]]:
    """By how much each change of an account changes the total, and when."""
    return [(row["at"], row[column] * row["change"]) for row in changes.to_pylist()]
