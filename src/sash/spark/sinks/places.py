"""The folders that a run fills: each has one sink, and none is read by the same run."""

from __future__ import annotations

__all__ = ["as_file_name", "check_places", "place_of"]

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from sash.errors import SashError

if TYPE_CHECKING:
    from sash.spark.sinks.sink import Part


def place_of(path: str) -> str:
    """One text for all ways to write a folder's path.

    >>> place_of("file:///data/./out/"), place_of("s3://bucket/out/")
    ('/data/out', 's3://bucket/out')
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return path.rstrip("/") if re.match(r"[a-zA-Z][\w+.-]*:/", path) else os.path.realpath(path)


def as_file_name(name: str) -> str:
    """The name of a query or sink as that of one file or folder, whatever is in it.

    >>> as_file_name("top 10"), as_file_name("../x"), as_file_name("..")
    ('top 10', '..%2Fx', '%2E%2E')
    """
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe=" ")


def check_places(parts: Sequence[Part], read: Mapping[str, str]) -> None:
    """Raise if two sinks would fill one folder, or one of them what a stream is read from.

    Of two sinks, the second would take the first one's batches for its own and leave its rows out; and
    a stream that reads what it leads to never ends.
    """
    filled: dict[str, str] = {}
    for part in parts:
        place = part.sink.place
        if place is None:
            continue
        if place in filled:
            raise SashError(
                "SASH-SPARK-087",
                f"The sinks '{filled[place]}' and '{part.name}' would both fill the folder '{place}'.",
                remedy="Give each a folder of its own, or let both queries go INTO one of them.",
            )
        filled[place] = part.name
    for stream, path in read.items():
        if place_of(path) in filled:
            raise SashError(
                "SASH-SPARK-087",
                f"The sink '{filled[place_of(path)]}' would fill the folder '{path}', which stream "
                f"'{stream}' is read from.",
                remedy="Give the sink a folder of its own.",
            )
