"""Sash on Spark beside Spark's own operators: joins, sliding windows, growth, the floor, many queries."""

from __future__ import annotations

__all__ = ["SUITES"]

from benchmarks.suite import Suite


def _suite(name: str, rows: int, *figures: str) -> Suite:
    return Suite(name, figures, rows, "benchmarks.spark.child")


SUITES = (
    _suite("spark-join", 6_000_000, "join_100k", "join_500k"),
    _suite("spark-slide", 1_000_000, "slide_60s", "slide_10s", "slide_1s"),
    _suite("spark-multijoin", 3_000_000, "multijoin"),
    _suite("spark-growth", 20_000_000, "growth_join", "growth_min", "growth_topk", "growth_rows"),
    _suite("spark-floor", 1_600, "floor", "floor_tcp", "floor_not_frozen"),
    _suite("spark-many", 2_000_000, "many"),
)
