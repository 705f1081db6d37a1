"""What a measured value must reach, so that a report can say which promises are kept."""

from __future__ import annotations

__all__ = ["Record", "Target", "verdicts"]

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
"""One line of a report, ready for JSON."""


@dataclass(frozen=True)
class Target:
    """What a measured value of a record must reach (or, with `at_most`, may not pass).

    >>> Target("ratios.rocksdb", 8).met({"ratios": {"rocksdb": 9.5}})
    True
    """

    measure: str
    """Where the value is; dots lead into records within the record."""
    bound: float
    at_most: bool = False

    def met(self, record: Record) -> bool:
        """Whether the record holds the value and the value will do."""
        value: Any = record
        for name in self.measure.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return False
        return bool(value <= self.bound if self.at_most else value >= self.bound)

    def __str__(self) -> str:
        return f"{self.measure} {'<=' if self.at_most else '>='} {self.bound:g}"


def verdicts(record: Record, targets: Sequence[Target]) -> Record:
    """What the record had to reach, and whether it did.

    >>> verdicts({"ratio": 1.0}, [Target("ratio", 1.2)])
    {'target': 'ratio >= 1.2', 'target_met': False}
    """
    return {
        "target": " and ".join(map(str, targets)),
        "target_met": all(target.met(record) for target in targets),
    }
