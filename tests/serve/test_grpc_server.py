"""The gRPC transport through grpcio's own client: methods, failures, deadlines, tokens, TLS, streams."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

import grpc
import grpc.aio
import numpy as np
import pytest

from sardonyx._src.serve.grpc.messages import (
    EmptyMessage,
    FlagResponse,
    InferInputTensor,
    InferRequestedOutputTensor,
    ModelIndex,
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataResponse,
    ModelStreamInferResponse,
    ModelVersionRequest,
    RepositoryIndexRequest,
    RepositoryIndexResponse,
    RepositoryModelRequest,
    ServerMetadataResponse,
)
from sardonyx._src.serve.grpc.server import SERVICE, GrpcServer
from sardonyx._src.serve.grpc.service import GrpcInferenceService
from sardonyx._src.serve.grpc.wire_decoder import decode
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from serve.repositories import write_scale

T = TypeVar("T")


class Client:
    """Calls methods of the service with messages of ours."""

    def __init__(self, channel: grpc.aio.Channel, token: str = "") -> None:
        self.channel = channel
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()

    async def call(self, method: str, message: object, answer: type[T], timeout: float = 10) -> T:
        call = self.channel.unary_unary(f"/{SERVICE}/{method}")
        return decode(answer, await call(encode(message), timeout=timeout, metadata=self.metadata))

    async def refusal(self, method: str, message: object, timeout: float = 10) -> grpc.aio.AioRpcError:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.call(method, message, EmptyMessage, timeout)
        return caught.value


def serve(
    folder: Path,
    scenario: Callable[[Client], Coroutine[None, None, T]],
    *,
    limits: ServiceLimits | None = None,
    token: str = "",
    client_token: str = "",
    allows_control: bool = True,
    access_log: bool = False,
) -> T:
    """The result of a scenario with a client of the service of a folder."""

    async def run() -> T:
        repository = ModelRepository.of_folder(folder)
        await repository.load_all()
        service = GrpcInferenceService(repository, "1.2", allows_control=allows_control)
        server = GrpcServer(service, limits, token=token, access_log=access_log)
        port = await server.start("127.0.0.1", 0)
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                return await scenario(Client(channel, client_token))
        finally:
            await server.stop(0)
            await repository.close()

    return asyncio.run(run())


def request(value: float = 1.5, *, model: str = "a", version: str = "", id: str = "") -> ModelInferRequest:
    message = ModelInferRequest(model, version, id)
    message.inputs = [InferInputTensor("x", "FP32", [1, 2])]
    message.raw_input_contents = [memoryview(struct.pack("<2f", value, 2))]
    return message


def y_of(response: ModelInferResponse) -> list[float]:
    return [float(y) for y in np.frombuffer(response.raw_output_contents[0], "<f4")]


def test_methods(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        for method in ("ServerLive", "ServerReady"):
            assert (await client.call(method, EmptyMessage(), FlagResponse)).flag
        server = await client.call("ServerMetadata", EmptyMessage(), ServerMetadataResponse)
        assert (server.name, server.version) == ("sardonyx", "1.2")
        assert "sequence" in server.extensions
        assert (await client.call("ModelReady", ModelVersionRequest("a", "1"), FlagResponse)).flag
        metadata = await client.call("ModelMetadata", ModelVersionRequest("a"), ModelMetadataResponse)
        assert (metadata.name, metadata.versions, metadata.inputs[0].shape) == ("a", ["1"], [-1, 2])
        assert metadata.outputs[0].datatype == "FP32"
        response = await client.call("ModelInfer", request(id="7"), ModelInferResponse)
        assert (response.model_name, response.model_version, response.id) == ("a", "1", "7")
        assert (response.outputs[0].name, response.outputs[0].shape) == ("y", [1, 2])
        assert y_of(response) == [4.5, 6.0]

    serve(tmp_path, scenario)


def test_repository_control(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        model = RepositoryModelRequest("", "a")
        await client.call("RepositoryModelUnload", model, EmptyMessage)
        index = await client.call("RepositoryIndex", RepositoryIndexRequest(), RepositoryIndexResponse)
        assert index.models == [ModelIndex("a", "", "UNAVAILABLE", "unloaded")]
        assert not (await client.call("ModelReady", ModelVersionRequest("a"), FlagResponse)).flag
        error = await client.refusal("ModelInfer", request())
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        write_scale(tmp_path / "a.onnx", 5)
        await client.call("RepositoryModelLoad", model, EmptyMessage)
        assert y_of(await client.call("ModelInfer", request(), ModelInferResponse)) == [7.5, 10.0]
        model.parameters = {"config": "{}"}
        error = await client.refusal("RepositoryModelLoad", model)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT

    serve(tmp_path, scenario)


def test_control_may_be_forbidden(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        error = await client.refusal("RepositoryModelUnload", RepositoryModelRequest("", "a"))
        assert error.code() is grpc.StatusCode.PERMISSION_DENIED
        assert y_of(await client.call("ModelInfer", request(), ModelInferResponse)) == [4.5, 6.0]

    serve(tmp_path, scenario, allows_control=False)


def test_failures_are_status_codes(tmp_path: Path) -> None:
    write_scale(tmp_path / "model.onnx", 3)

    async def scenario(client: Client) -> None:
        error = await client.refusal("ModelInfer", request(model="modle"))
        assert error.code() is grpc.StatusCode.NOT_FOUND
        assert "did you mean 'model'" in str(error.details())
        wrong = request(model="model")
        wrong.inputs[0].shape = [2, 2]
        error = await client.refusal("ModelInfer", wrong)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        unknown = request(model="model")
        unknown.outputs = [InferRequestedOutputTensor("z")]
        assert "no output 'z'" in str((await client.refusal("ModelInfer", unknown)).details())
        late = request(model="model")
        late.parameters = {"timeout": -1}
        assert (await client.refusal("ModelInfer", late)).code() is grpc.StatusCode.INVALID_ARGUMENT
        call = client.channel.unary_unary(f"/{SERVICE}/ModelInfer")
        with pytest.raises(grpc.aio.AioRpcError, match="must be a ModelInferRequest"):
            await call(b"\x0a\xff")
        assert (await client.refusal("ModelConfig", EmptyMessage())).code() is grpc.StatusCode.UNIMPLEMENTED

    serve(tmp_path, scenario)


def test_large_messages_are_refused(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        large = request()
        large.id = "x" * 5000
        error = await client.refusal("ModelInfer", large)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert y_of(await client.call("ModelInfer", request(), ModelInferResponse)) == [4.5, 6.0]

    serve(tmp_path, scenario, limits=ServiceLimits(body=4096))


def test_busy_service_says_when_to_come_back(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        error = await client.refusal("ModelInfer", request())
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert ("grpc-retry-pushback-ms", "1000") in tuple(error.trailing_metadata())

    serve(tmp_path, scenario, limits=ServiceLimits(held=10))


def test_tokens(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def with_token(client: Client) -> None:
        assert y_of(await client.call("ModelInfer", request(), ModelInferResponse)) == [4.5, 6.0]

    async def without(client: Client) -> None:
        assert (await client.call("ServerLive", EmptyMessage(), FlagResponse)).flag
        for method in ("ModelInfer", "RepositoryIndex", "ServerMetadata"):
            error = await client.refusal(method, request())
            assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        stream = client.channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")(metadata=client.metadata)
        with pytest.raises(grpc.aio.AioRpcError, match="token"):
            await stream.read()

    serve(tmp_path, with_token, token="secret", client_token="secret")
    serve(tmp_path, without, token="secret")
    serve(tmp_path, without, token="secret", client_token="other")


def test_stream_responds_in_order_and_survives_failures(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> list[float | str]:
        stream = client.channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")()
        for message in (request(1), request(2, model="b"), request(3)):
            await stream.write(encode(message))
        await stream.done_writing()
        results: list[float | str] = []
        async for data in stream:
            answer = decode(ModelStreamInferResponse, data)
            results.append(y_of(answer.infer_response)[0] if answer.infer_response else answer.error_message)
        return results

    first, second, third = serve(tmp_path, scenario)
    assert (first, third) == (3.0, 9.0)
    assert "no model 'b'" in str(second)


def test_access_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        await client.call("ModelInfer", request(), ModelInferResponse)
        await client.refusal("ModelInfer", request(model="b"))

    with caplog.at_level("INFO", "sardonyx.serve.access"):
        serve(tmp_path, scenario, access_log=True)
    lines = [record.__dict__["fields"] for record in caplog.records if record.getMessage() == "call"]
    assert [(line["method"], line["status"]) for line in lines] == [
        ("ModelInfer", "OK"),
        ("ModelInfer", "NOT_FOUND"),
    ]
