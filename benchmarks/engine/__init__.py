"""The in-process engine beside DuckDB: joins, groups, top-k, distinct, negation, count windows, the clock."""

from __future__ import annotations

__all__ = ["SUITES"]

from benchmarks.suite import Suite

SUITES = (
    Suite(
        "engine",
        (
            "join_istream",
            "join_relation",
            "join_strings",
            "group_slide_1s",
            "group_eager",
            "topk",
            "distinct",
            "not_exists",
            "partition_rows",
            "tick",
        ),
        rows=2_000_000,
        child="benchmarks.engine.child",
    ),
)
