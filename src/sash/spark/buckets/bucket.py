"""One bucket of a stage: the circuits, the rows that wait for time, the clocks.

It takes the packs of a batch and gives answers, or packs for the next stage. All buckets see the
same clocks, so all of them move to the same instant. What it gives is a function of its state and
the packs: a batch that is played again gives the same again.
"""

from __future__ import annotations

__all__ = ["Bucket", "Given"]

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.catalog.clock import Clock, instant_column
from sash.catalog.waiting import Waiting, released
from sash.engine.circuit import Circuit
from sash.engine.expressions import Faults
from sash.engine.state.saving import changes_of, changes_table, under
from sash.lifetimes import BEGINNING, Changes, Instant
from sash.spark.buckets.packing import dealt, packed
from sash.spark.buckets.packs import Clocks, Pack
from sash.spark.pipelines.pipeline import Pipeline, Root, Stage
from sash.spark.results import own_columns

_STRIDE_ROWS = 65_536
"""A batch's rows are all in memory anyway: smaller strides would cost more than they save."""


@dataclass
class _Running:
    """One circuit and the rows that wait for it, by flow or table."""

    root: Root
    circuit: Circuit
    waiting: dict[str, Waiting]
    above: tuple[str, ...]
    """The queries that it is, or goes into."""


@dataclass(frozen=True)
class Given:
    """What a bucket gives for a batch."""

    answers: list[pa.RecordBatch]
    """Rows of the result, query by query, in the columns of each query."""
    packs: pa.RecordBatch | None = None
    """Packs for the next stage; None from the last one."""


class Bucket:
    """The state of one bucket, and its step."""

    def __init__(self, pipeline: Pipeline, stage: Stage, number: int) -> None:
        self.pipeline, self.stage, self.number = pipeline, stage, number
        self.is_last = stage.number == len(pipeline.stages)
        self.clocks = {
            spec.definition.name: Clock(spec.definition.timed, spec.definition.lateness)
            for spec in pipeline.streams
        }
        self.greatest = dict.fromkeys(self.clocks, BEGINNING)
        self.rows = dict.fromkeys(self.clocks, 0)
        self.late = dict.fromkeys(self.clocks, 0)
        self.malformed = dict.fromkeys(self.clocks, 0)
        self.changes = {root.name: 0 for root in stage.roots if root.is_query}
        self.faults: dict[str, int] = {}
        self.late_rows: list[tuple[str, Changes]] = []
        """Late rows of the last batch, by stream, where they are to be kept."""
        self._running = [self._started(root) for root in stage.roots]
        self._next = None if self.is_last else pipeline.stages[stage.number]
        self._counted = self._first_flows()

    def _started(self, root: Root) -> _Running:
        circuit = Circuit(root.plan, edge=not root.is_query, stride_rows=_STRIDE_ROWS)
        waiting = {flow.name: Waiting() for flow in root.flows}
        for table in circuit.tables:
            history = self.pipeline.tables[table.lower()]
            waiting[table] = Waiting([history.since(self.pipeline.kind, BEGINNING)])
        return _Running(root, circuit, waiting, self.pipeline.queries_above(root))

    def _first_flows(self) -> set[str]:
        """One flow per stream, in which its late rows are counted."""
        first: dict[str, str] = {}
        for name, stream in self.stage.streams.items():
            first.setdefault(stream, name)
        return set(first.values())

    # A batch

    def step(self, packs: Sequence[Pack]) -> Given:
        """Take the packs of a batch; give rows of the result, and packs for the next stage."""
        packs = sorted(packs, key=lambda pack: pack.order)
        self.late_rows = []
        if self.stage.number == 1:
            self._enter(packs)
        else:
            self._take(packs)
        answers: list[pa.RecordBatch] = []
        given: dict[str, Changes] = {}
        for running in self._running:
            self._move(running)
            if running.root.is_query:
                answers.extend(self._answer(running))
            else:
                assert running.circuit.edge is not None
                given[running.root.name] = running.circuit.edge.take()
        return Given(answers, None if self.is_last else self._packs(given))

    def _enter(self, packs: Sequence[Pack]) -> None:
        """Rows of streams: late ones out, the others wait; clocks move by what was seen."""
        before = dict(self.clocks)
        fresh = {name for pack in packs for name, seen in pack.seen.items() if seen.rows}
        for name in fresh:
            if before[name].idle:
                reached = max(self._reached(q) for q, own in self.pipeline.streams_of.items() if name in own)
                before[name] = replace(before[name].advanced(reached), idle=False)
        self.clocks = dict(before)
        for pack in packs:
            for name, changes in pack.rows.items():
                stream = self.stage.streams[name]
                on_time = changes.begin > before[stream].frontier
                if not on_time.all():
                    if name in self._counted:
                        self.late[stream] += int(np.count_nonzero(~on_time))
                        if self.pipeline.late is not None:
                            self.late_rows.append((stream, changes.filter(~on_time)))
                    changes = changes.filter(on_time)
                self._wait(name, changes)
            for name, seen in pack.seen.items():
                self.rows[name] += seen.rows
                self.malformed[name] += seen.malformed
                if seen.greatest is not None:
                    self.greatest[name] = max(self.greatest[name], seen.greatest)
                    self.clocks[name] = self.clocks[name].seen(seen.greatest)
            for cause, count in pack.faults.items():
                self.faults[cause] = self.faults.get(cause, 0) + (count if self.number == 0 else 0)
        self._controlled(packs, fresh)

    def _controlled(self, packs: Sequence[Pack], fresh: set[str]) -> None:
        """What the source said about time."""
        idle = frozenset[str]().union(*(pack.control.idle for pack in packs)) - fresh
        for name in idle:
            rested = self.clocks[name].advanced(self.greatest[name])
            self.clocks[name] = replace(rested, idle=True)
        now = max((pack.control.now for pack in packs if pack.control.now is not None), default=None)
        if now is not None and self.pipeline.kind == "timestamp":
            for name, clock in self.clocks.items():
                self.clocks[name] = clock.seen(now)
        if any(pack.control.end for pack in packs):
            end = max(self.greatest.values(), default=BEGINNING)
            for name, clock in self.clocks.items():
                self.clocks[name] = clock.advanced(end)

    def _take(self, packs: Sequence[Pack]) -> None:
        """Rows of the stage before: certain already, and with its clocks."""
        for pack in packs:
            for name, changes in pack.rows.items():
                self._wait(name, changes)
            for name, (frontier, idle) in (pack.clocks or {}).items():
                moved = self.clocks[name].advanced(frontier)
                self.clocks[name] = replace(moved, idle=idle)

    def _reached(self, query: str) -> Instant:
        """How far a query goes, in whichever stage it ends: as far as its streams, idle ones left out."""
        clocks = [self.clocks[name] for name in self.pipeline.streams_of[query]]
        awake = [clock.frontier for clock in clocks if not clock.idle]
        return min(awake) if awake else max(clock.frontier for clock in clocks)

    def _wait(self, flow: str, changes: Changes) -> None:
        for running in self._running:
            if flow in running.waiting:
                running.waiting[flow].add(changes)

    def _move(self, running: _Running) -> None:
        frontier = self._due(running)
        if frontier > running.circuit.frontier:
            running.circuit.step(frontier, released(running.waiting, frontier))

    def _due(self, running: _Running) -> Instant:
        """How far a circuit goes now.

        A flow goes as far as its own streams. While one of them is idle it goes no farther than a query
        above it, since behind that the rows with which the stream comes back are late.
        """
        clocks = [self.clocks[name] for name in running.root.streams]
        if running.root.is_query or any(clock.idle for clock in clocks):
            return max(map(self._reached, running.above))
        return min(clock.frontier for clock in clocks)

    def _answer(self, running: _Running) -> list[pa.RecordBatch]:
        """A query's changes in its own columns."""
        table = running.circuit.output.take_changes()
        self.changes[running.root.name] += table.num_rows
        at = table.num_columns - 2
        table = table.set_column(at, "at", instant_column(table.column(at), self.pipeline.kind))
        return own_columns(table, running.root.name)

    def _packs(self, given: Mapping[str, Changes]) -> pa.RecordBatch:
        """Packs for every bucket of the next stage."""
        assert self._next is not None
        buckets = self.pipeline.buckets_of(self._next)
        rows: list[dict[str, Changes]] = [{} for _ in range(buckets)]
        faults = Faults()
        for name, changes in given.items():
            for bucket, own in dealt(changes, self._next.flows[name], buckets, self.number, faults):
                rows[bucket][name] = own
        clocks: Clocks = {name: (clock.frontier, clock.idle) for name, clock in self.clocks.items()}
        return packed([Pack((self.number,), own, clocks=clocks) for own in rows])

    # State

    @property
    def measures(self) -> dict[str, Any]:
        """Counters, and what is held."""
        held = [measure for running in self._running for measure in running.circuit.measure()]
        faults = dict(self.faults)
        for running in self._running:
            for cause, count in running.circuit.faults.counts.items():
                faults[cause] = faults.get(cause, 0) + count
        return {
            "rows": self.rows, "late": self.late, "malformed": self.malformed, "changes": self.changes,
            "faults": faults, "state_rows": sum(one.rows for one in held),
            "state_bytes": sum(one.nbytes for one in held),
            "frontiers": {r.root.name: r.circuit.frontier for r in self._running if r.root.is_query},
            "waiting": sum(len(w) for r in self._running for w in r.waiting.values()),
        }  # fmt: skip

    def save(self) -> dict[str, pa.Table]:
        """All state as tables by name."""
        facts = {
            "clocks": {name: [clock.frontier, clock.idle] for name, clock in self.clocks.items()},
            "greatest": self.greatest, "rows": self.rows, "late": self.late, "malformed": self.malformed,
            "changes": self.changes, "faults": self.faults,
            "counts": [dict(running.circuit.faults.counts) for running in self._running],
        }  # fmt: skip
        saved = {"facts": pa.table({"json": [json.dumps(facts)]})}
        for i, running in enumerate(self._running):
            saved |= {f"{i}/circuit/{name}": table for name, table in running.circuit.save().items()}
            for name, waiting in running.waiting.items():
                changes = waiting.everything()
                if changes is not None:
                    saved[f"{i}/waiting/{name}"] = changes_table(changes)
        return saved

    def load(self, saved: Mapping[str, pa.Table]) -> None:
        """Go on from a saved state of the same pipeline."""
        facts = json.loads(saved["facts"].column("json")[0].as_py())
        for name, (frontier, idle) in facts["clocks"].items():
            self.clocks[name] = replace(self.clocks[name], frontier=frontier, idle=idle)
        for name in ("greatest", "rows", "late", "malformed", "changes", "faults"):
            setattr(self, name, facts[name])
        for i, running in enumerate(self._running):
            running.circuit.load(under(f"{i}/circuit", saved))
            running.circuit.faults.counts.update(facts["counts"][i])
            for name in running.waiting:
                table = saved.get(f"{i}/waiting/{name}")
                running.waiting[name] = Waiting([] if table is None else [changes_of(table)])
