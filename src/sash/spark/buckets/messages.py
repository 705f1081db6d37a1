"""What workers and hosts tell each other over a local socket: messages, raw buffers, record batches.

Many batches do not go through the socket. They are written into memory that has no name, and the other
side is given the right to look at it: what it passes on to Spark is then copied once less. When it has
done so the memory is written over: fresh memory costs several times what the copy does.
"""

from __future__ import annotations

__all__ = ["USED", "Memory", "receive", "receive_batches", "send", "send_batches"]

import os
import pickle
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sash.spark.buckets.pieces import read_pieces, write_pieces

USED = "used"
"""What a worker tells when it has used the batches that it was given."""
_SIZES = struct.Struct("<IQ")
_MANY = 1 << 18
"""Bytes: fewer go through the socket."""
_ROOMY = 4
"""Times as many bytes as are needed may be held."""


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


class Memory:
    """Memory without a name that holds some batches, and later others. OSError if the system gives none.

    >>> memory = Memory()
    >>> [memory.fill([pa.record_batch({"n": range(rows)})]) for rows in (1_000, 10)]
    [8280, 360]
    >>> memory.close()
    """

    def __init__(self) -> None:
        if not hasattr(os, "memfd_create"):
            raise OSError("no memory without a name")
        self._file = open(os.memfd_create("sash-results"), "wb")  # noqa: SIM115 (closed by `close`)

    @property
    def handle(self) -> int:
        """What the other side is given."""
        return self._file.fileno()

    def fill(self, batches: Sequence[pa.RecordBatch]) -> int:
        """Write batches over what was there; how many bytes they take. Little is held for little."""
        self._file.seek(0)
        write_pieces(self._file, batches)
        size = self._file.tell()
        if os.fstat(self.handle).st_size > _ROOMY * size:
            self._file.truncate()
        self._file.flush()
        return size

    def close(self) -> None:
        """Let go of it; who looks at it may go on."""
        self._file.close()


def send_batches(
    connection: socket.socket, batches: Sequence[pa.RecordBatch], memory: Memory | None = None
) -> None:
    """Batches, each with its schema: through the memory if there are many, else through the socket."""
    size = None
    if memory is not None and sum(batch.nbytes for batch in batches) >= _MANY:
        with suppress(OSError):  # there is none left
            size = memory.fill(batches)
    if memory is not None and size is not None:
        send(connection, ("shared", size))
        socket.send_fds(connection, [b"."], [memory.handle])
        return
    sink = pa.BufferOutputStream()
    write_pieces(sink, batches)
    send(connection, ("sent", 0), [sink.getvalue()])


def receive_batches(connection: socket.socket) -> Iterator[pa.RecordBatch]:
    """What `send_batches` sent; its memory is not to be written over before the last batch was used."""
    (how, size), buffers = receive(connection)
    if how == "sent":
        return read_pieces(pa.BufferReader(buffers[0]))
    mark, given, _, _ = socket.recv_fds(connection, 1, 1)
    if not mark or not given:
        raise EOFError("the other side has gone")
    try:
        with pa.memory_map(f"/proc/self/fd/{given[0]}") as memory:
            return read_pieces(pa.BufferReader(memory.read_buffer(size)))
    finally:
        os.close(given[0])
