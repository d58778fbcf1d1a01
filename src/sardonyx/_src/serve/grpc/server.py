"""The gRPC server: connections, TLS, tokens, and failures as status codes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn

import grpc
import grpc.aio

from sardonyx._src.serve.grpc.calls import GrpcMethods
from sardonyx._src.serve.grpc.link import Bytes
from sardonyx._src.serve.grpc.message_reader import MessageReader
from sardonyx._src.serve.grpc.messages import ModelStreamInferResponse
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.operation.tracing import RequestTracer
from sardonyx._src.serve.protocol.authorization import Authorization
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure, internal_failure
from sardonyx._src.serve.protocol.held_bytes import RETRY_SECONDS, HeldBytes
from sardonyx._src.serve.protocol.service_limits import ServiceLimits

ACCESS_LOG = logging.getLogger("sardonyx.serve.access")
STATUS_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}
SERVICE = "inference.GRPCInferenceService"
OPEN_METHODS = ("ServerLive", "ServerReady")  # no token is required, since health probes have none
STREAM = "ModelStreamInfer"
METHODS = (
    *OPEN_METHODS,
    "ServerMetadata",
    "ModelReady",
    "ModelMetadata",
    "ModelInfer",
    "RepositoryIndex",
    "RepositoryModelLoad",
    "RepositoryModelUnload",
)
STATUS = {
    FailureKind.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    FailureKind.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    FailureKind.TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    FailureKind.BUSY: grpc.StatusCode.UNAVAILABLE,
    FailureKind.DEADLINE: grpc.StatusCode.DEADLINE_EXCEEDED,
    FailureKind.SLOW_CLIENT: grpc.StatusCode.DEADLINE_EXCEEDED,
    FailureKind.CANCELLED: grpc.StatusCode.CANCELLED,
    FailureKind.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    FailureKind.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    FailureKind.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    FailureKind.INTERNAL: grpc.StatusCode.INTERNAL,
}
PUSHBACK = "grpc-retry-pushback-ms"  # metadata that corresponds to the header Retry-After; clients of gRPC respect it
MAX_METADATA = 64 << 10  # bytes of the metadata of a call
Handler = Callable[[object, grpc.aio.ServicerContext], Awaitable[None]]


class GrpcServer:
    """A server of the Open Inference Protocol over gRPC, on the event loop that starts it.

    held: counts the bytes of requests of all transports.
    token: the token that every call except health probes must have, as metadata `authorization: Bearer ...`; "": none is
        required.
    tracer: traces calls other than health probes.
    access_log: whether each call is logged.
    """

    def __init__(
        self,
        service: GrpcMethods,
        limits: ServiceLimits | None = None,
        held: HeldBytes | None = None,
        *,
        token: str = "",
        tracer: RequestTracer | None = None,
        access_log: bool = False,
    ) -> None:
        self._tracer, self._access_log = tracer, access_log
        self._service, self._limits = service, limits or ServiceLimits()
        self._authorization = Authorization(token)
        self._held = held or HeldBytes(self._limits.held)
        self._reader = MessageReader(self._limits)
        self._streams = 0
        self._server: grpc.aio.Server | None = None

    async def start(
        self,
        host: str,
        port: int,
        certificate: Path | None = None,
        key: Path | None = None,
        *,
        shares_port: bool = False,
    ) -> int:
        """Listens, and returns the port.  Raises OSError for an address or files that cannot be used.

        shares_port: whether other processes of the same user listen on the port, too.
        """
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", self._limits.body),
                ("grpc.max_send_message_length", -1),
                # Compressed messages are refused, as over HTTP: the bytes of the decompressed ones would not be counted.
                ("grpc.compression_enabled_algorithms_bitset", 1 << grpc.Compression.NoCompression.value),
                ("grpc.max_metadata_size", MAX_METADATA),
                ("grpc.so_reuseport", int(shares_port)),
            ],
            maximum_concurrent_rpcs=self._limits.connections,
        )
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, self._handlers()),))
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if certificate is None:
                bound = server.add_insecure_port(address)
            else:
                chain = certificate.read_bytes()
                pair = (key.read_bytes() if key is not None else chain, chain)
                bound = server.add_secure_port(address, grpc.ssl_server_credentials([pair]))
        except RuntimeError as error:
            raise OSError(f"gRPC cannot listen on {address}: {error}") from error
        await server.start()
        self._server = server
        return int(bound)

    async def stop(self, grace: float) -> None:
        """Refuses new calls, ends those that are still in progress after `grace` seconds, and exports the last spans."""
        if self._server is not None:
            await self._server.stop(grace)
        if self._tracer is not None:
            await asyncio.to_thread(self._tracer.close)

    def _handlers(self) -> dict[str, grpc.RpcMethodHandler]:
        """The handlers by method.  All are streams, so that a handler begins before the message of the call is received, and
        ends when the response has been sent."""
        handlers = {name: grpc.stream_stream_rpc_method_handler(self._unary(name)) for name in METHODS}
        return {**handlers, STREAM: grpc.stream_stream_rpc_method_handler(self._stream)}

    def _unary(self, name: str) -> Handler:
        async def handle(requests: object, context: grpc.aio.ServicerContext) -> None:
            begin = time.perf_counter()
            try:
                if name not in OPEN_METHODS:
                    self._authorize(context)
                data = await self._reader.read(context)
                with self._held.holding(len(data)), self._span(name, context):
                    await self._send(context, await self._service.call(name, data, context.time_remaining()))
            except RequestFailure as failure:
                await abort(context, failure)
            except (asyncio.CancelledError, grpc.aio.AbortError):
                raise
            except Exception as error:  # noqa: BLE001 (it is logged)
                await abort(context, internal_failure(name, error))
            finally:
                if self._access_log:
                    log_call(name, context, time.perf_counter() - begin)

        return handle

    async def _send(self, context: grpc.aio.ServicerContext, data: Bytes) -> None:
        """Sends a response.  Its bytes count until the client has read them."""
        with self._held.holding(len(data)):
            try:
                async with asyncio.timeout(self._limits.write_seconds):
                    await context.write(bytes(data))
            except TimeoutError:
                raise RequestFailure(FailureKind.SLOW_CLIENT, "the response is read too slowly") from None

    async def _stream(self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> None:
        """ModelStreamInfer: a response for each request, in order.  A failure is a message and does not end the stream."""
        try:
            self._authorize(context)
            self._check_streams()
        except RequestFailure as failure:
            await abort(context, failure)
        self._streams += 1
        try:
            async for data in requests:
                await self._send(context, await self._stream_response(data))
        except RequestFailure as failure:
            await abort(context, failure)
        finally:
            self._streams -= 1

    def _check_streams(self) -> None:
        """Raises RequestFailure if there are as many streams as allowed."""
        if self._streams >= self._limits.streams:
            why = f"{self._streams} streams are in progress, as many as there may be"
            raise RequestFailure(FailureKind.BUSY, why, retry_after=RETRY_SECONDS)

    async def _stream_response(self, data: bytes) -> Bytes:
        """The message that answers one request of a stream."""
        try:
            with self._held.holding(len(data)):
                return await self._service.call(STREAM, data, None)
        except RequestFailure as failure:
            return encode(ModelStreamInferResponse(failure.why))

    def _span(self, name: str, context: grpc.aio.ServicerContext) -> AbstractContextManager[object]:
        if self._tracer is None or name in OPEN_METHODS:
            return nullcontext()
        headers = {k: v for k, v in context.invocation_metadata() or () if isinstance(v, str)}
        attributes = {"rpc.system": "grpc", "rpc.service": SERVICE, "rpc.method": name}
        return self._tracer.span(f"{SERVICE}/{name}", headers, attributes)

    def _authorize(self, context: grpc.aio.ServicerContext) -> None:
        """Raises RequestFailure for a call without the token."""
        if not self._authorization.is_required:
            return
        values = [value for name, value in context.invocation_metadata() or () if name == "authorization"]
        if len(values) > 1:
            why = f"the metadata authorization must occur once; got {len(values)}"
            raise RequestFailure(FailureKind.INVALID, why)
        self._authorization.check(values[0].encode() if values and isinstance(values[0], str) else None)


def log_call(name: str, context: grpc.aio.ServicerContext, seconds: float) -> None:
    """Writes a line of the access log: the method, the status and the duration of a call."""
    code = context.code()  # a number, a StatusCode, or None while it is OK
    status = code.name if isinstance(code, grpc.StatusCode) else STATUS_NAMES.get(code or 0, str(code))
    fields = {"method": name, "status": status, "milliseconds": round(seconds * 1000, 3)}
    ACCESS_LOG.info("call", extra={"fields": fields})


async def abort(context: grpc.aio.ServicerContext, failure: RequestFailure) -> NoReturn:
    """Ends a call with the status and the message of a failure."""
    metadata: tuple[tuple[str, str], ...] = ()
    if failure.retry_after is not None:
        metadata = ((PUSHBACK, str(int(failure.retry_after * 1000))),)
    why = failure.why.encode("utf-8", "replace").decode()
    await context.abort(STATUS[failure.kind], why[:8000], metadata)
    raise AssertionError("abort raises")
