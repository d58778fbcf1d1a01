"""Connections of the HTTP server, with limits on their number, their headers and their time.

A client that sends or reads slowly, or not at all, holds a connection for a limited time; when all connections are in use,
the one that has waited for a request for longest is closed for a new one.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sardonyx._src.serve.rest.direct_inference import DirectInference
from sardonyx._src.serve.settings import ServiceLimits

TOO_LARGE_HEADER = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/json\r\ncontent-length: 43\r\nconnection: close\r\n\r\n"
    b'{"error":"the headers exceed their limit"}\n'
)


class ConnectionTable:
    """The connections of a server: those that wait for a request or its headers, in the order in which they began to."""

    def __init__(self, limits: ServiceLimits, most: int) -> None:
        """most: connections at one time."""
        self.limits, self.most = limits, most
        self.all: set[LimitedHttpProtocol] = set()
        self.waiting: OrderedDict[LimitedHttpProtocol, None] = OrderedDict()

    def add(self, connection: LimitedHttpProtocol) -> bool:
        """Adds a connection; False if there are too many, none of which waits."""
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
        """Closes the connections whose clients have taken too long; called every second or so."""
        for connection in [c for c in self.all if c.is_late(now, self.limits)]:
            connection.abort()


class ServiceConfig(uvicorn.Config):
    """The configuration of a uvicorn server whose connections are in a table.

    direct: what answers requests without the application, for `DirectHttpProtocol`.
    """

    def __init__(
        self, table: ConnectionTable, *, direct: DirectInference | None = None, **options: Any
    ) -> None:
        super().__init__(ws="none", lifespan="off", **options)
        self.table, self.direct = table, direct


class LimitedHttpProtocol(HttpToolsProtocol):
    """uvicorn's connection, which also knows what it waits for, and since when.

    phase: what comes next: the headers of a request, its body, the response, or another request ("idle").
    """

    config: ServiceConfig
    phase = "header"
    since = 0.0  # when the phase began
    stalled_since: float | None = None  # when the client stopped reading
    header_bytes = 0  # of what has arrived in the phase "header"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        if self.config.table.add(self):
            self.begin("header")
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.table.remove(self)
        super().connection_lost(exc)

    def begin(self, phase: str) -> None:
        """Enters a phase."""
        self.phase, self.since = phase, self.loop.time()
        waiting = self.config.table.waiting
        if phase in ("header", "idle"):
            self.header_bytes = 0
            waiting[self] = None
            waiting.move_to_end(self)
        else:
            waiting.pop(self, None)

    def data_received(self, data: bytes) -> None:
        if self.phase == "idle":
            self.begin("header")
        super().data_received(data)
        if self.phase == "header":
            self.header_bytes += len(data)
            if self.header_bytes > self.config.table.limits.header and not self.transport.is_closing():
                self.transport.write(TOO_LARGE_HEADER)
                self.transport.close()

    def on_headers_complete(self) -> None:
        self.begin("body")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.begin(
            "idle" if self.cycle.response_complete else "response"
        )  # a refusal does not wait for the body
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
        """Whether the client has taken longer than it may."""
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
