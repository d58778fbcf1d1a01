"""`sardonyx serve` with Triton's HTTP client: metadata, every datatype, both forms of tensors, repository control, many connections."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

import sardonyx as sx

ELEMENT_TYPES = {
    "BOOL": "bool",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "FP16": "float16",
    "FP32": "float",
    "FP64": "double",
    "BF16": "bfloat16",
    "BYTES": "string",
}
CONNECTIONS = 2000
WITHOUT_JSON = ("FP16", "BF16")  # the client sends these as binary data alone


@dataclass(frozen=True)
class Service:
    """A running service; `models` is its repository."""

    port: int
    models: Path

    @property
    def client(self) -> triton.InferenceServerClient:
        return triton.InferenceServerClient(f"127.0.0.1:{self.port}")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    models = tmp_path_factory.mktemp("models")
    for name, element_type in ELEMENT_TYPES.items():
        text = f'<ir_version: 10, opset_import: ["": 21]> g ({element_type}[N,M] x) => ({element_type}[N,M] y) {{ y = Identity(x) }}'
        sx.save(sx.from_text(text), models / f"{name}.onnx")
    write_scale(models, 2)
    command = [sys.executable, "-m", "sardonyx", "serve", str(models), "--port", "0", "--log", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = 0
        for line in process.stderr:
            message = json.loads(line)["message"]
            if message.startswith("listening"):
                port = int(message.rpartition(":")[2])
            if message == "ready":
                break
        yield Service(port, models)
        process.terminate()
        assert process.wait(30) == 0


def write_scale(models: Path, factor: int) -> None:
    """A model that multiplies by a factor, in two versions."""
    for version in (1, 2):
        text = f"""<ir_version: 10, opset_import: ["": 21]>
            g (float[N] x) => (float[N] y) <float w = {{{factor * version}}}> {{ y = Mul(x, w) }}"""
        path = models / f"scale/{version}/model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(".part")
        sx.save(sx.from_text(text), part)
        part.replace(path)
    (models / "scale/config.json").write_text('{"versions": "all"}')


def elements(datatype: str) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Elements of a datatype, in the NumPy type in which the client takes them."""
    if datatype == "BYTES":
        return np.array([["", "a", "\u00fc"], ["\u4e2d", "b" * 300, "\U0001f600"]], object)
    dtype = ml_dtypes.bfloat16 if datatype == "BF16" else triton_to_np_dtype(datatype)
    return np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype)


@pytest.mark.parametrize("form", ["binary", "json"])
@pytest.mark.parametrize("datatype", ELEMENT_TYPES)
def test_datatypes(service: Service, datatype: str, form: str) -> None:
    if form == "json" and datatype in WITHOUT_JSON:
        return
    x = elements(datatype)
    tensor = triton.InferInput("x", x.shape, datatype)
    tensor.set_data_from_numpy(x, binary_data=form == "binary")
    is_binary = form == "binary"
    result = service.client.infer(
        datatype, [tensor], outputs=[triton.InferRequestedOutput("y", binary_data=is_binary)], request_id="5"
    )
    y = result.as_numpy("y")
    if datatype == "BYTES" and is_binary:
        y = np.vectorize(bytes.decode, otypes=[object])(y)
    np.testing.assert_array_equal(y.reshape(x.shape), x)
    assert result.get_response()["id"] == "5"


def test_outputs_that_are_not_requested(service: Service) -> None:
    tensor = triton.InferInput("x", [2], "FP32")
    tensor.set_data_from_numpy(np.array([1, 2], np.float32))
    np.testing.assert_array_equal(service.client.infer("scale", [tensor]).as_numpy("y"), [4, 8])
    answer = service.client.infer("scale", [tensor], model_version="1", priority=1, timeout=10_000_000)
    np.testing.assert_array_equal(answer.as_numpy("y"), [2, 4])


def test_health_metadata_and_control(service: Service) -> None:
    client = service.client
    assert client.is_server_live()
    assert client.is_server_ready()
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    assert client.get_model_metadata("scale")["versions"] == ["1", "2"]
    assert client.get_model_config("scale")["input"][0]["data_type"] == "TYPE_FP32"
    assert {row["state"] for row in client.get_model_repository_index()} == {"READY"}
    client.unload_model("scale")
    assert not client.is_model_ready("scale")
    with pytest.raises(InferenceServerException, match="not ready"):
        test_outputs_that_are_not_requested(service)
    client.load_model("scale")
    assert client.is_model_ready("scale", "2")


def test_replacement_under_load_loses_no_request(service: Service) -> None:
    client = triton.InferenceServerClient(f"127.0.0.1:{service.port}", concurrency=30)
    tensor = triton.InferInput("x", [1], "FP32")
    tensor.set_data_from_numpy(np.array([1], np.float32))
    answers = set()
    for factor in (3, 5, 7, 2):
        write_scale(service.models, factor)
        requests = [client.async_infer("scale", [tensor]) for _ in range(20)]
        client.load_model("scale")
        answers |= {float(r.get_result().as_numpy("y")[0]) for r in requests}
        np.testing.assert_array_equal(client.infer("scale", [tensor]).as_numpy("y"), [2 * factor])
    assert answers <= {4, 6, 10, 14}


def test_many_idle_connections(service: Service) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, CONNECTIONS + 500), hard))
    begin = time.monotonic()
    connections = [
        socket.create_connection(("127.0.0.1", service.port), timeout=10) for _ in range(CONNECTIONS)
    ]
    for connection in connections[::2]:
        connection.sendall(b"POST /v2/models/scale/infer HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{")
    test_outputs_that_are_not_requested(service)
    assert time.monotonic() - begin < 30
    for connection in connections:
        connection.close()
    test_outputs_that_are_not_requested(service)
