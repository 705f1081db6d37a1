"""A player with a judge beside it: whatever the session is told, the oracle's world is told, too.

At every DROP and at the end, all changes that the session has given must be those of the oracle. On
the way, the oracle notes what it would write where a fixture expects changes or answers.
"""

from __future__ import annotations

__all__ = ["Judge", "judge"]

import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import sash
from oracle.values import Row, arrow_value, instant_of
from oracle.world import World
from sash.errors import SashError
from sash.language.expressions import Schema
from sash.language.statements import parse
from sash.testing.cells import guess_cell
from sash.testing.comparing import assert_same_rows, net
from sash.testing.fixtures import Fixture, Step
from sash.testing.readings import AS_WRITTEN, Reading
from sash.testing.replaying import Player, Transcript, shown_plan

_EPOCH = datetime(1970, 1, 1)

Noted = tuple[tuple[str, ...], list[tuple[object, ...]]]
"""Header and rows that the oracle gives for an expectation."""


class Judge(Player):
    """Plays a fixture and holds every query against the oracle."""

    world: World
    noted: dict[int, Noted]
    """What the oracle says at each CHANGES and ANSWER, by the line of the step."""
    failed: dict[int, SashError]
    plans: dict[int, list[str]]
    operators: list[Any]

    def __init__(self, *arguments: Any, lenient: bool = False) -> None:
        super().__init__(*arguments)
        self.world = World()
        self.noted, self.failed, self.plans, self.operators = {}, {}, {}, []
        self.lenient = lenient
        self.written: dict[str, list[tuple[int, tuple[object, ...], int]]] = {}

    def act(self, step: Step) -> object:
        if self.lenient and not step.acts:
            self._note(step)
            return None
        try:
            super().act(step)
        except SashError as error:
            self.failed[step.lines[0]] = error
            raise
        if not step.acts:
            self._note(step)
        self._tell(step)
        return None

    def _do(self, step: Step) -> None:
        if not self.lenient:
            super()._do(step)
            return
        try:
            self.act(step)
        except SashError:
            self.transcript.errors.append("noted")

    def _tell(self, step: Step) -> None:
        """The world is told what the session was told, once the session has accepted it."""
        world = self.world
        match step.kind:
            case "statement":
                for statement in parse(step.text):
                    world.execute(statement, step.text)
            case "query":
                plan = self.queries[step.name].plan
                self.operators.append(plan)
                world.add_query(step.name, plan)
            case "push":
                world.push(step.name, self.typed(step))
            case "advance":
                kind = "integer" if isinstance(guess_cell(step.text), int) else "timestamp"
                world.advance(self._instant(step.text), kind)
            case "idle":
                world.idle(step.name)
            case "drop":
                self._compare(step.name)
                del world.queries[step.name]

    def _note(self, step: Step) -> None:
        """What the oracle would write here; nothing where the session must refuse to answer."""
        if step.error is not None and not self.lenient:
            return
        try:
            if step.kind == "changes":
                self.noted[step.lines[0]] = self._noted_changes(step.name)
            elif step.kind == "answer":
                at = step.text.removeprefix("AT").strip()
                self.queries[step.name].answer(at=guess_cell(at) if at else None)
                bag = self.world.answer(step.name, self._instant(at) if at else None)
                schema = self.queries[step.name].plan.schema
                rows = [_shown(row, schema) for row in bag.elements()]
                self.noted[step.lines[0]] = (tuple(field.name for field in schema), rows)
            elif step.kind == "explain":
                self.plans[step.lines[0]] = shown_plan(self.queries[step.name])
        except SashError as error:
            self.failed[step.lines[0]] = error

    def _noted_changes(self, name: str) -> Noted:
        schema = self.queries[name].plan.schema
        rows = [(self._show(name, at), *_shown(row, schema), n) for at, row, n in self.world.changes(name)]
        return ("at", *(field.name for field in schema), "change"), rows

    def _compare(self, name: str) -> None:
        world = self.world
        world.queries[name].drained = None
        expected = [(self._show(name, at), *row, n) for at, row, n in world.changes(name)]
        actual = [(*row, n) for row, n in net(self.drained[name])]
        header = ("at", *self.transcript.columns[name], "change")
        assert_same_rows(actual, expected, header, f"The changes of {name}, seen and by the oracle,")

    def judge_all(self) -> None:
        """Every query that is left, its changes and its last answer, against the oracle."""
        for name in self.queries:
            self._compare(name)
            if name in self.transcript.answers:
                answer = list(self.world.answer(name).elements())
                columns = self.transcript.columns[name]
                assert_same_rows(self.transcript.answers[name], answer, columns, f"The last answer of {name}")
        late = {name: one.late for name, one in self.world.streams.items() if one.late}
        assert self.transcript.late == late, f"late rows: {self.transcript.late}, by the oracle {late}"

    def nonempty(self) -> bool:
        """True if any query ever said anything."""
        return any(self.drained.values())

    def _show(self, name: str, at: int) -> object:
        return at if self.world.queries[name].kind == "integer" else _EPOCH + timedelta(microseconds=at)

    def _instant(self, text: str) -> int:
        value = guess_cell(text)
        if not isinstance(value, int):
            value = instant_of(datetime.fromisoformat(text))
        assert value is not None
        return value


def _shown(row: Row, schema: Schema) -> Row:
    return tuple(arrow_value(value, field.type) for value, field in zip(row, schema, strict=True))


def judge(
    fixture: Fixture,
    session_factory: Callable[..., Any] = sash.connect,
    reading: Reading = AS_WRITTEN,
    load: Callable[..., Any] | None = None,
    lenient: bool = False,
) -> tuple[Transcript, Judge]:
    """Play a fixture in a reading with the oracle beside it; AssertionError where they differ."""
    with tempfile.TemporaryDirectory() as folder:
        player = Judge(session_factory, reading, load or sash.load, Path(folder), lenient=lenient)
        try:
            transcript = player.play(fixture)
            if not lenient:
                player.judge_all()
            return transcript, player
        finally:
            player.close()
