"""The suites of `sash bench` that run on Spark, at sizes at which they say nothing about speed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli.commands import sash_command

FIGURES = {"rows_per_s", "ms_per_trigger", "ms_by_phase", "triggers", "warm_up_triggers", "rows_per_trigger",
           "bytes_written_per_trigger", "rows_per_s_by_trial"}  # fmt: skip


def records(suite: str, figure: str, rows: int = 8_000) -> list[dict[str, Any]]:
    """What the command says of a figure."""
    done = sash_command(
        "bench", suite, "--only", figure, "--json", "--rows", str(rows), "--trials", "1", timeout=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    for record in results:
        assert {"name", "rows_per_s", "ms_per_trigger", "ratios", "target", "target_met"} <= set(record)
        assert record["rows_per_s"] > 0
        assert record["ms_per_trigger"] > 0
        for peer, measured in record.get("peers", {}).items():
            assert set(measured) >= FIGURES
            assert record["ratios"][peer] > 0
    return results


@pytest.mark.slow
def test_the_join_finds_what_spark_finds() -> None:
    (record,) = records("spark-join", "join_500k")
    assert record["same_answer"] is True
    assert set(record["ratios"]) == {"rocksdb_2", "rocksdb_4", "in_memory", "rocksdb"}
    assert set(record["sash"]) > FIGURES | {"durable_bytes", "state_bytes"}
    assert record["sash"]["late"] == {"a": 0, "b": 0}
    assert sum(record["sash"]["rows"].values()) == record["rows"]


@pytest.mark.slow
def test_windows_that_slide_hold_what_spark_counts() -> None:
    (record,) = records("spark-slide", "slide_10s")
    assert record["same_answer"] is True
    assert set(record["ratios"]) == {"window"}
    assert record["of_slide_60s"] > 0


@pytest.mark.slow
def test_three_streams_join_as_a_chain_of_joins_does() -> None:
    (record,) = records("spark-multijoin", "multijoin")
    assert record["same_answer"] is True
    assert record["of_state_bytes"] > 0
    assert set(record["peers_durable_bytes_per_live_row"]) == {"rocksdb_2", "rocksdb_4"}


@pytest.mark.slow
def test_growth_is_told_by_window() -> None:
    (record,) = records("spark-growth", "growth_topk")
    assert record["windows"] == [1, 5]
    assert {"ms_growth", "bytes_growth", "of_raw_bytes"} <= set(record)
    for window in record["windows"]:
        side = record["by_window"][f"window_{window}"]
        assert set(side) > FIGURES
        assert side["live_rows"] == window * record["rows_per_trigger"]


@pytest.mark.slow
def test_the_floor_is_told_by_phases() -> None:
    (record,) = records("spark-floor", "floor_not_frozen", rows=1_000)
    assert set(record["of_stateless"]) == {"sash", "low_latency"}
    for side in record["sash"].values():
        assert {"addBatch", "queryPlanning", "walCommit"} <= set(side["ms_by_phase"])


@pytest.mark.slow
def test_eight_queries_in_company_say_what_they_say_alone() -> None:
    (record,) = records("spark-many", "many")
    assert record["same_answer"] is True
    assert len(record["alone"]) == 8
    assert record["times_one"] > 0
