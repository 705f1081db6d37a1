"""`sash demo`: generated network traffic through six queries that Spark refuses, for twenty seconds.

Each query has a session of its own, so that what it costs can be told apart; the clock of its rate
runs over push, advance and changes.
"""

from __future__ import annotations

__all__ = ["demo"]

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.table import Table

    from sash.cli.traffic import Question

SHOWN_ROWS = 5
SECONDS_BETWEEN_LINES = 5.0
SECONDS_PER_FRAME = 0.1


class Desk:
    """One question at work: its session, its query, and what they have done so far."""

    def __init__(self, question: Question) -> None:
        import sash
        from sash.cli.traffic import STREAMS

        self.question = question
        self.rows = 0
        self.changes = 0
        self.seconds = 0.0
        self.db: Any = sash.connect()
        for name in question.streams:
            self.db.execute(STREAMS[name])
        self.query = self.db.query(question.text, name=question.name)

    def take(self, second: dict[str, pa.Table], until: int) -> None:
        """Push a second of traffic, move the clock to its end, take the changes."""
        started = time.perf_counter()
        for name in self.question.streams:
            self.db.push(name, second[name])
        self.db.advance(until)
        changes = self.query.changes()
        self.seconds += time.perf_counter() - started
        self.rows += sum(second[name].num_rows for name in self.question.streams)
        self.changes += changes.num_rows

    @property
    def rate(self) -> float:
        """Rows per second of work."""
        return self.rows / self.seconds if self.seconds else 0.0

    def answer(self) -> str:
        """The relation now, in a few words."""
        rows = self.query.answer().to_pylist()
        first = ", ".join(" ".join(_short(cell) for cell in row.values()) for row in rows[:SHOWN_ROWS])
        more = len(rows) - SHOWN_ROWS
        return (first or "(empty)") + (f" and {more:,} more" if more > 0 else "")


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long to run.")] = 20.0,
    seed: Annotated[int, typer.Option(help="Another seed, other traffic.")] = 1,
) -> None:
    """Watch six questions that Spark refuses being answered, live; ends by itself."""
    from rich.live import Live

    from sash.cli.screen import console
    from sash.cli.traffic import QUESTIONS, end_of_second, traffic

    screen = console()
    desks = [Desk(question) for question in QUESTIONS]
    # The first second loads the kernels, and is not part of any rate.
    for desk in desks:
        desk.take(traffic(seed, 0), end_of_second(0))
        desk.rows, desk.changes, desk.seconds = 0, 0, 0.0
    started = spoken = time.monotonic()
    number = 0
    live = Live(console=screen, auto_refresh=False) if screen.is_terminal else None
    if live is not None:
        live.start()
    try:
        while (now := time.monotonic()) - started < seconds:
            number += 1
            second = traffic(seed, number)
            for desk in desks:
                desk.take(second, end_of_second(number))
            if live is not None:
                live.update(_frame(desks, number), refresh=True)
                time.sleep(max(0.0, SECONDS_PER_FRAME - (time.monotonic() - now)))
            elif now - spoken >= SECONDS_BETWEEN_LINES:
                spoken = now
                _speak(screen, desks, number)
    finally:
        if live is not None:
            live.stop()
    screen.print(_closing(desks, number))
    for desk in desks:
        desk.db.close()


def _short(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _frame(desks: list[Desk], number: int) -> Table:
    from rich.table import Table

    table = Table(title=f"second {number:,} of the traffic", title_justify="left", expand=True)
    table.add_column("question", ratio=2)
    table.add_column("answer now", ratio=4)
    table.add_column("rows/s", justify="right", width=11)
    for desk in desks:
        table.add_row(desk.question.asks, desk.answer(), f"{desk.rate:,.0f}", end_section=True)
    return table


def _speak(screen: Console, desks: list[Desk], number: int) -> None:
    for desk in desks:
        screen.print(f"second {number}: {desk.question.asks}: {desk.answer()}", markup=False)


def _closing(desks: list[Desk], number: int) -> Table:
    from rich.table import Table

    title = f"{number:,} seconds of traffic; every answer exact at every instant"
    table = Table(title=title, title_justify="left")
    for heading in ("query", "asks", "what Spark refuses in it"):
        table.add_column(heading)
    for heading in ("rows in", "changes out", "rows/s"):
        table.add_column(heading, justify="right")
    for desk in desks:
        question = desk.question
        figures = (f"{desk.rows:,}", f"{desk.changes:,}", f"{desk.rate:,.0f}")
        table.add_row(question.name, question.asks, question.refused, *figures)
    return table
