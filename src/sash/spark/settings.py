"""What a database on Spark can be told when it is made; unknown settings are an error, not a wish."""

from __future__ import annotations

__all__ = ["Settings", "Sizes", "settings_from"]

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from sash.catalog.arguments import check_settings, setting_refused
from sash.language.durations import duration
from sash.optimizer import RULES

_COUNTS = ("buckets", "partitions", "hosts", "tasks")
_MOST_BUCKETS = 10_000


@dataclass(frozen=True)
class Sizes:
    """Into how many parts a pipeline is cut: what a checkpoint is bound to, and what it is not."""

    buckets: int
    partitions: int
    hosts: int
    tasks: int


@dataclass(frozen=True)
class Settings:
    """How a database on Spark behaves. What is None is chosen when a pipeline starts.

    `buckets`: into how many parts state is cut by key; a checkpoint keeps its number.
    `partitions`: how many tasks of Spark work on the buckets; `tasks`: how many read the sources.
    `hosts`: how many processes on a node keep buckets in memory; by default one for each core.
    `low_latency`: one bucket, partition, host and task: least time for a trigger of few rows.
    `idle_timeout`: after how long without rows a stream holds no query back, in seconds or as text.
    `heartbeat`: how often time moves on without rows, in seconds or as text; None means never.
    `late`: a folder to which late rows are written as Parquet; they are counted in any case.
    `retain`: for how many batches back state is kept, as `spark.sql.streaming.minBatchesToRetain` says
    of Spark's own. `rules`: the optimizer's rules.
    """

    allow_unbounded: bool = False
    low_latency: bool = False
    buckets: int | None = None
    partitions: int | None = None
    hosts: int | None = None
    tasks: int | None = None
    idle_timeout: float | None = None
    heartbeat: float | None = None
    late: str | None = None
    retain: int | None = None
    rules: tuple[Callable[..., Any], ...] = RULES

    def sizes(self, cores: int) -> Sizes:
        """The numbers that were given, and for the others those that suit so many cores.

        >>> Settings(buckets=7).sizes(4)
        Sizes(buckets=7, partitions=4, hosts=4, tasks=4)
        >>> Settings(low_latency=True).sizes(4)
        Sizes(buckets=1, partitions=1, hosts=1, tasks=1)
        >>> Settings(buckets=2, partitions=3).sizes(4)  # a task without a bucket has nothing to do
        Sizes(buckets=2, partitions=2, hosts=4, tasks=4)
        """
        cores = 1 if self.low_latency else max(1, cores)
        partitions = self.partitions or cores
        partitions = min(partitions, self.buckets or partitions)
        return Sizes(self.buckets or partitions, partitions, self.hosts or cores, self.tasks or cores)


def settings_from(given: Mapping[str, Any]) -> Settings:
    """The settings with those given changed; an error that says what there is for an unknown one.

    >>> settings_from({"idle_timeout": "2 minutes"}).idle_timeout
    120.0
    """
    check_settings(given, {field.name for field in fields(Settings)})
    settings = replace(Settings(), **given)
    for name in ("allow_unbounded", "low_latency"):
        if not isinstance(getattr(settings, name), bool):
            raise setting_refused(name, getattr(settings, name), "Give True or False.")
    for name in (*_COUNTS, "retain"):
        _check_count(name, getattr(settings, name))
    if settings.low_latency:
        for name in _COUNTS:
            if getattr(settings, name) not in (None, 1):
                remedy = "With low_latency=True there is one of each: leave the setting out."
                raise setting_refused(name, getattr(settings, name), remedy)
    settings = replace(
        settings,
        idle_timeout=_seconds("idle_timeout", settings.idle_timeout),
        heartbeat=_seconds("heartbeat", settings.heartbeat),
    )
    settings = replace(settings, late=_folder("late", settings.late))
    if not isinstance(settings.rules, tuple | list) or not all(map(callable, settings.rules)):
        raise setting_refused("rules", settings.rules, "Give rules of sash.optimizer, in a tuple.")
    return replace(settings, rules=tuple(settings.rules))


def _check_count(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_BUCKETS:
        raise setting_refused(name, value, f"Give a whole number from 1 to {_MOST_BUCKETS}, or None.")


def _folder(name: str, value: object) -> str | None:
    """A folder, with its whole path: who writes there may work elsewhere."""
    if value is None:
        return None
    if not isinstance(value, str) or not value or re.match(r"[a-zA-Z][\w+.-]*:/", value):
        raise setting_refused(name, value, "Give a path that all executors see, as text, or None.")
    return os.path.abspath(value)


def _seconds(name: str, value: object) -> float | None:
    """A length of processing time in seconds."""
    if value is None:
        return None
    seconds = -1.0
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str):
        try:
            seconds = duration(value) / 1e6
        except ValueError:
            seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise setting_refused(name, value, "Give seconds, a timedelta or text such as '2 minutes', or None.")
    return seconds
