"""Requests that are answered without the application: the same bytes as its own, whatever arrives, and however it is cut."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from uvicorn.server import ServerState

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.models import executor
from sardonyx._src.serve.rest.connections import LimitedHttpProtocol
from sardonyx._src.serve.rest.direct_connections import DirectHttpProtocol
from sardonyx._src.serve.service.service import Service
from sardonyx._src.serve.settings.configuration import parse_settings
from serve.repositories import write_scale

PATH = "/v2/models/a/infer"
ITEM = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}
MESSAGE = {"inputs": [ITEM]}
BINARY: dict[str, list[dict[str, object]]] = {
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "parameters": {"binary_data_size": 8}}]
}
FLOATS = struct.pack("<2f", 1.5, -2)
SERVER_HEADERS = [(b"date", b"Mon, 01 Jan 2024 00:00:00 GMT")]


class Sink(asyncio.Transport):
    """A transport that collects what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data, self.is_closed = b"", False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += bytes(data)

    def writelines(self, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(parts))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Client:
    """A client of a connection in this process, whose requests the application answers, or direct inference where it can."""

    def __init__(self, service: Service, *, is_direct: bool = True) -> None:
        self.config = service._config()
        self.config.load()
        self.state, self.sink = ServerState(), Sink()
        self.state.default_headers = SERVER_HEADERS
        kind = DirectHttpProtocol if is_direct else LimitedHttpProtocol
        self.protocol = kind(self.config, self.state, {})
        self.protocol.connection_made(self.sink)

    @property
    def held(self) -> int:
        assert self.config.direct is not None
        return self.config.direct.held.count

    @property
    def is_answered_directly(self) -> bool:
        """Whether requests were answered, none of them by the application."""
        return self.state.total_requests > 0 and self.protocol.cycle is None

    async def send(self, *parts: bytes) -> bytes:
        """What the server writes when it has got all parts."""
        self.sink.data = b""
        for part in parts:
            if self.protocol.parser is not None and not self.sink.is_closed:
                self.protocol.data_received(part)
            await asyncio.sleep(0)
        while self.state.tasks:
            await asyncio.gather(*self.state.tasks)
        return self.sink.data

    def leave(self) -> None:
        self.protocol.connection_lost(None)


def http(
    body: object = MESSAGE, path: str = PATH, *headers: str, method: str = "POST", version: str = "1.1"
) -> bytes:
    """A request with a body: bytes, or what becomes JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = (f"{method} {path} HTTP/{version}", "Host: x", *headers, f"Content-Length: {len(data)}")
    return "\r\n".join([*lines, "\r\n"]).encode() + data


def binary(message: object = BINARY, data: bytes = FLOATS) -> bytes:
    text = json.dumps(message).encode()
    return http(text + data, PATH, f"Inference-Header-Content-Length: {len(text)}")


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a model `a` that multiplies by 3, and one of strings; all runs count as quick."""
    monkeypatch.setattr(executor, "QUICK_SECONDS", 60)
    write_scale(tmp_path / "a.onnx", 3)
    sx.save(parse_model("g (string[N] x) => (string[N] y) { y = Identity(x) }"), tmp_path / "s.onnx")
    return tmp_path


def run(models: Path, scenario: Callable[[Service], Awaitable[None]], **options: object) -> None:
    async def work() -> None:
        service = Service(parse_settings({"repository": models, "port": 0, **options}))
        await service.repository.load_all()
        await scenario(service)
        await service.repository.close()

    asyncio.run(work())


DIRECT = {
    "json": http(),
    "id": http(MESSAGE | {"id": "ü7"}),
    "nested": http({"inputs": [ITEM | {"data": [[1, 2]]}]}),
    "outputs": http(MESSAGE | {"outputs": [{"name": "y"}]}),
    "version": http(MESSAGE, "/v2/models/a/versions/1/infer"),
    "binary": binary(),
    "binary both ways": binary(BINARY | {"parameters": {"binary_data_output": True}}),
    "large binary": binary(
        {
            "inputs": [
                BINARY["inputs"][0] | {"shape": [20000, 2], "parameters": {"binary_data_size": 160_000}}
            ],
            "parameters": {"binary_data_output": True},
        },
        FLOATS * 20_000,
    ),
    "strings": http(
        {"inputs": [ITEM | {"datatype": "BYTES", "shape": [1], "data": ["é"]}]}, "/v2/models/s/infer"
    ),
    "unknown output": http(MESSAGE | {"outputs": [{"name": "z"}]}),
    "no json": http(b"{"),
    "empty": http(b""),
    "boolean": http({"inputs": [ITEM | {"data": [1, True]}]}),
    "count": http({"inputs": [ITEM | {"data": [1]}]}),
    "deadline": http(MESSAGE | {"parameters": {"timeout": 10_000_000}}),
    "header length": http(b"{}", PATH, "Inference-Header-Content-Length: 99"),
    "not a number": http(b"{}", PATH, "Inference-Header-Content-Length: x"),
    "nan": http(b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[NaN,-Infinity]}]}'),
}
OTHERS = {
    "datatype": http({"inputs": [ITEM | {"datatype": "FP64", "shape": [1, 1], "data": [1]}]}),
    "shape": http({"inputs": [ITEM | {"shape": [2]}]}),
    "no model": http(MESSAGE, "/v2/models/b/infer"),
    "no version": http(MESSAGE, "/v2/models/a/versions/9/infer"),
    "escaped": http(MESSAGE, "/v2/models/%61/infer"),
    "query": http(MESSAGE, PATH + "?x=1"),
    "method": http(MESSAGE, PATH, method="PUT"),
    "metadata": b"GET /v2/models/a HTTP/1.1\r\nHost: x\r\n\r\n",
    "compressed": http(MESSAGE, PATH, "Content-Encoding: gzip"),
    "too large": http(b" " * 2000000),
    "last": http(MESSAGE, PATH, "Connection: close"),
    "old": http(MESSAGE, PATH, version="1.0"),
    "chunked": f"POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode(),
    "no length": f"POST {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    "invalid": b"POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
}


@pytest.mark.parametrize("name", [*DIRECT, *OTHERS])
def test_same_response_as_of_the_application(models: Path, name: str) -> None:
    async def scenario(service: Service) -> None:
        direct, other = Client(service), Client(service, is_direct=False)
        request = DIRECT.get(name) or OTHERS[name]
        expected = await other.send(request)
        assert await direct.send(request) == expected != b""
        assert direct.is_answered_directly == (name in DIRECT)
        assert await direct.send(http()) == await other.send(http())  # the connection is as it was
        assert direct.held == 0

    run(models, scenario)


def test_requests_in_two_parts(models: Path) -> None:
    async def scenario(service: Service) -> None:
        for request in (http(), binary(), DIRECT["no json"], OTHERS["compressed"]):
            expected = await Client(service, is_direct=False).send(request)
            client = Client(service)
            for cut in range(1, len(request)):
                client = Client(service) if client.sink.is_closed else client
                assert await client.send(request[:cut], request[cut:]) == expected, cut
            assert client.held == 0

    run(models, scenario)


def test_requests_byte_by_byte_and_all_at_once(models: Path) -> None:
    async def scenario(service: Service) -> None:
        requests = [http(), OTHERS["metadata"], binary(), DIRECT["boolean"], OTHERS["no model"], http()]
        other = Client(service, is_direct=False)
        expected = b"".join([await other.send(request) for request in requests])
        text = b"".join(requests)
        assert await Client(service).send(text) == expected
        client = Client(service)
        assert await client.send(*(text[i : i + 1] for i in range(len(text)))) == expected
        assert client.protocol.phase == "idle"

    run(models, scenario)


def test_bodies_that_wait_are_counted(models: Path) -> None:
    async def scenario(service: Service) -> None:
        size = len(json.dumps(MESSAGE))
        first, second, third = Client(service), Client(service), Client(service)
        assert await first.send(http()[:-9]) == b""
        assert (first.held, first.protocol.phase) == (size, "body")
        assert b" 429 " in await second.send(http())
        first.leave()
        assert first.held == 0
        assert b" 200 " in await third.send(http())

    run(models, scenario, limits={"held": 100})


def test_token_is_required(models: Path) -> None:
    (models / "token").write_text("secret\n")

    async def scenario(service: Service) -> None:
        for header in ("Authorization: Bearer other", "Authorization: Bearer secret2", "X: Bearer secret"):
            client = Client(service)
            assert b" 401 " in await client.send(http(MESSAGE, PATH, header))
            assert not client.is_answered_directly
        client = Client(service)
        assert b" 200 " in await client.send(http(MESSAGE, PATH, "Authorization: Bearer secret"))
        assert client.is_answered_directly

    run(models, scenario, token_file=models / "token")


def test_replaced_and_unloaded_models(models: Path) -> None:
    async def scenario(service: Service) -> None:
        client = Client(service)
        assert b"[3.0,6.0]" in await client.send(http())
        write_scale(models / "a.onnx", 5)
        await service.repository.load("a")
        assert b"[5.0,10.0]" in await client.send(http())
        assert client.is_answered_directly
        await service.repository.unload("a")
        assert b" 503 " in await client.send(http())

    run(models, scenario)


def test_client_that_reads_nothing_has_its_requests_queued(models: Path) -> None:
    async def scenario(service: Service) -> None:
        client = Client(service)
        client.protocol.pause_writing()
        client.protocol.data_received(http())
        await asyncio.sleep(0.01)
        assert client.sink.data == b""
        client.protocol.resume_writing()
        assert b"[3.0,6.0]" in await client.send()

    run(models, scenario)


def test_shutdown_lets_a_body_arrive(models: Path) -> None:
    async def scenario(service: Service) -> None:
        client = Client(service)
        await client.send(http()[:-9])
        client.protocol.shutdown()
        assert not client.sink.is_closed
        client.protocol.data_received(http()[-9:])
        assert b"[3.0,6.0]" in await client.send()
        assert client.sink.is_closed

    run(models, scenario)


def test_slow_models_and_busy_ones_are_left_to_the_application(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "QUICK_SECONDS", -1)

    async def scenario(service: Service) -> None:
        client = Client(service)
        assert b"[3.0,6.0]" in await client.send(http())
        assert not client.is_answered_directly

    run(models, scenario)


@contextmanager
def failing_runs(service: Service) -> Iterator[None]:
    """A service whose runs have a defect."""
    session = service.repository.find("a").session
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "_try_run", lambda *_: 1 / 0)
        yield


def test_defect_is_an_internal_error(models: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(service: Service) -> None:
        client = Client(service)
        with failing_runs(service):
            answer = await client.send(http())
        assert b" 500 " in answer and b"ZeroDivision" not in answer
        assert any(record.exc_info for record in caplog.records)
        assert b"[3.0,6.0]" in await client.send(http())

    run(models, scenario)
