"""Sash: continuous queries in CQL over streams and tables, with exact answers over sliding windows.

`connect()` gives a database in this process, `load(path)` one that was saved; every error is a
`SashError`. Nothing heavy is imported before the first of them is called.
"""

from __future__ import annotations

__all__ = ["SashError", "__version__", "connect", "load"]

from typing import TYPE_CHECKING, Any

from sash.errors import SashError

if TYPE_CHECKING:
    import os

    from sash.session.database import Database

__version__ = "0.1.0"


def connect(target: object = None, **settings: Any) -> Database:
    """A new database in this process.

    Settings: `allow_unbounded`, `wait_for_empty_streams`, `max_pending_changes`, `max_late_rows`,
    `rules`, `watch`; `sash.session.settings` says what they do.

    >>> db = connect()
    >>> db.execute("CREATE STREAM packets (ts BIGINT, src STRING, bytes BIGINT) TIME ts")
    >>> talkers = db.query("SELECT src, SUM(bytes) AS bytes FROM packets [RANGE 60] GROUP BY src")
    >>> db.push("packets", [{"ts": 1, "src": "a", "bytes": 10}, {"ts": 5, "src": "a", "bytes": 20}])
    >>> db.advance(10)
    >>> talkers.answer().to_pylist()
    [{'src': 'a', 'bytes': 30}]
    """
    if target is not None:
        raise SashError(
            "SASH-SESSION-014",
            "Sash on Spark is not in this release.",
            remedy="Call sash.connect() without a target for a database in this process.",
        )
    from sash.session.database import Database
    from sash.session.settings import settings_from

    return Database(settings_from(settings))


def load(path: str | os.PathLike[str], **settings: Any) -> Database:
    """The database that `db.save(path)` wrote; it goes on exactly from there.

    The saved settings hold unless given anew; `rules` and `watch` are never saved.
    """
    from sash.session.arguments import path_of
    from sash.session.saving import restore

    return restore(path_of(path), settings)
