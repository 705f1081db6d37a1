"""`sash.connect(spark)` and `sash.connect("spark")`: a session, given or made, and a database in it."""

from __future__ import annotations

__all__ = ["connect_to"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sash.errors import SashError
from sash.spark.sessions.sessions import check_packages, check_session, make_session

if TYPE_CHECKING:
    from sash.spark.database import SparkDatabase

_OF_SESSION = ("master", "app_name")


def connect_to(target: object, settings: Mapping[str, Any]) -> SparkDatabase:
    """A database in the session that was given, or in a new one for "spark"."""
    if isinstance(target, str) and target.lower() != "spark":
        raise SashError(
            "SASH-SPARK-009",
            f"Sash cannot connect to '{target}'.",
            remedy="Call sash.connect() for a database in this process, sash.connect('spark') for one on a "
            "Spark of its own, or give a SparkSession.",
        )
    check_packages()
    from sash.spark.database import SparkDatabase
    from sash.spark.settings import settings_from

    given = {name: value for name, value in settings.items() if _is_of_session(name)}
    own = settings_from({name: value for name, value in settings.items() if name not in given})
    if isinstance(target, str):
        return SparkDatabase(make_session(**given), owns_session=True, settings=own)
    if given:
        raise SashError(
            "SASH-SPARK-008",
            f"'{next(iter(given))}' belongs to a Spark session, and one was given.",
            remedy="Make the session with it.",
        )
    return SparkDatabase(check_session(target), settings=own)


def _is_of_session(name: str) -> bool:
    return name in _OF_SESSION or name.startswith("spark.")
