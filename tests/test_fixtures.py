"""Every fixture, read in every way: whatever the reading, it must say the same, and the oracle agrees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import CQL
from judging import judge
from rewriting import rewrite
from sash.optimizer import RULES
from sash.testing import AS_WRITTEN, read_fixture, readings, replay


def test_a_fixture_says_what_it_should_and_the_oracle_agrees(
    fixture_path: Path, sessions: Any, request: pytest.FixtureRequest, record_property: Any
) -> None:
    if request.config.getoption("--rewrite"):
        rewrite(fixture_path, sessions[0])
    fixture = read_fixture(fixture_path)
    assert fixture.title, "a fixture opens with a comment that says what it shows"
    judge(fixture, sessions[0])
    record_property("fixture", 1)
    record_property("readings", [AS_WRITTEN.name, "by the oracle"])


@pytest.mark.slow
def test_a_fixture_says_the_same_in_every_reading(
    fixture_path: Path, sessions: Any, record_property: Any
) -> None:
    connect, load = sessions
    fixture = read_fixture(fixture_path)
    written = replay(fixture, connect)
    read = []
    for reading in readings(RULES, seed=len(fixture.text)):
        if reading != AS_WRITTEN:
            try:
                replay(fixture, connect, reading, load).assert_same(written, f"Read {reading.name}")
            except Exception as error:
                error.add_note(f"in the reading '{reading.name}'")
                raise
            read.append(reading.name)
    record_property("readings", read)


@pytest.mark.slow
def test_fixtures_say_the_same_with_the_compiler_off(record_property: Any) -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "sash.testing", str(CQL)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    record_property("compiler off", int(done.stdout.split()[0]))
