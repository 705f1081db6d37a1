"""A table's history: rows with lifetimes in both kinds of time, changed at instants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash.catalog.clock import EARLIEST, Kind
from sash.catalog.tables import History, delete, effective_instants, insert, update
from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import TableDefinition
from sash.lifetimes import BEGINNING, FOREVER

HOSTS = TableDefinition("hosts", (Field("ip", pa.string()), Field("owner", pa.string())), (0,))


def rows(*pairs: tuple[str | None, str]) -> tuple[pa.Array, ...]:
    return pa.array([ip for ip, _ in pairs], pa.string()), pa.array(
        [owner for _, owner in pairs], pa.string()
    )


def at(instant: int) -> dict[Kind, int]:
    return {"integer": instant, "timestamp": instant}


def told(history: History, since: int) -> list[tuple[Any, ...]]:
    changes = history.since("integer", since)
    columns = [column.to_pylist() for column in changes.columns]
    return list(zip(*columns, changes.begin.tolist(), changes.weight.tolist(), strict=True))


def test_a_new_query_is_told_what_lives_and_what_will_end() -> None:
    history, _ = insert(History.empty(HOSTS), rows(("a", "ann"), ("b", "bob")), at(1))
    history, change = update(history, np.array([0]), rows(("a", "abe")), at(5))
    assert change.weight.tolist() == [-1, 1]
    assert change.columns[1].to_pylist() == ["ann", "abe"]
    assert told(history, 3) == [
        ("a", "ann", 1, 1),
        ("b", "bob", 1, 1),
        ("a", "abe", 5, 1),
        ("a", "ann", 5, -1),
    ]
    assert told(history, 5) == [("b", "bob", 1, 1), ("a", "abe", 5, 1)]


def test_what_lived_for_no_instant_is_not_told() -> None:
    history, _ = insert(History.empty(HOSTS), rows(("a", "ann")), at(1))
    history, _ = delete(history, np.array([0]), at(1))
    assert told(history, BEGINNING) == []


def test_keys_are_unique_at_every_instant() -> None:
    history, _ = insert(History.empty(HOSTS), rows(("a", "ann")), at(1))
    for again in (rows(("a", "abe")), rows(("b", "bob"), ("b", "ben"))):
        with pytest.raises(SashError, match="SASH-TABLE-003"):
            insert(history, again, at(2))
    gone, _ = delete(history, np.array([0]), at(10))
    with pytest.raises(SashError, match="SASH-TABLE-003"):
        insert(gone, rows(("a", "abe")), at(9))
    assert len(insert(gone, rows(("a", "abe")), at(10))[0]) == 2


def test_a_key_is_never_null() -> None:
    with pytest.raises(SashError, match="SASH-TABLE-004"):
        insert(History.empty(HOSTS), rows((None, "ann")), at(1))


def test_versions_nobody_can_ask_for_are_forgotten() -> None:
    history, _ = insert(History.empty(HOSTS), rows(("a", "ann"), ("b", "bob")), at(1))
    history, _ = delete(history, np.array([0]), at(5))
    assert len(history.forget({"integer": 4, "timestamp": FOREVER})) == 2
    assert len(history.forget({"integer": 5, "timestamp": FOREVER})) == 1
    assert len(history.forget({"integer": FOREVER, "timestamp": FOREVER})) == 1


def test_a_history_survives_arrow() -> None:
    history, _ = insert(History.empty(HOSTS), rows(("a", "ann")), at(1))
    again = History.from_arrow(HOSTS, history.to_arrow())
    assert told(again, 0) == told(history, 0)
    assert len(History.from_arrow(HOSTS, History.empty(HOSTS).to_arrow())) == 0


@pytest.mark.parametrize(
    ("written", "greatest", "present", "integer", "timestamp"),
    [
        (
            None,
            {"integer": BEGINNING, "timestamp": BEGINNING},
            ["integer"],
            EARLIEST["integer"],
            EARLIEST["timestamp"],
        ),
        (None, {"integer": 7, "timestamp": 9}, ["integer", "timestamp"], 8, 10),
        (20, {"integer": 7, "timestamp": BEGINNING}, ["integer"], 20, EARLIEST["timestamp"]),
        (20, {"integer": BEGINNING, "timestamp": 7}, ["timestamp"], EARLIEST["integer"], 20),
        (20, {"integer": 7, "timestamp": 9}, ["integer", "timestamp"], 20, 10),
        ("1970-01-01T00:00:01", {"integer": 7, "timestamp": 9}, ["integer", "timestamp"], 8, 1_000_000),
    ],
)
def test_when_a_change_takes_effect(
    written: object, greatest: dict[Kind, int], present: list[Kind], integer: int, timestamp: int
) -> None:
    assert effective_instants(written, greatest, present)[0] == {"integer": integer, "timestamp": timestamp}


def test_final_time_cannot_be_changed() -> None:
    with pytest.raises(SashError, match="SASH-TIME-006"):
        effective_instants(7, {"integer": 7, "timestamp": BEGINNING}, ["integer"])
