"""Every error a user can meet: one class, a stable code, one sentence, the place, the remedy.

An error is raised where its cause is known. Its code (`SASH-<FAMILY>-<number>`) never changes
meaning; its text may be improved. Families: PARSE (text), BIND (names and types), PLAN (what a
query may not ask), DATA (rows), TIME (clocks), STATE (snapshots), TABLE, SESSION,
SOURCE (files of a stream on Spark), CLI.
"""

from __future__ import annotations

__all__ = ["Place", "SashError"]

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text the trouble is: offsets of its first character and of the one after its last.

    >>> print(Place("SELECT srx FROM packets", 7, 10).render())
    line 1, column 8
      SELECT srx FROM packets
             ^^^
    """

    text: str
    start: int
    end: int

    def render(self) -> str:
        """The line with carets below the place."""
        line_start = self.text.rfind("\n", 0, self.start) + 1
        line_end = self.text.find("\n", self.start)
        line = self.text[line_start : len(self.text) if line_end < 0 else line_end]
        number = self.text.count("\n", 0, self.start) + 1
        column = self.start - line_start
        width = max(1, min(self.end - self.start, len(line) - column))
        return f"line {number}, column {column + 1}\n  {line}\n  {' ' * column}{'^' * width}"


class SashError(Exception):
    """What went wrong, where, and what to do about it.

    >>> error = SashError("SASH-BIND-001", "There is no column 'srx'.", remedy="Did you mean 'src'?")
    >>> print(error)
    SASH-BIND-001: There is no column 'srx'. Did you mean 'src'?
    """

    def __init__(self, code: str, message: str, *, remedy: str, place: Place | None = None) -> None:
        self.code = code
        self.message = message
        self.remedy = remedy
        self.place = place
        super().__init__(code, message)

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, (self.code, self.message, self.remedy, self.place)

    def __str__(self) -> str:
        text = f"{self.code}: {self.message} {self.remedy}"
        return text if self.place is None else f"{text}\n{self.place.render()}"


def _made_again(code: str, message: str, remedy: str, place: Place | None) -> SashError:
    """An error that came from another process."""
    return SashError(code, message, remedy=remedy, place=place)
