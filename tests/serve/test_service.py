"""A service in a process of its own, over sockets: requests, hostile clients, signals, configuration."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sardonyx._src.errors import InputError
from sardonyx._src.serve.service.service import Service
from sardonyx._src.serve.settings.configuration import parse_settings, read_configuration
from serve.repositories import write_scale

MESSAGE = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}
CONFIGURATION = """
port = 0
log = "json"
watch_seconds = 0.1
[limits]
connections = 20
header_seconds = 0.5
idle_seconds = 1
header = 4096
body = "1K"
"""


class RunningService:
    """A service that runs; `lines` are its log so far."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self.folder = process, folder
        self.port = 0
        for line in self.lines():
            if line["message"].startswith("listening"):
                self.port = int(line["message"].rpartition(":")[2])
            if line["message"] == "ready":
                break

    def lines(self) -> Iterator[dict[str, str]]:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            yield json.loads(line)

    def infer(self, model: str = "a") -> tuple[int, list[float]]:
        """The status and the output of a request on a new connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("POST", f"/v2/models/{model}/infer", json.dumps(MESSAGE))
            response = connection.getresponse()
            answer = json.loads(response.read())
            return response.status, answer["outputs"][0]["data"] if response.status == 200 else []
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)


@contextmanager
def running_service(folder: Path, *options: str) -> Iterator[RunningService]:
    write_scale(folder / "models/a.onnx", 3)
    (folder / "serve.toml").write_text(f'repository = "models"\n{CONFIGURATION}')
    command = [sys.executable, "-m", "sardonyx", "serve", "--config", str(folder / "serve.toml"), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield RunningService(process, folder)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("service")
    with running_service(folder) as service:
        yield service


def assert_closed(connection: socket.socket) -> bytes:
    """What the server sends before it closes a connection."""
    answer = b""
    try:
        while part := connection.recv(4096):
            answer += part
    except ConnectionResetError:
        pass
    connection.close()
    return answer


def test_requests_of_one_connection(service: RunningService) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=5)
    for _ in range(3):
        connection.request("POST", "/v2/models/a/infer", json.dumps(MESSAGE))
        response = connection.getresponse()
        assert response.getheader("content-type") == "application/json"
        assert json.loads(response.read())["outputs"][0]["data"] == [3, 6]
    connection.close()


def test_idle_connections_do_not_keep_others_out(service: RunningService) -> None:
    connections = [service.connect() for _ in range(100)]
    assert service.infer() == (200, [3, 6])
    for connection in connections:
        connection.close()


def test_slow_headers_are_cut_off(service: RunningService) -> None:
    begin = time.monotonic()  # before the service can have seen the connection
    connection = service.connect()
    connection.sendall(b"GET /v2 HTTP/1.1\r\nHost: ")
    assert_closed(connection)
    assert time.monotonic() - begin > 0.3


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /v2 HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 9000, b" 431 "),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b" 400 "),
        (b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n", b" 413 "),
        (b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b" 400 "),
    ],
    ids=["header", "tls", "body", "length"],
)
def test_hostile_bytes_end_their_connection(service: RunningService, sent: bytes, status: bytes) -> None:
    connection = service.connect()
    connection.sendall(sent)
    answer = assert_closed(connection)
    assert status in answer
    assert service.infer() == (200, [3, 6])


def test_pipelined_requests(service: RunningService) -> None:
    body = json.dumps(MESSAGE).encode()
    head = b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(body)
    connection = service.connect()
    connection.sendall((head + b"\r\n" + body) * 2 + head + b"Connection: close\r\n\r\n" + body)
    assert assert_closed(connection).count(b'"data":[3.0,6.0]') == 3


def test_connection_of_a_refused_request_is_idle(service: RunningService) -> None:
    connection = service.connect()
    connection.sendall(b"POST /v2/models/none/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
    assert b" 404 " in connection.recv(4096)
    connection.sendall(b"12345678")
    begin = time.monotonic()
    assert_closed(connection)
    assert time.monotonic() - begin < 4


def test_half_closed_and_reset_connections(service: RunningService) -> None:
    for _ in range(30):
        connection = service.connect()
        connection.sendall(b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{")
        connection.shutdown(socket.SHUT_WR)
        connection.close()
    assert service.infer() == (200, [3, 6])


def test_replaced_model_serves_without_a_restart(service: RunningService) -> None:
    models = service.folder / "models"
    write_scale(models / "b.onnx", 2)
    deadline = time.monotonic() + 10
    while service.infer("b")[0] != 200:
        assert time.monotonic() < deadline
    write_scale(models / "b.onnx", 7)
    answers = {tuple(service.infer("b")[1])}
    while (7, 14) not in answers and time.monotonic() < deadline:
        answers.add(tuple(service.infer("b")[1]))
    assert answers <= {(2, 4), (7, 14)} and (7, 14) in answers


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
def test_tls_and_token(tmp_path: Path) -> None:
    certificate, key, token = (tmp_path / name for name in ("cert.pem", "key.pem", "token"))
    token.write_text("secret\nnot a part of it\n")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    subprocess.run(
        [*command, *names, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    files = ["--certificate", str(certificate), "--key", str(key), "--token-file", str(token)]
    with running_service(tmp_path, *files) as service:
        context = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=5, context=context)
        for value, status in (("Bearer secret", 200), ("Bearer other", 401)):
            connection.request(
                "POST", "/v2/models/a/infer", json.dumps(MESSAGE), headers={"Authorization": value}
            )
            response = connection.getresponse()
            response.read()
            assert response.status == status
        plain = service.connect()
        plain.sendall(b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" not in assert_closed(plain)
        connection.close()


@pytest.mark.parametrize("content", ["", "no certificate"])
def test_wrong_certificate_is_refused_before_anything_listens(tmp_path: Path, content: str) -> None:
    (tmp_path / "cert.pem").write_text(content)
    settings = parse_settings({"repository": tmp_path, "certificate": tmp_path / "cert.pem"})
    with pytest.raises(InputError, match="PEM certificate"):
        Service(settings)


def test_signal_ends_the_service(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        connection = service.connect()
        body = json.dumps(MESSAGE).encode()
        head = b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body[:9])
        service.infer()
        service.process.send_signal(signal.SIGTERM)
        for line in service.lines():
            if line["message"] == "shutting down":
                break
        connection.sendall(body[9:])
        assert b'"data":[3.0,6.0]' in assert_closed(connection)
        assert service.process.wait(10) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1", "did you mean 'port'"),
        ("port = 65536", "port must be"),
        ("[limits]\nbody = '1X'", "limits.body must be"),
        ("[limits]\nbodies = 1", "did you mean 'body'"),
        ("[limits]\nbody_seconds = 0", "body_seconds must be"),
        ("[models]\nengine = 'fast'", "engine must be"),
        ("[models]\nstart = 'fast'", "start must be"),
        ("access_log = 1", "true or false"),
        ("key = 'key.pem'", "requires a certificate"),
        ("=", "must be TOML"),
    ],
)
def test_wrong_configuration_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "serve.toml").write_text(f"repository = 'models'\n{text}")
    with pytest.raises(InputError, match=words):
        parse_settings(read_configuration(tmp_path / "serve.toml"))


def test_configuration(tmp_path: Path) -> None:
    (tmp_path / "serve.toml").write_text(f'repository = "models"\n{CONFIGURATION}[models]\nthreads = 1')
    settings = parse_settings(read_configuration(tmp_path / "serve.toml"))
    assert settings.repository == tmp_path / "models"
    assert (settings.limits.body, settings.limits.connections) == (1024, 20)
    assert settings.models.threads == 1
    assert settings.allows_control
    assert not parse_settings({"repository": "m", "host": "0.0.0.0"}).allows_control
    assert parse_settings({"repository": "m", "host": "0.0.0.0", "token_file": "t"}).allows_control
