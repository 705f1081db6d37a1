"""On a standalone cluster with two workers: the same answers, also when workers are killed."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from .cluster import Cluster
from .recovery_child import QUERIES
from .test_recovery import start_child, uninterrupted, write_data, written

pytestmark = pytest.mark.long

KILLS = 5


def test_workers_killed_five_times(tmp_path: Path) -> None:
    streams = write_data(tmp_path / "data", seed=11)
    said, _ = uninterrupted(streams)
    chance = random.Random(11)
    with Cluster(tmp_path / "cluster") as cluster:
        child = start_child(tmp_path, "spark", master=cluster.url)
        killed = 0
        try:
            while child.poll() is None:
                if killed < KILLS and (tmp_path / "checkpoint" / "commits" / str(killed)).exists():
                    time.sleep(chance.uniform(0, 1))
                    cluster.kill_worker(killed % 2)
                    killed += 1
                with_patience(child)
        finally:
            if child.poll() is None:
                child.kill()
        assert child.returncode == 0, (tmp_path / "stderr.txt").read_text()[-3000:]
    assert killed == KILLS
    assert written(tmp_path, dict(zip(QUERIES, QUERIES, strict=True))) == said


def with_patience(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(0.2)
    except subprocess.TimeoutExpired:
        return
