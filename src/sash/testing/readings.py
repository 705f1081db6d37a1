"""The ways to read a fixture: however its input is cut, saved or planned, it must say the same."""

from __future__ import annotations

__all__ = ["AS_WRITTEN", "Cut", "Reading", "readings"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Cut = Literal["written", "once", "instants", "random"]


@dataclass(frozen=True)
class Reading:
    """One way: how pushes are cut, whether the session is saved and loaded between them, its settings."""

    name: str
    cut: Cut = "written"
    seed: int = 0
    saves: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


AS_WRITTEN = Reading("as written")


def readings(rules: Sequence[object] = (), seed: int = 0) -> tuple[Reading, ...]:
    """Every way, given the optimizer's rules: one way more for each, with that rule left out.

    >>> [reading.name for reading in readings()][:4]
    ['as written', 'in one step', 'one step per instant', 'in random cuts']
    """
    without = tuple(
        Reading(f"without {getattr(rule, '__name__', rule)}", settings={"rules": _but(rules, rule)})
        for rule in rules
    )
    return (
        AS_WRITTEN,
        Reading("in one step", "once"),
        Reading("one step per instant", "instants"),
        Reading("in random cuts", "random", seed),
        Reading("in other random cuts", "random", seed + 1),
        Reading("saved and loaded between steps", saves=True),
        Reading("saved and loaded between random cuts", "random", seed + 2, saves=True),
        *without,
        *((Reading("without any rule", settings={"rules": ()}),) if rules else ()),
    )


def _but(rules: Sequence[object], rule: object) -> tuple[object, ...]:
    return tuple(other for other in rules if other is not rule)
