"""The command as a script sees it: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sash

from .commands import ROOT, sash_command, written

DEFINITIONS = "CREATE STREAM s (ts BIGINT, k STRING) TIME ts;\n"
PLAY = (
    "-- One row comes and goes\n"
    + DEFINITIONS
    + """QUERY q AS SELECT k FROM s [RANGE 10];
PUSH s | ts | k |
       | 1  | a |
ADVANCE 20
CHANGES q | at | k | change |
          | 1  | a | +1     |
          | 11 | a | -1     |
"""
)


def test_help_names_every_command() -> None:
    done = sash_command("--help")
    assert done.returncode == 0
    for word in ("run", "replay", "explain", "demo", "bench"):
        assert word in done.stdout


def test_the_version_is_told() -> None:
    done = sash_command("--version")
    assert (done.returncode, done.stdout) == (0, f"sash {sash.__version__}\n")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['sash', '--help']\n"
        "from sash.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numba', 'pyarrow', 'sqlglot', 'duckdb', 'pyspark'} & set(sys.modules)))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_replay_shows_changes(tmp_path: Path) -> None:
    done = sash_command("replay", written(tmp_path, "play.cql", PLAY))
    assert done.returncode == 0, done.stderr
    assert "One row comes and goes" in done.stdout
    assert "-1" in done.stdout
    assert done.stderr == ""


def test_replay_fails_where_an_expectation_differs(tmp_path: Path) -> None:
    done = sash_command("replay", written(tmp_path, "play.cql", PLAY.replace("| 11 |", "| 12 |")))
    assert done.returncode == 1
    assert "12" in done.stderr
    assert "Traceback" not in done.stderr


def test_replay_of_an_unreadable_fixture(tmp_path: Path) -> None:
    done = sash_command("replay", written(tmp_path, "play.cql", "QUERY q AS SELECT"))
    assert done.returncode == 2
    assert "SASH-CLI-007" in done.stderr


def test_explain_prints_plans_with_patterns(tmp_path: Path) -> None:
    text = DEFINITIONS + "SELECT k FROM s [RANGE 10];\nSELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k;"
    done = sash_command("explain", written(tmp_path, "plans.sql", text))
    assert done.returncode == 0, done.stderr
    assert "[WKS]" in done.stdout
    assert "state=" in done.stdout
    assert "bound=" in done.stdout
    assert done.stdout.count("-- SELECT") == 2


def test_explain_takes_pipelines_and_keeps_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        DEFINITIONS
        + "CREATE VIEW v AS SELECT k FROM s [RANGE 10]; CREATE SINK out WITH (format = 'noop');\n"
        + "INSERT INTO out SELECT DISTINCT k FROM v; DROP VIEW v; SELECT k FROM v;"
    )
    done = sash_command("explain", written(tmp_path, "pipeline.sql", text))
    assert done.returncode == 2
    assert "SASH-BIND" in done.stderr
    assert "line 3" in done.stderr
    done = sash_command("explain", written(tmp_path, "pipeline.sql", text.rpartition("DROP")[0]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("-- SELECT DISTINCT k FROM v\ndistinct [WK]")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (DEFINITIONS, "SASH-CLI-003"),
        (DEFINITIONS + "SELECT nope FROM s [RANGE 10]", "SASH-BIND"),
        ("SELECT FROM WHERE", "SASH-PARSE"),
        (DEFINITIONS + "INSERT INTO nowhere SELECT k FROM s [RANGE 10]", "SASH-SESSION-001"),
        (DEFINITIONS + "CREATE SINK s WITH (format = 'noop')", "SASH-SESSION-002"),
        (DEFINITIONS + "CREATE SINK out WITH (format = 'parquet')", "SASH-SPARK-062"),
    ],
)
def test_explain_errors_go_to_stderr_with_code_2(tmp_path: Path, text: str, code: str) -> None:
    done = sash_command("explain", written(tmp_path, "plans.sql", text))
    assert done.returncode == 2
    assert code in done.stderr
    assert "what to do:" in done.stderr
    assert done.stdout == ""


def test_error_places_are_those_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "plans.sql", DEFINITIONS + "SELECT nope FROM s [RANGE 10]")
    done = sash_command("explain", file)
    assert "line 2, column 8" in done.stderr
    assert "^^^^" in done.stderr


def test_a_missing_file_is_the_users_error(tmp_path: Path) -> None:
    for command in ("replay", "explain"):
        done = sash_command(command, tmp_path / "none.cql")
        assert done.returncode == 2
        assert "SASH-CLI-001" in done.stderr


def test_a_wrong_option_is_the_users_error() -> None:
    assert sash_command("demo", "--seconds", "never").returncode == 2
    assert sash_command("bench", "nothing").returncode == 2
    assert sash_command("bench", "engine", "--only", "nothing").returncode == 2


@pytest.mark.slow
def test_bench_prints_one_json_object() -> None:
    done = sash_command("bench", "engine", "--json", "--rows", "20000", "--trials", "1", "--only", "distinct")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)["results"]
    needed = {"name", "rows_per_s", "peer", "peer_rows_per_s", "ratio", "peak_bytes", "memory_limit_bytes"}
    assert needed | {"memory_ok", "target", "target_met"} <= set(record)
    assert record["same_answer"] is True
