"""Limits on what the clients of a service may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What clients may use.  Sizes are in bytes, times in seconds.

    body: of one request.  json: the part of a request that is JSON.
    decoded: of the tensors of one request that are not views of its body: those of JSON, strings, numbers of gRPC in fields.
    response: of one request, in JSON and binary data.
    held: of the bodies, decoded tensors and responses of all requests that are in progress.
    streams: of gRPC at one time, each of which may be receiving a message.
    connections: at one time; the one that has been idle for longest is closed for a new one.
    header_seconds: from the connection, or the first byte of a request, to the end of its headers.
    header: of the request line, the headers, sizes of chunks and trailers.  body_seconds: from there to the end of the body.
    idle_seconds: between requests of a connection.  write_seconds: that a response may wait for its client to read.
    """

    body: int = 64 << 20
    json: int = 16 << 20
    decoded: int = 64 << 20
    response: int = 256 << 20
    held: int = 1 << 30
    streams: int = 64
    connections: int = 10_000
    header: int = 64 << 10
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    idle_seconds: float = 60.0
    write_seconds: float = 60.0
