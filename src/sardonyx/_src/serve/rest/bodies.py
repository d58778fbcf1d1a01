"""Request bodies, read within the limits of the service; a body that its headers state to be too large is not read."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Message, Receive

from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import HeldBytes

Headers = Iterable[tuple[bytes, bytes]]


class ClientGone(Exception):
    """The client has closed the connection, so that no response can be sent."""


class BodyRefused(RequestFailure):
    """A body that has not been read to its end, so that the connection cannot be used for another request."""


class BodyReader:
    """Reads the bodies of requests, and counts the bytes that they hold.

    The bytes of a body count until `release`, which includes the time when decoded tensors are views of the body.
    limit: the largest number of bytes of one body.
    """

    __slots__ = ("_held", "_limit")

    def __init__(self, limit: int, held: HeldBytes) -> None:
        self._limit, self._held = limit, held

    async def read(
        self, headers: Headers, receive: Receive, max_json: int | None = None
    ) -> bytes | bytearray:
        """The body of a request; the caller must release its bytes.

        max_json: the limit on the bytes of a body that consists only of JSON; None for a body that may have binary data.
        Raises BodyRefused, and ClientGone.
        """
        limit = self._limit if max_json is None else min(max_json, self._limit)
        try:
            return await self._read(headers, receive, limit)
        except BodyRefused as refusal:
            if limit < self._limit and refusal.kind is FailureKind.TOO_LARGE:
                refusal.why = f"{refusal.why} of JSON; send binary data"
            raise

    async def _read(self, headers: Headers, receive: Receive, limit: int) -> bytes | bytearray:
        check_headers(headers, limit)
        message = await receive()
        first = self._part(message, 0, limit)
        if not message.get("more_body", False):
            return first
        body = bytearray(first)  # grows in place, so that the parts need not be joined by a copy at the end
        try:
            while message.get("more_body", False):
                message = await receive()
                body += self._part(message, len(body), limit)
        except BaseException:
            self._held.remove(len(body))
            raise
        return body

    def release(self, body: bytes | bytearray) -> None:
        """Ends the count of the bytes of a body."""
        self._held.remove(len(body))

    def _part(self, message: Message, size: int, limit: int) -> bytes:
        """The next part of a body that has `size` bytes so far; its bytes are counted."""
        if message["type"] != "http.request":
            raise ClientGone
        body: bytes = message.get("body", b"")
        if size + len(body) > limit:
            raise too_large(limit, f"{size + len(body)} or more")
        try:
            self._held.add(len(body))
        except RequestFailure as failure:
            raise BodyRefused(failure.kind, failure.why, retry_after=failure.retry_after) from None
        return body


def header_value(headers: Headers, name: bytes) -> bytes | None:
    """The value of a header, None without it; raises BodyRefused if the header is repeated.

    If it were accepted, the service and a proxy in front of it could use different values (RFC 9110, 5.3).
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
