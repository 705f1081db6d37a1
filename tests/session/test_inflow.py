"""A stream's rows: late ones counted and kept, the others released when they are final."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.language.expressions import Field
from sash.language.statements import StreamDefinition
from sash.lifetimes import BEGINNING, Changes
from sash.session.inflow import Inflow
from sash.session.inlet import Batch


def inflow(lateness: int = 0, kept: int = 10) -> Inflow:
    fields = (Field("ts", pa.int64()), Field("v", pa.string()))
    return Inflow(StreamDefinition("s", fields, 0, lateness), max_late_rows=kept)


def batch(*rows: tuple[int, str]) -> Batch:
    ts = np.array([ts for ts, _ in rows], np.int64)
    return Batch((pa.array(ts), pa.array([v for _, v in rows], pa.string())), ts)


def values(parts: Sequence[Changes]) -> str:
    return "".join(value for part in parts for value in part.columns[1].to_pylist())


def test_the_last_instant_waits_for_its_other_rows() -> None:
    stream = inflow()
    assert values(stream.take(batch((1, "a"), (2, "b")), BEGINNING)) == "a"
    assert values(stream.take(batch((2, "c"), (3, "d")), BEGINNING)) == "bc"
    assert values(stream.advance(3)) == "d"


def test_rows_within_the_lateness_are_put_in_order() -> None:
    stream = inflow(lateness=5)
    assert values(stream.take(batch((10, "c"), (6, "a")), BEGINNING)) == ""
    assert values(stream.take(batch((8, "b"), (20, "d")), BEGINNING)) == "abc"
    assert (stream.clock.frontier, stream.late) == (14, 0)


def test_late_rows_are_counted_and_kept_in_order_or_not() -> None:
    stream = inflow()
    stream.take(batch((10, "a")), BEGINNING)
    assert values(stream.take(batch((3, "x"), (9, "y"), (10, "b")), BEGINNING)) == ""
    stream.take(batch((11, "c"), (2, "z")), BEGINNING)
    assert (stream.late, stream.pushed) == (3, 6)
    assert stream.drain_late().to_pydict() == {"ts": [3, 9, 2], "v": ["x", "y", "z"]}
    assert stream.drain_late().num_rows == 0


def test_lateness_is_judged_by_the_frontier_at_which_the_push_began() -> None:
    stream = inflow()
    stream.take(batch((100, "b"), (1, "a")), BEGINNING)
    assert stream.late == 0


def test_only_the_newest_late_rows_are_kept() -> None:
    stream = inflow(kept=2)
    stream.advance(10)
    stream.take(batch((1, "a"), (2, "b"), (3, "c")), BEGINNING)
    stream.take(batch((4, "d")), BEGINNING)
    assert stream.drain_late()["v"].to_pylist() == ["c", "d"]
    assert stream.late == 4


def test_an_idle_stream_releases_all_and_comes_back_at_the_floor() -> None:
    stream = inflow(lateness=5)
    stream.take(batch((10, "b"), (7, "a")), BEGINNING)
    assert values(stream.rest()) == "ab"
    assert stream.clock.idle
    assert values(stream.take(batch((30, "x"), (31, "c"), (40, "d")), 30)) == "c"
    assert not stream.clock.idle
    assert stream.late == 1
