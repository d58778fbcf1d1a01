"""A service with both transports in this process, and a client of its HTTP."""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sardonyx._src.serve.service.service import Service
from sardonyx._src.serve.settings.configuration import parse_settings

T = TypeVar("T")
SECONDS = 30.0  # after which a condition is taken never to hold


def run_service(
    folder: Path, scenario: Callable[[Service], Awaitable[T]], values: Mapping[str, object] | None = None
) -> T:
    """The result of a scenario with the service of a folder, on free ports.  values: its other settings; None for the default."""
    stated = {"repository": folder, "port": 0, "grpc_port": 0, **(values or {})}
    settings = parse_settings({name: value for name, value in stated.items() if value is not None})
    ports = 1 if settings.grpc_port is None else 2

    async def run() -> T:
        service = Service(settings)
        running = asyncio.create_task(service.run())
        await wait_until(
            lambda: running.done() or (service.repository.is_ready and len(service.ports) == ports)
        )
        try:
            return await scenario(service)
        finally:
            service.stop()
            await running

    return asyncio.run(run())


async def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class HttpConnection:
    """A connection, which is closed at the end of its block, or before by `close`."""

    def __init__(self, service: Service) -> None:
        self._port = service.ports["http"]

    async def __aenter__(self) -> HttpConnection:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.writer.close()

    def send(self, path: str, body: object) -> None:
        """Sends a request; body: bytes, or what becomes JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        self.writer.write(head.encode() + data)

    async def receive(self) -> HttpAnswer:
        """The next response."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:-2])}
        body = await self.reader.readexactly(int(headers["content-length"]))
        return HttpAnswer(int(lines[0].split()[1]), headers, body)


async def post(service: Service, path: str, body: object) -> HttpAnswer:
    """The response to a request on a connection of its own."""
    async with HttpConnection(service) as connection:
        connection.send(path, body)
        return await asyncio.wait_for(connection.receive(), SECONDS)


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)
