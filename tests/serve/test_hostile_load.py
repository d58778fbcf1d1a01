"""Under requests that take seconds, the event loop begins what else there is to do; bench/serving_hostile.py measures it for all loads."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.grpc.server import SERVICE
from sardonyx._src.serve.service.service import Service
from serve.running import run_service

MEGABYTE = 1 << 20
MAX_BLOCK = 1.0  # seconds; decoded at once, each of these bodies takes longer
MAX_WORK = 0.02  # seconds of a processor, four times what a callback is to take: a copy of 60 MB takes 80 ms, the run of the fill 300 ms
FILL = "g (int64[1] n) => (float[M] y) { y = ConstantOfShape(n) }"
FILL_BODY = b'{"inputs": [{"name": "n", "datatype": "INT64", "shape": [1], "data": [%d]}]}'


def send(port: int, body: bytes, model: bytes = b"a") -> bytes:
    """The status line of the response to a request."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        with contextlib.suppress(OSError):  # refused before it has been sent
            connection.sendall(
                b"POST /v2/models/%s/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                % (model, len(body), body)
            )
        line = connection.recv(100).split(b"\r\n")[0]
        while connection.recv(MEGABYTE):
            pass
        return line


def send_grpc(port: int, message: bytes) -> str:
    """The status of a call."""
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        try:
            channel.unary_unary(f"/{SERVICE}/ModelInfer")(message, timeout=60)
        except grpc.RpcError as error:
            return str(error.code().name)
    return "OK"


def body(shape: list[int], row: bytes) -> bytes:
    item = f'{{"inputs": [{{"name": "x", "datatype": "FP32", "shape": {shape}, "data": ['
    return item.encode() + row * (shape[0] - 1) + row[:-1] + b"]}]}"


async def longest_block(loads: asyncio.Future[list[bytes]]) -> float:
    worst = 0.0
    while not loads.done():
        begin = time.perf_counter()
        await asyncio.sleep(0.001)
        worst = max(worst, time.perf_counter() - begin)
    return worst


def test_long_bodies_do_not_block_the_event_loop(tmp_path: Path) -> None:
    sx.save(parse_model("g (float[N,2] x) => (int64[2] y) { y = Shape(x) }"), tmp_path / "a.onnx")
    flat, nested = body([2 * MEGABYTE, 2], b"1,1,"), body([MEGABYTE, 2], b"[1,1],")
    wrong = flat[:-5] + b"null]}]}"

    async def scenario(service: Service) -> None:
        bodies = [flat, nested, wrong, b" " * (17 * MEGABYTE)]
        port = service.ports["http"]
        loads = asyncio.gather(*(asyncio.to_thread(send, port, content) for content in bodies))
        assert await longest_block(loads) < MAX_BLOCK
        assert [int(answer.split()[1]) for answer in loads.result()] == [200, 200, 400, 413]

    run_service(tmp_path, scenario)


def test_no_callback_works_for_long(tmp_path: Path) -> None:
    """In a process of its own, as a service has: it would share this one with what thousands of tests have left."""
    tests = Path(__file__).parent.parent
    code = f"from serve.hostile_callbacks import longest_callback; print(longest_callback({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tests, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < MAX_WORK
