"""The local server: what it serves, and what it refuses."""

from __future__ import annotations

import http.client
import io
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from pages import data_of, stub_viewer
from sardonyx._src.view.pages import Page
from sardonyx._src.view.reading.inference import build_model
from sardonyx._src.view.server import PageServer, ServedDocument

MODEL = """
    g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> {
        a = MatMul(x, w) b = Neg(a) y = LeakyRelu<alpha = 0.5>(b)
    }
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PageServer]:
    sx.save(parse_model(MODEL), tmp_path / "m.onnx")
    with serve(monkeypatch, sx.view(tmp_path / "m.onnx")) as server:
        yield server


@contextmanager
def serve(monkeypatch: pytest.MonkeyPatch, page: Page) -> Iterator[PageServer]:
    """A running server of a page."""
    stub_viewer(monkeypatch)
    documents = [ServedDocument(d, lambda d=d: build_model(d)) for d in page.documents]  # type: ignore[misc]
    with PageServer(page.data, documents) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


Answer = tuple[int, dict[str, str], bytes]


def get(server: PageServer, path: str, **headers: str) -> Answer:
    """Status, headers and content of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(
        "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, dict(response.headers), content


def test_the_page_asks_its_own_server(server: PageServer) -> None:
    status, headers, content = get(server, f"/{server.token}/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert data_of(content.decode())["server"] is True
    assert b"connect-src 'self'" in content
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"


def test_only_this_machine_reaches_it(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    assert len(server.token) >= 32


@pytest.mark.parametrize("path", ["/", "/x/", "/api/tensor", "//", "/../"])
def test_without_the_token_there_is_nothing(server: PageServer, path: str) -> None:
    status, _, content = get(server, path)
    assert status == 404 and server.token.encode() not in content


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""]
)
def test_other_hosts_are_refused(server: PageServer, host: str) -> None:
    status, _, content = get(server, f"/{server.token}/", Host=host.format(port=server.server_port))
    assert status == 403 and b"page-data" not in content


def test_localhost_is_this_host(server: PageServer) -> None:
    assert get(server, f"/{server.token}/", Host=f"localhost:{server.server_port}")[0] == 200


def test_requests_of_other_sites_are_refused(server: PageServer) -> None:
    path = f"/{server.token}/api/extract?outputs=a"
    assert get(server, path, Sec_Fetch_Site="cross-site")[0] == 403
    assert get(server, path, Sec_Fetch_Site="same-origin")[0] == 200


def test_statistics_of_a_tensor(server: PageServer) -> None:
    status, _, content = get(server, f"/{server.token}/api/tensor?document=0&tensor=0")
    facts = json.loads(content)
    assert (status, facts["preview"]) == (200, "[1, 2, 3, 4, 5, 6]")
    assert [facts["statistics"][name] for name in ("minimum", "maximum", "mean", "zeros")] == [1, 6, 3.5, 0]
    assert (facts["picture"]["width"], facts["picture"]["height"]) == (2, 3)


def test_a_tensor_as_npy(server: PageServer) -> None:
    status, headers, content = get(server, f"/{server.token}/api/tensor.npy?tensor=0")
    assert (status, headers["Content-Disposition"]) == (200, 'attachment; filename="w.npy"')
    np.testing.assert_array_equal(
        np.load(io.BytesIO(content)), np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    )


def test_a_part_as_a_model(server: PageServer) -> None:
    status, _, content = get(server, f"/{server.token}/api/extract?inputs=a&outputs=b")
    assert status == 200
    part = sx.load(content)
    assert [n.op_type for n in part.graph.nodes] == ["Neg"] and part.graph.inputs[0].name == "a"


def test_a_part_of_a_nested_graph_as_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "b (int64 i, bool c, float[2] s) => (bool d, float[2] r) { d = Identity(c) t = Neg(s) r = Add(t, w) }"
    )
    model = parse_model(
        f"g (int64 n, float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ y = Loop(n, , x) <body = {body}> }}"
    )
    with serve(monkeypatch, sx.view(model)) as server:
        status, _, content = get(server, f"/{server.token}/api/extract?graph=1&inputs=t&outputs=r")
    part = sx.load(content)
    assert status == 200 and [node.op_type for node in part.graph.nodes] == ["Add"]
    assert [v.name for v in part.graph.inputs] == ["t"] and [*part.graph.initializers] == ["w"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("api/extract?graph=1&outputs=a", "graph must be a number below 1; got '1'"),
        ("api/tensor?tensor=1", "tensor must be a number below 1; got '1'"),
        ("api/tensor?tensor=-1", "tensor must be a number below 1; got '-1'"),
        ("api/tensor?document=7", "document must be a number below 1; got '7'"),
        ("api/extract?outputs=none", "none"),
    ],
)
def test_wrong_arguments_are_explained(server: PageServer, query: str, why: str) -> None:
    status, _, content = get(server, f"/{server.token}/{query}")
    assert status == 400 and why in json.loads(content)["error"]


def test_an_unknown_path_is_not_found(server: PageServer) -> None:
    assert get(server, f"/{server.token}/api/other")[0] == 404


def test_a_browser_that_leaves_is_no_error(server: PageServer, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )  # ends with a reset
        connection.sendall(b"GET /" + server.token.encode())
    assert get(server, f"/{server.token}/")[0] == 200
    assert capsys.readouterr().err == ""


def test_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    stub_viewer(monkeypatch)

    def interrupt(self: PageServer) -> None:
        raise KeyboardInterrupt

    opened: list[str] = []
    monkeypatch.setattr(PageServer, "serve_forever", interrupt)
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = sx.view(parse_model(MODEL), title="a model")
    page.serve(browser=False)
    assert opened == [] and "/ shows 'a model'; Ctrl-C ends" in capsys.readouterr().out
    page.serve()
    deadline = time.monotonic() + 10
    while not opened and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(opened) == 1 and opened[0].startswith("http://127.0.0.1:")


def test_a_notebook_shows_the_page_in_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_viewer(monkeypatch)
    shown = sx.view(parse_model(MODEL))._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts allow-downloads"')
    assert shown.count("<") == 2  # the frame alone: its document is an escaped attribute
