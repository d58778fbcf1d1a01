"""The process of gRPC: connections, TLS and tokens, in another process than the event loop of the service.

gRPC's library holds the interpreter while it copies a message, 80 ms for one of 60 MB.  In one process with the service, no
other request would be answered in that time.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

from sardonyx._src.dataclass import dataclass
from sardonyx._src.serve.grpc.calls import CallingMethods, GrpcMethods, Reply
from sardonyx._src.serve.grpc.link import Bytes, Link
from sardonyx._src.serve.grpc.server import GrpcServer
from sardonyx._src.serve.operation.event_loop import new_loop
from sardonyx._src.serve.operation.tracing import open_tracer
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.settings.logs import LogForm, configure_logs


@dataclass(frozen=True, slots=True)
class GrpcStart:
    """The settings of a service that its gRPC server needs."""

    limits: ServiceLimits
    token: str
    traces: str
    access_log: bool
    log: LogForm


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The arguments of `GrpcServer.start`."""

    host: str
    port: int
    certificate: Path | None
    key: Path | None
    shares_port: bool


@dataclass(frozen=True, slots=True)
class Listening:
    """The first reply of the process: its port, or the reason why it cannot listen."""

    port: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """The message that ends the process, once no call is in progress or `grace` seconds have passed."""

    grace: float


def open_server(methods: GrpcMethods, start: GrpcStart, held: HeldBytes | None = None) -> GrpcServer:
    """The server of this process."""
    tracer = open_tracer(start.traces) if start.traces else None
    return GrpcServer(
        methods, start.limits, held, token=start.token, tracer=tracer, access_log=start.access_log
    )


def main(descriptor: int) -> None:
    """Runs the process.  descriptor: the file descriptor of the socket to the service."""

    async def run() -> None:
        await GrpcFront().run(socket.socket(fileno=descriptor))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


class GrpcFront:
    """The server, and the link to the service whose methods it calls."""

    def __init__(self) -> None:
        self._link = Link(lambda number, size: True, self._handle, self._end)
        self._methods = CallingMethods(self._link)
        self._start: asyncio.Future[tuple[GrpcStart, ListenAddress]] = asyncio.Future()
        self._stop: asyncio.Future[Stop] = asyncio.Future()

    async def run(self, end: socket.socket) -> None:
        """Serves until the service sends `Stop`, or has ended."""
        await self._link.connect(end)
        with suppress(asyncio.CancelledError):  # the service has ended before it sent anything
            await self._serve(*await self._start)
        self._link.close()

    async def _serve(self, start: GrpcStart, address: ListenAddress) -> None:
        configure_logs(start.log)
        server = open_server(self._methods, start)
        try:
            port = await server.start(
                address.host, address.port, address.certificate, address.key, shares_port=address.shares_port
            )
        except OSError as error:
            self._link.post(0, Listening(error=str(error)))
            return
        self._link.post(0, Listening(port))
        await server.stop((await self._stop).grace)

    def _handle(self, number: int, head: object, data: Bytes) -> None:
        match head:
            case Reply():
                self._methods.settle(number, head, data)
            case (GrpcStart() as start, ListenAddress() as address):
                self._start.set_result((start, address))
            case Stop() if not self._stop.done():
                self._stop.set_result(head)

    def _end(self) -> None:
        """Ends at once: the service has ended."""
        self._start.cancel()
        if not self._stop.done():
            self._stop.set_result(Stop(0))
