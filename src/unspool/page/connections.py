"""The connections of a server: how many there may be, and how long each may keep it waiting.

In: sockets as they are accepted. Out: those that are late, or in the way of newer ones, shut down:
the thread that reads or writes one then finds it closed, and ends.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from threading import Lock

MOST = 64  # at once; browsers open six
READING = 10.0  # seconds for a whole request; a connection kept for the next one may wait as long
WRITING = 60.0  # seconds for a whole reply


class Connections:
    """Open sockets, the longest-waiting first, with the moment at which each is late; None while
    its reply is being computed."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._late: dict[socket.socket, float | None] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._late)

    def add(self, connection: socket.socket) -> bool:
        """Whether there is room for one more; it is made by ending the one that has been waiting
        for a request longest. There is none where all of them are being answered."""
        if len(self) >= self.most and not self.end_longest():
            return False
        self.expect(connection, READING)
        return True

    def expect(self, connection: socket.socket, seconds: float | None) -> None:
        """The client has so many seconds from now on; None: it is our turn."""
        with self._lock:
            self._late.pop(connection, None)
            self._late[connection] = None if seconds is None else time.monotonic() + seconds

    def remove(self, connection: socket.socket) -> None:
        with self._lock:
            self._late.pop(connection, None)

    def end_late(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = [own for own, end in self._late.items() if end is not None and end < now]
            for own in late:
                self._end(own)

    def end_longest(self) -> bool:
        """Whether one waited for its client and was ended."""
        with self._lock:
            own = next((own for own, end in self._late.items() if end is not None), None)
            if own is not None:
                self._end(own)
            return own is not None

    def _end(self, connection: socket.socket) -> None:
        del self._late[connection]
        with suppress(OSError):  # the client was quicker
            connection.shutdown(socket.SHUT_RDWR)
