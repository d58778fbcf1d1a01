"""What a page holds is what the model holds: the data of pages against the records that they are made from."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from complete_model import complete_model
from models import parse_record
from pages import scope_children
from proto.judge import SHARED
from proto.official_models import node_models, stored_models
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode
from sardonyx._src.view.documents import open_document
from sardonyx._src.view.page_data import AttributeData, DocumentData, GraphData
from sardonyx._src.view.reading.documents import read_document
from sardonyx._src.view.scopes.build import add_scopes

Body = m.GraphProto | m.FunctionProto


def page_data(record: m.ModelProto) -> DocumentData:
    document = read_document(record)
    for graph in document.data["graphs"]:
        add_scopes(graph, document.strings)
    data: DocumentData = json.loads(json.dumps(document.data, allow_nan=False))
    return data


def bodies(record: m.ModelProto) -> Iterator[Body]:
    """Every graph and function body of a model, nested ones after all others."""
    roots: list[Body] = [record.graph or m.GraphProto(), *record.functions]
    for info in record.training_info:
        roots += [graph for graph in (info.initialization, info.algorithm) if graph is not None]
    while roots:
        body = roots.pop(0)
        yield body
        for node in body.node:
            for attribute in node.attribute:
                roots += [*([attribute.g] if attribute.g is not None else []), *attribute.graphs]


def assert_same(record: m.ModelProto, data: DocumentData) -> None:
    every = list(bodies(record))
    assert len(data["graphs"]) == len(every)
    for body, graph in zip(every, data["graphs"], strict=True):
        assert_same_graph(body, graph, data)
    assert data["imports"] == [[o.domain, str(o.version)] for o in record.opset_import]
    assert data["metadata"] == [[e.key, e.value] for e in record.metadata_props]
    assert [f["name"] for f in data["functions"]] == [f.name for f in record.functions]


def assert_same_graph(body: Body, graph: GraphData, data: DocumentData) -> None:
    strings, nodes, values = data["strings"], graph["nodes"], graph["values"]

    def names(numbers: list[int]) -> list[str]:
        return ["" if number < 0 else strings[values["name"][number]] for number in numbers]

    ports = [[p if isinstance(p, str) else p.name for p in side] for side in (body.input, body.output)]
    assert [names(graph["inputs"]), names(graph["outputs"])] == ports
    assert len(body.node) == len(nodes["operator"])
    for i, node in enumerate(body.node):
        columns = (nodes["operator"], nodes["domain"], nodes["overload"], nodes["name"])
        assert [strings[column[i]] for column in columns] == [
            node.op_type,
            node.domain,
            node.overload,
            node.name,
        ]
        first = nodes["inputEnds"][i - 1] if i else 0
        assert names(nodes["inputs"][first : nodes["inputEnds"][i]]) == node.input
        first = nodes["outputEnds"][i - 1] if i else 0
        assert names(nodes["outputs"][first : nodes["outputEnds"][i]]) == node.output
        stated = [a for a in attributes(graph, i) if not a.get("isDefault")]
        assert [a["name"] for a in stated] == [a.name for a in node.attribute]
        for attribute, shown in zip(node.attribute, stated, strict=True):
            assert_same_attribute(attribute, shown, data)
    computed = {name for node in body.node for name in node.output}
    used = [number for number in nodes["inputs"] if number >= 0]
    assert all(values["producer"][n] >= 0 for n in used if strings[values["name"][n]] in computed)
    assert_same_tensors(body, graph, data)
    assert_scopes(graph)


def attributes(graph: GraphData, node: int) -> list[AttributeData]:
    by_node: dict[str, list[AttributeData]] = graph["nodes"]["attributes"]  # type: ignore[assignment]  # keys of JSON
    return by_node.get(str(node), [])


def assert_same_attribute(record: m.AttributeProto, shown: AttributeData, data: DocumentData) -> None:
    if record.ref_attr_name:
        assert (shown["type"], shown["text"]) == ("reference", f"@{record.ref_attr_name}")
    elif record.type == m.AttributeProtoAttributeType.INT:
        assert int(shown["text"]) == record.i
    elif record.type == m.AttributeProtoAttributeType.FLOAT:
        assert np.float32(shown["text"]) == np.float32(record.f) or record.f != record.f
    elif record.type == m.AttributeProtoAttributeType.STRING and len(record.s) < 1000:
        assert json.loads(shown["text"]) == bytes(record.s).decode("utf-8", "backslashreplace")
    elif record.type == m.AttributeProtoAttributeType.TENSOR and record.t is not None:
        assert data["tensors"][shown["tensors"][0]]["shape"] == [*record.t.dims]
    elif record.type == m.AttributeProtoAttributeType.GRAPH:
        assert record.g is not None and data["graphs"][shown["graphs"][0]]["name"] == record.g.name


def assert_same_tensors(body: Body, graph: GraphData, data: DocumentData) -> None:
    if isinstance(body, m.FunctionProto):
        return
    values = graph["values"]
    shown = {
        data["strings"][values["name"][value]]: data["tensors"][number]
        for value, number in enumerate(values["tensor"])
        if number >= 0
    }
    assert len(shown) >= len({t.name for t in body.initializer})
    for tensor in body.initializer:
        element = {"float": "float32", "double": "float64"}.get(
            text := DataType.from_number(tensor.data_type).text, text
        )
        assert (shown[tensor.name]["shape"], shown[tensor.name]["type"]) == ([*tensor.dims], element)


def assert_scopes(graph: GraphData) -> None:
    """The scopes are a tree that holds each node once, and no level has more than sixty boxes."""
    scopes, count = graph["scopes"], len(graph["nodes"]["operator"])
    assert scopes["parent"][0] == -1 and all(p < i for i, p in enumerate(scopes["parent"]))
    assert len(graph["nodes"]["scope"]) == count and scopes["nodes"][0] == count
    assert max(scope_children(graph).values()) <= 60
    for scope, repeats in enumerate(scopes["count"]):
        if scopes["kind"][scope] == "repetition":
            assert scopes["parent"].count(scope) == repeats


def test_every_model_of_the_official_suite() -> None:
    models = {**node_models(), **stored_models()}
    assert len(models) > 2000
    for data in models.values():
        record = decode(data, m.ModelProto)
        assert_same(record, page_data(record))


@pytest.mark.skipif(not SHARED.exists(), reason="the shared models are not available")
@pytest.mark.parametrize("name", sorted(path.parent.name for path in SHARED.glob("*/model.onnx")))
def test_shared_models(name: str) -> None:
    record = decode((SHARED / name / "model.onnx").read_bytes(), m.ModelProto)
    assert_same(record, page_data(record))


def test_a_model_with_every_field() -> None:
    record = complete_model()
    assert_same(record, page_data(record))


def test_contents_of_every_edition() -> None:
    data = open_document(complete_model()).data
    graph, strings = data["graphs"][0], data["strings"]
    notes = graph["nodes"]["notes"][0]
    assert notes["metadata"] == [["k", "v"], ["l", "w"]]
    assert notes["devices"] == [
        "configuration two, pipeline stage 1",
        "two: y on devices [0: [0, 1], 1], axis 0: 4 in 2 shards, N in 2 shards",
    ]
    assert data["configurations"] == [["two", "2 devices: a, b"]]
    assert data["training"][0]["updateBindings"] == [["w", "w_next"]]
    assert data["training"][0]["initializationBindings"] == [["w", "w_0"]]
    assert [data["graphs"][g]["kind"] for g in (0, 1, 2, 3, 4)] == [
        "main", "function", "initialization", "algorithm", "nested",
    ]  # fmt: skip
    types = {
        strings[n]: strings[t] for n, t in zip(graph["values"]["name"], graph["values"]["type"], strict=True)
    }
    assert types["in_1"] == "sparse_tensor(float32[3])"
    assert types["in_2"] == "seq(float32[])"
    assert types["in_3"] == "optional(float32[2])"
    assert types["in_4"] == "map(int64, float32[2])"
    assert types["in_5"] == "opaque(d, n)"
    by_name = {strings[n]: i for i, n in reversed([*enumerate(graph["values"]["name"])])}
    assert graph["values"]["notes"][by_name["y"]]["quantization"] == "SCALE_TENSOR = w"
    assert graph["values"]["notes"][by_name["x"]]["documentation"] == "text"
    assert graph["nodes"]["body"][0] == 1
    assert data["functions"][0]["attributes"] == [["beta", ""], ["alpha", "1"]]
    assert data["functions"][0]["imports"] == [["", "21"]]
    external = data["tensors"][graph["values"]["tensor"][by_name["e"]]]
    assert (external["location"], external["metadata"]) == ("m.onnx.data at 0", [["length", "4"]])


def test_nested_graphs_capture_values_of_the_outer_ones() -> None:
    body = "{ [inner] z = Add(x, k) }"
    data = open_document(
        parse_record(f"""
            g (bool c, float[2] x) => (float[2] y) <float[2] k = {{1, 2}}> {{
                y = If(c) <then_branch = then () => (float[2] z) {body}, else_branch = other () => (float[2] z) {body}>
            }}
        """)
    ).data
    nested = data["graphs"][1]
    assert nested["owner"] == {"graph": 0, "node": 0, "attribute": "then_branch"}
    outer, values = data["graphs"][0]["values"], nested["values"]
    captured = {
        data["strings"][values["name"][i]]: data["strings"][outer["name"][v]]
        for i, v in enumerate(values["captured"])
        if v >= 0
    }
    assert captured == {"x": "x", "k": "k"}
    assert [data["strings"][t] for t in values["type"]] == ["float32[2]"] * 3
