"""JSON with a checksum in it, so that a changed byte is told from what was written.

The checksum is one more entry and is made of the others, as they are parsed: how the text is laid
out does not count. Files that earlier versions wrote have none and are taken as they are.
"""

from __future__ import annotations

__all__ = ["open_sealed", "sealed"]

import json
import zlib
from collections.abc import Mapping
from typing import Any

_ENTRY = "checksum"


def sealed(content: Mapping[str, Any], indent: int | None = None) -> bytes:
    """The text of a file.

    >>> sealed({"a": 1})
    b'{"a":1,"checksum":1444654255}'
    """
    text = {**content, _ENTRY: _checksum(content)}
    return json.dumps(text, indent=indent, separators=(",", ": " if indent else ":")).encode()


def open_sealed(text: bytes) -> dict[str, Any]:
    """What `sealed` was given; ValueError if the text is no such object or was changed.

    >>> open_sealed(sealed({"a": 1})), open_sealed(b'{"a": 1}')
    ({'a': 1}, {'a': 1})
    >>> open_sealed(sealed({"a": 1}).replace(b"1", b"2", 1))
    Traceback (most recent call last):
        ...
    ValueError: it does not match its checksum
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it is not in a form that this Sash knows")
    if _ENTRY in content and content.pop(_ENTRY) != _checksum(content):
        raise ValueError("it does not match its checksum")
    return content


def _checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, separators=(",", ":")).encode())
