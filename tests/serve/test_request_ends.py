"""How requests end before their result: by their client, by a deadline, by a limit, or at a full queue; over both transports."""

from __future__ import annotations

import json
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.grpc.messages import InferInputTensor, ModelInferRequest, ModelInferResponse
from sardonyx._src.serve.grpc.server import SERVICE
from sardonyx._src.serve.grpc.wire_decoder import decode
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.service.service import Service
from serve.running import HttpConnection, post, run_service, wait_until

# The input is the number of iterations.  A run of FOREVER ends when it is ended.
LOOP = """g (int64 n) => (float y) <bool go = {1}, float one = {1}> {
    y = Loop(n, go, one) <body = b (int64 i, bool c, float v) => (bool d, float u) { d = Identity(c) u = Mul(v, v) }> }"""
FILL = "g (int64[1] n) => (float[M] y) { y = ConstantOfShape(n) }"
FOREVER = 10**12
PATH = "/v2/models/loop/infer"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "loop").mkdir()
    sx.save(parse_model(LOOP), tmp_path / "loop/model.onnx")
    configure(tmp_path)
    return tmp_path


def configure(models: Path, *, seconds: float = 1e9, max_queue: int = 256) -> None:
    config = {
        "warm_up": [{"inputs": [tensor(1)]}],
        "limits": {"iterations": FOREVER, "seconds": seconds},
        "scheduling": {"max_queue": max_queue},
    }
    (models / "loop/config.json").write_text(json.dumps(config))


def tensor(n: int, shape: tuple[int, ...] = ()) -> dict[str, object]:
    return {"name": "n", "datatype": "INT64", "shape": list(shape), "data": [n]}


def body(n: int, **parameters: object) -> dict[str, object]:
    return {"inputs": [tensor(n)], "parameters": parameters}


def message(n: int, shape: tuple[int, ...] = (), model: str = "loop") -> bytes:
    request = ModelInferRequest(model)
    request.inputs = [InferInputTensor("n", "INT64", list(shape))]
    request.raw_input_contents = [memoryview(struct.pack("<q", n))]
    return encode(request)


def outcomes(service: Service) -> dict[str, int]:
    return dict(service.repository.find("loop").statistics.outcomes)


def is_running(service: Service) -> bool:
    scheduler = service.repository.find("loop").executor.scheduler
    return not scheduler.is_idle and scheduler.queue_length == 0


async def run_is_possible(service: Service) -> None:
    """Asserts that the only worker of the model is free again."""
    answer = await post(service, PATH, body(1))
    assert (answer.status, answer.json["outputs"][0]["data"]) == (200, [1])


async def with_call(
    service: Service, use: Callable[[grpc.aio.UnaryUnaryMultiCallable], Awaitable[None]]
) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
        await use(channel.unary_unary(f"/{SERVICE}/ModelInfer"))


def test_a_client_that_closes_its_connection_ends_its_run(models: Path) -> None:
    async def scenario(service: Service) -> None:
        async with HttpConnection(service) as connection:
            connection.send(PATH, body(FOREVER))
            await wait_until(lambda: is_running(service))
        await wait_until(lambda: "cancelled" in outcomes(service))
        await run_is_possible(service)
        assert outcomes(service) == {"cancelled": 1, "ok": 1}

    run_service(models, scenario)


def test_a_client_that_closes_its_connection_leaves_the_queue(models: Path) -> None:
    async def scenario(service: Service) -> None:
        scheduler = service.repository.find("loop").executor.scheduler
        async with HttpConnection(service) as running, HttpConnection(service) as waiting:
            running.send(PATH, body(FOREVER))
            await wait_until(lambda: is_running(service))
            waiting.send(PATH, body(FOREVER))
            await wait_until(lambda: scheduler.queue_length == 1)
            waiting.close()
            await wait_until(lambda: scheduler.queue_length == 0)
            assert outcomes(service) == {"cancelled": 1}, "the other one still runs"
        await wait_until(lambda: outcomes(service) == {"cancelled": 2})
        await run_is_possible(service)

    run_service(models, scenario)


def test_a_cancelled_call_ends_its_run(models: Path) -> None:
    async def scenario(service: Service) -> None:
        async def use(infer: grpc.aio.UnaryUnaryMultiCallable) -> None:
            call = infer(message(FOREVER))
            await wait_until(lambda: is_running(service))
            call.cancel()
            await wait_until(lambda: "cancelled" in outcomes(service))
            await run_is_possible(service)

        await with_call(service, use)

    run_service(models, scenario)


def test_deadlines_end_runs(models: Path) -> None:
    async def scenario(service: Service) -> None:
        answer = await post(service, PATH, body(FOREVER, timeout=100_000))
        assert (answer.status, list(answer.json)) == (504, ["error"])
        assert outcomes(service) == {"deadline": 1}

        async def use(infer: grpc.aio.UnaryUnaryMultiCallable) -> None:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await infer(message(FOREVER), timeout=0.3)
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            await run_is_possible(service)

        await with_call(service, use)

    run_service(models, scenario)


def test_run_time_is_limited(models: Path) -> None:
    configure(models, seconds=0.2)

    async def scenario(service: Service) -> None:
        answer = await post(service, PATH, body(FOREVER))
        assert (answer.status, "limits.seconds" in answer.json["error"]) == (504, True)

        async def use(infer: grpc.aio.UnaryUnaryMultiCallable) -> None:
            with pytest.raises(grpc.aio.AioRpcError, match=r"limits\.seconds") as caught:
                await infer(message(FOREVER))
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED

        await with_call(service, use)
        await run_is_possible(service)

    run_service(models, scenario)


def test_a_full_queue_says_when_to_come_back(models: Path) -> None:
    configure(models, max_queue=1)

    async def scenario(service: Service) -> None:
        scheduler = service.repository.find("loop").executor.scheduler
        async with HttpConnection(service) as running, HttpConnection(service) as waiting:
            running.send(PATH, body(FOREVER))
            await wait_until(lambda: is_running(service))
            waiting.send(PATH, body(1))
            await wait_until(lambda: scheduler.queue_length == 1)
            answer = await post(service, PATH, body(1))
            assert (answer.status, int(answer.headers["retry-after"])) == (429, 1)

            async def use(infer: grpc.aio.UnaryUnaryMultiCallable) -> None:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await infer(message(1))
                assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
                metadata = dict(caught.value.trailing_metadata() or ())
                assert int(metadata["grpc-retry-pushback-ms"]) > 0

            await with_call(service, use)
            running.close()
            assert (await waiting.receive()).status == 200, "what waited runs when there is room"

    run_service(models, scenario)


@pytest.mark.parametrize(("count", "limit"), [(10**6, "limits.run_bytes"), (10**15, "limits.bytes")])
def test_shapes_that_a_run_computes_are_limited(tmp_path: Path, count: int, limit: str) -> None:
    sx.save(parse_model(FILL), tmp_path / "fill.onnx")
    values = {"models": {"limits": {"run_bytes": 1 << 20}, "warm_up": [{"inputs": [tensor(2, (1,))]}]}}

    async def scenario(service: Service) -> None:
        answer = await post(service, "/v2/models/fill/infer", {"inputs": [tensor(count, (1,))]})
        assert (answer.status, limit in answer.json["error"]) == (413, True)

        async def use(infer: grpc.aio.UnaryUnaryMultiCallable) -> None:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await infer(message(count, (1,), "fill"))
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            response = decode(ModelInferResponse, await infer(message(3, (1,), "fill")))
            assert bytes(response.raw_output_contents[0]) == bytes(12)

        await with_call(service, use)

    run_service(tmp_path, scenario, values)


def test_a_run_whose_work_depends_on_elements_is_never_on_the_event_loop(models: Path) -> None:
    async def scenario(service: Service) -> None:
        for _ in range(5):
            await run_is_possible(service)
        assert not service.repository.find("loop").executor.has_quick_runs
        async with HttpConnection(service) as connection:
            connection.send(PATH, body(FOREVER))
            await wait_until(lambda: is_running(service))
            assert (await post(service, "/v2/repository/index", {})).status == 200

    run_service(models, scenario)
