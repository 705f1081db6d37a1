"""The start of a run: queries become a pipeline, a checkpoint is taken, Spark is told what to do."""

from __future__ import annotations

__all__ = ["changes_frame", "start_run"]

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.catalog.planning import Planned, kind_of
from sash.catalog.tables import History
from sash.errors import SashError
from sash.spark.buckets.assembly import assemble, pack_frame
from sash.spark.checkpoints.checkpoint import Checkpoint
from sash.spark.checkpoints.records import record_of
from sash.spark.failures import sash_error
from sash.spark.feeds import Feed
from sash.spark.handle import Handle
from sash.spark.pipelines.pipeline import Pipeline, make_pipeline, with_id
from sash.spark.results import check_columns, kind_of_all
from sash.spark.sessions.local_logs import suit_checkpoint
from sash.spark.settings import Settings
from sash.spark.sinks import Part, Run, check_places, start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RETAIN = "spark.sql.streaming.minBatchesToRetain"


@dataclass(frozen=True)
class Plan:
    """Everything a run is made of."""

    spark: SparkSession
    queries: Mapping[str, Planned]
    feeds: Mapping[str, Feed]
    """By the streams' names in lower case."""
    tables: Mapping[str, History]
    settings: Settings
    until_end: bool = False


def start_run(plan: Plan, parts: Sequence[Part], name: str, checkpoint: object, trigger: object) -> Handle:
    """Start queries as one Spark query into one or several sinks."""
    for part in parts:
        part.sink.check(part.queries)
    check_places(parts, _folders(plan))
    triggered = trigger_of(trigger)
    held = Checkpoint(checkpoint)
    try:
        pipeline = pipeline_of(plan, held)
        if pipeline.end_file is not None:
            Path(pipeline.end_file).unlink(missing_ok=True)  # left by a run that was killed
        try:
            frame = _frame(plan, pipeline, held)
            run = Run(plan.spark, name, held.path, held.id, held.is_new, triggered)
            query = start(frame, parts, run)
        except SashError:
            raise
        except Exception as error:
            raise sash_error(error) from error
    except BaseException:
        held.close()
        raise
    return Handle(query, held, [part.sink for part in parts], plan.until_end, pipeline.end_file)


def _folders(plan: Plan) -> dict[str, str]:
    """The folders that the streams of a run are read from, as far as Sash knows them."""
    folders = {}
    for stream in {stream for planned in plan.queries.values() for stream in planned.streams}:
        definition = plan.feeds[stream].definition
        for name, value in definition.options:
            if name.lower() == "path":
                folders[definition.name] = value
    return folders


def changes_frame(plan: Plan, checkpoint: Checkpoint) -> DataFrame:
    """The streaming frame of changes, its state under a checkpoint that is now bound to it."""
    return _frame(plan, pipeline_of(plan, checkpoint), checkpoint)


def _frame(plan: Plan, pipeline: Pipeline, checkpoint: Checkpoint) -> DataFrame:
    checkpoint.settle(record_of(pipeline, plan.queries))
    pipeline = with_id(pipeline, checkpoint.id)
    suit_checkpoint(plan.spark, str(checkpoint.path))
    return assemble(pipeline, _packs(plan, pipeline))


def pipeline_of(plan: Plan, checkpoint: Checkpoint | None) -> Pipeline:
    """The placed plans, cut into as many buckets as the checkpoint has, or as the settings say.

    Without a checkpoint it is to be looked at, not to be run.
    """
    check_columns(plan.queries)
    kinds = {}
    for name, planned in plan.queries.items():
        if checkpoint is not None:
            _check_sources(name, planned, plan.feeds)
        kinds[name] = kind_of(plan.feeds[stream].definition for stream in planned.streams)
    settings, recorded = plan.settings, None if checkpoint is None else checkpoint.recorded
    if recorded is not None and settings.buckets is None and not settings.low_latency:
        settings = replace(settings, buckets=recorded.buckets)
    sizes = settings.sizes(plan.spark.sparkContext.defaultParallelism)
    used = {table for planned in plan.queries.values() for table in planned.tables}
    return make_pipeline(
        [feed.spec for feed in plan.feeds.values()],
        {name: planned.optimized for name, planned in plan.queries.items()},
        kind_of_all(kinds),
        "" if checkpoint is None else str(checkpoint.path),
        tables={name: history for name, history in plan.tables.items() if name in used},
        buckets=sizes.buckets,
        partitions=sizes.partitions,
        hosts=sizes.hosts,
        tasks=sizes.tasks,
        one_node=re.fullmatch(r"local(\[.*\])?", plan.spark.sparkContext.master) is not None,
        until_end=plan.until_end,
        idle_timeout=settings.idle_timeout,
        heartbeat=settings.heartbeat,
        late=settings.late,
        temporary=checkpoint is not None and checkpoint.temporary,
        retain=settings.retain or int(plan.spark.conf.get(_RETAIN, "100") or 100),
    )


def _check_sources(name: str, planned: Planned, feeds: Mapping[str, Feed]) -> None:
    for stream in planned.streams:
        if not feeds[stream].is_fed:
            raise SashError(
                "SASH-SPARK-075",
                f"Stream '{feeds[stream].definition.name}' of query '{name}' has no source.",
                remedy="Create it WITH (format = ..., path = ...), or from a DataFrame with create_stream().",
            )


def _packs(plan: Plan, pipeline: Pipeline) -> DataFrame:
    """The packs of all streams: one source for those that Sash reads, and what tells the time."""
    frames = []
    if pipeline.has_source:
        from sash.spark.source.source import SashSource, pack_option

        plan.spark.dataSource.register(SashSource)
        reader = plan.spark.readStream.format(SashSource.name()).option("pipeline", pack_option(pipeline))
        frames.append(reader.load())
    for spec in pipeline.streams:
        frame = plan.feeds[spec.definition.name.lower()].frame
        if frame is not None:
            frames.append(pack_frame(frame, pipeline, spec.definition.name))
    packs = frames[0]
    for frame in frames[1:]:
        packs = packs.union(frame)
    return packs


_LENGTH = re.compile(
    r"(interval\s+)?(\d+(\.\d+)?\s+(microsecond|millisecond|second|minute|hour|day|week)s?(\s+|$))+"
)


def trigger_of(trigger: object) -> dict[str, Any]:
    """What PySpark's `trigger()` is told.

    >>> trigger_of(None), trigger_of("5 seconds"), trigger_of(0.5), trigger_of({"availableNow": True})
    ({}, {'processingTime': '5 seconds'}, {'processingTime': '500 milliseconds'}, {'availableNow': True})
    """
    if trigger is None:
        return {}
    if isinstance(trigger, str) and _LENGTH.fullmatch(trigger.strip().lower()):
        return {"processingTime": trigger}
    if isinstance(trigger, int | float) and not isinstance(trigger, bool) and trigger >= 0:
        return {"processingTime": f"{round(trigger * 1000)} milliseconds"}
    if isinstance(trigger, dict) and len(trigger) == 1 and set(trigger) <= {"processingTime", "availableNow"}:
        return dict(trigger)
    raise SashError(
        "SASH-SPARK-076",
        f"{trigger!r} is no trigger.",
        remedy="Give a length of time such as '5 seconds', or {'availableNow': True}, or nothing.",
    )
