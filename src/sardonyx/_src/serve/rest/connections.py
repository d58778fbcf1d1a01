"""Connections of the HTTP server, with limits on their number, their framing and their time.

A client that sends or reads slowly, or not at all, can hold a connection only for a limited time.  When all connections are in
use, a new one replaces the connection that has waited longest for a request.

*Framing* is everything that a client sends except bodies: request lines, headers, sizes and extensions of chunks, trailers.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

import uvicorn
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.direct_inference import DirectInference

MAX_PIPELINED = 64  # requests of a connection that wait for the response to an earlier one
PARSED = 16 << 10  # bytes that are parsed before framing is compared with its limit again
# Beyond its limit, framing may have one byte for each 8 bytes of the body, which allows chunks of 64 bytes.
BODY_PER_FRAMING = 8
TOO_LARGE_HEADER = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/json\r\ncontent-length: 43\r\nconnection: close\r\n\r\n"
    b'{"error":"the headers exceed their limit"}\n'
)


class ConnectionTable:
    """The connections of a server.

    all: all connections.
    waiting: the connections that wait for a request or its headers, those that have waited longest first.
    """

    def __init__(self, limits: ServiceLimits, most: int) -> None:
        """most: the largest number of connections at one time."""
        self.limits, self.most = limits, most
        self.all: set[LimitedHttpProtocol] = set()
        self.waiting: OrderedDict[LimitedHttpProtocol, None] = OrderedDict()

    def add(self, connection: LimitedHttpProtocol) -> bool:
        """Adds a connection, if necessary in exchange for a waiting one; False if there are too many and none waits."""
        if len(self.all) >= self.most:
            if not self.waiting:
                return False
            self.waiting.popitem(last=False)[0].abort()
        self.all.add(connection)
        return True

    def remove(self, connection: LimitedHttpProtocol) -> None:
        self.all.discard(connection)
        self.waiting.pop(connection, None)

    def close_late(self, now: float) -> None:
        """Closes the connections of clients that exceed a time limit; called about every second."""
        for connection in [c for c in self.all if c.is_late(now, self.limits)]:
            connection.abort()


class ServiceConfig(uvicorn.Config):
    """The configuration of a uvicorn server, and the table of its connections.

    direct: answers requests without the application, for `DirectHttpProtocol`.
    """

    def __init__(
        self, table: ConnectionTable, *, direct: DirectInference | None = None, **options: Any
    ) -> None:
        super().__init__(ws="none", lifespan="off", **options)
        self.table, self.direct = table, direct


class LimitedHttpProtocol(HttpToolsProtocol):
    """uvicorn's connection, extended by the event that it waits for, and the time since when it waits.

    phase: the next event: the end of a request's headers ("header"), of its body ("body"), of the response ("response"), or
        the begin of another request ("idle").
    framing, body_bytes: the numbers of bytes that have arrived of the request that is being read.
    has_headers: whether its headers are complete, so that later ones are trailers.
    running: the last request that the application has begun.
    """

    config: ServiceConfig
    phase = "header"
    since = 0.0  # when the phase began
    stalled_since: float | None = None  # when the client stopped reading
    framing = 0
    body_bytes = 0
    has_headers = False
    running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        if self.config.table.add(self):
            self.begin("header")
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.table.remove(self)
        if self.running is not None:  # uvicorn notifies only the last request, which may wait for this one
            self.running.disconnected = True
            self.running.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.running = cycle
        super()._start_asgi_task(cycle, app)

    def begin(self, phase: str) -> None:
        """Enters a phase."""
        self.phase, self.since = phase, self.loop.time()
        waiting = self.config.table.waiting
        if phase in ("header", "idle"):
            waiting[self] = None
            waiting.move_to_end(self)
        else:
            waiting.pop(self, None)

    def data_received(self, data: bytes) -> None:
        if self.phase == "idle":
            self.begin("header")
        for begin in range(0, len(data), PARSED):  # in parts, since every few bytes may cause a callback
            part = data if len(data) <= PARSED else data[begin : begin + PARSED]
            self.framing += len(part)  # `count_body`, called by the parser, subtracts the bytes of bodies
            super().data_received(part)
            if self.framing > self.config.table.limits.header + self.body_bytes // BODY_PER_FRAMING:
                self.refuse_framing()
            if self.transport.is_closing():
                return

    def refuse_framing(self) -> None:
        """Ends a connection whose framing exceeds its limit, with a response unless another response has been started."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or self.is_response_open:
            self.transport.write(TOO_LARGE_HEADER)
            self.transport.close()
            if self.cycle is not None:
                self.cycle.disconnected = True  # so that the application's response is not sent
        else:
            self.abort()

    @property
    def is_response_open(self) -> bool:
        """Whether the request that is being read is the next one to be answered, and its response has not been started."""
        return self.phase == "body" and not self.pipeline and not self.cycle.response_started

    def on_message_begin(self) -> None:
        self.has_headers, self.body_bytes = False, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if (
            not self.has_headers
        ):  # trailers must not be taken for headers (RFC 9110, 6.5.1), and nothing reads them
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self.count_body(body)
        super().on_body(body)

    def count_body(self, body: bytes) -> None:
        self.framing -= len(body)
        self.body_bytes += len(body)

    def on_headers_complete(self) -> None:
        self.has_headers = True
        if len(self.pipeline) >= MAX_PIPELINED:
            self.abort()
        if not self.transport.is_closing():
            self.begin("body")
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        # Bytes of the next request that arrived together with this one are not counted: they are at most one read.
        self.framing = 0
        # The response may be complete already: a refusal does not wait for the body.
        self.begin("idle" if self.cycle.response_complete else "response")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        is_another_begun = bool(self.pipeline)
        super().on_response_complete()
        if not self.transport.is_closing():
            next_phase = "response" if is_another_begun else "idle"
            self.begin("body" if self.cycle.more_body else next_phase)

    def pause_writing(self) -> None:
        self.stalled_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.stalled_since = None
        super().resume_writing()

    def is_late(self, now: float, limits: ServiceLimits) -> bool:
        """Whether the client exceeds the time limit of the phase, or of reading a response."""
        if self.stalled_since is not None and now - self.stalled_since > limits.write_seconds:
            return True
        match self.phase:
            case "header":
                return now - self.since > limits.header_seconds
            case "body":
                return now - self.since > limits.body_seconds
            case "idle":
                return now - self.since > limits.idle_seconds
        return False

    def abort(self) -> None:
        """Closes the connection without a response."""
        self.config.table.remove(self)
        self.transport.abort()
