"""`sash run FILE.sql`: the pipelines of a file on Spark, with their progress on the terminal.

Ctrl-C and SIGTERM let the batch at work be committed, then stop; a second one does not wait. Exit
codes: 0 the run came to its end, 1 it broke off, 2 the file or the command line is at fault, 130 and
143 it was stopped, even if whoever stopped it stopped Spark's Java as well.
"""

from __future__ import annotations

__all__ = ["run"]

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from sash.cli.progress import Watcher
    from sash.language.statements import Statement
    from sash.spark.database import SparkDatabase
    from sash.spark.handle import Handle

SECONDS_PER_FRAME = 0.5
SECONDS_PER_LOOK = 0.1
SECONDS_PER_REQUEST = 0.25
"""`timeout` sends a signal to the process, and then to its whole group: that is one request."""
SECONDS_TO_GO = 2.0
"""How long Java may take to be seen as gone, once it was told to end with the command."""


def run(
    file: Annotated[Path, typer.Argument(help="CREATE STREAM, TABLE, VIEW, SINK and INSERT INTO a sink.")],
    master: Annotated[str, typer.Option(help="Spark's: local[*], spark://host:port, yarn, ...")] = "local[*]",
    checkpoint: Annotated[
        Path | None, typer.Option(help="The folder from which a later run goes on; else a temporary one.")
    ] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="Read what there is, move time to its end, and stop.")
    ] = False,
    trigger: Annotated[str | None, typer.Option(help="Time between batches, such as '1 second'.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE: a setting of Sash or (spark. ...) of Spark; repeatable."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors and the exit code.")] = False,
) -> None:
    """Run the pipelines of FILE on Spark: each INSERT INTO sends a query's changes to a sink."""
    from sash.cli.screen import console, read_text

    text = read_text(file)
    statements = _checked(text, file)
    given = dict(map(_setting, settings or ()))
    screen = console(stderr=True)
    stop = _Stop()
    with stop.listening(), _folder(checkpoint, None if quiet else screen) as folder:
        import sash

        if screen.is_terminal and not quiet:
            screen.print("Spark starts ...", style="dim")
        with closing(sash.connect("spark", master=master, app_name=f"sash {file.name}", **given)) as db:
            db.execute(text)
            with stop.listening():  # PySpark has set a handler of its own
                handle = db.start(checkpoint=folder, trigger=trigger, until_end=until_end, name=file.stem)
                stop.waits_for_a_batch = True
                code = _attend(db, handle, stop, None if quiet else screen, live=_may_draw(statements))
                stop.waits_for_a_batch = False
    raise typer.Exit(code)


def _checked(text: str, file: Path) -> tuple[Statement, ...]:
    """The statements, if they are a pipeline; what is wrong is told before Spark starts."""
    from sash.errors import Place, SashError
    from sash.language.statements import InsertQuery, Query, parse

    statements = parse(text)
    for statement in statements:
        if isinstance(statement, Query):
            start = len(statement.text) - len(statement.text.lstrip())
            raise SashError(
                "SASH-CLI-009",
                "A query on its own has nowhere to go.",
                remedy="Write INSERT INTO a sink before it; `sash explain` takes queries on their own.",
                place=Place(text, start, len(statement.text.rstrip())),
            )
    if not any(isinstance(statement, InsertQuery) for statement in statements):
        raise SashError(
            "SASH-CLI-008",
            f"There is no pipeline in '{file}'.",
            remedy="Add CREATE SINK answers WITH (format = 'snapshot', path = '...') and "
            "INSERT INTO answers SELECT ...",
        )
    return statements


def _setting(text: str) -> tuple[str, object]:
    """A setting as it was typed, with the type that it has in Python.

    >>> _setting("low_latency=true"), _setting("buckets = 8"), _setting("spark.driver.memory=4g")
    (('low_latency', True), ('buckets', 8), ('spark.driver.memory', '4g'))
    """
    from sash.errors import SashError

    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise SashError(
            "SASH-CLI-010",
            f"'{text}' is no setting.",
            remedy="Write --set NAME=VALUE, such as --set idle_timeout='1 minute' or "
            "--set spark.driver.memory=4g.",
        )
    if name.startswith("spark."):
        return name, value
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    return name, int(value) if value.isdigit() else value


def _may_draw(statements: tuple[Statement, ...]) -> bool:
    """Whether a table that redraws itself has the terminal to itself: a console sink writes there too."""
    from sash.language.statements import CreateSink

    sinks = (dict(statement.options) for statement in statements if isinstance(statement, CreateSink))
    return all(options.get("format", "").lower() != "console" for options in sinks)


@contextmanager
def _folder(given: Path | None, screen: Console | None) -> Iterator[str]:
    """The checkpoint; a temporary one is said to be so, and goes at the end."""
    if given is not None:
        yield str(given)
        return
    with tempfile.TemporaryDirectory(prefix="sash-run-", ignore_cleanup_errors=True) as folder:
        if screen is not None:
            screen.print(
                "The checkpoint is temporary: a later run starts from the beginning. "
                "Give --checkpoint DIR to go on where this one stops.",
                soft_wrap=True,
            )
        yield folder


class _Stop:
    """What SIGINT and SIGTERM do: end the process, or, while a run is at work, ask for its end first."""

    def __init__(self) -> None:
        self.by: int | None = None
        self.waits_for_a_batch = False
        self._began = 0.0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals, and give them back."""
        before = {number: signal.signal(number, self._asked) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _asked(self, number: int, _: FrameType | None) -> None:
        if self.waits_for_a_batch and self.by is None:
            self.by, self._began = number, time.monotonic()
        elif self.by != number or time.monotonic() - self._began > SECONDS_PER_REQUEST:
            raise SystemExit(128 + number)


def _attend(db: SparkDatabase, handle: Handle, stop: _Stop, screen: Console | None, live: bool) -> int:
    """Stay with a run until it ends or is asked to, telling how it goes; the exit code."""
    from sash.cli.progress import watcher
    from sash.cli.screen import show_error
    from sash.errors import SashError

    watch: Watcher | None = None if screen is None else watcher(db, handle, screen, live)
    try:
        if watch is not None:
            watch.begin()
        looked = time.monotonic()
        while handle.isActive and stop.by is None:
            time.sleep(SECONDS_PER_LOOK)
            if watch is not None and time.monotonic() - looked >= SECONDS_PER_FRAME:
                looked = time.monotonic()
                watch.look()
        if stop.by is not None:
            _end(handle)
        handle.awaitTermination()
    except SashError as error:
        if watch is not None:
            watch.end()
        if stop.by is None or not _java_goes(db):
            show_error(error)
            return 1
    finally:
        if watch is not None:
            watch.end()
    return 0 if stop.by is None else 128 + stop.by


def _end(handle: Handle) -> None:
    """Let the batch at work be committed, then stop the run."""
    began = _newest(handle)
    while handle.isActive and handle.status["isTriggerActive"] and _newest(handle) == began:
        time.sleep(SECONDS_PER_LOOK)
    if handle.isActive:
        handle.stop()


def _newest(handle: Handle) -> Any:
    """What tells the last batch that came through from others."""
    from sash.spark.failures import sash_error

    try:
        progress = handle.query.lastProgress
    except Exception as error:
        raise sash_error(error) from error
    return None if progress is None else (progress["batchId"], progress["timestamp"])


def _java_goes(db: SparkDatabase) -> bool:
    """Whether Java has gone or is about to: a service manager tells all processes of a service to end."""
    deadline = time.monotonic() + SECONDS_TO_GO
    while time.monotonic() < deadline:
        try:
            if db.spark.sparkContext._jsc.sc().isStopped():
                return True
        except Exception:  # nobody answers
            return True
        time.sleep(SECONDS_PER_LOOK)
    return False
