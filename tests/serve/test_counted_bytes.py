"""Every row of the table of counted bytes in docs/architecture/serving.md: past its limit, a request is refused, and memory is bounded."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.grpc import wire_decoder
from sardonyx._src.serve.grpc.messages import (
    InferInputTensor,
    ModelInferRequest,
    RepositoryIndexRequest,
)
from sardonyx._src.serve.grpc.server import MAX_METADATA, SERVICE
from sardonyx._src.serve.grpc.wire_encoder import encode, sized
from sardonyx._src.serve.protocol.json_slices import MAX_FIELDS
from sardonyx._src.serve.rest.application import ACCESS_LOG, MAX_PATH, log_response
from sardonyx._src.serve.rest.connections import MAX_PIPELINED
from sardonyx._src.serve.rest.responses import MAX_ERROR
from sardonyx._src.serve.service.service import Service
from serve.running import HttpAnswer, HttpConnection, run_service, wait_until

PAGE = Path(__file__).parents[2] / "docs/architecture/serving.md"
LIMITS = {
    "header": 4096,
    "body": 4 << 20,
    "json": 2 << 20,
    "decoded": 1 << 20,
    "response": 1 << 20,
    "held": 6 << 20,
    "streams": 1,
}
ENDLESS = 32 << 20  # bytes after which a request has not been refused
MAX_GROWTH = 64 << 20  # of the process, its client included
TOKEN = "Authorization: Bearer secret\r\n"
METADATA = (("authorization", "Bearer secret"),)
COUNT = 600_000
Case = Callable[[Service], Awaitable[object]]


def head(path: str = "/v2/models/x/infer", headers: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: a\r\n{TOKEN}{headers}".encode()


def item(datatype: str, shape: list[int], more: str) -> bytes:
    return f'{{"inputs": [{{"name": "x", "datatype": "{datatype}", "shape": {shape}, {more}}}]}}'.encode()


def http(begin: bytes, part: bytes = b"") -> Case:
    """The status of what is sent: `begin`, and then `part` again and again; 0 if the connection is closed."""

    async def send(service: Service) -> int:
        async with HttpConnection(service) as connection:
            connection.writer.write(begin)
            answer = asyncio.create_task(connection.reader.read(100))
            for _ in range(ENDLESS // len(part) if part else 0):
                if answer.done():
                    break
                connection.writer.write(part)
                await asyncio.sleep(0)
            try:
                return int((await asyncio.wait_for(answer, 20) or b"0 0").split()[1])
            except ConnectionError:
                return 0

    return send


def body(content: bytes, model: str = "x", headers: str = "") -> Case:
    """The status of a request with a body."""
    return http(
        head(f"/v2/models/{model}/infer", f"{headers}Content-Length: {len(content)}\r\n\r\n") + content
    )


def call(message: bytes, method: str = "ModelInfer", **options: object) -> Case:
    """The code of a call of gRPC."""

    async def send(service: Service) -> str:
        async with grpc.aio.insecure_channel(
            f"127.0.0.1:{service.ports['grpc']}", options=[("grpc.max_send_message_length", -1)]
        ) as channel:
            method_call = channel.unary_unary(f"/{SERVICE}/{method}")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await method_call(message, **{"metadata": METADATA, "timeout": 20, **options})
            return str(caught.value.code().name)

    return send


def infer(
    datatype: str, count: int, raw: bytes | None = None, contents: bytes = b"", model: str = "x"
) -> bytes:
    """A message for a model.  contents: the encoded field of its tensor's elements."""
    request = ModelInferRequest(model)
    request.inputs = [InferInputTensor("x", datatype, [count])]
    if raw is not None:
        request.raw_input_contents = [memoryview(raw)]
        return encode(request)
    tensor = encode(request.inputs[0]) + b"\x2a" + sized(contents)
    request.inputs = []
    return encode(request) + b"\x2a" + sized(tensor)


async def held(service: Service) -> int:
    """Two bodies that are on their way leave no room for a third."""
    begin = head(headers="Inference-Header-Content-Length: 2\r\nContent-Length: 4000000\r\n\r\n")
    async with HttpConnection(service) as first, HttpConnection(service):
        first.writer.write(begin + bytes(3_900_000))
        await first.writer.drain()
        while service.application.held.count < 3_000_000:
            await asyncio.sleep(0.01)
        return int(str(await http(begin + bytes(3_900_000))(service)))


async def message_of_an_error(service: Service) -> int:
    name = "a" * (MAX_FIELDS // 2)
    async with HttpConnection(service) as connection:
        content = json.dumps({"inputs": [{"name": name}]}).encode()
        connection.writer.write(head(headers=f"Content-Length: {len(content)}\r\n\r\n") + content)
        answer: HttpAnswer = await connection.receive()
        return len(answer.json["error"])


async def path_in_the_log(service: Service) -> int:
    lengths = []

    async def send(message: object) -> None: ...

    class Lengths(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lengths.append(len(record.fields["path"]))  # type: ignore[attr-defined]

    handler = Lengths()
    ACCESS_LOG.addHandler(handler)
    ACCESS_LOG.setLevel("INFO")
    scope = {"method": "GET", "path": "/" * 4000}
    await log_response(scope, send)({"type": "http.response.start", "status": 200})
    ACCESS_LOG.removeHandler(handler)
    return lengths[0]


async def names(service: Service) -> int:
    """Names that clients write are not kept."""
    statuses = {await body(b"{}", f"{i}{'a' * 1000}")(service) for i in range(100)}
    assert [row.name for row in service.repository.index()] == ["fill", "x"]
    (status,) = statuses
    return int(str(status))


async def streams(service: Service) -> str:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
        method = channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")
        first = method(metadata=METADATA)
        await first.write(encode(RepositoryIndexRequest()))
        await first.read()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await method(metadata=METADATA).read()
        first.cancel()
        return str(caught.value.code().name)


CHUNKED = head(headers="Transfer-Encoding: chunked\r\n\r\n")
BINARY = "Inference-Header-Content-Length: %d\r\n"
STRINGS = item("BYTES", [COUNT], f'"parameters": {{"binary_data_size": {4 * COUNT}}}')
FILL = item("INT64", [1], f'"data": [{COUNT}]')
# A request that the application answers, after what has arrived with it has been parsed.
SMALL = head(headers="Content-Encoding: identity\r\nContent-Length: 2\r\n\r\n") + b"{}"
CASES: dict[str, tuple[Case, object]] = {
    "request line": (http(b"GET /", b"a" * 1000), 431),
    "headers": (http(head(), b"a: b\r\n" * 100), 431),
    "trailers": (http(CHUNKED + b"1\r\n{\r\n0\r\n", b"a: b\r\n" * 100), 431),
    "sizes and extensions of chunks": (http(CHUNKED + b"1;a=", b"b" * 1000), 431),
    "pipelined requests": (http(SMALL * (MAX_PIPELINED + 2)), 0),
    "body of stated length": (http(head(headers=f"{BINARY % 2}Content-Length: 5000000\r\n\r\n"), b"a" * 1000), 413),
    "body in chunks": (
        http(head(headers=f"{BINARY % 2}Transfer-Encoding: chunked\r\n\r\n"), b"3e8\r\n" + b"a" * 1000 + b"\r\n"),
        413,
    ),
    "compressed body": (http(head(headers="Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n"), b"a" * 1000), 400),
    "JSON": (http(CHUNKED, b"3e8\r\n" + b" " * 1000 + b"\r\n"), 413),
    "JSON without elements of `data`": (body(b"[" * (MAX_FIELDS + 1)), 413),
    "tensors of JSON": (body(item("FP64", [COUNT], f'"data": [{"1," * (COUNT - 1)}1]')), 413),
    "strings of binary data": (body(STRINGS + bytes(4 * COUNT), headers=BINARY % len(STRINGS)), 413),
    "body of a request for control": (
        http(head("/v2/repository/index", "Transfer-Encoding: chunked\r\n\r\n"), b"3e8\r\n" + b" " * 1000 + b"\r\n"),
        413,
    ),
    "all requests in progress": (held, 429),
    "JSON of a response": (body(FILL, "fill"), 413),
    "binary data of a response": (body(FILL[:-1] + b', "parameters": {"binary_data_output": true}}', "fill"), 413),
    "message of an error": (message_of_an_error, MAX_ERROR),
    "path in the log": (path_in_the_log, MAX_PATH),
    "names in metrics and index": (names, 404),
    "gRPC: metadata": (call(b"", metadata=(*METADATA, ("a", "b" * 4 * MAX_METADATA))), "RESOURCE_EXHAUSTED"),
    "gRPC: message": (call(bytes(LIMITS["body"] + 1)), "RESOURCE_EXHAUSTED"),
    "gRPC: compressed message": (call(bytes(ENDLESS), compression=grpc.Compression.Gzip), "UNIMPLEMENTED"),
    "gRPC: message without the token": (call(bytes(LIMITS["body"]), metadata=()), "UNAUTHENTICATED"),
    "gRPC: fields of a message": (call(b"\x3a\x00" * (wire_decoder.MAX_FIELDS + 1)), "INVALID_ARGUMENT"),
    "gRPC: numbers in fields": (
        call(infer("INT64", COUNT, contents=b"\x1a" + sized(b"\1" * COUNT))),
        "RESOURCE_EXHAUSTED",
    ),
    "gRPC: strings": (call(infer("BYTES", COUNT, bytes(4 * COUNT))), "RESOURCE_EXHAUSTED"),
    "gRPC: response": (call(infer("INT64", 1, struct.pack("<q", COUNT), model="fill")), "RESOURCE_EXHAUSTED"),
    "gRPC: streams": (streams, "UNAVAILABLE"),
}  # fmt: skip


def rows() -> list[str]:
    """The first cells of the table."""
    text = PAGE.read_text("utf-8")
    table = text[text.index("| bytes | limit |") :].split("\n\n")[0]
    return [re.split(r"(?<!\\)\|", line)[1].strip() for line in table.splitlines()[2:]]


def memory(name: str) -> int:
    """A field of the memory of this process, in bytes."""
    match = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) << 10


def test_every_row_has_a_case() -> None:
    assert rows() == list(CASES)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads the peak of memory of Linux")
def test_limits_hold_and_memory_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "models/fill").mkdir(parents=True)
    (tmp_path / "token").write_text("secret")
    sx.save(parse_model("g (string[N] x) => (int64[1] y) { y = Shape(x) }"), tmp_path / "models/x.onnx")
    fill = "g (int64[1] x) => (float[M] y) { y = ConstantOfShape(x) }"
    sx.save(parse_model(fill), tmp_path / "models/fill/model.onnx")
    warm_up = {"inputs": [{"name": "x", "datatype": "INT64", "shape": [1], "data": [1]}]}
    (tmp_path / "models/fill/config.json").write_text(json.dumps({"warm_up": [warm_up]}))

    async def scenario(service: Service) -> None:
        for name, (case, expected) in CASES.items():
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            before = memory("VmRSS")
            assert await case(service) == expected, name
            assert memory("VmHWM") - before < MAX_GROWTH, name
            await wait_until(lambda: service.application.held.count == 0)

    run_service(tmp_path / "models", scenario, {"limits": LIMITS, "token_file": tmp_path / "token"})
