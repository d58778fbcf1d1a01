"""What clients send besides bodies: endless headers and trailers, tiny chunks, pipelined requests, repeated headers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from sardonyx._src.serve.rest.connections import MAX_PIPELINED
from sardonyx._src.serve.service.service import Service
from serve.repositories import write_scale
from serve.running import HttpConnection, post, run_service

PATH = "/v2/models/a/infer"
BODY = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}).encode()
CHUNKED = b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN = b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
HEADER = 4096  # the limit
MAX_SENT = 4 << 20  # of what a connection accepts before it is closed: buffers of the system are among it


async def send_without_end(service: Service, begin: bytes, part: bytes) -> tuple[bytes, int]:
    """The response to a request that begins so and goes on with `part`, and the bytes that were sent before it."""
    async with HttpConnection(service) as connection:
        connection.writer.write(begin)
        sent = 0
        answer = asyncio.create_task(connection.reader.read())
        while not answer.done() and sent < MAX_SENT:
            connection.writer.write(part)
            sent += len(part)
            await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(answer, 20), sent
        except ConnectionResetError:
            return b"", sent


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


ENDLESS = {
    "line": (b"GET /", b"a" * 1000),
    "headers": (b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 100),
    "header": (b"GET / HTTP/1.1\r\na: ", b"b" * 1000),
    "trailers": (CHUNKED + chunk(b"{") + b"0\r\n", b"a: b\r\n" * 100),
    "trailer": (CHUNKED + chunk(b"{") + b"0\r\na: ", b"b" * 1000),
    "extension": (CHUNKED + b"1;a=", b"b" * 1000),
    "chunks": (CHUNKED, chunk(b"{") * 100),
}


def test_framing_has_a_limit(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        for name, (begin, part) in ENDLESS.items():
            answer, sent = await send_without_end(service, begin, part)
            assert sent < MAX_SENT, name
            assert answer.startswith(b"HTTP/1.1 431 ") or not answer, name
            assert (await post(service, PATH, BODY)).status == 200

    run_service(tmp_path, scenario, {"limits": {"header": HEADER}})


def test_framing_after_a_refusal_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    write_scale(tmp_path / "models/a.onnx", 3)
    (tmp_path / "token").write_text("secret")

    async def scenario(service: Service) -> None:
        answer, sent = await send_without_end(service, CHUNKED + chunk(b"{") + b"0\r\n", b"a: b\r\n" * 100)
        assert sent < MAX_SENT
        assert answer.startswith(b"HTTP/1.1 401 ") or not answer

    values = {"limits": {"header": HEADER}, "token_file": tmp_path / "token"}
    run_service(tmp_path / "models", scenario, values)


def test_framing_of_a_request_behind_one_that_runs_has_a_limit(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        executor = service.repository.find("a").executor
        executor.try_execute = lambda request: None  # type: ignore[method-assign]
        executor.execute = lambda request: asyncio.Event().wait()  # type: ignore[assignment,method-assign,return-value]
        answer, sent = await send_without_end(service, PLAIN + b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 100)
        assert (answer, sent < MAX_SENT) == (b"", True)
        answer, sent = await send_without_end(service, PLAIN * (MAX_PIPELINED + 2), b"\r\n")
        assert answer == b""

    run_service(tmp_path, scenario, {"limits": {"header": HEADER}})


def test_chunks_of_many_bytes_may_be_many(tmp_path: Path) -> None:
    """The framing of 3,000 chunks of 64 bytes exceeds the limit for headers, and is little of the request."""
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        body = BODY + b" " * (3000 * 64 - len(BODY))
        chunks = [chunk(body[i : i + 64]) for i in range(0, len(body), 64)]
        async with HttpConnection(service) as connection:
            connection.writer.write(CHUNKED + b"".join(chunks) + b"0\r\n\r\n")
            assert (await connection.receive()).status == 200

    run_service(tmp_path, scenario, {"limits": {"header": HEADER}})


def test_trailers_are_not_headers(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        async with HttpConnection(service) as connection:
            trailers = b"0\r\nInference-Header-Content-Length: 1\r\nContent-Encoding: gzip\r\n\r\n"
            connection.writer.write(CHUNKED + chunk(BODY) + trailers)
            assert (await connection.receive()).json["outputs"][0]["data"] == [3, 6]

    run_service(tmp_path, scenario)


def test_repeated_headers_are_refused(tmp_path: Path) -> None:
    """In any order, by direct inference and by the application, which chunked bodies need."""
    (tmp_path / "models").mkdir()
    write_scale(tmp_path / "models/a.onnx", 3)
    (tmp_path / "token").write_text("secret")
    right = {"Authorization": "Bearer secret", "Inference-Header-Content-Length": str(len(BODY))}
    others = {"Authorization": ("no", ""), "Inference-Header-Content-Length": ("5", "0")}

    def message(is_chunked: bool, headers: Sequence[tuple[str, str]]) -> bytes:
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(BODY)}"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        body = chunk(BODY) + b"0\r\n\r\n" if is_chunked else BODY
        return f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{framing}\r\n{lines}\r\n".encode() + body

    async def status(service: Service, data: bytes) -> tuple[int, str]:
        async with HttpConnection(service) as connection:
            connection.writer.write(data)
            answer = await connection.receive()
            return answer.status, answer.json.get("error", "")

    async def scenario(service: Service) -> None:
        for is_chunked in (False, True):
            assert (await status(service, message(is_chunked, [*right.items()])))[0] == 200
            for name, values in others.items():
                for value in values:
                    headers = [*right.items(), (name, value)]
                    for order in (1, -1):
                        answer = await status(service, message(is_chunked, headers[::order]))
                        assert answer == (400, f"the header {name} must occur once; got 2")

    run_service(tmp_path / "models", scenario, {"token_file": tmp_path / "token"})
