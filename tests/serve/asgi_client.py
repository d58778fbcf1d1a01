"""A client that calls an ASGI application in this process, without sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp

Message = MutableMapping[str, Any]


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def request(
    app: ASGIApp,
    method: str,
    path: str,
    body: object = b"",
    headers: Mapping[str, str] | None = None,
    parts: Sequence[Message] | None = None,
) -> Response:
    """The response to a request.

    body: bytes, or an object that becomes JSON.  parts: what the server receives instead of the body at once.
    """
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    scope: Message = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
    }
    incoming = list(parts or [{"type": "http.request", "body": data}])
    sent: list[Message] = []

    async def receive() -> Message:
        if incoming:
            return incoming.pop(0)
        await asyncio.Event().wait()  # the client stays, and sends nothing
        raise AssertionError("unreachable")

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *bodies = sent
    content = b"".join(bytes(message["body"]) for message in bodies)
    fields = {name.decode(): value.decode() for name, value in start["headers"]}
    if not fields["content-type"].startswith("text/event-stream"):
        assert int(fields["content-length"]) == len(content)
    return Response(start["status"], fields, content)
