"""Inference over HTTP: every datatype in JSON and as binary data, shapes, requested outputs, and what is refused."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.application import RestApplication
from serve.asgi_client import Message, Response, request

TYPES: dict[str, tuple[str, list[Any]]] = {
    "BOOL": ("bool", [True, False, True, True]),
    "UINT8": ("uint8", [0, 1, 2, 255]),
    "UINT16": ("uint16", [0, 1, 2, 65535]),
    "UINT32": ("uint32", [0, 1, 2, 2**32 - 1]),
    "UINT64": ("uint64", [0, 1, 2, 2**64 - 1]),
    "INT8": ("int8", [-128, 0, 1, 127]),
    "INT16": ("int16", [-(2**15), 0, 1, 2**15 - 1]),
    "INT32": ("int32", [-(2**31), 0, 1, 2**31 - 1]),
    "INT64": ("int64", [-(2**63), 0, 1, 2**63 - 1]),
    "FP16": ("float16", [0, 1, -0.5, 65504]),
    "FP32": ("float", [0, 1, -0.5, 1.5e38]),
    "FP64": ("double", [0, 1, -0.1, 1e300]),
    "BF16": ("bfloat16", [0, 1, -0.5, 128]),
    "BYTES": ("string", ["", "a", "\u00fc\u4e2d", "\U0001f600"]),
}
NUMPY = {"FP16": np.float16, "FP32": np.float32, "FP64": np.float64, "BF16": ml_dtypes.bfloat16}
Item = dict[str, object]


@cache
def application(folder: Path) -> RestApplication:
    """The application of a folder, with limits that tests reach."""
    repository = ModelRepository.of_folder(folder)
    asyncio.run(repository.load_all())
    assert repository.is_ready
    return RestApplication(repository, "0", ServiceLimits(body=20_000, json=10_000, held=30_000))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> RestApplication:
    """A model of each datatype that returns its input, and one of two inputs and outputs."""
    folder = tmp_path_factory.mktemp("models")
    for datatype, (name, _) in TYPES.items():
        text = f"g ({name}[N,M] x) => ({name}[N,M] y) {{ y = Identity(x) }}"
        sx.save(parse_model(text), folder / f"{datatype}.onnx")
    text = "g (float[N] a, float[N] b) => (float[N] sum, float[N] difference) { sum = Add(a, b) difference = Sub(a, b) }"
    sx.save(parse_model(text), folder / "pair.onnx")
    sx.save(parse_model("g (float[N] x) => (float[N] y) { y = Log(x) }"), folder / "log.onnx")
    text = """g (float[N,3] x) => (seq(map(int64, float)) y)
        { y = ai.onnx.ml.ZipMap<classlabels_int64s = [7, -2, 5]>(x) }"""
    sx.save(parse_model(text, more='"ai.onnx.ml": 1'), folder / "classes.onnx")
    return application(folder)


def tensor(datatype: str, shape: list[int], data: object, name: str = "x") -> Item:
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


def infer(
    app: RestApplication, model: str, message: object, headers: Mapping[str, str] | None = None
) -> Response:
    return asyncio.run(request(app, "POST", f"/v2/models/{model}/infer", message, headers))


def infer_binary(app: RestApplication, model: str, message: object, data: bytes) -> Response:
    text = json.dumps(message).encode()
    return infer(app, model, text + data, {"Inference-Header-Content-Length": str(len(text))})


def assert_refused(response: Response, status: int, *words: str) -> None:
    assert response.status == status, response.body
    assert response.json.keys() == {"error"}
    for word in words:
        assert word in response.json["error"]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("datatype", TYPES)
def test_json_tensors(app: RestApplication, datatype: str, nested: bool) -> None:
    data = TYPES[datatype][1]
    message = {"id": "7", "inputs": [tensor(datatype, [2, 2], [data[:2], data[2:]] if nested else data)]}
    response = infer(app, datatype, message)
    assert response.status == 200, response.body
    (output,) = response.json["outputs"]
    expected = data if datatype != "FP32" else np.array(data, np.float32).astype(float).tolist()
    got = output["data"] if datatype != "FP32" else np.array(output["data"], np.float32).tolist()
    assert (output["name"], output["datatype"], output["shape"], got) == ("y", datatype, [2, 2], expected)
    assert response.json | {"outputs": 0} == {
        "model_name": datatype,
        "model_version": "1",
        "id": "7",
        "outputs": 0,
    }


@pytest.mark.parametrize("datatype", TYPES)
def test_binary_tensors(app: RestApplication, datatype: str) -> None:
    data = TYPES[datatype][1]
    if datatype == "BYTES":
        content = b"".join(len(s.encode()).to_bytes(4, "little") + s.encode() for s in data)
    else:
        content = np.array(data, NUMPY.get(datatype, datatype.lower())).tobytes()
    item = {
        "name": "x",
        "datatype": datatype,
        "shape": [2, 2],
        "parameters": {"binary_data_size": len(content)},
    }
    message = {"inputs": [item], "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
    response = infer_binary(app, datatype, message, content)
    assert response.status == 200, response.body
    length = int(response.headers["inference-header-content-length"])
    (output,) = json.loads(response.body[:length])["outputs"]
    assert output["parameters"] == {"binary_data_size": len(content)}
    assert response.body[length:] == content
    message = {"inputs": [item], "parameters": {"binary_data_output": True}}
    assert infer_binary(app, datatype, message, content).body.endswith(content)


def test_strings_that_are_not_utf_8_pass_as_binary_data(app: RestApplication) -> None:
    content = b"\x02\0\0\0\xff\xfe"
    item = {"name": "x", "datatype": "BYTES", "shape": [1, 1], "parameters": {"binary_data_size": 6}}
    message = {"inputs": [item], "parameters": {"binary_data_output": True}}
    assert infer_binary(app, "BYTES", message, content).body.endswith(content)
    assert_refused(infer_binary(app, "BYTES", {"inputs": [item]}, content), 400, "request binary data")


def test_nonfinite_numbers(app: RestApplication) -> None:
    response = infer(app, "log", {"inputs": [tensor("FP32", [4], [0, 1, -1, math.inf])]})
    zero, middle, negative, infinite = response.json["outputs"][0]["data"]
    assert (zero, middle, infinite) == (-math.inf, 0, math.inf)
    assert math.isnan(negative)


@pytest.mark.parametrize("count", [3, 64, 65, 1000])
def test_nonfinite_numbers_among_many(app: RestApplication, count: int) -> None:
    data = [2.5] * (count - 2) + [math.nan, -math.inf]
    response = infer(app, "FP32", {"inputs": [tensor("FP32", [1, count], data)]})
    assert response.json["outputs"][0]["data"][:-2] == data[:-2]
    assert math.isnan(response.json["outputs"][0]["data"][-2])
    assert response.json["outputs"][0]["data"][-1] == -math.inf


@pytest.mark.parametrize("datatype", ["FP32", "INT64", "UINT8", "BF16"])
@pytest.mark.parametrize("count", [64, 65, 1000])
def test_booleans_among_many_numbers_are_refused(app: RestApplication, datatype: str, count: int) -> None:
    for boolean in (True, False):
        data = [2] * (count - 1) + [boolean]
        response = infer(app, datatype, {"inputs": [tensor(datatype, [1, count], data)]})
        assert_refused(response, 400, f"{boolean} (element {count - 1})")
    data = [0, 1] * (count // 2) + [0] * (count % 2)
    response = infer(app, datatype, {"inputs": [tensor(datatype, [1, count], data)]})
    assert response.json["outputs"][0]["data"] == data


def test_maps_are_rows_of_a_matrix(app: RestApplication) -> None:
    response = infer(app, "classes", {"inputs": [tensor("FP32", [2, 3], [1, 2, 3, 4, 5, 6])]})
    (output,) = response.json["outputs"]
    assert output == {"name": "y", "datatype": "FP32", "shape": [2, 3], "data": [2, 3, 1, 5, 6, 4]}
    metadata = asyncio.run(request(app, "GET", "/v2/models/classes")).json
    assert metadata["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [-1, -1]}]


def test_requested_outputs_in_order(app: RestApplication) -> None:
    inputs = [tensor("FP32", [1], [5], "a"), tensor("FP32", [1], [3], "b")]
    response = infer(app, "pair", {"inputs": inputs, "outputs": [{"name": "difference"}]})
    assert [(o["name"], o["data"]) for o in response.json["outputs"]] == [("difference", [2])]
    names = [{"name": "difference", "parameters": {"binary_data": True}}, {"name": "sum"}]
    response = infer(app, "pair", {"inputs": inputs, "outputs": names})
    length = int(response.headers["inference-header-content-length"])
    first, second = json.loads(response.body[:length])["outputs"]
    assert (first["name"], second["name"], second["data"]) == ("difference", "sum", [8])
    assert response.body[length:] == np.array([2], np.float32).tobytes()
    assert_refused(infer(app, "pair", {"inputs": inputs, "outputs": [{"name": "su"}]}), 400, "'sum'")


def test_dynamic_and_empty_shapes(app: RestApplication) -> None:
    for rows in (1, 3, 0):
        response = infer(app, "FP32", {"inputs": [tensor("FP32", [rows, 2], [0.5] * (2 * rows))]})
        assert response.json["outputs"][0]["shape"] == [rows, 2]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (tensor("FP32", [2, 2], [1, 2, 3]), ["4 elements", "got 3"]),
        (tensor("FP32", [1 << 40, 1 << 40], [1]), ["got 1"]),
        (tensor("FP32", [0, 1 << 60], []), ["sizes from 0"]),
        (tensor("FP32", [-1, 2], [1, 2]), ["sizes from 0"]),
        (tensor("FP32", [True, 1], [1]), ["sizes from 0"]),
        (tensor("FP32", [1] * 33, [1]), ["at most 32"]),
        (tensor("FP32", [2, 2], [[1, 2], [3]]), ["nested as the shape"]),
        (tensor("FP32", [4], [[1, 2], [3, 4]]), ["nested as the shape"]),
        (tensor("FP32", [1, 2], [1, [2]]), ["element 1"]),
        (tensor("FP32", [1, 2], ["1", "2"]), ["numbers", "'1' (element 0)"]),
        (tensor("FP32", [1, 2], [2, None]), ["None (element 1)"]),
        (tensor("FP32", [1, 2], [2, True]), ["True (element 1)"]),
        (tensor("FP32", [1, 1], [1e39]), ["1e+39"]),
        (tensor("FP16", [1, 1], [65536]), ["65536"]),
        (tensor("INT32", [1, 2], [3, 1.5]), ["integers", "1.5 (element 1)"]),
        (tensor("INT8", [1, 2], [3, 128]), ["128 (element 1)"]),
        (tensor("UINT8", [1, 1], [-1]), ["-1"]),
        (tensor("UINT64", [1, 1], [-1]), ["-1"]),
        (tensor("INT64", [1, 1], [2**63]), ["element 0"]),
        (tensor("INT64", [1, 1], [False]), ["False"]),
        (tensor("BOOL", [1, 1], [1]), ["true or false"]),
        (tensor("BYTES", [1, 1], [1]), ["strings"]),
        (tensor("FP31", [1, 1], [1]), ["'FP32'"]),
        (tensor("FP32", [1, 1], {"a": 1}), ["must be a list"]),
        ({"name": "x", "shape": [1, 1], "data": [1]}, ["datatype"]),
        ({"name": "x", "datatype": "FP32", "data": [1]}, ["shape"]),
        ({"datatype": "FP32", "shape": [1], "data": [1]}, ["name"]),
        (tensor("FP32", [1, 1], [1]) | {"parameters": {"shared_memory_region": "r"}}, ["extension"]),
        (tensor("FP32", [1, 1], [1]) | {"parameters": {"binary_data_size": 4}}, ["got both"]),
        (tensor("FP32", [1], [1]), ["shape [-1, -1]", "got [1]"]),
        (tensor("FP64", [1, 1], [1]), ["FP32; got FP64"]),
        (tensor("FP32", [1, 1], [1], "z"), ["'z'"]),
        (tensor("FP32", [1, 1], [1], "x1"), ["did you mean 'x'"]),
        ([], ["JSON object"]),
    ],
    ids=str,
)
def test_wrong_tensors_are_refused(app: RestApplication, item: Item, words: list[str]) -> None:
    datatype = item.get("datatype") if isinstance(item, dict) else None
    expected_by_model = {"FP64", "FP31", None, "FP32"}
    model = "FP32" if datatype in expected_by_model else str(datatype)
    assert_refused(infer(app, model, {"inputs": [item]}), 400, *words)


@pytest.mark.parametrize(
    ("datatype", "shape", "content", "words"),
    [
        ("FP32", [1, 2], b"\0" * 7, "8 bytes"),
        ("FP32", [1 << 40, 1 << 40], b"", "bytes"),
        ("BYTES", [1, 1], b"\xff\xff\xff\xff", "have 0 bytes of a string"),
        ("BYTES", [1, 1], b"\0\0\0\0\0", "within the length"),
        ("BYTES", [1 << 40, 1 << 40], b"\0\0\0\0", "strings"),
        ("BYTES", [1, 1], b"\0" * 8, "1 elements"),
        ("BOOL", [1, 1], b"\2", "0 and 1"),
    ],
)
def test_wrong_binary_data_are_refused(
    app: RestApplication, datatype: str, shape: list[int], content: bytes, words: str
) -> None:
    item = {
        "name": "x",
        "datatype": datatype,
        "shape": shape,
        "parameters": {"binary_data_size": len(content)},
    }
    assert_refused(infer_binary(app, datatype, {"inputs": [item]}, content), 400, words)
    assert_refused(infer_binary(app, datatype, {"inputs": [item]}, content + b"\0"), 400)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"inputs": []}',
        b'{"inputs": 1}',
        b"\xff",
        b"[" * 9000,
        b'{"inputs": NaN}',
        b'{"a": NaN, "b": ' + b"[" * 9000,
        b'{"inputs": [{"name": "\\ud800", "datatype": "FP32", "shape": [1], "data": [NaN]}]}',
        b'{"id": 1, "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1], "data": [1]}]}',
    ],
    ids=lambda body: repr(body[:16]),
)
def test_malformed_json_is_refused(app: RestApplication, body: bytes) -> None:
    assert_refused(infer(app, "FP32", body), 400)


def test_header_length_beyond_the_body(app: RestApplication) -> None:
    for value in ("99", "-1", "x", "9" * 30):
        response = infer(app, "FP32", b"{}", {"Inference-Header-Content-Length": value})
        assert_refused(response, 400, "Inference-Header-Content-Length")


def test_bodies_past_the_limits_are_refused(app: RestApplication) -> None:
    assert_refused(infer(app, "FP32", b" " * 10_001), 413, "10000 bytes", "send binary data")
    binary = {"Inference-Header-Content-Length": "10001"}
    assert_refused(infer(app, "FP32", b" " * 10_001, binary), 413, "10000 bytes", "send binary data")
    assert_refused(infer(app, "FP32", b" " * 20_001, binary), 413, "20000 bytes")
    response = infer(app, "FP32", b"", {"Content-Length": "99999999999999999999"})
    assert_refused(response, 413)
    assert response.headers["connection"] == "close"
    assert_refused(infer(app, "FP32", b"", {"Content-Encoding": "gzip"}), 400, "compressed")


def test_body_in_parts_and_departure_of_its_client(app: RestApplication) -> None:
    body = json.dumps({"inputs": [tensor("FP32", [1, 1], [3])]}).encode()
    parts: list[Message] = [
        {"type": "http.request", "body": body[:9], "more_body": True},
        {"type": "http.request", "body": body[9:]},
    ]
    response = asyncio.run(request(app, "POST", "/v2/models/FP32/infer", parts=parts))
    assert response.json["outputs"][0]["data"] == [3]
    parts[1] = {"type": "http.request", "body": b" " * 20_000, "more_body": True}
    assert_refused(asyncio.run(request(app, "POST", "/v2/models/FP32/infer", parts=parts)), 413)
