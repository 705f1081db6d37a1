"""Spark's Java machine: launched with its noise kept in a file, and gone when the driver is.

PySpark launches one machine for each process and keeps it when a session stops. One that Sash launched
ends with its session, so that the next may have other memory and options, and its folder (log, spill
files, warehouse) goes with it. A killed driver cannot tidy up: the machine notices that its standard
input is closed and ends by itself, and the next launch removes the folder that was left behind.
"""

from __future__ import annotations

__all__ = ["changed_environment", "end", "launch", "quiet_warnings"]

import fcntl
import logging
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sash.errors import SashError

_PREFIX = "sash-spark-"
_HELD = "held"
_LOG = "spark.log"
_PATIENCE = 20.0
"""Seconds that a machine may take to end before it is killed."""
_LONGEST_FOLDER = 55
"""Spark puts sockets with names of 42 characters into the folder; a socket's path has at most 104."""

_REGIONS = "-XX:G1HeapRegionSize=8m"
"""A pack should fit half a region of Java's memory: what does not makes it look through all of that anew."""

_PATIENT_COMPILER = (
    "-XX:Tier4InvocationThreshold=40000 -XX:Tier4MinInvocationThreshold=5000 -XX:Tier4CompileThreshold=120000"
)
"""What runs for every row is called a million times a batch and compiled at once; what runs for every batch
would keep Java's optimizing compiler busy for minutes, on cores that queries need."""

_TRUST = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Results reach Java as Arrow columns that Sash made: looking at the bounds and the marks of every value once
more takes half of Java's time for a row."""

_THROWN = r'^Exception in thread "\w+" [\w.]+: '

_LOG4J = """# Only errors, and those into the file that standard error is.
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
"""


@dataclass(frozen=True)
class _Own:
    """What Sash knows of a machine that it launched."""

    folder: Path
    lock: int
    process: int


@dataclass(frozen=True)
class _Conf:
    """Settings in the form in which PySpark's launcher reads them."""

    values: Mapping[str, str]

    def getAll(self) -> list[tuple[str, str]]:
        return list(self.values.items())


def quiet_warnings() -> None:
    """Keep PySpark's doubts about pandas 3 from the terminal: what Sash uses of pandas works with both.

    And what py4j prints when Java is killed while it is asked: whoever asked is told by an error.
    """
    warnings.filterwarnings(
        "ignore", message="PySpark does not yet fully support pandas", category=FutureWarning
    )
    logging.getLogger().addFilter(_is_not_py4j)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def changed_environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """The environment with some variables set or removed, for a while.

    >>> with changed_environment({"SASH_EXAMPLE": "1"}):
    ...     os.environ["SASH_EXAMPLE"]
    '1'
    >>> "SASH_EXAMPLE" in os.environ
    False
    """
    before = {name: os.environ.get(name) for name in changes}
    _change(changes)
    try:
        yield
    finally:
        _change(before)


def _change(changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def launch(settings: Mapping[str, str]) -> dict[str, str]:
    """Launch PySpark's machine unless there is one; the settings, with what belongs in its folder added.

    Settings that were given are kept; Java's options are put before those that were given.
    """
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return dict(settings)
    folder, lock = _new_folder()
    settings = _with_folder(settings, folder)
    try:
        with open(folder / _LOG, "wb") as log:
            # What a terminal or `timeout` sends to this process's group is for this process alone: it still
            # needs the machine to let a batch be committed.
            gateway = launch_gateway(_Conf(settings), {"stderr": log, "start_new_session": True})
    except (PySparkRuntimeError, OSError) as error:
        told = _first_line(folder / _LOG)
        _remove(folder, lock)
        raise SashError(
            "SASH-SPARK-006",
            f"Spark's Java machine did not start{f': {told}' if told else '.'}",
            remedy="Mend that; spark.driver.memory and spark.driver.extraJavaOptions are given to Java.",
        ) from error
    gateway.sash = _Own(folder, lock, os.getpid())
    SparkContext._ensure_initialized(gateway=gateway)
    return settings


def _with_folder(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    (folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
    logging = f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}"
    options = [_REGIONS, _PATIENT_COMPILER, _TRUST, logging]
    if len(str(folder)) <= _LONGEST_FOLDER:
        options.append(f"-Djava.io.tmpdir={folder}")
    given = settings.get("spark.driver.extraJavaOptions", "")
    return {
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.executor.extraJavaOptions": _TRUST,
        **settings,
        "spark.driver.extraJavaOptions": " ".join([*options, given]).strip(),
    }


def end() -> None:
    """End the machine and remove its folder, if this process launched it through `launch`."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    own = None if gateway is None else vars(gateway).get("sash")
    if own is None or own.process != os.getpid():
        return
    SparkContext._gateway = None
    SparkContext._jvm = None
    with suppress(Exception):  # of a machine that has died already
        gateway.shutdown()
    with suppress(OSError):
        gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
    _remove(own.folder, own.lock)


def _new_folder() -> tuple[Path, int]:
    """A folder for one machine, locked for as long as this process lives; abandoned ones are removed."""
    place = Path(tempfile.gettempdir())
    for other in place.glob(f"{_PREFIX}*"):
        _remove_if_abandoned(other)
    hidden = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=place))
    lock = os.open(hidden / _HELD, os.O_RDWR | os.O_CREAT, 0o600)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    folder = hidden.with_name(hidden.name.removeprefix("."))
    hidden.rename(folder)  # nobody takes a folder for abandoned before its lock is held
    return folder, lock


def _remove_if_abandoned(folder: Path) -> None:
    with suppress(OSError):
        if folder.stat().st_uid != os.getuid():
            return
        lock = os.open(folder / _HELD, os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            _remove(folder, lock)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _first_line(log: Path) -> str:
    """What Java said first when it gave up."""
    with suppress(OSError):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        told = [line for line in lines if line and not line.startswith(("WARNING", "Using ", "at "))]
        if told:
            return f"{re.sub(_THROWN, '', told[0]).rstrip('.')}."
    return ""
