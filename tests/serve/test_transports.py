"""A service with both transports: they serve one repository, and a shutdown lets the requests of both complete."""

from __future__ import annotations

import argparse
import asyncio
import json
import urllib.request
from pathlib import Path

import grpc.aio
import pytest

from sardonyx._src.cli.verbs import serve as serve_verb
from sardonyx._src.errors import InputError
from sardonyx._src.serve.grpc.messages import ModelInferResponse
from sardonyx._src.serve.models.scheduler.options import SchedulerOptions
from sardonyx._src.serve.service.service import Service
from sardonyx._src.serve.settings.configuration import parse_settings
from serve.repositories import write_scale
from serve.test_grpc_server import Client, request, y_of

BODY = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}


def test_http_and_grpc_of_one_service(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)
    settings = parse_settings({"repository": tmp_path, "port": 0, "grpc_port": 0})

    def post(port: int) -> list[float]:
        url = f"http://127.0.0.1:{port}/v2/models/a/infer"
        with urllib.request.urlopen(
            urllib.request.Request(url, json.dumps(BODY).encode()), timeout=5
        ) as answer:
            return list(json.load(answer)["outputs"][0]["data"])

    def metrics(port: int) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return str(answer.read(), "utf-8")

    async def scenario() -> None:
        service = Service(settings)
        running = asyncio.create_task(service.run())
        while not (service.repository.is_ready and len(service.ports) == 2):
            assert not running.done(), "the service runs"
            await asyncio.sleep(0.01)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
            response = await Client(channel).call("ModelInfer", request(1), ModelInferResponse)
            assert y_of(response) == [3.0, 6.0]
            assert await asyncio.to_thread(post, service.ports["http"]) == [3.0, 6.0]
            text = await asyncio.to_thread(metrics, service.ports["http"])
            assert 'sardonyx_requests_total{model="a",outcome="ok",version="1"} 2.0' in text
        service.stop()
        await running

    asyncio.run(scenario())


@pytest.mark.parametrize("values", [{"grpc_port": 70000}, {"traces": "localhost"}, {"metrics": 1}])
def test_invalid_settings(values: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(values))):
        parse_settings({"repository": ".", **values})


def test_options_of_the_command_line() -> None:
    parser = argparse.ArgumentParser()
    serve_verb.arguments(parser)
    options = (
        "models --grpc-port 0 --no-metrics --workers 2 --max-queue 5 --max-batch 4 --batch-delay 0.01".split()
    )
    traces = ["--traces", "http://localhost:4318/v1/traces"]
    settings = parse_settings(serve_verb.read_settings(parser.parse_args([*options, *traces])))
    assert (settings.grpc_port, settings.metrics, settings.traces) == (0, False, traces[1])
    assert settings.models.scheduling == SchedulerOptions(
        workers=2, max_queue=5, max_batch=4, batch_delay=0.01
    )
