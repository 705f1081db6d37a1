"""Rows known by number: whatever is added, forgotten, kept or renumbered, each number has its row."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from sash.engine import gathering
from sash.engine.state import round_array, segments, text_ring
from sash.engine.state.rows import Rows

TYPES = [
    pa.int64(),
    pa.string(),
    pa.decimal128(38, 2),
    pa.int16(),
    pa.bool_(),
    pa.date32(),
    pa.float64(),
    pa.int8(),
    pa.list_(pa.int64()),
    pa.binary(),
]


def value(type_: pa.DataType, random: Random) -> object:
    """A value of the type as Python has it."""
    number = random.randrange(-100, 100)
    if pa.types.is_decimal(type_):
        return Decimal(random.randrange(-(10**37), 10**37)).scaleb(-2)
    if pa.types.is_string(type_):
        return "x" * (number % 7) + str(number)
    if pa.types.is_binary(type_):
        return bytes(abs(number) % 5)
    if pa.types.is_boolean(type_):
        return number > 0
    if pa.types.is_list(type_):
        return [number] * (number % 3)
    return pa.scalar(number, pa.int32()).cast(type_).as_py()


def some(count: int, nulls: float, random: Random) -> list[pa.Array]:
    """Columns of this many rows, as slices of longer ones."""
    columns = []
    for type_ in TYPES:
        values = [None if random.random() < nulls else value(type_, random) for _ in range(count + 2)]
        columns.append(pa.array(values, type_).slice(1, count))
    return columns


def as_rows(columns: list[pa.Array]) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


@pytest.mark.parametrize("nulls", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(8))
def test_every_number_keeps_its_row(seed: int, nulls: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_array, "_SMALL", 8)
    monkeypatch.setattr(segments, "_LARGE", 12)
    monkeypatch.setattr(gathering, "MANY", seed)
    monkeypatch.setattr(text_ring, "MANY", seed)
    random = Random(seed)
    origin = random.choice([0, 77])
    kept, known = Rows(TYPES, origin), dict[int, tuple[object, ...]]()
    for _ in range(120):
        act = random.random()
        if act < 0.5:
            count = random.choice([0, 1, 3, 20])
            columns = some(count, nulls * (random.random() < 0.5), random)
            first = kept.append(columns, count)
            known |= dict(enumerate(as_rows(columns), first))
        elif act < 0.8:
            row = random.randint(kept.origin - 2, kept.end)
            kept.forget_before(row)
            known = {number: there for number, there in known.items() if number >= row}
        elif act < 0.9:
            alive = np.array([random.random() < 0.5 for _ in range(len(kept))], bool)
            moved = dict(zip(range(kept.origin, kept.end), kept.keep(alive).tolist(), strict=True))
            known = {moved[number]: there for number, there in known.items() if moved[number] >= 0}
        else:
            known = {number - kept.origin: there for number, there in known.items()}
            kept.renumber()
        assert sorted(known) == list(range(kept.origin, kept.end))
        assert as_rows(kept.all_columns()) == [known[number] for number in sorted(known)]
        width = random.choice([np.int32, np.int64])
        asked = random.choices(sorted(known), k=random.randrange(9)) if known else []
        assert as_rows(kept.take(np.array(asked, width))) == [known[number] for number in asked]
        fresh = some(random.randrange(4), nulls, random)
        both = as_rows(fresh) + [known[number] for number in asked]
        places = random.choices(range(len(both)), k=7) if both else []
        given = kept.take_beside(fresh, np.array(asked, np.int64), np.array(places, np.int64))
        assert as_rows(given) == [both[place] for place in places]


def test_a_ring_gives_back_what_it_does_not_need() -> None:
    kept = Rows([pa.int64()])
    kept.append([pa.array(np.arange(1_000_000))], 1_000_000)
    kept.forget_before(999_990)
    assert kept.nbytes <= 8 * 65_536
    assert kept.take(np.array([999_999]))[0].to_pylist() == [999_999]


def test_what_goes_round_does_not_grow() -> None:
    kept = Rows([pa.int64()])
    for first in range(0, 1_000_000, 1000):
        kept.append([pa.array(np.arange(first, first + 1000))], 1000)
        kept.forget_before(first - 4000)
    assert kept.nbytes <= 8 * 7500
    assert kept.all_columns()[0].to_pylist() == list(range(995_000, 1_000_000))
