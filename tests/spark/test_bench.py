"""The suites of `sash bench` that run on Spark, at sizes at which they say nothing about speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.spark import SUITES
from benchmarks.spark.child import FIGURES
from benchmarks.spark.harness import Bench
from cli.commands import sash_command

MEASURED = {"rows_per_s", "ms_per_trigger", "ms_by_phase", "triggers", "warm_up_triggers", "rows_per_trigger",
            "bytes_written_per_trigger", "rows_per_s_by_run"}  # fmt: skip


def measured(name: str, spark: Any, folder: Path, rows: int = 8_000) -> dict[str, Any]:
    """The record of a figure, after a look at what every record has."""
    record = FIGURES[name].record(Bench(name, rows, 1, spark, folder))
    check_shape(record)
    return record


def check_shape(record: dict[str, Any]) -> None:
    assert {"name", "rows_per_s", "ms_per_trigger", "ratios", "target", "target_met"} <= set(record)
    assert record["rows_per_s"] > 0
    assert record["ms_per_trigger"] > 0
    for peer, figures in record.get("peers", {}).items():
        assert set(figures) >= MEASURED
        assert record["ratios"][peer] > 0


def test_every_figure_of_a_suite_can_be_measured() -> None:
    assert {figure for suite in SUITES for figure in suite.figures} == set(FIGURES)


@pytest.mark.slow
def test_the_join_finds_what_spark_finds() -> None:
    words = ("--only", "join_500k", "--json", "--rows", "8000", "--trials", "1")
    done = sash_command("bench", "spark-join", *words, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = json.loads(done.stdout)["results"]
    check_shape(record)
    assert record["same_answer"] is True
    stores = {"rocksdb_2", "rocksdb_4", "in_memory", "rocksdb"}
    shipped = {"rocksdb_2_as_shipped", "rocksdb_4_as_shipped", "rocksdb_as_shipped"}
    assert set(record["ratios"]) == stores | shipped
    assert set(record["sash"]) > MEASURED | {"durable_bytes", "state_bytes"}
    assert record["sash"]["late"] == {"a": 0, "b": 0}
    assert sum(record["sash"]["rows"].values()) == record["rows"]


@pytest.mark.long
def test_windows_that_slide_hold_what_spark_counts(spark: Any, tmp_path: Path) -> None:
    record = measured("slide_10s", spark, tmp_path)
    assert record["same_answer"] is True
    assert set(record["ratios"]) == {"window"}
    assert record["of_slide_60s"] > 0


@pytest.mark.long
def test_three_streams_join_as_a_chain_of_joins_does(spark: Any, tmp_path: Path) -> None:
    record = measured("multijoin", spark, tmp_path)
    assert record["same_answer"] is True
    assert record["of_state_bytes"] > 0
    assert set(record["peers_durable_bytes_per_live_row"]) == {"rocksdb_2", "rocksdb_4"}


@pytest.mark.long
def test_growth_is_told_by_window(spark: Any, tmp_path: Path) -> None:
    record = measured("growth_topk", spark, tmp_path)
    assert record["windows"] == [1, 5]
    assert {"ms_growth", "bytes_growth", "of_raw_bytes"} <= set(record)
    for window in record["windows"]:
        side = record["by_window"][f"window_{window}"]
        assert set(side) > MEASURED
        assert side["live_rows"] == window * record["rows_per_trigger"]


@pytest.mark.long
def test_the_floor_is_told_by_phases(spark: Any, tmp_path: Path) -> None:
    record = measured("floor_not_frozen", spark, tmp_path, rows=300)
    assert set(record["of_stateless"]) == {"sash", "low_latency"}
    for side in record["sash"].values():
        assert {"addBatch", "queryPlanning", "walCommit"} <= set(side["ms_by_phase"])


@pytest.mark.long
def test_eight_queries_in_company_say_what_they_say_alone(spark: Any, tmp_path: Path) -> None:
    record = measured("many", spark, tmp_path)
    assert record["same_answer"] is True
    assert len(record["alone"]) == 8
    assert record["times_one"] > 0
