"""One Spark session for all tests of a process: small, in a folder that goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two cores; nobody stops it but this fixture."""
    from sash.spark.sessions.sessions import make_session, stop_session

    session = make_session("local[2]", **{"spark.driver.memory": "1g"})
    yield session
    stop_session(session)
