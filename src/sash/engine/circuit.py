"""The circuit: a plan's operators in topological order, moved forward one step at a time.

A step takes all rows that are certain up to a frontier and gives all changes up to it, exact at
every instant in between. Equal parts of a plan are computed once. The same circuit runs in a
session, in a benchmark and in a test.
"""

from __future__ import annotations

__all__ = ["Circuit", "Measure", "Watch"]

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from sash.engine.closing import closing
from sash.engine.compile import closing_operator_for, operator_for, reads
from sash.engine.expressions import Faults
from sash.engine.lowering import lower
from sash.engine.memory import share_memory
from sash.engine.operator import Operator
from sash.engine.operators.project import ProjectColumns
from sash.engine.operators.select import SelectRows
from sash.engine.operators.union import UnionAll
from sash.engine.output import Edge, Output
from sash.engine.state.saving import under
from sash.lifetimes import BEGINNING, Changes, Instant
from sash.plan.keys import nets
from sash.plan.nodes import Exchange, Node, Source, TableScan
from sash.plan.patterns import Pattern, pattern

_BROUGHT = (Source, TableScan, Exchange)
"""Nodes whose rows come from outside the circuit."""


class Watch(Protocol):
    """Called after every operator's step: the tests' contract wrapper.

    `closes` says that the operator ends its rows by negative ones, whatever the plan promises.
    """

    def __call__(
        self,
        node: Node,
        inputs: tuple[Changes, ...],
        output: Changes,
        before: Instant,
        frontier: Instant,
        held_rows: int,
        closes: bool,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Measure:
    """What one operator holds."""

    operator: str
    rows: int
    nbytes: int


@dataclass(frozen=True, eq=False)
class _Place:
    """An operator and the places of its inputs; none for a source."""

    node: Node
    operator: Operator | None
    inputs: tuple[int, ...]


class Circuit:
    """The running form of one optimised plan.

    With `edge`, what the last operator gives goes on to another circuit: signed lifetimes as they are.
    About how many rows come or go at once is for the operators to say, unless `stride_rows` does.
    """

    def __init__(
        self,
        plan: Node,
        *,
        since: Instant = BEGINNING,
        watch: Watch | None = None,
        edge: bool = False,
        stride_rows: int | None = None,
    ) -> None:
        share_memory()
        self.plan = lower(plan)
        self.faults = Faults()
        self.frontier: Instant = BEGINNING
        self._watch = watch
        is_stream = pattern(self.plan) is Pattern.MON
        self._places: list[_Place] = []
        self._closing = frozenset[Node]() if is_stream or edge else closing(self.plan)
        self._place(self.plan, {})
        if not (is_stream or edge) and not self._tells(len(self._places) - 1):
            self._places, self._closing = [], frozenset()
            self._place(self.plan, {})
        for k, place in enumerate(self._places):
            reading = [each.operator for each in self._places if k in each.inputs]
            if place.operator is not None and reading:
                place.operator.ends_are_read = any(each is None or each.reads_ends for each in reading)
        readers = {k: i for i, place in enumerate(self._places) for k in place.inputs}
        self._last_read = [[k for k, last in readers.items() if last == i] for i in range(len(self._places))]
        nodes = [place.node for place in self._places]
        coming = [node.name for node in nodes if isinstance(node, Source | Exchange)]
        self.streams = tuple(dict.fromkeys(coming))
        self.tables = tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, TableScan)))
        operators = [place.operator for place in self._places if place.operator is not None]
        self._stride_rows = stride_rows or min(each.stride_rows for each in [*operators, Operator(())])
        top = self._places[-1].operator
        self.edge = Edge(self.plan.schema) if edge else None
        self._told = self._tells(len(self._places) - 1)
        self.output = Output(
            self.plan.schema,
            is_stream=is_stream,
            nets=nets(self.plan) and not (top is not None and top.is_net),
            since=since,
            holds=not self._told,
        )

    def _place(self, node: Node, known: dict[Node, int]) -> int:
        if node not in known:
            inputs = tuple(self._place(child, known) for child in reads(node))
            self._places.append(_Place(node, self._operator(node), inputs))
            known[node] = len(self._places) - 1
        return known[node]

    def _operator(self, node: Node) -> Operator | None:
        if isinstance(node, _BROUGHT):
            return None
        return (closing_operator_for if node in self._closing else operator_for)(node, self.faults)

    def _tells(self, place: int) -> bool:
        """Whether the operators can tell what lives on this edge, so that the output need not hold it."""
        operator = self._places[place].operator
        if isinstance(operator, SelectRows | ProjectColumns | UnionAll):
            return all(map(self._tells, self._places[place].inputs))
        return operator is not None and operator.ends_itself

    def answer(self) -> pa.Table:
        """The relation at the frontier."""
        if not self._told:
            return self.output.as_answer(self.output.contents(self.frontier))
        counted = dict(self.faults.counts)
        contents = self._live(len(self._places) - 1)
        self.faults.counts = counted  # looking is not computing anew
        return self.output.as_answer(contents)

    def _live(self, place: int) -> Changes:
        operator = self._places[place].operator
        assert operator is not None
        if operator.ends_itself:
            return operator.contents(self.frontier)
        return operator.step([self._live(i) for i in self._places[place].inputs], self.frontier)

    def step(self, frontier: Instant, inputs: dict[str, list[Changes]]) -> None:
        """Move to the frontier with the rows of streams and tables that begin by then.

        They come in parts that follow one another in time; `inputs` is emptied, so that each part can go
        as soon as it has been used.

        Where many rows come or go, that is done in several strides: what is at work then fits the
        caches, and what is made on the way does not outweigh the windows.
        """
        for parts in inputs.values():
            parts[:] = filter(len, parts)
        for cut in [*_cuts(frontier, inputs, self._most_ends(frontier), self._stride_rows), frontier]:
            taken = {name: Changes.concat(_until(cut, parts)) for name, parts in inputs.items() if parts}
            self._stride(cut, taken)

    def _most_ends(self, frontier: Instant) -> np.ndarray:
        """When rows end up to the frontier, as seen by the operator that has most ends to come."""
        calendars = [ends for place in self._places if place.operator for ends in place.operator.ends]
        most = max([*calendars, *self.output.ends], key=len)
        return most.due(frontier) if len(most) > self._stride_rows else np.empty(0, np.int64)

    def _stride(self, frontier: Instant, inputs: dict[str, Changes]) -> None:
        before, self.frontier = self.frontier, frontier
        places = list(enumerate(self._places))
        edges = {i: _brought(place.node, inputs) for i, place in places if place.operator is None}
        inputs.clear()
        for i, place in places:
            if place.operator is None:
                continue
            taken = tuple(edges[k] for k in place.inputs)
            for k in self._last_read[i]:
                del edges[k]  # what nobody reads any more makes room for what is to come
            edges[i] = given = place.operator.step(taken, frontier)
            if self._watch is not None:
                closes = place.node in self._closing
                self._watch(place.node, taken, given, before, frontier, place.operator.rows, closes)
            del taken, given
        (self.edge or self.output).step(edges.pop(len(self._places) - 1), frontier)

    def measure(self) -> list[Measure]:
        """What each operator holds, and the output."""
        held = [
            Measure(type(place.operator).__name__, place.operator.rows, place.operator.nbytes)
            for place in self._places
            if place.operator is not None
        ]
        return [*held, Measure("Output", self.output.rows, self.output.nbytes)]

    def save(self) -> dict[str, pa.Table]:
        """All state as tables by name."""
        saved = {f"output/{name}": table for name, table in self.output.save(self.frontier).items()}
        for i, place in enumerate(self._places):
            if place.operator is not None:
                saved |= {f"{i}/{name}": table for name, table in place.operator.save().items()}
        clock = pa.table({"frontier": pa.array([self.frontier], pa.int64())})
        return {**saved, "clock": clock, "faults": pa.table(self.faults.save())}

    def load(self, saved: Mapping[str, pa.Table]) -> None:
        """Go on from a saved state of the same plan."""
        self.frontier = saved["clock"].column("frontier")[0].as_py()
        self.faults.load(saved["faults"])
        self.output.load(under("output", saved))
        for i, place in enumerate(self._places):
            if place.operator is not None:
                place.operator.load(under(str(i), saved))


def _cuts(
    frontier: Instant, inputs: Mapping[str, Sequence[Changes]], ends: np.ndarray, most: int
) -> list[Instant]:
    """Instants that split a step's largest input, or its ends, into pieces of about `most` rows."""
    total = sum(sum(map(len, parts)) for parts in inputs.values())
    pieces = round(max(total, len(ends)) / most)
    if pieces < 2:
        return []
    by_ends = len(ends) > total
    largest = [np.sort(ends)] if by_ends else max(_begins(inputs), key=lambda some: sum(map(len, some)))
    return sorted({cut for cut in _quantiles(largest, pieces) if cut < frontier})


def _begins(inputs: Mapping[str, Sequence[Changes]]) -> list[list[np.ndarray]]:
    """The beginnings of each input's rows, part by part."""
    return [[part.begin for part in parts] for parts in inputs.values()]


def _quantiles(rising: Sequence[np.ndarray], pieces: int) -> Iterator[Instant]:
    """Where to cut instants that rise from array to array, so that the pieces have equally many."""
    starts = np.cumsum([0, *map(len, rising)])
    for place in np.arange(1, pieces) * starts[-1] // pieces:
        part = int(np.searchsorted(starts, place, side="right")) - 1
        yield int(rising[part][place - starts[part]])


def _until(cut: Instant, parts: list[Changes]) -> list[Changes]:
    """Take what begins by the cut out of parts that follow one another; at least one, which may be empty."""
    taken: list[Changes] = []
    while parts and (not taken or parts[0].begin[0] <= cut):
        stop = int(np.searchsorted(parts[0].begin, cut, side="right"))
        whole = parts.pop(0)
        taken.append(whole.slice(0, stop) if stop < len(whole) else whole)
        if stop < len(whole):
            parts.insert(0, whole.slice(stop, len(whole)))
            break
    return taken


def _brought(node: Node, inputs: Mapping[str, Changes]) -> Changes:
    assert isinstance(node, _BROUGHT)
    changes = inputs.get(node.name)
    return Changes.empty([field.type for field in node.schema]) if changes is None else changes
