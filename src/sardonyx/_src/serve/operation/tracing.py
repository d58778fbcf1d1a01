"""Traces of requests for OpenTelemetry: a span for each request, as a part of its client's trace.

Spec: W3C Trace Context; OpenTelemetry semantic conventions for HTTP and RPC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sardonyx._src.errors import MissingPackage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

MAX_PATH = 200  # characters of a path in a span; limited because many spans wait in memory to be exported
UNTRACED = ("/v2/health/", "/metrics")  # not traced: they are polled, and would be most of the traces


class RequestTracer:
    """Starts spans, and exports them in a thread of its own."""

    def __init__(self, exporter: SpanExporter) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        resource = Resource.create()  # from the environment: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
        if str(resource.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "sardonyx"}))
        self._provider: TracerProvider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("sardonyx.serve")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(
        self, name: str, headers: Mapping[str, str], attributes: Mapping[str, str | int]
    ) -> Iterator[Span]:
        """A server span; its parent is the client's span, which the headers of the request name."""
        from opentelemetry.trace import SpanKind

        parent = self._propagator.extract(headers)
        with self._tracer.start_as_current_span(
            name, context=parent, kind=SpanKind.SERVER, attributes=dict(attributes)
        ) as span:
            yield span

    def close(self) -> None:
        """Exports the remaining spans."""
        self._provider.shutdown()


def open_tracer(endpoint: str) -> RequestTracer:
    """A tracer that sends spans by OTLP over HTTP to a collector, such as `http://localhost:4318/v1/traces`.

    Raises MissingPackage without the extra `sardonyx[otel]`.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        why = f"traces need {error.name}: pip install 'sardonyx[otel]'"
        raise MissingPackage(why, package="sardonyx[otel]") from None
    return RequestTracer(OTLPSpanExporter(endpoint=endpoint))


class TracedApplication:
    """An ASGI application that traces each request except for health probes and metrics."""

    def __init__(self, app: ASGIApp, tracer: RequestTracer) -> None:
        self._app, self._tracer = app, tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(UNTRACED):
            await self._app(scope, receive, send)
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        path = scope["path"][:MAX_PATH]
        attributes = {"http.request.method": scope["method"], "url.path": path}
        with self._tracer.span(f"{scope['method']} {path}", headers, attributes) as span:

            async def send_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            await self._app(scope, receive, send_status)
