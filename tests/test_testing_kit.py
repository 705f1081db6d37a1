"""The test kit itself: what it reads, what it catches, what it spoils."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash.language.expressions import Field
from sash.language.windows import Window
from sash.lifetimes import FOREVER, Changes
from sash.plan.nodes import Node, Source, Windowed
from sash.testing import Clock, Contract, Troublemaker, assert_same_rows, parse_fixture, random_stream
from sash.testing.cells import read_cell, render_table, show_cell, split_cells
from sash.testing.fixtures import FixtureError
from sash.testing.troublemaker import TROUBLES

STREAM = Source("s", (Field("ts", pa.int64()),), 0)
RANGE = Windowed(STREAM, Window("range", length=3))


def changes(*lives: tuple[int, int, int, int]) -> Changes:
    """Rows of one column as (value, begin, until, weight)."""
    value, begin, until, weight = (np.array(part, np.int64) for part in zip(*lives, strict=True))
    return Changes((pa.array(value),), begin, until, weight)


ROWS = Windowed(STREAM, Window("rows", rows=2))


@pytest.mark.parametrize(
    ("node", "given", "complaint"),
    [
        (RANGE, changes((1, 6, 9, 1)), "outside its step"),
        (RANGE, changes((1, 0, 9, 1)), "outside its step"),
        (RANGE, changes((1, 3, 3, 1)), "ends before it begins"),
        (RANGE, changes((1, 3, 4, 0)), "no weight"),
        (RANGE, changes((1, 3, 6, -1)), "negative row"),
        (RANGE, changes((1, 2, 9, 1), (1, 3, 6, 1)), "a later row ends first"),
        (RANGE, changes((1, 3, 6, 1), (1, 2, 6, 1)), "out of the order"),
        (ROWS, changes((1, 3, FOREVER, -1)), "was not there"),
        (ROWS, changes((1, 2, FOREVER, 1), (1, 3, FOREVER, -2)), "was not there"),
        (STREAM, changes((1, 3, 6, 1)), "gave a row that ends"),
        (STREAM, Changes((pa.array(["x"]),), *[np.array([3])] * 3), "promised the types"),
    ],
)
def test_the_contract_catches(node: Node, given: Changes, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        Contract()(node, (), given, 0 if complaint == "outside its step" else -(2**62), 5, 0)


def test_the_contract_remembers_what_is_there() -> None:
    watch = Contract()
    watch(ROWS, (), changes((1, 3, FOREVER, 1)), -(2**62), 5, 1)
    watch(ROWS, (), changes((1, 6, FOREVER, -1)), 5, 8, 0)
    with pytest.raises(AssertionError, match="was not there"):
        watch(ROWS, (), changes((1, 9, FOREVER, -1)), 8, 9, 0)


@pytest.mark.parametrize(
    "value",
    [0, -7, 1.5, float("inf"), "", "NULL", "a | b", "it's", " x", True, None, b"\x00\xff", "'", "plain"],
)
def test_a_cell_says_what_it_means(value: Any) -> None:
    type_ = pa.string() if value is None else pa.scalar(value).type
    line = render_table("PUSH s", ["a", "b"], [[show_cell(value), "1"]])[1]
    assert read_cell(split_cells(line)[0], type_) == value


def test_a_difference_marks_the_cell() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_same_rows([(1, "a"), (2, "b")], [(2, "b"), (1, "c")], ["ts", "k"])
    lines = str(caught.value).splitlines()
    assert lines[-1].index("^") == lines[-2].index("a |")


@pytest.mark.parametrize(
    "text", ["ERROR X", "CREATE STREAM s (", "PUSH s | a |\n | 1 | 2 |", "QUERY x SELECT 1;", "PUSH"]
)
def test_a_fixture_that_cannot_be_read_says_where(text: str) -> None:
    with pytest.raises(FixtureError, match="line 1"):
        parse_fixture(text)


@pytest.mark.parametrize("kind", TROUBLES)
def test_trouble_is_made(kind: str) -> None:
    rows = random_stream(Random(1), (Field("ts", pa.int64()), Field("k", pa.string())), count=4)
    trouble = Troublemaker(Random(2), "ts").spoil(rows, kind)
    assert trouble.rows != rows
    assert trouble.refused == (kind not in ("late", "duplicate"))


def test_a_clock_moves_by_hand_and_never_back() -> None:
    clock = Clock(5)
    clock.move(2)
    assert clock() == 7
    with pytest.raises(ValueError, match="backwards"):
        clock.move(-1)
