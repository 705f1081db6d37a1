"""What a database can be told when it is made; unknown settings are an error, not a wish."""

from __future__ import annotations

__all__ = ["Settings", "settings_from"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sash.catalog.arguments import check_settings, setting_refused
from sash.optimizer import RULES


@dataclass(frozen=True)
class Settings:
    """How a database behaves.

    `wait_for_empty_streams`: whether a stream that never had a row holds queries back.
    `max_pending_changes`: how many changes of a query may wait to be drained by `changes()`.
    `max_late_rows`: how many late rows of a stream are kept for `late()`; all are counted.
    `rules`: the optimizer's rules; `watch`: called for each edge of a circuit, for tests.
    """

    allow_unbounded: bool = False
    wait_for_empty_streams: bool = True
    max_pending_changes: int = 50_000_000
    max_late_rows: int = 100_000
    rules: tuple[Callable[..., Any], ...] = RULES
    watch: Any = None  # engine.circuit.Watch, or None

    @property
    def saved(self) -> dict[str, Any]:
        """The settings that a snapshot keeps: all but functions."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("rules", "watch")}


def settings_from(given: Mapping[str, Any], start: Settings | None = None) -> Settings:
    """The settings with those given changed; an error that says what there is for an unknown one.

    >>> settings_from({"allow_unbounded": True}).allow_unbounded
    True
    """
    check_settings(given, {field.name for field in fields(Settings)})
    settings = replace(start or Settings(), **given)
    for name in ("max_pending_changes", "max_late_rows"):
        value = getattr(settings, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise setting_refused(name, value, "Give a number of rows, not negative.")
    for name in ("allow_unbounded", "wait_for_empty_streams"):
        if not isinstance(getattr(settings, name), bool):
            raise setting_refused(name, getattr(settings, name), "Give True or False.")
    if not isinstance(settings.rules, (tuple, list)) or not all(map(callable, settings.rules)):
        raise setting_refused("rules", settings.rules, "Give rules of sash.optimizer, in a tuple.")
    if settings.watch is not None and not callable(settings.watch):
        raise setting_refused("watch", settings.watch, "Give a function, or None.")
    return replace(settings, rules=tuple(settings.rules))
