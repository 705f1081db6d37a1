"""Only conversions that keep the value are made; the first value that does not fit is named."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sash.catalog.columns import Misfit, fit, from_values, settle

US = pa.timestamp("us")
NEW_YEAR = datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("given", "target", "values"),
    [
        (pa.array([1, 2], pa.int32()), pa.int64(), [1, 2]),
        (pa.array([1, 2], pa.int64()), pa.int8(), [1, 2]),
        (pa.array([1, None], pa.uint64()), pa.int64(), [1, None]),
        (pa.array([1.0, None]), pa.int64(), [1, None]),
        (pa.array([1]), pa.float64(), [1.0]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string(), ["a", "b", "a"]),
        (
            pa.DictionaryArray.from_arrays([1, None], pa.array(["a", "b"], pa.string_view())),
            pa.string(),
            ["b", None],
        ),
        (pa.array(["a"], pa.large_string()), pa.string(), ["a"]),
        (pa.array(["a"], pa.string_view()), pa.string(), ["a"]),
        (pa.array([1_577_836_800], pa.timestamp("s")), US, [NEW_YEAR]),
        (pa.array([1_577_836_800], pa.timestamp("s", "Europe/Berlin")), US, [NEW_YEAR]),
        (pa.array([1_577_836_800_000_000_000], pa.timestamp("ns")), US, [NEW_YEAR]),
        (pa.array(["2020-01-01", "2020-01-01T00:00:00"]), US, [NEW_YEAR, NEW_YEAR]),
        (pa.array(["2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00"]), US, [NEW_YEAR, NEW_YEAR]),
        (pa.array(["2020-01-01T00:00:00Z", "2020-01-01"]), US, [NEW_YEAR, NEW_YEAR]),
        (pa.array([date(2020, 1, 1)]), US, [NEW_YEAR]),
        (pa.array([12]), pa.decimal128(5, 2), [Decimal("12.00")]),
        (pa.nulls(2), pa.string(), [None, None]),
    ],
)
def test_what_fits(given: pa.Array, target: pa.DataType, values: list[object]) -> None:
    fitted = fit(given, target)
    assert not isinstance(fitted, Misfit)
    assert fitted.type == target
    assert fitted.to_pylist() == values


@pytest.mark.parametrize(
    ("given", "target", "row"),
    [
        (pa.array([1, 300]), pa.int8(), 2),
        (pa.array([None, "x"]), pa.int64(), 2),
        (pa.array([1, 2]), pa.string(), 1),
        (pa.array([True]), pa.int64(), 1),
        (pa.array([0.5] * 3 + [1.5]), pa.int64(), 1),
        (pa.array([1.0] * 100 + [1.5] + [1.0] * 50), pa.int64(), 101),
        (pa.array([1.5]), pa.decimal128(5, 2), 1),
        (pa.array([Decimal("1.50"), Decimal("1.55")]), pa.decimal128(5, 1), 2),
        (pa.array(["2020-01-01", "today"]), US, 2),
        (pa.array([1000, 1001], pa.timestamp("ns")), US, 2),
        (pa.array([b"x"]), pa.string(), 1),
        (pa.array([0], US), pa.int64(), 1),
        (pa.array([0], US), pa.date32(), 1),
    ],
)
def test_the_first_value_that_does_not_fit_is_named(given: pa.Array, target: pa.DataType, row: int) -> None:
    misfit = fit(given, target)
    assert isinstance(misfit, Misfit)
    assert misfit.row == row


@pytest.mark.parametrize(
    ("given", "target", "values"),
    [
        ([1, None], pa.int64(), [1, None]),
        ([np.int32(4), 5], pa.int64(), [4, 5]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([Decimal("1.5"), 2], pa.decimal128(5, 2), [Decimal("1.50"), Decimal("2.00")]),
        (["2020-01-01", NEW_YEAR, np.datetime64("2020-01-01")], US, [NEW_YEAR] * 3),
        ([datetime(2020, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), NEW_YEAR], US, [NEW_YEAR] * 2),
        ([{"a": 1}], pa.map_(pa.string(), pa.int64()), [[("a", 1)]]),
        ([{"a": 1}], pa.struct([("a", pa.int64())]), [{"a": 1}]),
        ([], pa.string(), []),
    ],
)
def test_python_values_that_fit(given: list[object], target: pa.DataType, values: list[object]) -> None:
    fitted = from_values(given, target)
    assert not isinstance(fitted, Misfit)
    assert fitted.type == target
    assert fitted.to_pylist() == values


@pytest.mark.parametrize(
    ("given", "target", "row"),
    [
        ([1, "x"], pa.int64(), 2),
        ([1, 1.5], pa.int64(), 2),
        ([1, True], pa.int64(), 2),
        ([1, 2**63], pa.int64(), 2),
        (["a", 1], pa.string(), 2),
        ([None, object()], pa.int64(), 2),
        ([float("nan")], pa.int64(), 1),
        ([["x"]], pa.list_(pa.int64()), 1),
        (["2020-01-01", "today"], US, 2),
    ],
)
def test_python_values_that_do_not_fit(given: list[object], target: pa.DataType, row: int) -> None:
    misfit = from_values(given, target)
    assert isinstance(misfit, Misfit)
    assert misfit.row == row


def test_types_without_a_home_are_told() -> None:
    assert settle(pa.uint64()) is None
    assert settle(pa.time64("us")) is None
    assert settle(pa.dictionary(pa.int8(), pa.large_string())) == pa.string()


def test_nanoseconds_are_not_dropped_in_silence() -> None:
    stamps = [pd.Timestamp("2024-01-01 00:00:00.000001"), pd.Timestamp("2024-01-01 00:00:00.000000001")]
    assert from_values(stamps, pa.timestamp("us")) == Misfit(2, stamps[1], pa.timestamp("ns"))
    fitting = from_values(stamps[:1], pa.timestamp("us"))
    assert isinstance(fitting, pa.Array)
    assert fitting.cast(pa.int64()).to_pylist() == [1_704_067_200_000_001]


def test_a_number_beyond_float_does_not_become_infinity() -> None:
    assert fit(pa.array([0.1, 1e300]), pa.float32()) == Misfit(2, 1e300, pa.float64())
    fitting = fit(pa.array([0.5, float("inf"), float("nan"), None]), pa.float32())
    assert isinstance(fitting, pa.Array)
    assert repr(fitting.to_pylist()) == "[0.5, inf, nan, None]"


def test_a_timestamp_that_python_has_no_date_for_is_told_by_its_number() -> None:
    assert fit(pa.array([0, 2**60], pa.timestamp("s")), US) == Misfit(2, 2**60, pa.timestamp("s"))


@pytest.mark.parametrize("target", [pa.int64(), pa.string(), US, pa.bool_()])
def test_what_pandas_calls_missing_is_null(target: pa.DataType) -> None:
    fitted = from_values([None, pd.NA, pd.NaT, np.datetime64("NaT")], target)
    assert isinstance(fitted, pa.Array)
    assert fitted.to_pylist() == [None, None, None, None]


@pytest.mark.parametrize("target", [pa.timestamp("us"), pa.int64()])
def test_a_period_of_pandas_is_not_read_as_its_number(target: pa.DataType) -> None:
    months = pa.array(pd.period_range("2024-01", periods=2, freq="M"))
    assert fit(months, target) == fit(months[:0], target) == Misfit(0, None, months.type)
