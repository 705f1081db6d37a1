"""Spark sessions: made quietly, told what Sash wants, ended with all that they started."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sash.errors import SashError
from sash.spark.sessions import machine, sessions
from sash.spark.sessions.local_logs import STOCK, suit_checkpoint
from sash.spark.sessions.sessions import Setting, check_packages, check_session, make_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = """
from sash.spark.sessions.local_logs import *
from sash.spark.sessions.sessions import *
spark = make_session("local[2]")
"""
MACHINE = "from pyspark import SparkContext\nprint(SparkContext._gateway.proc.pid, flush=True)\n"

STATEFUL = """
import pandas as pd
from pyspark.sql.streaming import StatefulProcessor

class Count(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "rows long")
        self.sums = handle.getMapState("sums", "parity int", "sum long")

    def handleInputRows(self, key, rows, timerValues):
        values = pd.concat(list(rows)).value
        before = self.seen.get()[0] if self.seen.exists() else 0
        self.seen.update((before + len(values),))
        self.sums.updateValue((key[0] % 2,), (int(values.sum()),))
        yield pd.DataFrame({"key": [key[0]], "rows": [before + len(values)]})

    def close(self):
        pass

spark.range(100).write.parquet(f"{folder}/in")
frame = spark.readStream.schema("id long").parquet(f"{folder}/in")
frame = frame.selectExpr("cast(id % 4 AS int) key", "id value")
counts = frame.groupBy("key").transformWithStateInPandas(Count(), "key int, rows long", "Append", "None")
suit_checkpoint(spark, f"{folder}/checkpoint")
query = counts.writeStream.format("memory").queryName("counts").trigger(availableNow=True)
query.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()
print(sorted(map(tuple, spark.table("counts").collect())), spark._jvm.System.getProperty("java.version"))
"""


def commands_without_java(folder: Path) -> str:
    """A path on which there is everything that Spark's scripts call, and no Java."""
    folder.mkdir()
    for name in ("bash", "env", "dirname", "ps", "head", "chmod", "ls", "id", "uname"):
        for place in ("/bin", "/usr/bin"):
            if os.access(f"{place}/{name}", os.X_OK) and not (folder / name).exists():
                (folder / name).symlink_to(f"{place}/{name}")
    return str(folder)


def start(script: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A Python of its own with that script, whose temporary files are under the folder."""
    (folder / "tmp").mkdir()
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    return subprocess.Popen(
        [sys.executable, "-c", f"folder = {str(folder)!r}\n{script}"],
        cwd=folder, env={**kept, "TMPDIR": str(folder / "tmp"), **environment},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_end(process: int) -> float:
    """How long a process still lived, at most half a minute."""
    began = time.monotonic()
    while lives(process) and time.monotonic() < began + 30:
        time.sleep(0.05)
    return time.monotonic() - began


def test_a_session_has_the_settings_that_sash_wants(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert {each.key: conf.get(each.key) for each in sessions.SETTINGS} == {
        each.key: each.value for each in sessions.SETTINGS
    }
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.sparkContext.pythonExec == sys.executable
    assert spark.sparkContext.uiWebUrl is None


def test_a_session_leaves_nothing_where_one_works(spark: SparkSession) -> None:
    spark.range(10).createOrReplaceTempView("ten")
    spark.sql("SELECT COUNT(*) FROM ten").collect()
    assert not (Path.cwd() / "spark-warehouse").exists()
    assert not (Path.cwd() / "metastore_db").exists()


def test_a_second_session_beside_the_first_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SashError, match="SASH-SPARK-005"):
        make_session()
    assert spark.range(3).count() == 3


def test_only_settings_of_spark_are_taken() -> None:
    with pytest.raises(SashError, match="SASH-SPARK-008: 'memory' is no setting of Spark"):
        make_session(memory="2g")


def test_a_given_session_is_told_what_it_can_still_be_told(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    assert check_session(spark) is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_what_comes_too_late_is_a_warning_or_an_error(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Setting("spark.example.speed", "true", "it is faster", at_start=True)
    monkeypatch.setattr(sessions, "SETTINGS", (slow,))
    with pytest.warns(RuntimeWarning, match=r'\.config\("spark\.example\.speed", "true"\)  # it is faster'):
        check_session(spark)
    needed = Setting("spark.example.needed", "true", "it works", at_start=True, necessary=True)
    monkeypatch.setattr(sessions, "SETTINGS", (slow, needed))
    with pytest.raises(SashError, match="SASH-SPARK-011") as caught:
        check_session(spark)
    assert '    .config("spark.example.needed", "true")  # it works' in caught.value.remedy
    assert "spark.example.speed" in caught.value.remedy


def test_workers_run_on_this_python_where_nobody_chose(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python3")
    check_session(spark)
    assert spark.sparkContext.pythonExec == sys.executable
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/opt/python")
    check_session(spark)
    assert spark.sparkContext.pythonExec == "/opt/python"


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(SashError, match="SASH-SPARK-009"):
        check_session("local[2]")


def test_another_spark_behind_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark-3.5")
    with pytest.raises(SashError, match="SASH-SPARK-012") as caught:
        sessions._check_version(SimpleNamespace(version="3.5.1"))  # type: ignore[arg-type]
    assert "3.5.1 (SPARK_HOME is /opt/spark-3.5)" in caught.value.message


def test_packages_that_lack_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    check_packages()
    with monkeypatch.context() as patch:
        patch.setattr(sessions, "_importable", lambda module: module != "google.protobuf")
        with pytest.raises(SashError, match=r"SASH-SPARK-004: .* without protobuf") as caught:
            check_packages()
        assert "pip install 'sash[spark]'" in caught.value.remedy
    with monkeypatch.context() as patch:
        patch.setattr(pyspark, "__version__", "4.2.1")
        with pytest.raises(SashError, match=r"SASH-SPARK-003: .* found 4\.2\.1"):
            check_packages()
    monkeypatch.setattr(sessions, "find_spec", lambda module: None)
    with pytest.raises(SashError, match="SASH-SPARK-003: PySpark is not installed"):
        check_packages()


_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"


def test_logs_of_a_local_checkpoint_are_written_directly(spark: SparkSession) -> None:
    for path in ("/tmp/a", "hdfs://name/a", "file:///tmp/a", "s3a://b/a"):
        suit_checkpoint(spark, path)
        direct = "SashCheckpointFileManager" in (spark.conf.get(_FILE_MANAGER, None) or "")
        assert direct is (path.startswith(("/", "file:")))
    spark.conf.unset(_FILE_MANAGER)


def test_logs_have_permissions_and_the_checksums_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    java: Any = spark.sparkContext._jvm
    paths, managers = java.org.apache.hadoop.fs, java.org.apache.spark.sql.execution.streaming.checkpointing
    where, settings = paths.Path(str(tmp_path)), java.org.apache.hadoop.conf.Configuration()
    settings.set("fs.permissions.umask-mode", "027")
    suit_checkpoint(spark, str(tmp_path))
    own = str(spark.conf.get(_FILE_MANAGER))
    spark.conf.unset(_FILE_MANAGER)
    for name, manager in (("stock", STOCK), ("own", own)):
        settings.set(_FILE_MANAGER, manager)
        files = managers.CheckpointFileManager.create(where, settings)
        assert files.getClass().getName() == manager
        stream = files.createAtomic(paths.Path(where, name), False)
        stream.write(bytearray(b"noted"))
        stream.close()
    assert (tmp_path / "own").read_bytes() == (tmp_path / "stock").read_bytes() == b"noted"
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / ".own.crc").read_bytes() == (tmp_path / ".stock.crc").read_bytes()
    (tmp_path / "own").write_bytes(b"noten")
    with pytest.raises(Exception, match="Checksum"):
        files.open(paths.Path(where, "own")).read()


def test_what_py4j_prints_of_a_killed_java_is_left_to_the_error() -> None:
    check_packages()
    said = [logging.LogRecord("root", logging.ERROR, f"/lib/{file}", 1, "", (), None)
            for file in ("py4j/java_gateway.py", "own/module.py")]  # fmt: skip
    assert [bool(logging.getLogger().filter(record)) for record in said] == [False, True]


def test_folders_of_the_dead_are_removed_and_of_the_living_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, lock = machine._new_folder()
    os.close(lock)  # as the end of a process does
    living, held = machine._new_folder()
    third, other = machine._new_folder()
    assert (dead.exists(), living.exists(), third.exists()) == (False, True, True)
    machine._remove(living, held)
    machine._remove(third, other)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_without_java_the_package_runs_state_and_a_killed_driver_takes_all_along(tmp_path: Path) -> None:
    environment = {"PATH": commands_without_java(tmp_path / "bin"), "JAVA_HOME": "", "HOME": str(tmp_path)}
    process = start(START + STATEFUL + MACHINE + "import time; time.sleep(600)", tmp_path, **environment)
    assert process.stdout is not None
    answer = process.stdout.readline()
    assert answer.startswith("[(0, 25), (1, 25), (2, 25), (3, 25)] 25."), process.communicate()
    java = int(process.stdout.readline())
    assert os.getpgid(java) == java, "what the driver's group is told is not for Java"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_for_end(java) < 15
    assert process.communicate() == ("", "")


@pytest.mark.slow
def test_sessions_follow_one_another_quietly_and_end_with_the_process(tmp_path: Path) -> None:
    script = f"""{START}
import os
{MACHINE}
stop_session(spark)
stop_session(spark)
print(os.listdir(f"{{folder}}/tmp"))
for wrong in (
    {{"spark.driver.memory": "plenty"}}, {{"master": "local[many]"}}, {{"spark.sql.shuffle.partitions": "ab"}}
):
    try:
        make_session(**wrong)
    except Exception as error:
        print(error)
try:
    check_session(spark)
except Exception as error:
    print(error)
spark = make_session("local[1]", **{{"spark.driver.memory": "600m"}})
print(spark.range(7).count(), spark._jvm.Runtime.getRuntime().maxMemory() <= 600 << 20)
{MACHINE}"""
    process = start(script, tmp_path)
    out, err = process.communicate(timeout=300)
    first, empty, memory, master, partitions, stopped, second, java = out.splitlines()
    assert empty == "[]"
    assert memory.startswith("SASH-SPARK-006: Spark's Java machine did not start: Invalid maximum heap size")
    assert master.startswith("SASH-SPARK-007: Spark did not start with the master 'local[many]'")
    assert partitions.startswith("SASH-SPARK-007")
    assert "'ab'" in partitions
    assert stopped.startswith("SASH-SPARK-010")
    assert second == "7 True"
    assert not lives(int(first))
    assert not lives(int(java))
    assert err == ""
    assert os.listdir(tmp_path / "tmp") == []
