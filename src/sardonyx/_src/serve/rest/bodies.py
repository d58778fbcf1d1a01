"""Request bodies, read within the limits of the service; what is stated to be too large is not read at all."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Message, Receive

from sardonyx._src.serve.failures import FailureKind, RequestFailure
from sardonyx._src.serve.held_bytes import HeldBytes

Headers = Iterable[tuple[bytes, bytes]]


class ClientGone(Exception):
    """The client has closed the connection: there is no one to respond to."""


class BodyRefused(RequestFailure):
    """A body that has not been read to its end: the connection can have no further request."""


class BodyReader:
    """Reads the bodies of requests, and counts the bytes that they hold.

    The bytes of a body count until `release`, so that decoded tensors, which are views of it, count as well.
    limit: of one body, in bytes.
    """

    __slots__ = ("_held", "_limit")

    def __init__(self, limit: int, held: HeldBytes) -> None:
        self._limit, self._held = limit, held

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """The body of a request; the caller releases its bytes.

        Raises BodyRefused, and ClientGone.
        """
        check_headers(headers, self._limit)
        message = await receive()
        body = self._part(message, 0)
        if not message.get("more_body", False):
            return body
        parts, size = [body], len(body)
        try:
            while message.get("more_body", False):
                message = await receive()
                parts.append(self._part(message, size))
                size += len(parts[-1])
        except BaseException:
            self._held.remove(size)
            raise
        return b"".join(parts)

    def release(self, body: bytes) -> None:
        """Ends the count of the bytes of a body."""
        self._held.remove(len(body))

    def _part(self, message: Message, size: int) -> bytes:
        """The next part of a body that has `size` bytes so far; its bytes are counted."""
        if message["type"] != "http.request":
            raise ClientGone
        body: bytes = message.get("body", b"")
        if size + len(body) > self._limit:
            raise too_large(self._limit, f"{size + len(body)} or more")
        try:
            self._held.add(len(body))
        except RequestFailure as failure:
            raise BodyRefused(failure.kind, failure.why, retry_after=failure.retry_after) from None
        return body


def header_value(headers: Headers, name: bytes) -> bytes | None:
    """The value of a header that may occur once, None without it; RequestFailure if it is repeated.

    Parts of a service, and proxies in front of it, could otherwise each go by another one (RFC 9110, 5.3).
    """
    values = [value for key, value in headers if key == name]
    if len(values) > 1:
        why = f"the header {name.decode().title()} must occur once; got {len(values)}"
        raise BodyRefused(FailureKind.INVALID, why)
    return values[0] if values else None


def check_headers(headers: Headers, limit: int) -> None:
    """Raises BodyRefused for a body that the headers state to be too large or compressed."""
    for name, value in headers:
        if name == b"content-length" and (len(value) > 18 or int(value) > limit):
            raise too_large(limit, value.decode("latin-1"))
        if name == b"content-encoding" and value.lower() != b"identity":
            raise BodyRefused(FailureKind.INVALID, "the body must not be compressed (Content-Encoding)")


def too_large(limit: int, size: str) -> BodyRefused:
    return BodyRefused(FailureKind.TOO_LARGE, f"a request must have at most {limit} bytes; got {size}")
