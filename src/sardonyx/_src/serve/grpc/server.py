"""The gRPC server: connections, TLS, tokens, and failures as status codes."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn

import grpc
import grpc.aio

from sardonyx._src.serve.failures import FailureKind, RequestFailure
from sardonyx._src.serve.grpc.messages import ModelInferRequest, ModelStreamInferResponse
from sardonyx._src.serve.grpc.service import GrpcInferenceService, parse
from sardonyx._src.serve.grpc.wire_codec import encode
from sardonyx._src.serve.held_bytes import HeldBytes
from sardonyx._src.serve.operation.tracing import RequestTracer
from sardonyx._src.serve.settings import ServiceLimits

LOG = logging.getLogger("sardonyx.serve")
ACCESS_LOG = logging.getLogger("sardonyx.serve.access")
STATUS_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}
SERVICE = "inference.GRPCInferenceService"
OPEN_METHODS = ("ServerLive", "ServerReady")  # probes have no token
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
PUSHBACK = "grpc-retry-pushback-ms"  # gRPC's Retry-After, which its clients respect
MAX_METADATA = 64 << 10
Method = Callable[[bytes, float | None], Awaitable[bytes]]


class GrpcServer:
    """A server of the Open Inference Protocol over gRPC, on the event loop that starts it.

    token: required of every call but probes, as metadata `authorization: Bearer ...`; "": none is required.
    tracer: traces calls other than probes.  access_log: whether each call is a line of the log.
    """

    def __init__(
        self,
        service: GrpcInferenceService,
        limits: ServiceLimits | None = None,
        *,
        token: str = "",
        tracer: RequestTracer | None = None,
        access_log: bool = False,
    ) -> None:
        self._tracer, self._access_log = tracer, access_log
        self._service, self._limits = service, limits or ServiceLimits()
        self._expected = f"Bearer {token}" if token else ""
        self._held = HeldBytes(self._limits.held)
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
        """Refuses new calls, and ends those that are still in progress after `grace` seconds."""
        if self._server is not None:
            await self._server.stop(grace)

    def _handlers(self) -> dict[str, grpc.RpcMethodHandler]:
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(self._unary(name, getattr(self._service, name)))
            for name in METHODS
        }
        return {**handlers, "ModelStreamInfer": grpc.stream_stream_rpc_method_handler(self._stream)}

    def _unary(
        self, name: str, method: Method
    ) -> Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]:
        async def handle(data: bytes, context: grpc.aio.ServicerContext) -> bytes:
            begin = time.perf_counter()
            try:
                if name not in OPEN_METHODS:
                    self._authorize(context)
                self._held.add(len(data))
                try:
                    with self._span(name, context):
                        return await method(data, context.time_remaining())
                finally:
                    self._held.remove(len(data))
            except RequestFailure as failure:
                await abort(context, name, failure)
            except (asyncio.CancelledError, grpc.aio.AbortError):
                raise
            except Exception:
                LOG.exception("%s failed", name)
                await context.abort(
                    grpc.StatusCode.INTERNAL, "internal error; the log of the service has its cause"
                )
                raise AssertionError("abort raises") from None
            finally:
                if self._access_log:
                    log_call(name, context, time.perf_counter() - begin)

        return handle

    async def _stream(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[bytes]:
        """ModelStreamInfer: a response for each request, in order; failures are messages and do not end the stream."""
        try:
            self._authorize(context)
        except RequestFailure as failure:
            await abort(context, "ModelStreamInfer", failure)
        async for data in requests:
            try:
                self._held.add(len(data))
                try:
                    response = await self._service.infer(parse(ModelInferRequest, data), None)
                finally:
                    self._held.remove(len(data))
                yield encode(ModelStreamInferResponse("", response))
            except RequestFailure as failure:
                yield encode(ModelStreamInferResponse(failure.why))

    def _span(self, name: str, context: grpc.aio.ServicerContext) -> AbstractContextManager[object]:
        if self._tracer is None or name in OPEN_METHODS:
            return nullcontext()
        headers = {k: v for k, v in context.invocation_metadata() or () if isinstance(v, str)}
        attributes = {"rpc.system": "grpc", "rpc.service": SERVICE, "rpc.method": name}
        return self._tracer.span(f"{SERVICE}/{name}", headers, attributes)

    def _authorize(self, context: grpc.aio.ServicerContext) -> None:
        """Raises RequestFailure for a call without the token."""
        if not self._expected:
            return
        metadata = dict(context.invocation_metadata() or ())
        given = metadata.get("authorization", "")
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), self._expected.encode()):
            why = "the token of this service is required (authorization: Bearer)"
            raise RequestFailure(FailureKind.UNAUTHENTICATED, why)


def log_call(name: str, context: grpc.aio.ServicerContext, seconds: float) -> None:
    """Writes a line of the access log: the method, the status and the duration of a call."""
    code = context.code()  # a number, a StatusCode, or None while it is OK
    status = code.name if isinstance(code, grpc.StatusCode) else STATUS_NAMES.get(code or 0, str(code))
    fields = {"method": name, "status": status, "milliseconds": round(seconds * 1000, 3)}
    ACCESS_LOG.info("call", extra={"fields": fields})


async def abort(context: grpc.aio.ServicerContext, name: str, failure: RequestFailure) -> NoReturn:
    """Ends a call with the status and the message of a failure."""
    if failure.kind is FailureKind.INTERNAL:
        LOG.error("%s: %s", name, failure.why, exc_info=failure.__cause__)
    metadata: tuple[tuple[str, str], ...] = ()
    if failure.retry_after is not None:
        metadata = ((PUSHBACK, str(int(failure.retry_after * 1000))),)
    why = failure.why.encode("utf-8", "replace").decode()
    await context.abort(STATUS[failure.kind], why[:8000], metadata)
    raise AssertionError("abort raises")
