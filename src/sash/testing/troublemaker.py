"""A source that spoils good rows on purpose, and says what it did: for tests of what must not break."""

from __future__ import annotations

__all__ = ["TROUBLES", "Trouble", "Troublemaker"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

Row = dict[str, object]


@dataclass(frozen=True)
class Trouble:
    """Rows to push, what was done to them, and whether a session must refuse them."""

    kind: str
    rows: list[Row]
    refused: bool


class Troublemaker:
    """Takes batches of good rows; gives them back, now and then spoilt.

    >>> maker = Troublemaker(Random(1), time="ts", share=1.0, kinds=("null time",))
    >>> [trouble.rows for trouble in maker([[{"ts": 1}]])]
    [[{'ts': None}]]
    """

    def __init__(
        self, random: Random, time: str, share: float = 0.3, kinds: Sequence[str] = (), late_by: int = 1_000
    ) -> None:
        self.random, self.time, self.share, self.late_by = random, time, share, late_by
        self.kinds = tuple(kinds) or tuple(TROUBLES)

    def __call__(self, batches: Sequence[list[Row]]) -> Iterator[Trouble]:
        for batch in batches:
            if batch and self.random.random() < self.share:
                yield self.spoil(batch)
            else:
                yield Trouble("none", batch, refused=False)

    def spoil(self, batch: list[Row], kind: str | None = None) -> Trouble:
        """One batch with one kind of trouble in it."""
        kind = self.random.choice(self.kinds) if kind is None else kind
        rows = [dict(row) for row in batch]
        refused = TROUBLES[kind](self, rows, self.random.randrange(len(rows)))
        return Trouble(kind, rows, refused)

    def _late(self, rows: list[Row], victim: int) -> bool:
        rows[victim][self.time] -= self.late_by  # type: ignore[operator]
        return False

    def _duplicate(self, rows: list[Row], victim: int) -> bool:
        rows.insert(victim, dict(rows[victim]))
        return False

    def _null_time(self, rows: list[Row], victim: int) -> bool:
        rows[victim][self.time] = None
        return True

    def _surplus(self, rows: list[Row], victim: int) -> bool:
        rows[victim]["surplus_field"] = 1
        return True

    def _missing(self, rows: list[Row], victim: int) -> bool:
        del rows[victim][self.time]
        return True

    def _wrong_type(self, rows: list[Row], victim: int) -> bool:
        rows[victim][self.time] = "not a time"
        return True


TROUBLES: dict[str, Callable[[Troublemaker, list[Row], int], bool]] = {
    "late": Troublemaker._late,
    "duplicate": Troublemaker._duplicate,
    "null time": Troublemaker._null_time,
    "surplus field": Troublemaker._surplus,
    "missing field": Troublemaker._missing,
    "wrong type": Troublemaker._wrong_type,
}
"""What can be done to a batch, by name; each says whether a session must refuse the batch."""
