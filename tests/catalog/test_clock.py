"""Instants are written in many ways and mean one number; clocks only go forwards."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest

from sash.catalog.clock import BEGINNING, Clock, parse_duration, read_instant, show_instant
from sash.errors import SashError

SECOND = 1_000_000


@pytest.mark.parametrize(
    "written",
    [
        "1970-01-01T00:00:01",
        "1970-01-01T00:00:01Z",
        "1970-01-01 01:00:01+01:00",
        datetime(1970, 1, 1, 0, 0, 1),
        datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        datetime(1970, 1, 1, 2, 0, 1, tzinfo=timezone(timedelta(hours=2))),
        np.datetime64("1970-01-01T00:00:01"),
        np.datetime64(1_000_000_000, "ns"),
        SECOND,
        np.int64(SECOND),
    ],
)
def test_one_second_after_the_epoch_however_written(written: object) -> None:
    assert read_instant(written, "timestamp") == SECOND


def test_a_date_is_its_midnight() -> None:
    assert read_instant(date(1970, 1, 2), "timestamp") == 86_400 * SECOND


@pytest.mark.parametrize("written", ["5", 5.0, True, None, datetime(2020, 1, 1), "2020-01-01"])
def test_integer_time_takes_integers_only(written: object) -> None:
    with pytest.raises(SashError, match="SASH-TIME-001"):
        read_instant(written, "integer")


@pytest.mark.parametrize("written", ["yesterday", 5.0, True, None, np.datetime64("NaT")])
def test_what_is_no_timestamp_is_refused(written: object) -> None:
    with pytest.raises(SashError, match="SASH-TIME-001"):
        read_instant(written, "timestamp")


@pytest.mark.parametrize("written", [2**62, -(2**62), 2**80])
def test_instants_out_of_range_are_refused(written: int) -> None:
    with pytest.raises(SashError, match="SASH-TIME-002"):
        read_instant(written, "integer")


def test_a_stream_without_lateness_is_final_one_tick_before_its_latest_row() -> None:
    assert Clock("integer").seen(10).frontier == 9


def test_lateness_holds_the_frontier_back_and_older_rows_do_not_move_it() -> None:
    clock = Clock("integer", lateness=3).seen(10)
    assert clock.frontier == 6
    assert clock.seen(4) == clock


@pytest.mark.parametrize(
    ("written", "kind", "ticks"),
    [
        ("2 seconds", "timestamp", 2 * SECOND),
        (timedelta(seconds=2), "timestamp", 2 * SECOND),
        (5, "integer", 5),
    ],
)
def test_durations(written: object, kind: str, ticks: int) -> None:
    assert parse_duration(written, kind) == ticks  # type: ignore[arg-type]


@pytest.mark.parametrize("written", ["soon", -1, 1.5, "2 seconds", None])
def test_bad_durations_of_integer_time(written: object) -> None:
    with pytest.raises(SashError, match="SASH-TIME-003"):
        parse_duration(written, "integer")


def test_instants_are_shown_in_their_own_kind() -> None:
    assert show_instant(SECOND, "timestamp") == "1970-01-01T00:00:01"
    assert show_instant(-5, "integer") == "-5"
    assert show_instant(BEGINNING, "timestamp") == "-"
    assert show_instant(2**61, "timestamp").endswith("us")
