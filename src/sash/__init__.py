"""Sash: continuous queries in CQL over streams and tables, with exact answers over sliding windows.

`connect()` gives a database in this process, `connect(spark)` one on Spark, `load(path)` one that
was saved; every error is a `SashError`. Nothing heavy is imported before the first of them is called.
"""

from __future__ import annotations

__all__ = ["SashError", "__version__", "connect", "load"]

from typing import TYPE_CHECKING, Any, overload

from sash.errors import SashError

if TYPE_CHECKING:
    import os

    from sash.session.database import Database
    from sash.spark.database import SparkDatabase

__version__ = "0.1.0"


@overload
def connect(target: None = None, **settings: Any) -> Database: ...


@overload
def connect(target: object, **settings: Any) -> SparkDatabase: ...


def connect(target: object = None, **settings: Any) -> Database | SparkDatabase:
    """A new database in this process; with a SparkSession, or "spark", one on Spark.

    Settings in-process: `allow_unbounded`, `wait_for_empty_streams`, `max_pending_changes`,
    `max_late_rows`, `rules`, `watch`; `sash.session.settings` says what they do. On Spark:
    `allow_unbounded`, `low_latency`, `buckets`, `partitions`, `idle_timeout`, `heartbeat`, `late` and
    more; see `sash.spark.settings`. `connect("spark")` makes a local session, and takes `master`,
    `app_name` and Spark's own settings besides.

    >>> db = connect()
    >>> db.execute("CREATE STREAM packets (ts BIGINT, src STRING, bytes BIGINT) TIME ts")
    >>> talkers = db.query("SELECT src, SUM(bytes) AS bytes FROM packets [RANGE 60] GROUP BY src")
    >>> db.push("packets", [{"ts": 1, "src": "a", "bytes": 10}, {"ts": 5, "src": "a", "bytes": 20}])
    >>> db.advance(10)
    >>> talkers.answer().to_pylist()
    [{'src': 'a', 'bytes': 30}]
    """
    if target is not None:
        from sash.spark.connecting import connect_to

        return connect_to(target, settings)
    from sash.session.database import Database
    from sash.session.settings import settings_from

    return Database(settings_from(settings))


def load(path: str | os.PathLike[str], **settings: Any) -> Database:
    """The database that `db.save(path)` wrote; it goes on exactly from there.

    The saved settings hold unless given anew; `rules` and `watch` are never saved.
    """
    from sash.session.saving import restore

    return restore(path, settings)
