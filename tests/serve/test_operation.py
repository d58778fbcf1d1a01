"""Metrics and traces of a service."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route

from sardonyx._src.serve.grpc.messages import EmptyMessage, FlagResponse, ModelInferResponse
from sardonyx._src.serve.grpc.server import GrpcServer
from sardonyx._src.serve.grpc.service import GrpcInferenceService
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.operation.metrics import MetricsEndpoint
from sardonyx._src.serve.operation.snapshots import ProcessSnapshot, take_snapshot
from sardonyx._src.serve.operation.tracing import RequestTracer, TracedApplication
from sardonyx._src.serve.protocol.failures import RequestFailure
from sardonyx._src.serve.protocol.requests import InferenceRequest
from sardonyx._src.serve.rest.application import RestApplication
from serve.asgi_client import Response, request
from serve.repositories import write_scale
from serve.test_grpc_server import Client
from serve.test_grpc_server import request as grpc_request

X = np.array([[1, 2]], np.float32)
BODY = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def samples(response: Response) -> dict[tuple[str, ...], float]:
    """Values by the name of the sample, model, version, and the bound or outcome."""
    order = ("model", "version", "le", "outcome")
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, *(sample.labels[key] for key in order if key in sample.labels)): sample.value
        for family in text_string_to_metric_families(response.body.decode())
        for sample in family.samples
    }


def test_metrics(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 2)

    async def scenario() -> dict[tuple[str, ...], float]:
        repository = ModelRepository.of_folder(tmp_path)
        await repository.load_all()

        async def take_snapshots() -> list[ProcessSnapshot]:
            return [take_snapshot(repository)]

        metrics = Route("/metrics", MetricsEndpoint(take_snapshots))
        app = RestApplication(repository, "1", more_routes=[metrics])
        model = repository.find("a")
        for _ in range(3):
            await model.infer(InferenceRequest("a", {"x": X}))
        with pytest.raises(RequestFailure):
            await model.infer(InferenceRequest("a", {"z": X}))
        write_scale(tmp_path / "a.onnx", 3)
        await repository.refresh()
        await repository.find("a").infer(InferenceRequest("a", {"x": X}))
        response = await request(app, "GET", "/metrics")
        await repository.close()
        return samples(response)

    values = asyncio.run(scenario())
    assert values["sardonyx_requests_total", "a", "1", "ok"] == 4, "also those before the replacement"
    assert values["sardonyx_requests_total", "a", "1", "invalid"] == 1
    assert values["sardonyx_request_seconds_count", "a", "1"] == 5
    assert values["sardonyx_request_seconds_bucket", "a", "1", "+Inf"] == 5
    assert values["sardonyx_batch_rows_bucket", "a", "1", "1.0"] == 5
    assert values["sardonyx_queue_length", "a", "1"] == 0
    assert values["sardonyx_model_ready", "a", "1"] == 1
    assert 0 < values["sardonyx_request_seconds_sum", "a", "1"] < 60


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    yield exporter
    exporter.shutdown()


def test_traces_of_http(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    write_scale(tmp_path / "a.onnx", 2)
    tracer = RequestTracer(exporter)

    async def scenario() -> None:
        repository = ModelRepository.of_folder(tmp_path)
        await repository.load_all()
        app = TracedApplication(RestApplication(repository, "1"), tracer)
        headers = {"traceparent": PARENT}
        assert (await request(app, "POST", "/v2/models/a/infer", BODY, headers)).status == 200
        assert (await request(app, "POST", "/v2/models/b/infer", BODY)).status == 404
        assert (await request(app, "GET", "/v2/health/live")).status == 200
        await repository.close()

    asyncio.run(scenario())
    tracer.close()
    first, second = exporter.get_finished_spans()
    assert first.name == "POST /v2/models/a/infer"
    assert first.parent is not None
    assert format(first.context.trace_id, "032x") == PARENT.split("-")[1]
    assert format(first.parent.span_id, "016x") == PARENT.split("-")[2]
    assert first.attributes["http.response.status_code"] == 200
    assert first.resource.attributes["service.name"] == "sardonyx"
    assert (second.parent, second.attributes["http.response.status_code"]) == (None, 404)


def test_traces_of_grpc(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    import grpc.aio

    write_scale(tmp_path / "a.onnx", 2)
    tracer = RequestTracer(exporter)

    async def scenario() -> None:
        repository = ModelRepository.of_folder(tmp_path)
        await repository.load_all()
        server = GrpcServer(GrpcInferenceService(repository, "1", allows_control=False), tracer=tracer)
        port = await server.start("127.0.0.1", 0)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            client = Client(channel)
            client.metadata = (("traceparent", PARENT),)
            await client.call("ServerLive", EmptyMessage(), FlagResponse)
            await client.call("ModelInfer", grpc_request(), ModelInferResponse)
        await server.stop(0)
        await repository.close()

    asyncio.run(scenario())
    tracer.close()
    (span,) = exporter.get_finished_spans()
    assert span.name == "inference.GRPCInferenceService/ModelInfer"
    assert format(span.context.trace_id, "032x") == PARENT.split("-")[1]
