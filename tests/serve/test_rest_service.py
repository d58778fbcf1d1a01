"""The REST interface without inference: health, metadata, repository, authorization, paths."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.rest.application import RestApplication
from serve.asgi_client import Response, request
from serve.repositories import write_scale


class Client:
    """A repository and its application; `get` and `post` are requests."""

    def __init__(self, folder: Path, token: str = "", *, allows_control: bool = True) -> None:
        self.repository = ModelRepository.of_folder(folder)
        self.app = RestApplication(self.repository, "1.2", token=token, allows_control=allows_control)
        self.token = token

    def get(self, path: str) -> Response:
        return asyncio.run(request(self.app, "GET", path))

    def post(self, path: str, body: object = b"") -> Response:
        return asyncio.run(request(self.app, "POST", path, body))

    def load(self) -> None:
        asyncio.run(self.repository.load_all())


@pytest.fixture
def client(tmp_path: Path) -> Client:
    write_scale(tmp_path / "scale/1/model.onnx", 2)
    return Client(tmp_path)


def test_health_before_and_after_loading(client: Client) -> None:
    assert (client.get("/v2/health/live").status, client.get("/v2/health/ready").status) == (200, 503)
    client.load()
    assert client.get("/v2/health/ready").json == {"ready": True}
    assert client.get("/v2/models/scale/ready").json == {"name": "scale", "ready": True}
    assert client.get("/v2/models/scale/versions/1/ready").status == 200
    assert client.get("/v2").json["version"] == "1.2"
    assert "binary_tensor_data" in client.get("/v2/").json["extensions"]


def test_metadata(tmp_path: Path) -> None:
    text = (
        "g (float[N,2,?] x, string s) => (int64[N,2,?] y, string t) { t = Identity(s) y = Cast<to = 7>(x) }"
    )
    sx.save(parse_model(text), tmp_path / "mixed.onnx")
    client = Client(tmp_path)
    client.load()
    for path in ("/v2/models/mixed", "/v2/models/mixed/versions/1"):
        assert client.get(path).json == {
            "name": "mixed",
            "versions": ["1"],
            "platform": "onnx_sardonyx",
            "inputs": [
                {"name": "x", "datatype": "FP32", "shape": [-1, 2, -1]},
                {"name": "s", "datatype": "BYTES", "shape": []},
            ],
            "outputs": [
                {"name": "y", "datatype": "INT64", "shape": [-1, 2, -1]},
                {"name": "t", "datatype": "BYTES", "shape": []},
            ],
        }
    config = client.get("/v2/models/mixed/config").json
    assert config["input"][1] == {"name": "s", "data_type": "TYPE_STRING", "dims": []}


def test_repository_control(client: Client) -> None:
    client.load()
    row = {"name": "scale", "version": "1", "state": "READY", "reason": ""}
    assert client.post("/v2/repository/index").json == [row]
    assert client.post("/v2/repository/models/scale/unload").status == 200
    assert client.get("/v2/models/scale/ready").status == 503
    assert client.post("/v2/repository/index", {"ready": True}).json == []
    assert client.post("/v2/repository/models/scale/load", {"parameters": {}}).status == 200
    assert client.get("/v2/models/scale/ready").status == 200
    response = client.post("/v2/repository/models/scale/load", {"parameters": {"config": "{}"}})
    assert (response.status, "not supported" in response.json["error"]) == (400, True)
    assert client.post("/v2/repository/models/other/load").status == 404
    assert client.post("/v2/repository/models/other/unload").status == 404


def test_control_that_is_switched_off(tmp_path: Path) -> None:
    client = Client(tmp_path, allows_control=False)
    assert client.post("/v2/repository/models/scale/load").status == 403
    assert client.post("/v2/repository/models/scale/unload").status == 403
    assert client.post("/v2/repository/index").status == 200


def test_token(tmp_path: Path) -> None:
    client = Client(tmp_path, "secret")
    assert client.get("/v2/health/live").status == 200
    response = client.get("/v2")
    assert (response.status, response.headers["www-authenticate"]) == (401, "Bearer")
    for value, status in (("Bearer secret", 200), ("Bearer secre", 401), ("secret", 401)):
        response = asyncio.run(request(client.app, "GET", "/v2", headers={"Authorization": value}))
        assert response.status == status


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v3",
        "/v2/models",
        "/v2/models/../../etc/passwd",
        "/v2/models/..%2F..%2Fetc%2Fpasswd",
        "/v2/models/%2e%2e",
        "/v2/models/..",
        "/v2/models/scale%00",
        "/v2/models/%ed%a0%80",
        "/v2/models/" + "a" * 100_000,
        "/v2/models/scale/versions/../1",
        "/v2/models/scale/versions/01",
        "/v2/models/scale/1/model.onnx",
    ],
    ids=lambda path: path[:40],
)
def test_paths_that_name_nothing(client: Client, path: str) -> None:
    client.load()
    response = client.get(path)
    assert (response.status, list(response.json)) == (404, ["error"])
    assert len(response.body) < 1000 or len(path) > 1000


def test_wrong_method(client: Client) -> None:
    response = client.get("/v2/models/scale/infer")
    assert (response.status, response.headers["allow"]) == (405, "POST")
    assert list(response.json) == ["error"]
