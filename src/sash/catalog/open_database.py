"""What every database has in common: it is open until it is closed, and says what it holds."""

from __future__ import annotations

__all__ = ["OpenDatabase", "counted"]

from types import TracebackType
from typing import Self

from sash.errors import SashError


class OpenDatabase:
    """A database that can be closed; as a context it is closed at the end."""

    closed = False

    def close(self) -> None:
        """End everything; further use is an error."""
        raise NotImplementedError  # each has its own things to end

    def check_open(self) -> None:
        """Raise if the database was closed."""
        if self.closed:
            raise SashError(
                "SASH-SESSION-006", "This database is closed.", remedy="Make a new one with sash.connect()."
            )

    def __enter__(self) -> Self:
        self.check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def counted(streams: int, tables: int, queries: int) -> str:
    """What a database holds, in words.

    >>> counted(1, 0, 2)
    '1 stream, 0 tables, 2 queries'
    """
    parts = [(streams, "stream", "streams"), (tables, "table", "tables"), (queries, "query", "queries")]
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in parts)
