"""Random plans as circuits: in one step, one per instant, cut and saved at random; the oracle judges.

Plans are made of nodes rather than of text, so that operators meet in ways that no query asks for.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash.engine.circuit import Circuit
from sash.lifetimes import BEGINNING, FOREVER, Changes
from sash.optimizer import optimize
from sash.plan.explain import explain
from sash.plan.nodes import Node, Source, TableJoin

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "optimizer"))
from test_random_plans import HORIZON, answers, histories, plan

BLOCKS, SIZE = 4, 40

Seen = dict[tuple[int, tuple[Any, ...]], int]


def changes_of(rows: list[tuple[int, tuple[Any, ...], int]], width: int) -> Changes:
    columns = tuple(pa.array([row[i] for _, row, _ in rows], pa.int64()) for i in range(width))
    begin = np.array([at for at, _, _ in rows], np.int64)
    return Changes(columns, begin, np.full(len(rows), FOREVER), np.array([w for *_, w in rows], np.int64))


def parted(changes: Changes, random: Random) -> list[Changes]:
    """The same in parts that follow one another, some of them empty."""
    cuts = sorted(random.randint(0, len(changes)) for _ in range(random.randint(0, 3)))
    return [changes.slice(start, stop) for start, stop in pairwise([0, *cuts, len(changes)])]


def run(node: Node, streams: Any, tables: Any, cuts: list[int], saves: set[int], stride: int | None) -> Seen:
    """The net changes of a circuit that is stepped to each cut, and saved and loaded at some."""
    circuit, before, random = Circuit(node, stride_rows=stride), BEGINNING, Random(len(cuts))
    seen: Counter[tuple[int, tuple[Any, ...]]] = Counter()
    for frontier in cuts:
        inputs = {}
        for name, history in streams.items():
            rows = [(ts, row, 1) for ts, _, row in history if before < ts <= frontier]
            inputs[name] = parted(changes_of(rows, 3), random)
        for name, log in tables.items():
            changed = [change for change in log if before < change[0] <= frontier]
            inputs[name] = parted(changes_of(changed, 2), random)
        circuit.step(frontier, inputs)
        for *row, at, change in zip(
            *(c.to_pylist() for c in circuit.output.take_changes().columns), strict=True
        ):
            seen[at, tuple(row)] += change
        if frontier in saves:
            saved, circuit = circuit.save(), Circuit(node, stride_rows=stride)
            circuit.load(saved)
        before = frontier
    return {key: change for key, change in seen.items() if change}


def readings(random: Random) -> list[tuple[list[int], set[int], int | None]]:
    """Cuts, at which of them to save, and how many rows make a stride, if not as many as operators say."""
    some = [*sorted(random.sample(range(HORIZON), random.randint(1, 6))), HORIZON]
    whole, each = [HORIZON], list(range(-1, HORIZON + 1))
    return [
        (whole, set(), None),
        (whole, set(), 1),
        (each, set(), None),
        (some, set(some[::2]), random.choice((1, 3, None))),
    ]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_circuits_say_what_the_oracle_says(block: int) -> None:
    judged = 0
    for seed in range(10_000 + block * SIZE, 10_000 + (block + 1) * SIZE):
        random = Random(seed)
        node = plan(random, 2)
        # The oracle is slow by design; and a table is asked by a row's own timestamp, not by any number.
        if sum(isinstance(each, Source) for each in node.walk()) > 4 or _asks_tables(node):
            continue
        streams, tables = histories(random)
        expected: Counter[tuple[int, tuple[Any, ...]]] = Counter()
        for at, row, change in answers(node, streams, tables):
            expected[at, tuple(row)] += change
        wanted = {key: change for key, change in expected.items() if change}
        for made in (node, optimize(node)):
            for cuts, saves, stride in readings(random):
                seen = run(made, streams, tables, cuts, saves, stride)
                assert seen == wanted, f"seed {seed}, cuts {cuts}, stride {stride}\n{explain(made)}"
        judged += 1
    assert judged > SIZE / 4


def _asks_tables(node: Node) -> bool:
    return any(isinstance(each, TableJoin) for each in node.walk())
