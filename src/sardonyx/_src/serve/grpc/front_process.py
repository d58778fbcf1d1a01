"""The service's side of the process of gRPC: the process is started, replaced if it ends, and stopped."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from sardonyx._src.serve.grpc.calls import AnsweredCalls, Call, Cancel, GrpcMethods
from sardonyx._src.serve.grpc.link import Bytes, Link
from sardonyx._src.serve.grpc.process import GrpcStart, ListenAddress, Listening, Stop, open_server
from sardonyx._src.serve.operation.python_process import start_python
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.settings.service_settings import ServiceSettings

LOG = logging.getLogger("sardonyx.serve")
RESTART_SECONDS = 0.5  # seconds between the end of a process and the start of the next one
KILL_SECONDS = 5.0  # seconds after the grace for calls in progress, until the process is killed


class GrpcTransport(Protocol):
    """A server of gRPC, in this process or in another one."""

    async def start(
        self, host: str, port: int, certificate: Path | None, key: Path | None, *, shares_port: bool
    ) -> int:
        """Listens, and returns the port.  Raises OSError for an address or files that cannot be used.

        shares_port: whether other processes of the same user listen on the port, too.
        """

    async def stop(self, grace: float) -> None:
        """Refuses new calls, and ends those that are still in progress after `grace` seconds."""


def open_transport(
    methods: GrpcMethods, held: HeldBytes, settings: ServiceSettings, token: str
) -> GrpcTransport:
    """The transport of these methods, in a process of its own where processes can inherit sockets."""
    start = GrpcStart(settings.limits, token, settings.traces, settings.access_log, settings.log)
    if sys.platform == "win32":
        return open_server(methods, start, held)
    return GrpcProcess(methods, held, start)


class GrpcProcess:
    """The transport of gRPC in a process of its own, which is replaced if it ends by itself."""

    def __init__(self, methods: GrpcMethods, held: HeldBytes, start: GrpcStart) -> None:
        self._methods, self._held, self._settings = methods, held, start
        self._address: ListenAddress | None = None
        self._link: Link | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._is_ended = False

    async def start(
        self,
        host: str,
        port: int,
        certificate: Path | None = None,
        key: Path | None = None,
        *,
        shares_port: bool = False,
    ) -> int:
        """As of `GrpcTransport`."""
        address = self._address = ListenAddress(host, port, certificate, key, shares_port)
        port = await self._run_process()
        self._address = replace(address, port=port)  # later processes listen on the same port
        self._keeper = asyncio.create_task(self._keep_running())
        return port

    async def stop(self, grace: float) -> None:
        """As of `GrpcTransport`."""
        self._is_ended = True
        if self._link is None or self._process is None or self._keeper is None:
            return
        self._link.post(0, Stop(grace))
        try:
            async with asyncio.timeout(grace + KILL_SECONDS):
                await self._process.wait()
        except TimeoutError:
            await self._kill()
        self._link.close()
        self._keeper.cancel()
        with suppress(asyncio.CancelledError):
            await self._keeper

    async def _keep_running(self) -> None:
        """Replaces a process that ends by itself."""
        while self._process is not None:
            code = await self._process.wait()
            if self._is_ended:
                return
            LOG.error("the process of gRPC has ended (status %s); another one starts", code)
            await asyncio.sleep(RESTART_SECONDS)
            try:
                await self._run_process()
            except OSError as error:
                LOG.error("the process of gRPC cannot start: %s", error)

    async def _run_process(self) -> int:
        """Starts a process, and returns its port once it listens.  Raises OSError."""
        calls = AnsweredCalls(self._methods, self._held)
        listening: asyncio.Future[Listening] = asyncio.get_running_loop().create_future()

        def handle(number: int, head: object, data: Bytes) -> None:
            match head:
                case Call():
                    calls.begin(number, head, data)
                case Cancel():
                    calls.cancel(number)
                case Listening():
                    listening.set_result(head)

        def lost() -> None:
            calls.cancel_all()
            if not listening.done():
                listening.set_result(Listening(error="its process has ended"))

        link = self._link = Link(calls.accept, handle, lost)
        calls.answer_on(link)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await start_python(f"{__package__}.process", theirs)
        await link.connect(ours)
        link.post(0, (self._settings, self._address))
        result = await listening
        if result.error:
            await self._kill()
            raise OSError(result.error)
        return result.port

    async def _kill(self) -> None:
        assert self._process is not None and self._link is not None, "it has been started"
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._link.close()
