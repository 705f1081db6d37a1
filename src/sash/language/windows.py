"""Windows as data: what stands in square brackets after a stream's name ([G06] §2.1.1, §3.3.2).

| form | a row lives in |
| --- | --- |
| RANGE T | [ts, ts + T) |
| RANGE T SLIDE d | [ceil(ts/d)*d, ceil((ts + T)/d)*d) |
| ROWS n SLIDE m | from the instant of row ceil(j/m)*m to that of row ceil((j + n)/m)*m, j its number |
| NOW | [ts, ts + 1) |
| UNTIL e | [ts, e) |
| UNBOUNDED | [ts, FOREVER) |
"""

from __future__ import annotations

__all__ = ["Window", "WindowKind"]

from dataclasses import dataclass
from typing import Literal

WindowKind = Literal["range", "rows", "now", "until", "unbounded"]


@dataclass(frozen=True, slots=True)
class Window:
    """A window with its lengths in ticks (or rows) and its columns as positions in the stream.

    `length` is T of RANGE (also of PARTITION BY ... ROWS n RANGE T), `rows` is n, `slide` counts
    ticks under RANGE and rows under ROWS.
    """

    kind: WindowKind
    length: int | None = None
    rows: int | None = None
    slide: int | None = None
    partition: tuple[int, ...] = ()
    until: int | None = None
    internal: bool = False
