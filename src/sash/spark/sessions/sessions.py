"""Spark sessions: made with the settings that Sash wants, or given, checked, and mended where that can be.

What a running session can still be told, it is told. What it could only have been told when it was
made is an error if Sash cannot work without it, and a warning if it only costs time; either shows
the settings ready to copy.
"""

from __future__ import annotations

__all__ = ["SETTINGS", "Setting", "check_packages", "check_session", "make_session", "stop_session"]

import atexit
import os
import re
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from sash.errors import SashError
from sash.spark.sessions import machine
from sash.spark.sessions.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_SPARK = (4, 3)
_INSTALL = "Run: pip install 'sash[spark]'"
_ROCKSDB = "spark.sql.streaming.stateStore.rocksdb"
_EXECUTION = "org.apache.spark.sql.execution.streaming"


@dataclass(frozen=True)
class Setting:
    """A setting of Spark that Sash wants, why, and how much: at the start only, necessary or for speed."""

    key: str
    value: str
    why: str
    at_start: bool = False
    necessary: bool = False


SETTINGS = (
    Setting("spark.sql.session.timeZone", "UTC", "timestamps mean the same as in-process"),
    Setting(
        "spark.sql.streaming.stateStore.providerClass",
        f"{_EXECUTION}.state.RocksDBStateStoreProvider",
        "Spark's own state is not kept on Java's heap",
    ),
    Setting(f"{_ROCKSDB}.changelogCheckpointing.enabled", "true", "a batch saves what changed"),
    Setting(f"{_ROCKSDB}.trackTotalNumberOfRows", "false", "counting rows costs a look-up for each"),
    Setting(
        "spark.sql.adaptive.streaming.stateless.enabled", "false",
        "a batch is one job: what follows its first stage need not be planned anew",
    ),
    Setting(
        "spark.python.use.daemon", "true", "the processes that keep buckets live as long as it",
        at_start=True, necessary=True,
    ),
    Setting("spark.python.worker.reuse", "true", "a new Python for each task takes seconds", at_start=True),
    Setting(
        "spark.python.unix.domain.socket.enabled", "true", "rows reach Python faster than over TCP",
        at_start=True,
    ),
)  # fmt: skip
"""What Sash wants of every session, whoever made it."""

_OWN = {
    "spark.api.mode": "classic",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.executorEnv.PYTHONWARNINGS": "ignore:PySpark does not yet fully support pandas:FutureWarning",
}
"""What a session has besides when Sash makes it; what the caller gives goes before."""

_DEFAULTS = {"spark.python.use.daemon": "true", "spark.python.worker.reuse": "true"}
"""What Spark does where nothing is said."""


def check_packages() -> None:
    """Raise unless PySpark is there and new enough, with what it needs and does not bring."""
    machine.quiet_warnings()
    if find_spec("pyspark") is None:
        raise SashError("SASH-SPARK-003", "PySpark is not installed.", remedy=f"{_INSTALL}.")
    import pyspark

    if _numbers(pyspark.__version__) < OLDEST_SPARK:
        wanted = ".".join(map(str, OLDEST_SPARK))
        raise SashError(
            "SASH-SPARK-003",
            f"Sash needs PySpark {wanted} or later, and found {pyspark.__version__}.",
            remedy=f"{_INSTALL} --upgrade.",
        )
    missing = [package for package, module in _COMPANIONS.items() if not _importable(module)]
    if missing:
        raise SashError(
            "SASH-SPARK-004",
            f"PySpark does not work without {' and '.join(missing)}.",
            remedy=f"{_INSTALL}, or: pip install {' '.join(missing)}.",
        )


_COMPANIONS = {"protobuf": "google.protobuf", "pandas": "pandas", "py4j": "py4j"}


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def _numbers(version: str) -> tuple[int, ...]:
    """
    >>> _numbers("4.3.0.dev1")
    (4, 3)
    """
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def make_session(master: str = "local[*]", app_name: str = "sash", **settings: Any) -> SparkSession:
    """A session with Sash's settings; others, or other values, by their names in Spark.

    Its noise goes to a file, and it ends with the process or by `stop_session`.

    `make_session("local[4]", **{"spark.driver.memory": "8g"})`
    """
    check_packages()
    given = _texts(settings)
    from pyspark import SparkContext
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise SashError(
            "SASH-SPARK-005",
            "There is a Spark session in this process already, and Spark allows one.",
            remedy="Give it to Sash, sash.connect(spark), or stop it first.",
        )
    python = given.pop("spark.pyspark.python", None) or os.environ.get("PYSPARK_PYTHON") or sys.executable
    changes = {
        "PYSPARK_PYTHON": python,
        "SPARK_HOME": _find_spark_home(),  # else Spark's scripts ask a `python3`, which need not be there
        "SPARK_REMOTE": None,
    }
    if SparkContext._gateway is None:
        changes |= find_java().environment()
    values = _local_settings(master) | _OWN | {setting.key: setting.value for setting in SETTINGS} | given
    with machine.changed_environment(changes):
        values = machine.launch({"spark.master": master, "spark.app.name": app_name, **values})
        try:
            spark = SparkSession.Builder().config(map=values).getOrCreate()
            _ = spark.conf  # Spark looks at the settings of its SQL when they are first asked for
        except Exception as error:
            reason = _reason(error)  # as long as there is a machine to ask
            context: Any = SparkContext._active_spark_context
            with suppress(Exception):  # of one that did not come to be
                context.stop()
            machine.end()
            raise SashError(
                "SASH-SPARK-007",
                f"Spark did not start with the master '{master}': {reason}",
                remedy="Correct the master or the settings; local[*] needs nothing else.",
            ) from error
    atexit.register(stop_session, spark)
    _check_version(spark)
    spark.sparkContext.setLogLevel("ERROR")
    # What it prints when Java is killed is a traceback.
    cast(Any, spark.sparkContext)._accumulatorServer.handle_error = _silent
    if "spark.sql.shuffle.partitions" not in given:
        spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
    return spark


def _silent(*_: object) -> None:
    """Whoever asks Spark next is told that it has gone."""


def _local_settings(master: str) -> dict[str, str]:
    """What suits a session within one machine: no name of a host need be known, Numba's cache is shared."""
    settings = {}
    if master.startswith("local"):
        settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if cache := os.environ.get("NUMBA_CACHE_DIR"):
        settings["spark.executorEnv.NUMBA_CACHE_DIR"] = cache
    return settings


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Spark's settings as text.

    >>> _texts({"spark.ui.enabled": True, "spark.sql.shuffle.partitions": 4})
    {'spark.ui.enabled': 'true', 'spark.sql.shuffle.partitions': '4'}
    """
    for name in settings:
        if not name.startswith("spark."):
            raise SashError(
                "SASH-SPARK-008",
                f"'{name}' is no setting of Spark.",
                remedy="Spark's settings begin with 'spark.', such as spark.driver.memory.",
            )
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }


def _reason(error: Exception) -> str:
    """The first line that says why, without the names of Java's classes."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.getMessage() or java.toString())
    if "on a stopped SparkContext" in text:
        return "it does not answer."
    return f"{text.strip().splitlines()[0].rstrip('.')}." if text.strip() else f"{type(error).__name__}."


def stop_session(spark: SparkSession) -> None:
    """Stop a session that `make_session` made, and the Java machine that it started; twice does no harm."""
    atexit.unregister(stop_session)
    with suppress(Exception):  # of a machine that has died already
        spark.stop()
    machine.end()


def check_session(spark: object) -> SparkSession:
    """The session that was given, told what Sash wants of it; an error where that comes too late."""
    check_packages()
    from pyspark.sql import SparkSession

    if not isinstance(spark, SparkSession):
        raise SashError(
            "SASH-SPARK-009",
            f"Sash needs a SparkSession of this process, not a {type(spark).__module__}."
            f"{type(spark).__qualname__}.",
            remedy="Make one with SparkSession.builder.master(...), not with remote(...), or call "
            "sash.connect('spark').",
        )
    context = spark.sparkContext
    if context._jsc is None:
        raise SashError("SASH-SPARK-010", "The Spark session has been stopped.", remedy="Make a new one.")
    _check_version(spark)
    _tell_python(context)
    late = []
    for setting in SETTINGS:
        if not setting.at_start:
            spark.conf.set(setting.key, setting.value)
        elif context.getConf().get(setting.key, _DEFAULTS.get(setting.key, "false")) != setting.value:
            late.append(setting)
    necessary = [setting for setting in late if setting.necessary]
    if necessary:
        raise SashError(
            "SASH-SPARK-011",
            "The Spark session lacks settings that it can only be given when it is made.",
            remedy=f"Make it with these:\n{_to_copy(late)}",
        )
    if late:
        warnings.warn(
            f"Sash is slower on this Spark session than it need be. Make it with these:\n{_to_copy(late)}",
            RuntimeWarning,
            stacklevel=3,
        )
    return spark


def _to_copy(settings: list[Setting]) -> str:
    return "\n".join(f'    .config("{each.key}", "{each.value}")  # {each.why}' for each in settings)


def _tell_python(context: Any) -> None:
    """In one machine, let workers run on this Python where nobody chose one; 'python3' may lack Sash."""
    chosen = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if chosen is None and context.master.startswith("local") and context.pythonExec == "python3":
        context.pythonExec = sys.executable


def _check_version(spark: SparkSession) -> None:
    if _numbers(spark.version) < OLDEST_SPARK:
        home = os.environ.get("SPARK_HOME")
        raise SashError(
            "SASH-SPARK-012",
            f"Sash needs Spark {'.'.join(map(str, OLDEST_SPARK))} or later, and this session's is "
            f"{spark.version}{f' (SPARK_HOME is {home})' if home else ''}.",
            remedy="Unset SPARK_HOME to run on the Spark that comes with PySpark, or let it name a newer.",
        )
