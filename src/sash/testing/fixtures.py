"""Fixtures: small plays in plain text, a `.cql` file each. `tests/cql/README.md` tells the format.

A fixture is a sequence of steps. Some act (statements, QUERY, PUSH, ADVANCE, IDLE, DROP), some
expect (CHANGES, ANSWER, LATE, EXPLAIN), and ERROR says that the step before it must fail.
"""

from __future__ import annotations

__all__ = ["Expected", "Fixture", "FixtureError", "Step", "StepKind", "parse_fixture", "read_fixture"]

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from .cells import split_cells

StepKind = Literal[
    "settings",
    "statement",
    "query",
    "push",
    "advance",
    "idle",
    "drop",
    "changes",
    "answer",
    "late",
    "explain",
]


@dataclass(frozen=True)
class Expected:
    """The error a step must end in: its code, its sentence and, where given, the line with carets."""

    code: str
    message: str
    place: tuple[str, ...]
    lines: tuple[int, int]


@dataclass(frozen=True)
class Step:
    """One step: what it does, on whom, with which text or table, and at which lines it stands.

    `header` is None where no table is written, `()` where the table is `(none)`.
    """

    kind: StepKind
    name: str
    text: str
    lines: tuple[int, int]
    header: tuple[str, ...] | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    error: Expected | None = None

    @property
    def acts(self) -> bool:
        """True if the step changes the session, false if it only expects."""
        return self.kind not in ("changes", "answer", "late", "explain")


@dataclass(frozen=True)
class Fixture:
    """A play: its title, its steps, and the text it was read from."""

    title: str
    steps: tuple[Step, ...]
    text: str
    path: Path | None = field(default=None, compare=False)

    @property
    def has_late_rows(self) -> bool:
        """True if the play speaks of late rows; how it is cut then matters."""
        return any(step.kind == "late" for step in self.steps)


class FixtureError(ValueError):
    """A fixture that cannot be read: the line and what was expected there."""


def read_fixture(path: str | Path) -> Fixture:
    """The fixture in a file."""
    path = Path(path)
    return replace(parse_fixture(path.read_text(encoding="utf-8"), str(path)), path=path)


def parse_fixture(text: str, name: str = "fixture") -> Fixture:
    """The fixture in a text.

    >>> play = parse_fixture("-- One row\\nPUSH s | ts |\\n       | 1  |\\nADVANCE 5")
    >>> play.title, [step.kind for step in play.steps], play.steps[0].rows
    ('One row', ['push', 'advance'], (('1',),))
    """
    reader = _Reader(text.splitlines(), name)
    steps = tuple(reader.steps())
    return Fixture(reader.title, steps, text)


_WORDS = re.compile(
    r"(SETTINGS|QUERY|PUSH|ADVANCE|IDLE|DROP(?!\s+(?:STREAM|TABLE|VIEW|SINK|QUERY)\b)|CHANGES|ANSWER|LATE|ERROR|EXPLAIN)\b\s*(.*)",
    re.DOTALL,
)


class _Reader:
    """Goes through the lines once, step by step."""

    def __init__(self, lines: list[str], name: str) -> None:
        self.lines, self.name, self.place, self.start = lines, name, 0, 0
        title = []
        for line in lines:
            if not line.startswith("--"):
                break
            title.append(line[2:].strip())
        self.title = " ".join(title)

    def steps(self) -> Iterator[Step]:
        waiting: Step | None = None
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if not line.strip() or line.lstrip().startswith("--"):
                self.place += 1
                continue
            self.start = start = self.place
            match = _WORDS.match(line)
            if match is not None and match[1] == "ERROR":
                if waiting is None:
                    raise self._failure("ERROR follows the step that must fail")
                waiting = replace(waiting, error=self._error(match[2]))
                continue
            step = self._statement() if match is None else self._step(match[1].lower(), match[2])
            if waiting is not None:
                yield waiting
            waiting = replace(step, lines=(start, self.place))
        if waiting is not None:
            yield waiting

    def _step(self, word: str, rest: str) -> Step:
        if word == "query":
            statement = self._statement()
            match = re.match(r"QUERY\s+(\w+)\s+AS\s+(.*)", statement.text, re.DOTALL)
            if match is None:
                raise self._failure("QUERY name AS SELECT ...;")
            return replace(statement, kind="query", name=match[1], text=match[2].strip())
        if word in ("push", "changes", "answer", "explain"):
            return self._with_table(word, rest)
        self.place += 1
        rest = rest.strip().removesuffix(";").strip()
        if word in ("settings", "advance"):
            return Step(word, "", rest, (0, 0))  # type: ignore[arg-type]
        name, _, more = rest.partition(" ")
        return Step(word, name, more.strip(), (0, 0))  # type: ignore[arg-type]

    def _with_table(self, word: str, rest: str) -> Step:
        lead, bar, first = rest.partition("|")
        none = lead.rstrip().endswith("(none)")
        words = lead.replace("(none)", "").split(None, 1)
        if not words:
            raise self._failure(f"{word.upper()} is followed by a name")
        table = [bar + first] if bar else []
        self.place += 1
        while self.place < len(self.lines) and self.lines[self.place].lstrip().startswith("|"):
            table.append(self.lines[self.place].strip())
            self.place += 1
        step = Step(word, words[0], words[1].strip() if len(words) > 1 else "", (0, 0))  # type: ignore[arg-type]
        if word == "explain":
            shown = tuple((line.removeprefix("|").removeprefix(" "),) for line in table)
            return replace(step, header=("plan",) if table else None, rows=shown)
        if none:
            return replace(step, header=())
        try:
            rows = [tuple(split_cells(line)) for line in table]
        except ValueError as error:
            raise self._failure(str(error)) from error
        if any(len(row) != len(rows[0]) for row in rows):
            raise self._failure("every row has as many cells as the header")
        return replace(step, header=rows[0] if rows else None, rows=tuple(rows[1:]))

    def _statement(self) -> Step:
        start = self.place
        while self.place < len(self.lines):
            self.place += 1
            if self.lines[self.place - 1].rstrip().endswith(";"):
                text = "\n".join(self.lines[start : self.place]).strip()[:-1].rstrip()
                return Step("statement", "", text, (start, self.place))
        raise self._failure("a statement ends with ;")

    def _error(self, rest: str) -> Expected:
        start = self.place
        self.place += 1
        code, _, message = rest.strip().partition(" ")
        place: list[str] = []
        while self.place < len(self.lines) and self.lines[self.place][:1] in (" ", "\t"):
            line = self.lines[self.place].strip()
            if line.startswith("|"):
                place.append(line[1:].removeprefix(" "))
            elif line:
                message = f"{message} {line}".strip()
            self.place += 1
        return Expected(code, message, tuple(place), (start, self.place))

    def _failure(self, what: str) -> FixtureError:
        return FixtureError(f"{self.name}, line {self.start + 1}: {what}")
