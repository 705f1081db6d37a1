"""`sash demo`: generated network traffic through queries that Spark refuses; on Spark, or in this process.

In this process each query has a session of its own, so that what it costs can be told apart; the
clock of its rate runs over push, advance and changes. `spark_demo` is the other one.
"""

from __future__ import annotations

__all__ = ["SECONDS_BETWEEN_LINES", "demo", "shown"]

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.table import Table

    from sash.cli.questions import Question

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
        return shown(self.query.answer())


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long the live part runs.")] = 20.0,
    seed: Annotated[int, typer.Option(help="Another seed, other traffic.")] = 1,
    rows: Annotated[int, typer.Option(min=10_000, help="Rows a link, for the rates on Spark.")] = 200_000,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Six questions in this process, without Spark.")
    ] = False,
) -> None:
    """Watch questions that Spark refuses being answered on Spark, live; ends by itself."""
    if in_process:
        _demo_in_process(seconds, seed)
        return
    from sash.cli.spark_demo import demo_on_spark

    demo_on_spark(seconds, seed, rows)


def _demo_in_process(seconds: float, seed: int) -> None:
    from rich.live import Live

    from sash.cli.questions import QUESTIONS
    from sash.cli.screen import console
    from sash.cli.traffic import end_of_second, traffic

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


def shown(answer: pa.Table) -> str:
    """The first rows of an answer in a few words.

    >>> import pyarrow as pa
    >>> shown(pa.table({"src": ["10.0.0.1", "10.0.0.2"], "bytes": [1200, None]}))
    '10.0.0.1 1,200, 10.0.0.2 -'
    """
    rows = answer.slice(0, SHOWN_ROWS).to_pylist()
    first = ", ".join(" ".join(_short(cell) for cell in row.values()) for row in rows)
    more = answer.num_rows - SHOWN_ROWS
    return (first or "(empty)") + (f" and {more:,} more" if more > 0 else "")


def _short(cell: object) -> str:
    if cell is None:
        return "-"
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
