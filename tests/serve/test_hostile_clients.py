"""Clients that send or read slowly, name files, or declare huge shapes; what each gets is its own; where a service listens."""

from __future__ import annotations

import asyncio
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import grpc
import grpc.aio
import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.grpc.messages import (
    InferInputTensor,
    ModelInferRequest,
    ModelInferResponse,
    RepositoryModelRequest,
)
from sardonyx._src.serve.grpc.server import SERVICE
from sardonyx._src.serve.grpc.wire_decoder import decode
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.service.service import Service
from serve.repositories import write_scale
from serve.running import HttpConnection, post, run_service, wait_until

PATH = "/v2/models/a/infer"
CLIENTS = 8
REQUESTS = 25
FILL = "g (int64[1] n) => (float[M] y) { y = ConstantOfShape(n) }"


def tensor(rows: Sequence[Sequence[float]], shape: Sequence[int] | None = None) -> dict[str, object]:
    data = [x for row in rows for x in row]
    return {"name": "x", "datatype": "FP32", "shape": list(shape or (len(rows), 2)), "data": data}


def message(rows: Sequence[Sequence[float]], shape: Sequence[int] | None = None, model: str = "a") -> bytes:
    request = ModelInferRequest(model)
    request.inputs = [InferInputTensor("x", "FP32", list(shape or (len(rows), 2)))]
    request.raw_input_contents = [memoryview(np.array(rows, np.float32).tobytes())]
    return encode(request)


def test_each_client_gets_its_own_rows(tmp_path: Path) -> None:
    """Also where requests are joined to batches, some of which are invalid, and while the model is replaced by an equal one."""
    write_scale(tmp_path / "a.onnx", 3)

    async def over_http(service: Service, client: int) -> None:
        rng = np.random.default_rng(client)
        async with HttpConnection(service) as connection:
            for _ in range(REQUESTS):
                rows = rng.integers(-1000, 1000, (rng.integers(1, 4), 2)).tolist()
                is_valid = rng.random() < 0.8
                connection.send(PATH, {"inputs": [tensor(rows, None if is_valid else (1, 7))]})
                answer = await connection.receive()
                assert answer.status == (200 if is_valid else 400)
                if is_valid:
                    assert answer.json["outputs"][0]["data"] == [3 * x for row in rows for x in row]

    async def over_grpc(service: Service, client: int) -> None:
        rng = np.random.default_rng(100 + client)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
            infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
            for _ in range(REQUESTS):
                rows = rng.integers(-1000, 1000, (rng.integers(1, 4), 2))
                response = decode(ModelInferResponse, await infer(message(rows.tolist())))
                y = np.frombuffer(response.raw_output_contents[0], "<f4")
                np.testing.assert_array_equal(y, 3 * rows.ravel())

    async def scenario(service: Service) -> None:
        executor = service.repository.find("a").executor
        executor.try_execute = lambda request: None  # type: ignore[method-assign]  # all go through the queue
        clients = [kind(service, i) for i in range(CLIENTS) for kind in (over_http, over_grpc)]
        await asyncio.gather(*clients)
        statistics = service.repository.find("a").statistics
        assert sum(statistics.batch_rows.counts[2:]) > 0, "some ran together"

    run_service(tmp_path, scenario, {"models": {"scheduling": {"batch_delay": 0.005}}})


def test_bodies_that_arrive_too_slowly_are_cut_off(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        async with HttpConnection(service) as connection:
            connection.writer.write(
                b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{"
            )
            assert await asyncio.wait_for(connection.reader.read(), 20) == b""
        answer = await post(service, PATH, {"inputs": [tensor([[1, 2]])]})
        assert answer.json["outputs"][0]["data"] == [3, 6]

    run_service(tmp_path, scenario, {"limits": {"body_seconds": 0.2}})


def test_clients_that_read_nothing_are_cut_off(tmp_path: Path) -> None:
    sx.save(parse_model(FILL), tmp_path / "a.onnx")
    n = {"name": "n", "datatype": "INT64", "shape": [1], "data": [20_000_000]}
    warm_up = [{"inputs": [{**n, "data": [1]}]}]

    async def scenario(service: Service) -> None:
        async with HttpConnection(service) as connection:
            connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
            connection.send(PATH, {"inputs": [n], "parameters": {"binary_data_output": True}})
            await wait_until(lambda: any(c.stalled_since is not None for c in service._table.all))
            await wait_until(lambda: not service._table.all)

    run_service(tmp_path, scenario, {"limits": {"write_seconds": 0.2}, "models": {"warm_up": warm_up}})


@pytest.mark.parametrize(
    "name", ["../secret", "..", "/secret", "a/../../secret", "./a", "a/1/model", "a\0", ""]
)
def test_names_of_models_are_no_paths(tmp_path: Path, name: str) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)
    write_scale(tmp_path / "secret.onnx", 5)
    quoted = "".join(f"%{byte:02x}" for byte in name.encode())

    async def scenario(service: Service) -> None:
        for path in (
            f"models/{quoted}/infer",
            *(f"repository/models/{quoted}/{verb}" for verb in ("load", "unload")),
        ):
            answer = await post(
                service, f"/v2/{path}", {"inputs": [tensor([[1, 2]])]} if "infer" in path else {}
            )
            assert answer.status == 404
        async with grpc.aio.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
            for method, data in (
                ("ModelInfer", message([[1, 2]], model=name)),
                ("RepositoryModelLoad", encode(RepositoryModelRequest("", name))),
                ("RepositoryModelUnload", encode(RepositoryModelRequest("", name))),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await channel.unary_unary(f"/{SERVICE}/{method}")(data)
                assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert [row.name for row in service.repository.index()] == ["a"]

    run_service(tmp_path / "models", scenario)


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 40), (-1, 2), (0, 1 << 60), (1, 3), (1,) * 40, ()], ids=str)
def test_shapes_of_grpc_are_compared_with_the_data_before_anything_is_allocated(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
            infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
            request = ModelInferRequest("a")
            request.inputs = [InferInputTensor("x", "FP32", list(shape))]
            request.raw_input_contents = [memoryview(struct.pack("<2f", 1, 2))]
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await infer(encode(request))
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            response = decode(ModelInferResponse, await infer(message([[1, 2]])))
            assert bytes(response.raw_output_contents[0]) == struct.pack("<2f", 3, 6)

    run_service(tmp_path, scenario)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/net/tcp")
def test_a_service_listens_on_loopback_alone(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        tables = [Path(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
        lines = [
            line.split() for path in tables if path.exists() for line in path.read_text().splitlines()[1:]
        ]
        listening = [line[1].split(":") for line in lines if line[3] == "0A"]
        addresses = {int(port, 16): address for address, port in listening}
        assert {addresses[port] for port in service.ports.values()} <= {
            "0100007F",
            "0000000000000000FFFF00000100007F",
        }

    run_service(tmp_path, scenario)
