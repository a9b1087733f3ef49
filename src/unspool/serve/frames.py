"""Frames between the process that speaks HTTP and that of a model, over a Unix socket.

request  length, id, operation, flags, length of the argument | argument | body
reply    length, id, status, whether it is the last | content
"""

from __future__ import annotations

import struct
from typing import NamedTuple

REQUEST = struct.Struct("<IIBBH")
REPLY = struct.Struct("<IIHB")

# Operations of a model.
CANCEL, PREDICT, EXPLAIN, EMBED, COMPLETE, INFER, STREAM, LOOK, CLOSE = range(9)
STARTED = 0  # the id of the description that a process sends first
BATCHES = 1  # the id of its figures


class RequestFrame(NamedTuple):
    id: int
    operation: int
    argument: str
    body: bytes


class Reply(NamedTuple):
    id: int
    status: int
    last: bool
    content: bytes


def request_frame(id: int, operation: int, argument: str, body: bytes) -> bytes:
    text = argument.encode()
    size = len(text) + len(body)
    return REQUEST.pack(size, id, operation, 0, len(text)) + text + body


def reply_frame(id: int, status: int, content: bytes, *, last: bool = True) -> bytes:
    return REPLY.pack(len(content), id, status, last) + content


class RequestReader:
    """Requests out of the bytes of a socket."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[RequestFrame]:
        self._buffer += data
        start, end, complete = 0, len(self._buffer), list[RequestFrame]()
        while end - start >= REQUEST.size:
            size, id, operation, _, argument = REQUEST.unpack_from(self._buffer, start)
            first = start + REQUEST.size
            if end - first < size:
                break
            middle, start = first + argument, first + size
            text = self._buffer[first:middle].decode()
            complete.append(RequestFrame(id, operation, text, bytes(self._buffer[middle:start])))
        del self._buffer[:start]
        return complete


class ReplyReader:
    """Replies out of the bytes of a socket."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Reply]:
        self._buffer += data
        start, end, complete = 0, len(self._buffer), list[Reply]()
        while end - start >= REPLY.size:
            size, id, status, last = REPLY.unpack_from(self._buffer, start)
            first = start + REPLY.size
            if end - first < size:
                break
            start = first + size
            complete.append(Reply(id, status, bool(last), bytes(self._buffer[first:start])))
        del self._buffer[:start]
        return complete
