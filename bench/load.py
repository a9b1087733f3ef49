"""Load on a server of this machine: requests of a file over some connections, bounded in time.

    python bench/load.py PORT PATH BODIES [--connections N] [--seconds S] [--rate R] [--core C]

BODIES has a JSON body a line. Without --rate each connection sends its next request when the one
before is answered. With --rate so many requests a second are sent whatever becomes of them, on
connections that are free, of at most N. Printed as JSON: replies by status, requests without an
answer or with two, seconds, and quantiles of the milliseconds by status.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections import Counter, defaultdict, deque
from pathlib import Path
from time import perf_counter

import uvloop


class Client(asyncio.Protocol):
    """One connection, with at most one request."""

    def __init__(self, load: Load) -> None:
        self.load, self.buffer = load, b""
        self.sent: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def ask(self) -> None:
        self.sent = perf_counter()
        self.load.sent += 1
        self.transport.write(self.load.next_request())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            start = head.index(b"content-length:") + 15
            size = int(head[start:].split(b"\r\n", 1)[0])
            if len(self.buffer) < end + 4 + size:
                return
            self.buffer = self.buffer[end + 4 + size :]
            self.answered(int(head[9:12]), closing=b"connection: close" in head)

    def answered(self, status: int, *, closing: bool) -> None:
        if self.sent is None:
            self.load.twice += 1
            return
        self.load.times[status].append(perf_counter() - self.sent)
        self.sent = None
        if not closing:
            self.load.free(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.load.lost += self.sent is not None
        self.sent = None
        self.load.gone(self)


class Load:
    """All connections, and what became of their requests."""

    def __init__(self, port: int, path: str, bodies: list[bytes], rate: float) -> None:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        )
        self.requests = [
            f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies
        ]
        self.port, self.rate, self.number = port, rate, 0
        self.idle: deque[Client] = deque()
        self.clients: set[Client] = set()
        self.times: dict[int, list[float]] = defaultdict(list)
        self.sent = self.lost = self.twice = self.unsent = 0
        self.running = True

    def next_request(self) -> bytes:
        self.number += 1
        return self.requests[self.number % len(self.requests)]

    def free(self, client: Client) -> None:
        if not self.running:
            client.transport.close()
        elif self.rate:
            self.idle.append(client)
        else:
            client.ask()

    def gone(self, client: Client) -> None:
        self.clients.discard(client)
        if client in self.idle:
            self.idle.remove(client)

    async def connect(self) -> Client:
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: Client(self), "127.0.0.1", self.port)
        self.clients.add(client)
        return client

    async def run(self, connections: int, seconds: float) -> float:
        """Seconds that it took."""
        for _ in range(connections):
            self.idle.append(await self.connect())
        began = perf_counter()
        if self.rate:
            await self.paced(seconds)
        else:
            for client in list(self.idle):
                client.ask()
            await asyncio.sleep(seconds)
        self.running, took = False, perf_counter() - began
        end = perf_counter() + 40
        while any(client.sent is not None for client in self.clients) and perf_counter() < end:
            await asyncio.sleep(0.02)
        self.lost += sum(client.sent is not None for client in self.clients)
        for client in list(self.clients):
            client.transport.close()
        return took

    async def paced(self, seconds: float) -> None:
        began = perf_counter()
        due = 0
        while (now := perf_counter() - began) < seconds:
            wanted = int(now * self.rate)
            for _ in range(wanted - due):
                if self.idle:
                    self.idle.popleft().ask()
                else:
                    self.unsent += 1
            due = wanted
            await asyncio.sleep(0.002)


def quantile(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("path")
    parser.add_argument("bodies", type=Path)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    if not 0 < options.seconds <= 3600 or not 0 < options.connections <= 2000:
        parser.error("at most an hour and 2000 connections")
    os.sched_setaffinity(0, {options.core})
    bodies = options.bodies.read_bytes().splitlines()
    load = Load(options.port, options.path, bodies, options.rate)
    seconds = uvloop.run(load.run(options.connections, options.seconds))
    shown = {
        "sent": load.sent,
        "replies": Counter({status: len(times) for status, times in load.times.items()}),
        "lost": load.lost,
        "twice": load.twice,
        "unsent": load.unsent,
        "seconds": round(seconds, 3),
        "ms": {
            status: {"p50": quantile(times, 0.5), "p99": quantile(times, 0.99)}
            for status, times in load.times.items()
        },
    }
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
