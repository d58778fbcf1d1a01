"""A load generator for HTTP services: keep-alive connections on raw sockets, in a closed loop or at a fixed rate.

The requests of a file are sent in turn.

Prints JSON: requests per second, and latencies in milliseconds.  At a fixed rate, latency counts from the time at which a request
was due, whether or not a connection was free (no coordinated omission).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import cast

import numpy as np
import uvloop

STATUS_OK = b"HTTP/1.1 200"
PATIENCE = 20.0  # seconds after the end until which responses count
LENGTH = b"\r\ncontent-length:"


@dataclass
class Load:
    """The requests under way: connections that are free, requests that are due, and latencies so far."""

    requests: Iterator[bytes]
    is_closed_loop: bool
    end: float
    free: deque[Connection] = field(default_factory=deque)
    due: deque[float] = field(default_factory=deque)
    latencies: list[float] = field(default_factory=list)
    failures: int = 0

    def next(self, connection: Connection) -> None:
        """Gives a connection that is free its next request."""
        now = time.perf_counter()
        if self.is_closed_loop and now < self.end:
            connection.send(now)
        elif self.due:
            connection.send(self.due.popleft())
        else:
            self.free.append(connection)

    def offer(self, due: float) -> None:
        """A request of a fixed rate."""
        if self.free:
            self.free.popleft().send(due)
        else:
            self.due.append(due)


class Connection(asyncio.Protocol):
    """One connection, which has at most one request under way."""

    def __init__(self, load: Load) -> None:
        self.load, self.buffer, self.since = load, bytearray(), 0.0
        self.length = 0  # of the response, if its head has arrived
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    def send(self, since: float) -> None:
        self.since = since
        assert self.transport is not None
        self.transport.write(next(self.load.requests))

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.length == 0:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self.buffer[:end]).lower()
            start = head.index(LENGTH) + len(LENGTH)
            self.length = end + 4 + int(head[start:].partition(b"\r")[0])
        if len(self.buffer) < self.length:
            return
        self.load.failures += not self.buffer.startswith(STATUS_OK)
        self.load.latencies.append(time.perf_counter() - self.since)
        self.buffer, self.length = bytearray(), 0
        self.load.next(self)


def write_requests(path: Path, requests: Sequence[bytes]) -> None:
    path.write_bytes(b"".join(len(request).to_bytes(8, "little") + request for request in requests))


def read_requests(path: Path) -> list[bytes]:
    data, offset, requests = path.read_bytes(), 0, []
    while offset < len(data):
        begin = offset + 8
        offset = begin + int.from_bytes(data[offset:begin], "little")
        requests.append(data[begin:offset])
    return requests


async def measure(
    port: int, requests: Sequence[bytes], connections: int, seconds: float, rate: float
) -> dict[str, float]:
    """rate: requests per second that are offered; 0: a closed loop over the connections."""
    loop = asyncio.get_running_loop()
    load = Load(cycle(requests), rate == 0, time.perf_counter() + 1e9)
    protocols = [
        (await loop.create_connection(lambda: Connection(load), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    begin = time.perf_counter()
    load.end = begin + seconds
    for protocol in protocols:
        load.next(protocol)
    sent = 0
    while (now := time.perf_counter()) < load.end:
        while rate and begin + sent / rate <= now:
            load.offer(begin + sent / rate)
            sent += 1
        await asyncio.sleep(0.0005 if rate else 0.05)
    while (load.due or len(load.free) < connections) and time.perf_counter() < load.end + PATIENCE:
        await asyncio.sleep(0.001)
    elapsed = time.perf_counter() - begin
    milliseconds = np.array(load.latencies) * 1000
    return {
        "rate": len(load.latencies) / elapsed,
        "count": len(load.latencies),
        "median": float(np.median(milliseconds)),
        "p99": float(np.percentile(milliseconds, 99)),
        "failures": load.failures + (sent - len(load.latencies) if rate else 0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("requests", type=Path, help="a file of HTTP requests, as `write_requests` writes it")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rate", type=float, default=0)
    args = parser.parse_args()
    work = measure(args.port, read_requests(args.requests), args.connections, args.seconds, args.rate)
    gc.disable()  # a collection would be a latency of the service
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        json.dump(runner.run(work), sys.stdout)


if __name__ == "__main__":
    main()
