"""HTTP responses: JSON, with binary data after it, and failures as `{"error": "..."}`."""

from __future__ import annotations

import asyncio
import math
from asyncio import WriteTransport
from collections.abc import Callable, Sequence
from typing import TypeAlias

from starlette.types import Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from sardonyx._src.dataclass import dataclass
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.json_text import format_json
from sardonyx._src.serve.rest.bodies import BodyRefused

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
MAX_JOINED = 64 << 10  # bytes up to which the body of a response is sent as one message
MAX_ERROR = 8000  # characters of an error message, as over gRPC
Header = tuple[bytes, bytes]
Part = bytes | memoryview


@dataclass(slots=True)
class HttpResponse:
    """A response.  headers: all headers except the length.  parts: the parts of the body."""

    status: int
    headers: Sequence[Header]
    parts: Sequence[Part]


# The JSON of an error: of its message, its status, and the failure, if there is one.
ErrorForm: TypeAlias = "Callable[[str, int, RequestFailure | None], object]"


def protocol_error(text: str, status: int, failure: RequestFailure | None) -> object:
    """The JSON of an error of the inference protocol."""
    return {"error": text}


def error_response(
    status: int,
    why: str,
    headers: Sequence[Header] = (),
    form: ErrorForm = protocol_error,
    failure: RequestFailure | None = None,
) -> HttpResponse:
    """A response with an error status, and the reason as JSON."""
    return HttpResponse(status, (JSON_TYPE, *headers), (format_json(form(error_text(why), status, failure)),))


def error_text(why: str) -> str:
    """A message of limited length, without surrogates, which decoded paths may have and JSON may not."""
    return why[:MAX_ERROR].encode("utf-8", "replace").decode()


def failure_response(failure: RequestFailure, form: ErrorForm = protocol_error) -> HttpResponse:
    """The status and the message of a failure."""
    headers: list[Header] = []
    if failure.retry_after is not None:
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(failure.retry_after))))
    if failure.kind is FailureKind.UNAUTHENTICATED:
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(failure, BodyRefused):
        headers.append((b"connection", b"close"))
    return error_response(STATUS[failure.kind], failure.why, headers, form, failure)


def inference_response(text: Sequence[Part], binary: Sequence[Part]) -> HttpResponse:
    """The outputs of a run: JSON, and the binary data of tensors after it."""
    if not binary:
        return HttpResponse(200, JSON_HEADERS, text)
    headers = (BINARY_TYPE, (b"inference-header-content-length", b"%d" % sum(map(len, text))))
    return HttpResponse(200, headers, (*text, *binary))


async def send_json(send: Send, value: object, status: int = 200, headers: Sequence[Header] = ()) -> None:
    await send_response(send, HttpResponse(status, (JSON_TYPE, *headers), (format_json(value),)))


async def send_response(send: Send, response: HttpResponse) -> None:
    """Sends a response to an ASGI server."""
    parts = [*response.parts]
    size = sum(map(len, parts))
    headers = [*response.headers, (b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if size > MAX_JOINED:
        response.parts = ()  # so that each part is freed once it is sent: freeing all at once is slow
        parts.reverse()
        while parts:
            await send({"type": "http.response.body", "body": parts.pop(), "more_body": True})
            # Lets other tasks run: the system may buffer many megabytes before the server has to wait for the client.
            await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b"".join(parts)})


class ResponseWriter:
    """Writes responses to connections that stay open.  The head of successful JSON responses, the most frequent, is cached."""

    def __init__(self) -> None:
        self._server_headers: Sequence[Header] = ()
        self._json_head = b""

    def write(
        self, transport: WriteTransport, response: HttpResponse, server_headers: Sequence[Header]
    ) -> None:
        """server_headers: the headers of all responses, such as the date; another list object whenever they change."""
        if self._server_headers is not server_headers:
            self._server_headers = server_headers
            self._json_head = head_of(200, server_headers, JSON_HEADERS)
        if response.headers is JSON_HEADERS and response.status == 200:
            head = self._json_head
        else:
            head = head_of(response.status, server_headers, response.headers)
        parts = response.parts
        size = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        if size <= MAX_JOINED:
            transport.write(b"".join((head, b"%d\r\n\r\n" % size, *parts)))
        else:
            transport.writelines((head, b"%d\r\n\r\n" % size, *parts))


def head_of(status: int, server_headers: Sequence[Header], headers: Sequence[Header]) -> bytes:
    """The head of a response up to the value of content-length, which the caller adds."""
    lines = [b"%s: %s\r\n" % header for header in (*server_headers, *headers)]
    return b"".join((STATUS_LINE[status], *lines, b"content-length: "))
