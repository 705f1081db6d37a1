"""Running a fixture: as it is written, checking what it expects on the way, or read in another way.

Every reading ends in a transcript (all net changes of each query, the last answers, errors, late
rows), and all transcripts of a fixture must be equal. Other readings than the written one cut the
rows between two other steps anew, in the order of their timestamps: how input is cut changes nothing.
"""

from __future__ import annotations

__all__ = ["Player", "Transcript", "replay"]

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import sash
from sash.errors import SashError
from sash.language.statements import CreateStream, StreamDefinition, parse
from sash.lifetimes import BEGINNING

from .cells import guess_cell, read_cell
from .comparing import assert_same_rows, net
from .cutting import cut
from .fixtures import Fixture, Step
from .readings import AS_WRITTEN, Reading

Row = tuple[object, ...]
Session = Any
"""What `sash.connect()` gives."""


@dataclass
class Transcript:
    """What a fixture said in one reading."""

    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    changes: dict[str, list[Row]] = field(default_factory=dict)
    """By query: every net change as (at, values..., change)."""
    answers: dict[str, list[Row]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    late: dict[str, int] = field(default_factory=dict)

    def assert_same(self, other: Transcript, what: str) -> None:
        """Raise AssertionError, with the difference shown, unless both say the same."""
        assert self.errors == other.errors, f"{what}: the errors differ: {self.errors} and {other.errors}"
        assert self.late == other.late, f"{what}: the late rows differ: {self.late} and {other.late}"
        for name, rows in other.changes.items():
            header = ("at", *other.columns[name], "change")
            assert_same_rows(self.changes[name], rows, header, f"{what}: the changes of {name}")
        for name, rows in other.answers.items():
            assert_same_rows(
                self.answers[name], rows, other.columns[name], f"{what}: the last answer of {name}"
            )


def replay(
    fixture: Fixture,
    session_factory: Callable[..., Session] = sash.connect,
    reading: Reading = AS_WRITTEN,
    load: Callable[..., Session] | None = None,
) -> Transcript:
    """Run a fixture in one reading; AssertionError where it does not say what it should."""
    with tempfile.TemporaryDirectory() as folder:
        player = Player(session_factory, reading, load or sash.load, Path(folder))
        try:
            return player.play(fixture)
        finally:
            player.close()


class Player:
    """Plays the steps of a fixture on a session of its own."""

    def __init__(
        self,
        session_factory: Callable[..., Session],
        reading: Reading,
        load: Callable[..., Session],
        folder: Path,
    ) -> None:
        self.factory, self.reading, self.load, self.folder = session_factory, reading, load, folder
        self.random = Random(reading.seed)
        self.session: Session = None
        self.streams: dict[str, StreamDefinition] = {}
        self.queries: dict[str, Any] = {}
        self.drained: dict[str, list[tuple[Row, int]]] = {}
        self.transcript = Transcript()
        self.late: dict[str, int] = {}
        self.saves = 0
        self.greatest_frontier = BEGINNING
        """How far any stream has come in a reading that cuts anew."""

    def play(self, fixture: Fixture) -> Transcript:
        """All steps, then the last changes and answers."""
        settings = dict(self.reading.settings)
        for step in fixture.steps:
            if step.kind == "settings":
                settings |= read_settings(step.text)
        self.session = self.factory(**settings)
        recut = self.reading.cut != "written" and not fixture.has_late_rows
        for step in self._recut(fixture) if recut else iter(fixture.steps):
            if step.kind != "settings" and (step.acts or self.reading == AS_WRITTEN):
                try:
                    self._do(step)
                except AssertionError as error:
                    raise AssertionError(
                        f"line {step.lines[0] + 1}, {step.kind} {step.name}: {error}"
                    ) from None
                if self.reading.saves and (self.queries or step.kind == "push"):
                    self._save_and_load()
        return self._finish()

    def close(self) -> None:
        """Let the session go."""
        if self.session is not None:
            self.session.close()

    def _do(self, step: Step) -> None:
        if step.error is None:
            self.act(step)
            return
        try:
            self.act(step)
        except SashError as error:
            check_error(error, step)
            if step.acts:
                self.transcript.errors.append(error.code)
        else:
            raise AssertionError(f"{step.error.code} was expected, but nothing failed")

    def act(self, step: Step) -> object:
        """One step, with whatever the session gives for it; expectations are checked."""
        match step.kind:
            case "statement":
                self.session.execute(step.text)
                self._remember(step.text)
            case "query":
                self.queries[step.name] = self.session.query(step.text, name=step.name)
                self.drained[step.name] = []
            case "push":
                self.session.push(step.name, self.typed(step))
            case "advance":
                self.session.advance(guess_cell(step.text))
            case "idle":
                self.session.idle(step.name)
            case "drop":
                self.drain(step.name)
                self.queries.pop(step.name).drop()
            case "changes":
                self._check_changes(step)
            case "answer":
                self._check_answer(step)
            case "late":
                late = self.late_rows(step.name)
                assert late == int(step.text), f"{late} rows were late, not {step.text}"
            case "explain":
                self._check_plan(step)
            case "settings":
                pass
        return None

    def _remember(self, text: str) -> None:
        for statement in parse(text):
            if isinstance(statement, CreateStream):
                self.streams[statement.definition.name.lower()] = statement.definition

    def typed(self, step: Step) -> list[dict[str, object]]:
        """The rows of a PUSH as dicts; empty cells are left out, misfits are passed on as they look."""
        stream = self.streams.get(step.name.lower())
        types = {f.name.lower(): f.type for f in stream.fields} if stream else {}
        return [
            {
                name: _typed(cell, types.get(name.lower()))
                for name, cell in zip(step.header, row, strict=True)
                if cell
            }
            for row in step.rows
            if step.header
        ]

    def late_rows(self, stream: str) -> int:
        """How many rows of a stream came late since this was last asked."""
        count = len(self.session.late(stream))
        self.late[stream.lower()] = self.late.get(stream.lower(), 0) + count
        return count

    def drain(self, name: str) -> tuple[pa.Table, list[tuple[Row, int]]]:
        """What is new in a query's changes, as ((at, values...), change), also kept for the transcript."""
        table = self.queries[name].changes()
        columns = [column.to_pylist() for column in table.columns]
        self.transcript.columns[name] = tuple(table.column_names[:-2])
        found = [((at, *row), change) for *row, at, change in zip(*columns, strict=True)]
        self.drained[name] += found
        both = {repr(row) for row, change in found if change > 0} & {repr(row) for row, n in found if n < 0}
        assert not both, f"a row comes and goes at one instant, which is no change: {sorted(both)}"
        return table, found

    def _check_changes(self, step: Step) -> None:
        table, found = self.drain(step.name)
        assert step.header is not None, "no changes are written here; run the tests with --rewrite"
        names = ("at", *table.column_names[:-2], "change")
        types = [table.schema.types[-2], *table.schema.types[:-2], pa.int64()]
        expected = typed_rows(step, names, types)
        actual = [(*row, change) for row, change in net(found)]
        assert_same_rows(actual, expected, names, "The changes")

    def _check_answer(self, step: Step) -> None:
        at = step.text.removeprefix("AT").strip()
        table = self.queries[step.name].answer(at=guess_cell(at) if at else None)
        assert step.header is not None, "no answer is written here; run the tests with --rewrite"
        expected = typed_rows(step, table.column_names, table.schema.types)
        assert_same_rows(_rows(table), expected, table.column_names, "The answer")

    def _check_plan(self, step: Step) -> None:
        assert step.header is not None, "no plan is written here; run the tests with --rewrite"
        shown = shown_plan(self.queries[step.name])
        expected = [row[0].rstrip() for row in step.rows]
        assert shown == expected, "the plan is\n" + "\n".join(shown) + "\nand not\n" + "\n".join(expected)

    def _save_and_load(self) -> None:
        path = self.folder / f"{self.saves}.sash"
        self.saves += 1
        self.session.save(path)
        self.session.close()
        rules = {name: value for name, value in self.reading.settings.items() if name == "rules"}
        self.session = self.load(path, **rules)
        self.queries = {name: self.session.queries[name] for name in self.queries}

    def _finish(self) -> Transcript:
        for name in self.queries:
            self.drain(name)
            with suppress(SashError):  # of a stream there is no answer
                self.transcript.answers[name] = _rows(self.queries[name].answer())
        for name, found in self.drained.items():
            self.transcript.changes[name] = [(*row, change) for row, change in net(found)]
        for name in self.streams:
            self.late_rows(name)
        self.transcript.late = {name: late for name, late in self.late.items() if late}
        return self.transcript

    def _recut(self, fixture: Fixture) -> Iterator[Step]:
        """The fixture's steps with its pushes cut anew between any two other steps."""
        region: list[Step] = []
        for step in fixture.steps:
            if step.kind in ("push", "advance") and step.error is None:
                region.append(step)
            elif step.acts:
                yield from cut(region, self)
                region = []
                yield step
        yield from cut(region, self)


def _typed(cell: str, type_: pa.DataType | None) -> object:
    if type_ is None:
        return guess_cell(cell)
    try:
        return read_cell(cell, type_)
    except ValueError:
        return guess_cell(cell)


def typed_rows(step: Step, names: list[str] | tuple[str, ...], types: list[pa.DataType]) -> list[Row]:
    """The rows a step expects, as values of the given types."""
    if not step.header:
        return []
    assert list(step.header) == list(names), f"the columns are {list(names)} and not {list(step.header)}"
    return [tuple(map(read_cell, (cell.removeprefix("+") for cell in row), types)) for row in step.rows]


def _rows(table: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def shown_plan(query: Any) -> list[str]:
    """The lines of a query's plan, without what it holds at the moment."""
    return [line.rstrip() for line in str(query.explain()).split("\nheld now:")[0].splitlines()]


def check_error(error: SashError, step: Step) -> None:
    """The error must be the expected one, with a remedy and, where it has a place, a caret."""
    assert step.error is not None
    assert error.code == step.error.code, f"{step.error.code} was expected, but this failed:\n{error}"
    assert error.message == step.error.message, f"the message is\n{error.message}\nnot\n{step.error.message}"
    assert error.remedy, "an error says what to do"
    place = shown_place(error)
    assert "^" in place[-1] if place else True, "a place has a caret"
    if step.error.place:
        assert place == step.error.place, "the place is\n" + "\n".join(place)


def shown_place(error: SashError) -> tuple[str, ...]:
    """The line with carets of an error that has a place."""
    if error.place is None:
        return ()
    return tuple(line.removeprefix("  ") for line in error.place.render().splitlines()[1:])


def read_settings(text: str) -> Mapping[str, object]:
    """Settings such as `allow_unbounded = true, name = 1`.

    >>> read_settings("allow_unbounded = true")
    {'allow_unbounded': True}
    """
    settings: dict[str, object] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        word = value.strip()
        settings[name.strip()] = {"true": True, "false": False}.get(word.lower(), guess_cell(word))
    return settings
