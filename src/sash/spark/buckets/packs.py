"""Packs: what crosses between Spark's tasks, a few fat rows instead of many thin ones.

A pack holds what one task has for one bucket: rows by flow, what it saw of each stream, and what the
source knows of time. As bytes it is a JSON header after its length, then for each flow the bits of its
narrow columns and the others as an Arrow record batch, compressed: they are shuffled once and may stay in
a log for long. Every task sends a pack to every bucket, with rows or without, so that all buckets see the
same time.

Rows of queries that end in an earlier stage lie in a file, and where that is goes the same way, past the
buckets: a header of no length, then the path.
"""

from __future__ import annotations

__all__ = ["Clocks", "Control", "Pack", "Seen", "read_pointer", "read_pack", "write_pointer", "write_pack"]

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sash.lifetimes import FOREVER, Changes, Instant, repeated
from sash.spark.buckets.narrowing import Form, narrowed, widened

_LENGTH = struct.Struct("<I")
_CODEC = pa.Codec("zstd", compression_level=1)
_WORTHWHILE = 1024
"""Fewer bytes are left as they are."""
_TIMES = (pa.int64(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
_LIFETIME = 3
"""Columns: begin, until, weight."""


@dataclass(frozen=True)
class Seen:
    """What a task saw of a stream: how many rows, and the greatest timestamp (None without rows)."""

    rows: int = 0
    greatest: Instant | None = None
    malformed: int = 0


@dataclass(frozen=True)
class Control:
    """What the source decided about time for this batch: the same in every replay."""

    idle: frozenset[str] = frozenset()
    """Streams that nobody waits for."""
    end: bool = False
    """All rows are in: time moves to the greatest timestamp seen."""
    now: Instant | None = None
    """The processing time in microseconds, where time is to move without rows."""


Clocks = Mapping[str, tuple[Instant, bool]]
"""How far each stream has come, and whether it is idle: what a later stage is told."""


@dataclass(frozen=True)
class Pack:
    """The rows of one task for one bucket."""

    order: tuple[int, ...]
    """Where the task stands among those of its batch: rows of one instant keep this order."""
    rows: Mapping[str, Changes] = field(default_factory=dict)
    seen: Mapping[str, Seen] = field(default_factory=dict)
    control: Control = Control()
    clocks: Clocks | None = None
    faults: Mapping[str, int] = field(default_factory=dict)


def write_pack(pack: Pack) -> bytes:
    """A pack as bytes."""
    bodies: list[pa.Buffer] = []
    flows = {}
    for name, changes in pack.rows.items():
        if len(changes):
            plain = bool((changes.until == FOREVER).all() and (changes.weight == 1).all())
            time = _time_column(changes) if plain else None
            lifetimes = [changes.begin, changes.until, changes.weight][: _lifetime_columns(plain, time)]
            forms, bits, rest = narrowed([*changes.columns, *map(pa.array, lifetimes)])
            others, whole = _batch(rest)
            flows[name] = [[bits.size, others.size, whole], len(changes), plain, time, forms]
            bodies += [bits, others, _padding(others.size)]
    header: dict[str, Any] = {
        "order": pack.order,
        "flows": flows,
        "seen": {name: [one.rows, one.greatest, one.malformed] for name, one in pack.seen.items()},
        "control": [sorted(pack.control.idle), pack.control.end, pack.control.now],
        "clocks": pack.clocks,
        "faults": dict(pack.faults),
    }
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + _LENGTH.size) % 64)  # bodies begin where Arrow likes them
    return b"".join([_LENGTH.pack(len(text)), text, *bodies])


def _batch(columns: Sequence[pa.Array]) -> tuple[pa.Buffer, int]:
    """Columns as a record batch, compressed if that spares bytes; how many bytes it had before."""
    if not columns:
        return pa.py_buffer(b""), 0
    whole = pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))]).serialize()
    less = _CODEC.compress(whole) if whole.size >= _WORTHWHILE else whole
    return less if less.size < whole.size else whole, whole.size


def _padding(size: int) -> pa.Buffer:
    """What follows so many bytes, so that the next flow's numbers begin at a word."""
    return pa.py_buffer(bytes(-size % 8))


def write_pointer(path: str) -> bytes:
    """Where the rows are that go past the stages to come."""
    return _LENGTH.pack(0) + path.encode()


def read_pointer(data: pa.Buffer) -> str | None:
    """What `write_pointer` wrote; None if it is a pack.

    >>> read_pointer(pa.py_buffer(write_pointer("/c/1-0/7.results")))
    '/c/1-0/7.results'
    >>> read_pointer(pa.py_buffer(write_pack(Pack((0,))))) is None
    True
    """
    (length,) = _LENGTH.unpack(data[: _LENGTH.size])
    return None if length else bytes(data[_LENGTH.size :]).decode()


def read_pack(data: pa.Buffer, flows: Mapping[str, pa.Schema]) -> Pack:
    """What `write_pack` wrote; the schemas of flows are known to both sides.

    >>> some = Changes((pa.array(["a"]),), np.array([3]), np.array([FOREVER]), np.array([1]))
    >>> data = write_pack(Pack((0,), {"f": some}, {"s": Seen(1, 3)}))
    >>> pack = read_pack(pa.py_buffer(data), {"f": pa.schema([("c", pa.string())])})
    >>> pack.rows["f"].begin.tolist(), pack.seen["s"].greatest
    ([3], 3)
    """
    (length,) = _LENGTH.unpack(data[: _LENGTH.size])
    header = json.loads(bytes(data[_LENGTH.size : _LENGTH.size + length]))
    at = _LENGTH.size + length
    rows = {}
    for name, (sizes, *how) in header["flows"].items():
        bits, others, whole = sizes
        body = data.slice(at, bits), data.slice(at + bits, others), whole
        rows[name] = _changes(*body, flows[name], *how)
        at += bits + others + _padding(others).size
    idle, end, now = header["control"]
    clocks = header["clocks"]
    return Pack(
        tuple(header["order"]),
        rows,
        {name: Seen(*one) for name, one in header["seen"].items()},
        Control(frozenset(idle), end, now),
        None if clocks is None else {name: (reached, quiet) for name, (reached, quiet) in clocks.items()},
        header["faults"],
    )


def _time_column(changes: Changes) -> int | None:
    """Which column says when the rows begin, so that it need not be said twice; None if none does."""
    for i, column in enumerate(changes.columns):
        if column.type in _TIMES and not column.null_count:
            instants = column.view(pa.int64()).to_numpy()
            if instants[0] == changes.begin[0] and np.array_equal(instants, changes.begin):
                return i
    return None


def _changes(
    bits: pa.Buffer,
    others: pa.Buffer,
    whole: int,
    schema: pa.Schema,
    rows: int,
    plain: bool,
    time: int | None,
    how: Sequence[Sequence[Any]],
) -> Changes:
    types = [*schema.types, *[pa.int64()] * _lifetime_columns(plain, time)]
    forms = [Form(*form) for form in how]
    left = [type_ for form, type_ in zip(forms, types, strict=True) if form.how == "as_it_is"]
    rest = _columns(others, whole, left) if left else []
    columns = widened(forms, bits, rest, types, rows)
    width = len(schema)
    lifetimes = [column.to_numpy() for column in columns[width:]]
    if time is not None:
        lifetimes = [columns[time].view(pa.int64()).to_numpy()]
    if plain:
        lifetimes += [repeated(FOREVER, rows), repeated(1, rows)]
    return Changes(tuple(columns[:width]), *lifetimes)


def _columns(body: pa.Buffer, whole: int, types: Sequence[pa.DataType]) -> list[pa.Array]:
    """What `_batch` wrote."""
    if body.size < whole:
        body = _CODEC.decompress(body, whole)
    schema = pa.schema([(str(i), type_) for i, type_ in enumerate(types)])
    columns: list[pa.Array] = pa.ipc.read_record_batch(body, schema).columns
    return columns


def _lifetime_columns(plain: bool, time: int | None) -> int:
    """How many columns say a row's lifetime and weight: plain rows begin at some time, and that is all."""
    if time is not None:
        return 0
    return 1 if plain else _LIFETIME
