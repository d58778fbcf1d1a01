"""HTTP responses: JSON, with binary data after it, and failures as `{"error": "..."}`."""

from __future__ import annotations

import math
from asyncio import WriteTransport
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.types import Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from sardonyx._src.serve.failures import FailureKind, RequestFailure
from sardonyx._src.serve.rest.bodies import BodyRefused
from sardonyx._src.serve.rest.json_text import format_object

STATUS = {
    FailureKind.NOT_FOUND: 404,
    FailureKind.INVALID: 400,
    FailureKind.TOO_LARGE: 413,
    FailureKind.BUSY: 429,
    FailureKind.DEADLINE: 504,
    FailureKind.SLOW_CLIENT: 408,
    FailureKind.CANCELLED: 499,  # nginx's: the client has closed the connection
    FailureKind.UNAVAILABLE: 503,
    FailureKind.UNAUTHENTICATED: 401,
    FailureKind.FORBIDDEN: 403,
    FailureKind.INTERNAL: 500,
}
JSON_TYPE = (b"content-type", b"application/json")
JSON_HEADERS = (JSON_TYPE,)
BINARY_TYPE = (b"content-type", b"application/octet-stream")
MAX_JOINED = 64 << 10  # bytes of a response that are sent as one message
Header = tuple[bytes, bytes]


@dataclass(slots=True)
class HttpResponse:
    """A response.  headers: but for the length.  parts: of the body."""

    status: int
    headers: Sequence[Header]
    parts: Sequence[bytes | memoryview]


def error_response(status: int, why: str, headers: Sequence[Header] = ()) -> HttpResponse:
    """A status and its reason."""
    text = why.encode("utf-8", "replace").decode()  # surrogates of decoded paths, which JSON cannot have
    return HttpResponse(status, (JSON_TYPE, *headers), (format_object({"error": text}),))


def failure_response(failure: RequestFailure) -> HttpResponse:
    """The status and the message of a failure."""
    headers: list[Header] = []
    if failure.retry_after is not None:
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(failure.retry_after))))
    if failure.kind is FailureKind.UNAUTHENTICATED:
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(failure, BodyRefused):
        headers.append((b"connection", b"close"))
    return error_response(STATUS[failure.kind], failure.why, headers)


def inference_response(text: bytes, binary: Sequence[memoryview]) -> HttpResponse:
    """The outputs of a run: JSON, and the binary data of tensors after it."""
    if not binary:
        return HttpResponse(200, JSON_HEADERS, (text,))
    headers = (BINARY_TYPE, (b"inference-header-content-length", b"%d" % len(text)))
    return HttpResponse(200, headers, (text, *binary))


async def send_json(send: Send, value: object, status: int = 200, headers: Sequence[Header] = ()) -> None:
    await send_response(send, HttpResponse(status, (JSON_TYPE, *headers), (format_object(value),)))


async def send_response(send: Send, response: HttpResponse) -> None:
    """Sends a response to an ASGI server."""
    parts = response.parts
    size = sum(map(len, parts))
    headers = [(b"content-length", b"%d" % size), *response.headers]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if size > MAX_JOINED:
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        parts = ()
    await send({"type": "http.response.body", "body": b"".join(parts)})


def write_response(transport: WriteTransport, response: HttpResponse, more_headers: Sequence[Header]) -> None:
    """Writes a response to a connection that stays open.  more_headers: the server's, as the date."""
    size = sum(map(len, response.parts))
    lines = [STATUS_LINE[response.status]]
    for name, value in (*more_headers, (b"content-length", b"%d" % size), *response.headers):
        lines += (name, b": ", value, b"\r\n")
    lines.append(b"\r\n")
    if size <= MAX_JOINED:
        transport.write(b"".join((*lines, *response.parts)))
    else:
        transport.writelines((b"".join(lines), *response.parts))
