"""The hierarchy of a graph: from metadata, names and repetition, then parts; at most sixty boxes on each level."""

from __future__ import annotations

import numpy as np
import pytest

from pages import scope_children
from sardonyx._src.proto import messages as m
from sardonyx._src.view.documents import open_document
from sardonyx._src.view.page_data import GraphData
from sardonyx._src.view.reading.documents import read_document
from sardonyx._src.view.scopes.build import add_scopes
from sardonyx._src.view.scopes.metadata import path_from_metadata
from test_zoo import import_benchmark

LAYER = "Gather Unsqueeze MatMul Softmax Add Relu Sigmoid Tanh Erf Exp Neg Abs".split()
Named = tuple[GraphData, list[str]]


def scoped(nodes: list[m.NodeProto]) -> Named:
    """The data of a graph of these nodes, and its strings."""
    document = read_document(m.ModelProto(ir_version=10, graph=m.GraphProto(name="g", node=nodes)))
    graph = document.data["graphs"][0]
    add_scopes(graph, document.strings)
    return graph, document.strings.strings


def chain(operators: list[str], names: list[str] | None = None) -> list[m.NodeProto]:
    """Nodes each of which reads the result of the one before."""
    return [
        m.NodeProto(op_type=op, input=[f"v{i}"], output=[f"v{i + 1}"], name=names[i] if names else "")
        for i, op in enumerate(operators)
    ]


def children(graph: GraphData, strings: list[str], scope: int = 0) -> list[tuple[str, str, int, int]]:
    """Kind, label, count and nodes of the scopes in a scope."""
    columns = graph["scopes"]
    return [
        (columns["kind"][i], strings[columns["label"][i]], columns["count"][i], columns["nodes"][i])
        for i, parent in enumerate(columns["parent"])
        if parent == scope
    ]


def test_names_are_scopes() -> None:
    names = [
        "/enc/conv/Conv",
        "/enc/conv/Relu",
        "/enc/norm/Add",
        "/enc/norm/Mul",
        "/head/MatMul",
        "/head/Add",
    ]
    graph, strings = scoped(chain(["Conv", "Relu", "Add", "Mul", "MatMul", "Add"], names))
    assert children(graph, strings) == [("name", "enc", 1, 4), ("name", "head", 1, 2)]
    assert children(graph, strings, 1) == [("name", "conv", 1, 2), ("name", "norm", 1, 2)]


def test_a_scope_inside_one_that_holds_nothing_else_has_both_labels() -> None:
    names = ["/model/block/Neg", "/model/block/Abs", "/out/Exp", "/out/Log"]
    graph, strings = scoped(chain(["Neg", "Abs", "Exp", "Log"], names))
    assert children(graph, strings) == [("name", "model/block", 1, 2), ("name", "out", 1, 2)]


def test_metadata_of_torch_name_scopes_and_classes() -> None:
    metadata = {
        "pkg.torch.onnx.name_scopes": "['', 'encoder', 'encoder.layer.0', 'matmul']",
        "pkg.torch.onnx.class_hierarchy": "['bert.Model', 'bert.Encoder', 'bert.Layer', 'aten.matmul.default']",
    }
    assert path_from_metadata(metadata) == ("encoder (Encoder)", "layer.0 (Layer)")


def test_namespaces_of_metadata() -> None:
    text = ": bert.Model/encoder: bert.Encoder/encoder.layer.0: bert.Layer/add: aten.add.Tensor"
    assert path_from_metadata({"namespace": text}) == ("encoder (Encoder)", "layer.0 (Layer)")


@pytest.mark.parametrize("text", ["", "[", "[1, 2]", "{}", "__import__('os')", "[" * 10_000, "a" * 100_000])
def test_other_metadata_are_no_scopes(text: str) -> None:
    assert path_from_metadata({"pkg.torch.onnx.name_scopes": text}) is None


def test_twelve_layers_with_names_are_one_scope() -> None:
    names = [f"/encoder/layer.{i}/{op}" for i in range(12) for op in LAYER]
    graph, strings = scoped(chain(LAYER * 12, names))
    assert children(graph, strings) == [("repetition", "layer", 12, 144)]
    assert [label for _, label, _, _ in children(graph, strings, 1)] == [f"layer.{i}" for i in range(12)]


def test_twelve_blocks_without_names_are_one_scope() -> None:
    graph, strings = scoped(chain(["Cast", "Conv", *LAYER * 12, "Gemm", "Selu"]))
    (repetition,) = children(graph, strings)
    assert repetition[0] == "repetition" and repetition[2:] == (12, 144)
    columns = graph["nodes"]["scope"]
    assert columns[:2] == [0, 0] and columns[-2:] == [0, 0]


def test_blocks_with_other_edges_are_not_equal() -> None:
    nodes = chain(LAYER * 4)
    nodes[3 * 12 + 4].input = ["v36", "v39"]  # the fourth block reads its own start once more
    nodes[1 * 12 + 4].input = ["v16", "v16"]
    graph, strings = scoped(nodes)
    assert all(count < 4 for _, _, count, _ in children(graph, strings))


def test_attributes_count_and_weights_do_not() -> None:
    def block(i: int, alpha: float) -> list[m.NodeProto]:
        nodes = chain(["MatMul", "LeakyRelu", "Add", "Neg"])
        for j, node in enumerate(nodes):
            node.input, node.output = [f"v{4 * i + j}"], [f"v{4 * i + j + 1}"]
        nodes[0].input = [f"v{4 * i}", f"w{i}"]
        nodes[1].attribute = [m.AttributeProto(name="alpha", type=1, f=alpha)]
        return nodes

    equal = [node for i in range(8) for node in block(i, 0.5)]
    assert [count for _, _, count, _ in children(*scoped(equal))] == [8]
    other = [node for i in range(8) for node in block(i, i / 8)]
    assert children(*scoped(other)) == []


def test_constants_that_exporters_write_first_stay_with_their_readers() -> None:
    layers, constants = [], []
    for i in range(6):
        constants.append(m.NodeProto(op_type="Constant", output=[f"c{i}"]))
        layers += [
            m.NodeProto(op_type="Mul", input=[f"v{i}", f"c{i}"], output=[f"a{i}"]),
            *(m.NodeProto(op_type=op, input=[f"{a}{i}"], output=[f"{b}{i}"]) for op, a, b in (("Exp", "a", "b"), ("Neg", "b", "d"))),
            m.NodeProto(op_type="Abs", input=[f"d{i}"], output=[f"v{i + 1}"]),
        ]  # fmt: skip
    graph, strings = scoped([*constants, *layers])
    assert [(kind, count, nodes) for kind, _, count, nodes in children(graph, strings)] == [
        ("repetition", 6, 30)
    ]


def test_nodes_out_of_order_and_cycles_have_scopes() -> None:
    shuffled = chain(LAYER * 20)
    np.random.default_rng(0).shuffle(shuffled)
    graph, strings = scoped(shuffled)
    assert [count for _, _, count, _ in children(graph, strings)] == [20]
    ring = [m.NodeProto(op_type="Neg", input=[f"v{i}"], output=[f"v{(i + 1) % 200}"]) for i in range(200)]
    assert max(scope_children(scoped(ring)[0]).values()) <= 60


@pytest.mark.parametrize("count", [61, 3_000, 10_000, 100_000])
def test_any_graph_has_at_most_sixty_boxes_on_each_level(count: int) -> None:
    random = np.random.default_rng(count)
    kinds = random.integers(len(LAYER), size=count)
    graph, _ = scoped(chain([LAYER[kind] for kind in kinds]))
    boxes = scope_children(graph)
    assert max(boxes.values()) <= 60 and min(boxes.values()) >= 1
    assert graph["scopes"]["nodes"][0] == count


@pytest.mark.parametrize("count", [100, 9_999])
def test_many_equal_layers_have_at_most_sixty_boxes_on_each_level(count: int) -> None:
    graph, _ = scoped(chain(LAYER * count))
    assert max(scope_children(graph).values()) <= 60
    repetitions = [
        c for k, c in zip(graph["scopes"]["kind"], graph["scopes"]["count"], strict=True) if k == "repetition"
    ]
    assert sum(repetitions) == count


@pytest.mark.parametrize(
    ("name", "blocks"),
    [("mobilenet_v2", 3), ("densenet121", 1), ("shufflenet", 7), ("encoder", 6), ("bert_base", 12)],
)
def test_networks_of_the_benchmarks(name: str, blocks: int) -> None:
    model = next(e for e in import_benchmark("zoo.catalogue").ENTRIES.values() if e.file == name).make()
    graph = open_document(model).data["graphs"][0]
    assert max(scope_children(graph).values()) <= 60
    assert blocks in graph["scopes"]["count"]


def test_parts_are_named_for_their_operators() -> None:
    random = np.random.default_rng(1)
    body = [("Conv", "Relu")[kind] for kind in random.integers(2, size=100)]
    graph, strings = scoped(chain(body))
    assert {tuple(sorted(label.split(", "))) for _, label, _, _ in children(graph, strings)} == {
        ("Conv", "Relu")
    }
