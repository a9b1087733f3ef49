"""Connections of clients, bounded in number, time and size of their headers.

A `BoundedProtocol` is uvicorn's protocol with these bounds: a client that is slow, silent or gone
takes no place from others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from unspool.serve.problems import MEDIA, problem_content

READING = 10.0  # seconds for a whole request; a connection kept for the next one may wait as long
WRITING = 60.0  # seconds in which a client has to take what was written
RATE = 50_000  # bytes of a body that give another second
HEAD = 65_536  # bytes of a request before its body
HEADERS = 100
LINGER = 0.3  # seconds that an idle connection has to send a request while the server ends


class Connections:
    """Open connections, the longest-waiting first, with the moment at which each is late; None
    while its reply is being computed."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.late: dict[Any, float | None] = {}

    def __len__(self) -> int:
        return len(self.late)

    def add(self, connection: Any) -> bool:
        """Return whether there is room for one more, if need be by ending the connection idle for
        longest; there is none while all of them are being answered."""
        if len(self) >= self.most and not self.end_longest():
            return False
        self.expect(connection, READING)
        return True

    def expect(self, connection: Any, seconds: float | None) -> None:
        """The client has so many seconds from now on; None: it is our turn."""
        self.late.pop(connection, None)
        self.late[connection] = None if seconds is None else monotonic() + seconds

    def remove(self, connection: Any) -> None:
        self.late.pop(connection, None)

    def end_late(self) -> None:
        now = monotonic()
        for connection in [c for c, end in self.late.items() if end is not None and end < now]:
            self.end(connection)

    def end_longest(self) -> bool:
        """Return whether one waited for its client and was ended."""
        connection = next((c for c, end in self.late.items() if end is not None), None)
        if connection is not None:
            self.end(connection)
        return connection is not None

    def end(self, connection: Any) -> None:
        self.remove(connection)
        connection.transport.abort()

    async def watch(self) -> None:
        """End late connections, for ever."""
        while True:
            await asyncio.sleep(min(0.5, READING / 4))
            self.end_late()


def bounded_protocol(connections: Connections, head: int = HEAD) -> type[HttpToolsProtocol]:
    """The protocol of a server with these connections."""

    class BoundedProtocol(HttpToolsProtocol):
        """One connection."""

        head = 0  # bytes of the request so far, until its headers are complete
        reading_body = False
        received = size = 0
        on_lost: Callable[[], None] | None = None  # when the client has gone
        refusal = (400, "a request that cannot be read")

        def connection_made(self, transport: Any) -> None:
            self.in_head = True
            super().connection_made(transport)
            if not connections.add(self):
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            connections.remove(self)
            super().connection_lost(exc)
            if self.on_lost is not None:
                self.on_lost()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            if self.in_head:
                self.head += len(data)
            elif self.reading_body:
                self.received += len(data)
                connections.late[self] = (connections.late.get(self) or monotonic()) + (
                    len(data) / RATE
                )
            super().data_received(data)
            if self.in_head and self.head > head:
                self.refuse(431 if self.headers else 414, "the headers are too long")

        def on_header(self, name: bytes, value: bytes) -> None:
            self.size += len(name) + len(value)
            if len(self.headers) >= HEADERS or self.size > head:
                self.refusal = (431, f"a request has at most {HEADERS} headers of {head:,} bytes")
                raise ValueError
            super().on_header(name, value)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.in_head, self.received, self.size = True, 0, 0
            self.scope["state"]["connection"] = self
            connections.expect(self, READING)

        def on_headers_complete(self) -> None:
            self.in_head, self.head, self.reading_body = False, 0, True
            if len(self.url) > head:
                self.refusal = (414, "the address is too long")
                raise ValueError
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self.in_head, self.reading_body = True, False
            connections.expect(self, None)
            super().on_message_complete()

        def on_response_complete(self) -> None:
            self.on_lost = None
            super().on_response_complete()
            if not self.pipeline:
                connections.expect(self, WRITING if self.flow.write_paused else READING)

        def pause_writing(self) -> None:
            super().pause_writing()
            connections.expect(self, WRITING)

        def resume_writing(self) -> None:
            super().resume_writing()
            done = self.cycle is None or self.cycle.response_complete
            connections.expect(self, READING if done else None)

        def hold(self) -> None:
            """Allow this request all the time that it takes, as a stream does."""
            connections.expect(self, None)
            self.reading_body = False

        def shutdown(self) -> None:
            """An idle connection may have sent a request that was not read yet."""
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.keep_alive = False
            else:
                self.loop.call_later(LINGER, self.close_idle)

        def close_idle(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()
            else:
                self.cycle.keep_alive = False

        def handle_websocket_upgrade(self) -> None:
            connections.remove(self)  # the streams of a server have their own bound
            super().handle_websocket_upgrade()

        def send_400_response(self, msg: str) -> None:
            self.refuse(*self.refusal)

        def refuse(self, status: int, detail: str) -> None:
            """Answer what cannot be read, and close."""
            if self.transport.is_closing():
                return
            content = problem_content(status, detail)
            lines = [
                f"HTTP/1.1 {status} Refused",
                "server: unspool",
                f"content-type: {MEDIA}",
                f"content-length: {len(content)}",
                "connection: close",
                "",
                "",
            ]
            self.transport.write("\r\n".join(lines).encode() + content)
            self.transport.close()

    return BoundedProtocol
