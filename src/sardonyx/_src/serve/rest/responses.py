"""HTTP responses: JSON, with binary data after it, and failures as `{"error": "..."}`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from starlette.types import Send

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
BINARY_TYPE = (b"content-type", b"application/octet-stream")
MAX_JOINED = 64 << 10  # bytes of a response that are sent as one message
Header = tuple[bytes, bytes]


async def send_json(send: Send, value: object, status: int = 200, headers: Sequence[Header] = ()) -> None:
    await send_bytes(send, format_object(value), status, (JSON_TYPE, *headers))


async def send_bytes(send: Send, body: bytes, status: int, headers: Sequence[Header]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_with_binary(send: Send, text: bytes, binary: Sequence[memoryview]) -> None:
    """Sends a response whose JSON is followed by the binary data of tensors."""
    headers = [BINARY_TYPE, (b"inference-header-content-length", b"%d" % len(text))]
    size = len(text) + sum(map(len, binary))
    if size <= MAX_JOINED:
        await send_bytes(send, b"".join([text, *binary]), 200, headers)
        return
    headers.append((b"content-length", b"%d" % size))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for part in (text, *binary):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def send_failure(send: Send, failure: RequestFailure) -> None:
    """Sends the status and the message of a failure."""
    headers: list[Header] = []
    if failure.retry_after is not None:
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(failure.retry_after))))
    if failure.kind is FailureKind.UNAUTHENTICATED:
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(failure, BodyRefused):
        headers.append((b"connection", b"close"))
    await send_error(send, STATUS[failure.kind], failure.why, headers)


async def send_error(send: Send, status: int, why: str, headers: Sequence[Header] = ()) -> None:
    text = why.encode("utf-8", "replace").decode()  # surrogates of decoded paths, which JSON cannot have
    await send_json(send, {"error": text}, status, headers)
