"""A standalone cluster on loopback: a master and two workers, started and stopped by a test."""

from __future__ import annotations

__all__ = ["Cluster"]

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import pyspark

from sash.spark.sessions.java import find_java

from .processes import kill_family


class Cluster:
    """`with Cluster(folder) as cluster:` gives `cluster.url`; `kill_worker` puts another in its place."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        # What processes that are killed leave behind; a short path, as sockets are there too.
        self._temporary = tempfile.mkdtemp(prefix="sash-cluster-")
        self._count = workers
        self._started = 0
        self.url = ""
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        self._master = self._start("master.Master", "master", "--port", "0")
        self.url = self._told("master", r"Starting Spark master at (spark://[\d.]+:\d+)")
        self.workers = [self._worker() for _ in range(self._count)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.workers, self._master]:
            kill_family(process, signal.SIGKILL)
        shutil.rmtree(self._temporary, ignore_errors=True)

    def kill_worker(self, number: int) -> None:
        """Kill a worker with its executors, and start another in its place."""
        kill_family(self.workers[number], signal.SIGKILL)
        self.workers[number] = self._worker()

    def _worker(self) -> subprocess.Popen[bytes]:
        self._started += 1
        name = f"worker{self._started}"
        process = self._start(
            "worker.Worker", name, "--cores", "1", "--memory", "1g",
            "--work-dir", str(self._folder / name), self.url,
        )  # fmt: skip
        self._told(name, r"Successfully registered with (master)")
        return process

    def _start(self, kind: str, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        environment = {**os.environ, **_texts(find_java().environment()), "SPARK_HOME": str(home)}
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        environment["SPARK_LOCAL_DIRS"] = self._temporary
        environment["JAVA_TOOL_OPTIONS"] = f"-Djava.io.tmpdir={self._temporary}"
        place = ["--host", "127.0.0.1", "--webui-port", "0"]
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *place, *arguments]
        with open(self._folder / f"{name}.log", "wb") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def _told(self, name: str, words: str) -> str:
        """Wait until a log says something."""
        path = self._folder / f"{name}.log"
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            found = re.search(words, path.read_text())
            if found:
                return found[1]
            time.sleep(0.1)
        raise AssertionError(f"{name} did not start:\n{path.read_text()[-2000:]}")


def _texts(environment: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if value is not None}
