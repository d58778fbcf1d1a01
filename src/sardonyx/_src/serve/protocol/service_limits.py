"""Limits on what the clients of a service may use."""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Upper limits on what clients may use.  Sizes are in bytes, times in seconds.

    body: size of the body of a request.
    json: size of the JSON in a request.
    decoded: size of the tensors of a request that are no views of its body: from JSON, strings, numbers in fields of gRPC.
    response: size of the response to a request, JSON and binary data.
    held: size of the bodies, decoded tensors and responses of all requests in progress.
    streams: number of gRPC streams at one time, each of which may be receiving a message.
    connections: number of connections at one time; a new one replaces the one that has been idle longest.
    header: size of the request line, the headers, sizes of chunks and trailers.
    header_seconds: time from the connection, or the first byte of a request, to the end of the headers.
    body_seconds: time from the end of the headers to the end of the body.
    idle_seconds: time between two requests of a connection.
    write_seconds: time that a response may wait for its client to read.
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
