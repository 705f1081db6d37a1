"""How a figure is measured: the same rows through Sash in pushes and through a peer in one batch.

An untimed pass takes the memory, another compares the answers, and both warm everything up; then
come the timed trials, Sash, its peer and other workloads by turns. Each figure runs in a process of its
own, so that its memory is counted above that of an idle process.
"""

from __future__ import annotations

__all__ = ["Figure", "Record", "Target", "Workload", "compared", "streamed"]

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

import sash
from benchmarks.engine.fingerprint import Fingerprint
from benchmarks.engine.memory import Sampler
from benchmarks.engine.peer import DuckDB
from benchmarks.targets import Record, Target, verdicts

PUSH_ROWS = 50_000


@dataclass(frozen=True)
class Workload:
    """One query over generated rows: what to define, ask, push, and until when to move the clock."""

    definitions: str
    query: str
    streams: Mapping[str, pa.Table]
    end: int
    window_bytes: int
    """Raw bytes of the rows that are in the windows at one time."""
    peer: str | None = None
    """The same changes in DuckDB's SQL, over tables named like the streams."""
    push_rows: int = PUSH_ROWS

    @property
    def rows(self) -> int:
        """How many rows go in."""
        return sum(table.num_rows for table in self.streams.values())

    def pushes(self) -> Iterator[tuple[str, pa.Table]]:
        """The streams by turns, cut into pushes."""
        longest = max(table.num_rows for table in self.streams.values())
        for start in range(0, longest, self.push_rows):
            for name, table in self.streams.items():
                if start < table.num_rows:
                    yield name, table.slice(start, self.push_rows)


@dataclass(frozen=True)
class Figure:
    """A named measurement: a function of how many rows and how many trials, and what it must reach."""

    name: str
    measure: Callable[[int, int], Record]
    targets: tuple[Target, ...]

    def run(self, rows: int, trials: int) -> Record:
        """The record with its verdicts."""
        record: Record = {
            "name": self.name,
            "rows_per_s": None,
            "peer": None,
            "peer_rows_per_s": None,
            "ratio": None,
            "peak_bytes": None,
        }
        record |= self.measure(rows, trials)
        limit = record.get("memory_limit_bytes")
        record["memory_ok"] = None if limit is None else record["peak_bytes"] <= limit
        return record | verdicts(record, self.targets)


@dataclass
class Pass:
    """What one pass over a workload saw."""

    seconds: float = 0.0
    changes: int = 0
    largest_input: int = 0
    largest_output: int = 0
    fingerprint: Fingerprint = field(default_factory=Fingerprint)
    net: bool = True
    """Whether every row stood once per instant, as far as that was looked at."""


def run_once(workload: Workload, *, inspect: bool = False) -> Pass:
    """Push everything, taking the changes after each push; the clock runs over push, advance, changes.

    With `inspect` the answers are also fingerprinted, which would spoil timing and memory.
    """
    seen = Pass()
    db = sash.connect()
    db.execute(workload.definitions)
    query = db.query(workload.query, name="measured")

    def drain() -> None:
        table = query.changes()
        seen.changes += table.num_rows
        seen.largest_output = max(seen.largest_output, table.nbytes)
        if inspect:
            seen.fingerprint.add(table)
            once = table.group_by(table.column_names[:-1]).aggregate([])
            seen.net = seen.net and once.num_rows == table.num_rows

    started = time.perf_counter()
    for name, rows in workload.pushes():
        seen.largest_input = max(seen.largest_input, rows.nbytes)
        db.push(name, rows)
        drain()
    db.advance(workload.end)
    drain()
    seen.seconds = time.perf_counter() - started
    db.close()
    return seen


def compared(workload: Workload, trials: int, beside: Mapping[str, Workload]) -> Record:
    """Rates of Sash, its peer and other workloads, memory of Sash, and whether the peer said the same."""
    with Sampler() as sampler:
        first = run_once(workload)
    peer = None if workload.peer is None else DuckDB(workload.streams, workload.peer)
    inspected = run_once(workload, inspect=True)
    same = None if peer is None else inspected.fingerprint == Fingerprint.of(peer.answer())
    own_seconds: list[float] = []
    peer_seconds: list[float] = []
    beside_seconds: dict[str, list[float]] = {name: [] for name in beside}
    for other in beside.values():
        run_once(other)
    for _ in range(trials):
        own_seconds.append(run_once(workload).seconds)
        for name, other in beside.items():
            beside_seconds[name].append(run_once(other).seconds)
        if peer is not None:
            peer_seconds.append(peer.seconds())
    own = workload.rows / statistics.median(own_seconds)
    batch_bytes = first.largest_input + first.largest_output
    record: Record = {
        "rows_per_s": round(own),
        "rows_per_s_spread": spread(workload.rows, own_seconds),
        "rows": workload.rows,
        "changes": first.changes,
        "net": inspected.net,
        "trials": trials,
        "peak_bytes": sampler.peak_bytes,
        "arrow_peak_bytes": sampler.arrow_peak_bytes,
        "window_bytes": workload.window_bytes,
        "batch_bytes": batch_bytes,
        "memory_limit_bytes": 3 * workload.window_bytes + batch_bytes,
    }
    if peer is not None:
        theirs = workload.rows / statistics.median(peer_seconds)
        record |= {
            "peer": peer.name,
            "peer_rows_per_s": round(theirs),
            "peer_rows_per_s_spread": spread(workload.rows, peer_seconds),
            "ratio": round(own / theirs, 3),
            "same_answer": same,
        }
    for name, seconds in beside_seconds.items():
        rate = beside[name].rows / statistics.median(seconds)
        record |= {f"{name}_rows_per_s": round(rate), f"of_{name}": round(own / rate, 3)}
    return record


def spread(rows: int, seconds: Sequence[float]) -> list[int]:
    """The slowest and the fastest rate of some trials.

    >>> spread(100, [2.0, 4.0, 3.0])
    [25, 50]
    """
    return [round(rows / max(seconds)), round(rows / min(seconds))]


def streamed(
    name: str,
    build: Callable[[int], Workload],
    *targets: Target,
    beside: Mapping[str, Callable[[int], Workload]] | None = None,
) -> Figure:
    """A figure of one workload; `beside` names other workloads whose rate it is put in relation to."""

    def measure(rows: int, trials: int) -> Record:
        run_once(build(max(2_000, rows // 500)))  # kernels loaded, before the idle process is weighed
        others = {relation: other(rows) for relation, other in (beside or {}).items()}
        return compared(build(rows), trials, others)

    return Figure(name, measure, targets)
