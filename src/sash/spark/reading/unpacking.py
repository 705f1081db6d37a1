"""Compressed text files: the ending of a file's name says how it is packed, as it does for Spark.

Arrow unpacks most kinds. Those that only Hadoop writes in its own way are unpacked here, as a whole:
zlib's streams (`.deflate`) and blocks of Snappy (`.snappy`).
"""

from __future__ import annotations

__all__ = ["open_text"]

import zlib

import pyarrow as pa
from pyarrow import fs

_BY_ARROW = {".gz": "gzip", ".gzip": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4"}


def open_text(where: fs.FileSystem, path: str) -> pa.NativeFile:
    """The text of a file, unpacked if its name says that it is compressed."""
    ending = path[path.rfind(".") :].lower()
    if ending not in (".deflate", ".snappy"):
        return where.open_input_stream(path, compression=_BY_ARROW.get(ending))
    with where.open_input_stream(path, compression=None) as source:
        data = source.read()
    return pa.BufferReader(_inflated(data) if ending == ".deflate" else _from_blocks(data))


def _inflated(data: bytes) -> bytes:
    """The streams of zlib that follow each other in a file.

    >>> _inflated(zlib.compress(b"1,a;") + zlib.compress(b"2,b;"))
    b'1,a;2,b;'
    """
    parts = []
    while data:
        stream = zlib.decompressobj()
        try:
            parts.append(stream.decompress(data))
        except zlib.error as error:
            raise OSError(str(error)) from None
        if not stream.eof:
            raise OSError("the compressed data end too early")
        data = stream.unused_data
    return b"".join(parts)


def _from_blocks(data: bytes) -> bytes:
    """Hadoop's blocks of Snappy: the length of a block's text, then parts with the length of each."""
    codec, parts, at = pa.Codec("snappy"), [], 0
    while at < len(data):
        missing, at = _length(data, at)
        while missing > 0:
            size, at = _length(data, at)
            packed = _taken(data, at, size)
            part = codec.decompress(packed, _text_length(packed), asbytes=True)
            parts.append(part)
            missing, at = missing - len(part), at + size
    return b"".join(parts)


def _length(data: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(_taken(data, at, 4), "big"), at + 4


def _text_length(packed: bytes) -> int:
    """How long a part is when it is unpacked: it begins with that, seven bits to a byte."""
    length = 0
    for i, byte in enumerate(packed[:5]):
        length |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return length
    raise OSError("the compressed data are damaged")


def _taken(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise OSError("the compressed data end too early")
    return data[at : at + size]
