"""What runs, as data: streams, placed plans, buckets. It is pickled and goes to every worker.

A pipeline has stages. Stage 1 takes the flows that the packers make of the streams, each further
stage the flows of the one before. A stage has one circuit for each flow it gives and each query that
ends in it. Tasks of Spark run a leg of stages: a shuffle lies between legs, and none within.
"""

from __future__ import annotations

__all__ = ["Pipeline", "Root", "Stage", "StreamSpec", "make_pipeline", "with_id"]

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from sash.catalog.clock import Kind
from sash.catalog.tables import History
from sash.language.statements import StreamDefinition
from sash.plan.nodes import Exchange, Node, Source
from sash.spark.pipelines.placement import place, stage_of
from sash.spark.pipelines.sharing import share, source_columns, source_of


@dataclass(frozen=True)
class StreamSpec:
    """A stream and where its rows come from: files that Sash reads itself, or (None) a DataFrame."""

    definition: StreamDefinition
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Root:
    """One circuit of a stage: a query's answer, or a flow for the next stage."""

    name: str
    plan: Node
    is_query: bool

    @cached_property
    def flows(self) -> tuple[Exchange, ...]:
        """Where its rows come in."""
        return tuple(dict.fromkeys(_entries(self.plan)))

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """The streams its time follows."""
        return tuple(dict.fromkeys(node.name for node in self.plan.walk() if isinstance(node, Source)))


@dataclass(frozen=True)
class Stage:
    """The circuits that run side by side in the buckets of one stage."""

    number: int
    roots: tuple[Root, ...]

    @cached_property
    def flows(self) -> dict[str, Exchange]:
        """What comes in, by name."""
        return {flow.name: flow for root in self.roots for flow in root.flows}

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each flow."""
        return {n: pa.schema([(f.name, f.type) for f in flow.schema]) for n, flow in self.flows.items()}

    @cached_property
    def is_meeting(self) -> bool:
        """Whether all that the stage before gives comes together in one bucket."""
        return self.number > 1 and all(flow.keys == () for flow in self.flows.values())

    @cached_property
    def streams(self) -> dict[str, str]:
        """The stream of each flow that is rows of one: of the first stage, all."""
        sources = {name: source_of(flow.input) for name, flow in self.flows.items()}
        return {name: source.name for name, source in sources.items() if source is not None}


@dataclass(frozen=True)
class Pipeline:
    """All of it. `checkpoint` is the folder of Spark's checkpoint; Sash's own files are in `sash/` there."""

    streams: tuple[StreamSpec, ...]
    queries: Mapping[str, Node]
    """The placed plans by the queries' names."""
    kind: Kind
    checkpoint: str
    tables: Mapping[str, History] = field(default_factory=dict)
    buckets: int = 2
    partitions: int = 2
    hosts: int = 2
    tasks: int = 2
    until_end: bool = False
    idle_timeout: float | None = None
    heartbeat: float | None = None
    late: str | None = None
    """A folder for late rows."""
    retain: int = 100
    """For how many batches back state is kept, as Spark keeps its own."""
    one_node: bool = False
    """Whether all tasks run on one node, where each sees at once what others have written."""
    temporary: bool = False
    """Whether the checkpoint goes with the run."""
    id: str = ""
    """The checkpoint's, once it is bound to the pipeline."""

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages in order; the first is number 1."""
        last = max(map(stage_of, self.queries.values()))
        roots: list[dict[Root, None]] = [{} for _ in range(last + 1)]
        for name, plan in self.queries.items():
            roots[stage_of(plan)][Root(name, plan, True)] = None
            for node in plan.walk():
                if isinstance(node, Exchange) and stage_of(node) > 1:
                    roots[stage_of(node) - 1][Root(node.name, node.input, False)] = None
        return tuple(Stage(i, tuple(roots[i])) for i in range(1, last + 1))

    @cached_property
    def legs(self) -> tuple[tuple[Stage, ...], ...]:
        """The stages, those together that tasks of Spark run one behind the other, without a shuffle."""
        legs: list[list[Stage]] = []
        for stage in self.stages:
            if legs and (self.partitions == 1 or (self.one_node and stage.is_meeting)):
                legs[-1].append(stage)
            else:
                legs.append([stage])
        return tuple(map(tuple, legs))

    def buckets_of(self, stage: Stage) -> int:
        """Into how many parts the state of a stage is cut."""
        return 1 if stage.is_meeting else self.buckets

    @cached_property
    def streams_of(self) -> dict[str, tuple[str, ...]]:
        """The streams that each query reads."""
        return {name: Root(name, plan, True).streams for name, plan in self.queries.items()}

    def queries_above(self, root: Root) -> tuple[str, ...]:
        """The queries that a flow goes into; of a query, itself."""
        if root.is_query:
            return (root.name,)

        def has_it(plan: Node) -> bool:
            return any(isinstance(node, Exchange) and node.name == root.name for node in plan.walk())

        return tuple(name for name, plan in self.queries.items() if has_it(plan))

    @property
    def has_source(self) -> bool:
        """Whether there is a source of Sash's: for the rows that it reads itself, or to tell the time."""
        timed = self.until_end or self.heartbeat is not None or self.idle_timeout is not None
        return timed or any(spec.format is not None for spec in self.streams)

    @property
    def end_file(self) -> str | None:
        """Where the end of a run is announced, if only the driver can know that all rows are in."""
        frames = any(spec.format is None for spec in self.streams)
        return f"{self.checkpoint}/sash/end" if self.until_end and frames else None

    @cached_property
    def digest(self) -> str:
        """Tells pipelines apart."""
        return hashlib.sha256(pickle.dumps(self)).hexdigest()[:16]

    def stream(self, name: str) -> StreamSpec:
        """The stream of that name."""
        return next(spec for spec in self.streams if spec.definition.name == name)

    def columns(self, stream: str) -> tuple[str, ...]:
        """The columns of a stream that any query reads, its time among them, in the stream's order."""
        definition = self.stream(stream).definition
        used = {definition.time}
        for name, source in self.stages[0].streams.items():
            if source == stream:
                used |= source_columns(self.stages[0].flows[name].input)
        return tuple(definition.fields[i].name for i in sorted(used))

    @cached_property
    def schema(self) -> pa.Schema:
        """The rows that come out: `query` where there are several, the columns, `at` and `change`."""
        fields: dict[str, pa.Field] = {}
        if len(self.queries) > 1:
            fields["query"] = pa.field("query", pa.string(), nullable=False)
        for plan in self.queries.values():
            for column in plan.schema:
                fields.setdefault(column.name, pa.field(column.name, column.type))
        at = pa.timestamp("us") if self.kind == "timestamp" else pa.int64()
        fields["at"] = pa.field("at", at, nullable=False)
        fields["change"] = pa.field("change", pa.int64(), nullable=False)
        return pa.schema(list(fields.values()))


def make_pipeline(
    streams: Sequence[StreamSpec],
    queries: Mapping[str, Node],
    kind: Kind,
    checkpoint: str,
    **settings: object,
) -> Pipeline:
    """A pipeline of optimized plans: placed, and sharing what can be shared."""
    kept = settings.get("late") is not None
    placed = share({name: place(plan) for name, plan in queries.items()}, whole=kept)
    read = {node.name for plan in placed.values() for node in plan.walk() if isinstance(node, Source)}
    used = tuple(spec for spec in streams if spec.definition.name in read)
    return _worked_out(Pipeline(used, placed, kind, checkpoint, **settings))  # type: ignore[arg-type]


def with_id(pipeline: Pipeline, id: str) -> Pipeline:
    """The pipeline, knowing the id of its checkpoint."""
    return _worked_out(replace(pipeline, id=id))


def _worked_out(pipeline: Pipeline) -> Pipeline:
    _ = pipeline.digest, pipeline.stages  # made once, here, and pickled with the rest
    return pipeline


def _entries(node: Node) -> list[Exchange]:
    if isinstance(node, Exchange):
        return [node]
    return [entry for child in node.inputs for entry in _entries(child)]
