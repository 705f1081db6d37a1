"""The demos: they end by themselves, and say something of every query."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sash.cli.questions import QUESTIONS, SPARK_QUESTIONS

from .commands import sash_command


def test_the_demo_in_one_process_reports_every_query() -> None:
    done = sash_command("demo", "--in-process", "--seconds", "2")
    assert done.returncode == 0, done.stderr
    for question in QUESTIONS:
        assert question.name in done.stdout
    assert "\x1b[" not in done.stdout


def test_the_demo_on_spark_has_what_was_promised() -> None:
    texts = " ".join(question.text for question in SPARK_QUESTIONS)
    forms = ("NOT EXISTS", "COUNT(DISTINCT", "LIMIT 5", "ROWS 10", "10 MINUTES SLIDE 1 SECOND", "LEFT JOIN")
    assert [form for form in forms if form not in texts] == []
    assert any(question.text.count(" JOIN ") == 2 for question in SPARK_QUESTIONS)
    assert "JOIN hosts" in texts
    assert len({question.name for question in SPARK_QUESTIONS}) == len(SPARK_QUESTIONS) >= 7


@pytest.mark.slow
def test_the_demo_on_spark_ends_by_itself_without_any_java_of_the_machine(tmp_path: Path) -> None:
    environment = without_java(tmp_path)
    done = sash_command("demo", "--seconds", "2", "--rows", "10000", timeout=600, environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b[" not in done.stdout
    assert "live: " in done.stdout
    closing = done.stdout[done.stdout.index("rows/s: each query alone") :]
    for question in SPARK_QUESTIONS:
        (line,) = [each for each in closing.splitlines() if f" {question.name} " in each]
        assert question.refused in line


def without_java(folder: Path) -> dict[str, str]:
    """The environment with no JAVA_HOME, and with every command on the path but java."""
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for command in Path(place).iterdir() if Path(place).is_dir() else ():
            if command.name != "java":
                (folder / command.name).unlink(missing_ok=True)
                (folder / command.name).symlink_to(command)
    return {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(folder)}
