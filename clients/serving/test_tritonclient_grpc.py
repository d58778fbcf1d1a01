"""`sardonyx serve` with Triton's gRPC client: messages, metadata, every datatype, repository control, streams, sequences."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

import sardonyx as sx
from sardonyx._src.serve.grpc import messages
from sardonyx._src.serve.grpc.wire_fields import wire_fields

ARRAYS = {
    "BOOL": np.array([[True, False]]),
    "UINT8": np.array([[0, 255]], np.uint8),
    "UINT16": np.array([[0, 65535]], np.uint16),
    "UINT32": np.array([[0, (1 << 32) - 1]], np.uint32),
    "UINT64": np.array([[0, (1 << 64) - 1]], np.uint64),
    "INT8": np.array([[-128, 127]], np.int8),
    "INT16": np.array([[-32768, 32767]], np.int16),
    "INT32": np.array([[-(1 << 31), 5]], np.int32),
    "INT64": np.array([[-(1 << 63), 5]], np.int64),
    "FP16": np.array([[0.5, -2]], np.float16),
    "FP32": np.array([[0.1, -np.inf]], np.float32),
    "FP64": np.array([[0.1, 1e300]]),
    "BYTES": np.array([["é".encode(), b"\xff\x00"]], object),
}
TYPES = {"FP16": "float16", "FP32": "float", "FP64": "double", "BYTES": "string"}
COUNTER = """<ir_version: 10, opset_import: ["": 21]> g (float[N,2] x, float[N,2] total) => (float[N,2] y, float[N,2] next) {
    next = Add(x, total) y = Identity(next) }"""
# Our messages, and those of the published protocol.
MESSAGES = {
    messages.FlagResponse: ("ServerLiveResponse", "ServerReadyResponse", "ModelReadyResponse"),
    messages.ModelVersionRequest: ("ModelReadyRequest", "ModelMetadataRequest"),
    messages.ServerMetadataResponse: ("ServerMetadataResponse",),
    messages.ModelMetadataResponse: ("ModelMetadataResponse",),
    messages.TensorMetadataMessage: ("ModelMetadataResponse.TensorMetadata",),
    messages.InferTensorContents: ("InferTensorContents",),
    messages.InferInputTensor: ("ModelInferRequest.InferInputTensor",),
    messages.InferRequestedOutputTensor: ("ModelInferRequest.InferRequestedOutputTensor",),
    messages.ModelInferRequest: ("ModelInferRequest",),
    messages.InferOutputTensor: ("ModelInferResponse.InferOutputTensor",),
    messages.ModelInferResponse: ("ModelInferResponse",),
    messages.ModelStreamInferResponse: ("ModelStreamInferResponse",),
    messages.RepositoryIndexRequest: ("RepositoryIndexRequest",),
    messages.ModelIndex: ("RepositoryIndexResponse.ModelIndex",),
    messages.RepositoryIndexResponse: ("RepositoryIndexResponse",),
    messages.RepositoryModelRequest: ("RepositoryModelLoadRequest", "RepositoryModelUnloadRequest"),
}
KINDS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
}


@dataclass(frozen=True)
class GrpcService:
    """A running service; `models` is its repository."""

    port: int
    models: Path

    @property
    def client(self) -> triton.InferenceServerClient:
        return triton.InferenceServerClient(f"127.0.0.1:{self.port}")


@pytest.fixture(scope="module")
def grpc_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrpcService]:
    models = tmp_path_factory.mktemp("models")
    for name in ARRAYS:
        element_type = TYPES.get(name, name.lower())
        text = f'<ir_version: 10, opset_import: ["": 21]> g ({element_type}[N,M] x) => ({element_type}[N,M] y) {{ y = Identity(x) }}'
        sx.save(sx.from_text(text), models / f"{name}.onnx")
    (models / "counter").mkdir()
    sx.save(sx.from_text(COUNTER), models / "counter/model.onnx")
    (models / "counter/config.json").write_text(json.dumps({"sequences": {"states": {"total": "next"}}}))
    command = [
        sys.executable,
        "-m",
        "sardonyx",
        "serve",
        str(models),
        "--port",
        "0",
        "--grpc-port",
        "0",
        "--log",
        "json",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = 0
        for line in process.stderr:
            message = json.loads(line)["message"]
            if message.startswith("listening on grpc"):
                port = int(message.rpartition(":")[2])
            if message == "ready":
                break
        yield GrpcService(port, models)
        process.terminate()
        assert process.wait(30) == 0


def infer_input(array: np.ndarray, name: str = "x") -> triton.InferInput:
    tensor = triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    tensor.set_data_from_numpy(array)
    return tensor


@pytest.mark.parametrize("ours", MESSAGES, ids=lambda message: message.__name__)
def test_fields_are_those_of_the_published_protocol(ours: type) -> None:
    for path in MESSAGES[ours]:
        theirs = service_pb2.DESCRIPTOR.message_types_by_name[path.partition(".")[0]]
        if "." in path:
            theirs = theirs.nested_types_by_name[path.partition(".")[2]]
        fields = {field.number: field for field in theirs.fields}
        unused = {5} if ours is messages.InferOutputTensor else set()  # contents: ours are raw
        assert fields.keys() - unused == wire_fields(ours).keys()
        for number, wire in wire_fields(ours).items():
            field = fields[number]
            assert wire.name in (field.name, "flag")
            assert (wire.is_repeated or wire.oneof is not None) == field.is_repeated
            if wire.oneof is not None:
                entry = field.message_type.fields_by_name["value"].message_type
                assert wire.oneof == {f.number: KINDS[f.type] for f in entry.fields}
            elif isinstance(wire.kind, str):
                assert wire.kind == KINDS[field.type]


def test_health_and_metadata(grpc_service: GrpcService) -> None:
    with grpc_service.client as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("FP32")
        assert client.get_server_metadata().name == "sardonyx"
        metadata = client.get_model_metadata("INT64", as_json=True)
        assert metadata["inputs"] == [{"name": "x", "datatype": "INT64", "shape": ["-1", "-1"]}]


@pytest.mark.parametrize("datatype", ARRAYS)
def test_datatypes(grpc_service: GrpcService, datatype: str) -> None:
    array = ARRAYS[datatype]
    with grpc_service.client as client:
        result = client.infer(datatype, [infer_input(array)], request_id="7")
        assert result.get_response().id == "7"
        np.testing.assert_array_equal(result.as_numpy("y"), array)


def test_failures(grpc_service: GrpcService) -> None:
    with grpc_service.client as client:
        with pytest.raises(InferenceServerException, match="no model"):
            client.infer("nothing", [infer_input(ARRAYS["FP32"])])
        with pytest.raises(InferenceServerException, match="INT64") as caught:
            client.infer("INT64", [infer_input(ARRAYS["FP32"])])
        assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"


def test_repository(grpc_service: GrpcService) -> None:
    with grpc_service.client as client:
        index = client.get_model_repository_index()
        assert {"FP32", "counter"} <= {model.name for model in index.models}
        client.unload_model("FP16")
        assert not client.is_model_ready("FP16")
        client.load_model("FP16")
        assert client.is_model_ready("FP16")


def test_sequences_by_stream(grpc_service: GrpcService) -> None:
    answers: queue.Queue[tuple[triton.InferResult | None, InferenceServerException | None]] = queue.Queue()
    x = infer_input(np.ones((1, 2), np.float32))
    with grpc_service.client as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for i in range(5):
            client.async_stream_infer(
                "counter", [x], sequence_id=42, sequence_start=i == 0, sequence_end=i == 4
            )
        client.async_stream_infer("counter", [x], sequence_id=42)
        results = [answers.get(timeout=10) for _ in range(6)]
        client.stop_stream()
    assert [r.as_numpy("y")[0, 0] for r, _ in results[:5] if r is not None] == [1, 2, 3, 4, 5]
    assert "has not begun" in str(results[5][1])


def test_asynchronous_requests_are_batched(grpc_service: GrpcService) -> None:
    done: queue.Queue[tuple[int, triton.InferResult]] = queue.Queue()
    with grpc_service.client as client:
        for i in range(200):
            tensor = infer_input(np.full((1 + i % 3, 4), i, np.float32))
            client.async_infer("FP32", [tensor], lambda result, error, i=i: done.put((i, result)))
        for _ in range(200):
            i, result = done.get(timeout=10)
            assert (result.as_numpy("y") == np.full((1 + i % 3, 4), i)).all()
