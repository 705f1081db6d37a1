"""What workers and hosts tell each other over a local socket: messages, raw buffers, record batches.

Many batches do not go through the socket. They are written into memory that has no name, and the other
side is given the right to look at it: what it passes on to Spark is then copied once less.
"""

from __future__ import annotations

__all__ = ["receive", "receive_batches", "send", "send_batches"]

import os
import pickle
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sash.spark.buckets.pieces import read_pieces, write_pieces

_SIZES = struct.Struct("<IQ")
_MANY = 1 << 18
"""Bytes: fewer go through the socket."""


def send(connection: socket.socket, message: object, buffers: Sequence[pa.Buffer] = ()) -> None:
    """A message and raw buffers."""
    text = pickle.dumps((message, [buffer.size for buffer in buffers]))
    connection.sendall(_SIZES.pack(len(text), sum(buffer.size for buffer in buffers)) + text)
    for buffer in buffers:
        connection.sendall(buffer)


def receive(connection: socket.socket) -> tuple[Any, list[pa.Buffer]]:
    """What `send` sent; EOFError when the other side has gone."""
    length, total = _SIZES.unpack(_exactly(connection, _SIZES.size))
    message, sizes = pickle.loads(_exactly(connection, length))
    content = pa.py_buffer(_exactly(connection, total))
    buffers = []
    at = 0
    for size in sizes:
        buffers.append(content.slice(at, size))
        at += size
    return message, buffers


def _exactly(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while len(view):
        count = connection.recv_into(view)
        if not count:
            raise EOFError("the other side has gone")
        view = view[count:]
    return data


def send_batches(connection: socket.socket, batches: Sequence[pa.RecordBatch]) -> None:
    """Batches, each with its schema."""
    memory = _shared(batches) if sum(batch.nbytes for batch in batches) >= _MANY else None
    if memory is None:
        sink = pa.BufferOutputStream()
        write_pieces(sink, batches)
        send(connection, "sent", [sink.getvalue()])
        return
    try:
        send(connection, "shared")
        socket.send_fds(connection, [b"."], [memory])
    finally:
        os.close(memory)


def _shared(batches: Sequence[pa.RecordBatch]) -> int | None:
    """Memory that holds the batches, as a file that is open; None if the system gives none."""
    if not hasattr(os, "memfd_create"):
        return None
    memory = os.memfd_create("sash-results")
    with suppress(OSError):
        with pa.OSFile(_path(memory), "wb") as file:
            write_pieces(file, batches)
        return memory
    os.close(memory)
    return None


def receive_batches(connection: socket.socket) -> Iterator[pa.RecordBatch]:
    """What `send_batches` sent."""
    how, buffers = receive(connection)
    if how == "sent":
        return read_pieces(pa.BufferReader(buffers[0]))
    mark, given, _, _ = socket.recv_fds(connection, 1, 1)
    if not mark or not given:
        raise EOFError("the other side has gone")
    try:
        return read_pieces(pa.memory_map(_path(given[0])))
    finally:
        os.close(given[0])


def _path(memory: int) -> str:
    return f"/proc/self/fd/{memory}"
