"""Loading from bytes, where nodes and value_info are read without records, gives what their records give."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from models import load_record, parse_record
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.serde import node_runs, to_proto
from sardonyx._src.ir import Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.runs import BLOCK, NODES_OF_GRAPH, VALUE_INFO_OF_GRAPH
from sardonyx._src.proto.wire import UndecodedRun

TAGS = [0, 1, 2, 10, 18, 26, 34, 42, 58, 106, 127, 128, 255]
NAMES = ["", "name", "größe", "n" * 130, "\udcff"]


@pytest.fixture(autouse=True)
def _read_small_graphs_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runs, "MIN_NODES", 1)


def attribute(rng: random.Random, name: str) -> m.AttributeProto:
    values: list[dict[str, object]] = [
        {"i": -1, "type": 2},
        {"ints": [1, rng.randrange(3)], "type": 7},
        {"s": b"SAME", "type": 3},
        {"s": bytes(2000), "type": 3},
        {"floats": [], "type": 6},
        {"i": 3},
        {"t": m.TensorProto(data_type=1, dims=[1], raw_data=bytes(4)), "type": 4},
        {"g": m.GraphProto(name="inner", node=[m.NodeProto(op_type="Op", output=["y"])]), "type": 5},
    ]
    return m.AttributeProto(name=name, **rng.choice(values))


def node(rng: random.Random, known: list[str], i: int) -> m.NodeProto:
    inputs = [rng.choice([*known[-4:], ""]) for _ in range(rng.randrange(3))]
    outputs = [rng.choice(["", "é", "v"]) + f"{i}_{k}" for k in range(rng.choice([1, 1, 1, 1, 2, 0]))]
    known += outputs
    result = m.NodeProto(input=inputs, output=outputs, op_type="Op")
    for name in ("name", "doc_string", "domain", "overload"):
        if rng.random() < 0.3:
            result.set(name, rng.choice([*NAMES, "ai.onnx", "custom"]))
    if rng.random() < 0.5:
        result.attribute = [attribute(rng, f"a{k}") for k in range(rng.randrange(1, 4))]
    if rng.random() < 0.1:
        result.metadata_props = [m.StringStringEntryProto(key="k", value="v")]
    if rng.random() < 0.1:
        result.add_unknown(b"\xf8\x3f\x01")
    return result


def value_info(rng: random.Random, name: str) -> m.ValueInfoProto:
    dims: dict[str, object] = rng.choice(
        [{"dim_value": 3}, {"dim_value": -1}, {"dim_param": "N"}, {"dim_param": "*"}, {"denotation": "C"}, {}]
    )
    shape = m.TensorShapeProto(
        dim=[m.TensorShapeProtoDimension(dim_value=2), m.TensorShapeProtoDimension(**dims)]
    )
    tensor = m.TypeProtoTensor(
        elem_type=rng.choice([1, 1, 1, 7, 0] if rng.random() < 0.98 else [99]), shape=shape
    )
    result = m.ValueInfoProto(name=name, type=m.TypeProto(tensor_type=tensor))
    if rng.random() < 0.1:
        result.doc_string = rng.choice(["", "doc"])
    if rng.random() < 0.1:
        result.clear("type")
    return result


def model(rng: random.Random, count: int, ir_version: int = 10) -> m.ModelProto:
    known = ["x"]
    nodes = [node(rng, known, i) for i in range(count)]
    declared = [value_info(rng, name) for name in known if rng.random() < 0.3]
    graph = m.GraphProto(
        name="g",
        input=[m.ValueInfoProto(name="x")],
        output=[m.ValueInfoProto(name=known[-1])],
        node=nodes,
        value_info=declared,
    )
    imports = [m.OperatorSetIdProto(version=21), m.OperatorSetIdProto(domain="custom", version=1)]
    return m.ModelProto(ir_version=ir_version, graph=graph, opset_import=imports)


def load_from_records(data: bytes) -> Model:
    return load_record(decode(data, m.ModelProto))


def outcome(read: Callable[[bytes], Model], data: bytes) -> tuple[bytes, list[str]] | str:
    """The encoded model with its notes, or the error."""
    try:
        model = read(data)
    except SardonyxError as error:
        return f"{type(error).__name__}: {error}".removesuffix(HINT)
    verify(model)
    return encode(to_proto.model(model)), [str(note) for note in model.notes]


def assert_same(data: bytes) -> str:
    """Asserts that `load` gives what reading the decoded record gives; returns the error, if any."""
    expected = outcome(load_from_records, data)
    assert outcome(load, data) == expected
    return expected if isinstance(expected, str) else ""


HINT = "; this looks like text: ONNX text is read from files that end in .onnxtxt, and by sx.from_text"


def skipped_runs(data: bytes) -> dict[int, UndecodedRun]:
    runs: dict[int, UndecodedRun] = {}
    decode(data, m.ModelProto, undecoded=runs)
    return runs


def test_random_models() -> None:
    rng = random.Random(0)
    errors = [assert_same(encode(model(rng, 40, rng.choice([1, 3, 10])))) for _ in range(60)]
    assert 10 < errors.count("") < 60


@pytest.mark.parametrize("seed", range(15))
def test_damaged_models(seed: int) -> None:
    rng = random.Random(seed)
    data = encode(model(rng, 6))
    for _ in range(100):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.choice(TAGS)
        assert_same(bytes(damaged))
    assert_same(data[:-20])


def test_nodes_and_value_info_are_skipped_as_one_run_each() -> None:
    data = encode(model(random.Random(0), 60))
    runs = skipped_runs(data)
    assert runs.keys() == {NODES_OF_GRAPH, VALUE_INFO_OF_GRAPH}
    assert all(list(run.records) == [] for run in runs.values())


def test_nodes_across_blocks() -> None:
    rng = random.Random(1)
    record = model(rng, 1500)
    assert record.graph is not None
    constant = m.AttributeProto(name="s", s=bytes(2 * BLOCK), type=3)
    for i in (0, 700, 701):
        record.graph.node.insert(i, m.NodeProto(op_type="Constant", output=[f"c{i}"], attribute=[constant]))
    data = encode(record)
    assert len(data) > 7 * BLOCK
    assert_same(data)


TEXTS = {
    "sorted": "g (float[N] x) => (float[N] y) <float[N] a> { a = Relu(x) y = Relu(a) }",
    "unsorted": "g (float[N] x) => (float[N] y) { y = Relu(a) a = Relu(x) }",
    "undefined": "g (float[N] x) => (float[N] y) { y = Add(x, z) }",
    "twice": "g (float[N] x) => (float[N] y) { y = Relu(x) y = Relu(x) }",
    "function": (
        'g (float[N] x) => (float[N] y) { y = local.F(x) }\n<domain: "local", opset_import: ["": 21]>\n'
        "F (a) => (b) { b = If(a) <then_branch = t () => (float c) { c = Relu(a) }> }"
    ),
}
ERRORS = {
    "undefined": "input 1 must be a value in scope; got 'z'",
    "twice": "got 'y' twice, here and from node[0]",
}


@pytest.mark.parametrize("name", TEXTS)
def test_models_in_text(name: str) -> None:
    data = encode(parse_record(TEXTS[name], more='"local": 1' if name == "function" else ""))
    assert ERRORS.get(name, "") in assert_same(data)


def test_a_function_before_the_graph() -> None:
    """The first graph that is decoded is not the main graph."""
    record = parse_record(TEXTS["function"], more='"local": 1')
    graph, record.graph = record.graph, None
    last = encode(m.ModelProto(graph=graph))
    assert_same(encode(record) + last)
    assert len(load(encode(record) + last).functions) == 1


def test_a_graph_in_several_parts() -> None:
    record = parse_record(TEXTS["sorted"])
    assert record.graph is not None
    first, second = record.graph.node
    record.graph.node = [first]
    rest = m.GraphProto(node=[second])
    assert_same(encode(record) + encode(m.ModelProto(graph=rest)))
    inner = encode(record.graph) + encode(rest)
    record.graph = None
    data = encode(record) + bytes([7 << 3 | 2, len(inner)]) + inner
    assert len(inner) < 128
    assert len(load(data).graph.nodes) == 2
    assert_same(data)


def test_an_error_of_a_node_precedes_one_of_an_initializer() -> None:
    """Of several errors, the one that decoding the whole file meets first is raised."""
    record = parse_record(TEXTS["sorted"])
    assert record.graph is not None
    record.graph.initializer = [m.TensorProto(data_type=1)]
    record.graph.node[0].add_unknown(b"\xff")
    assert "graph.node[0]" in assert_same(encode(record))


def test_attributes_with_equal_bytes_are_separate() -> None:
    axis = m.AttributeProto(name="axis", i=1, type=2)
    record = parse_record(TEXTS["sorted"])
    assert record.graph is not None
    for part in record.graph.node:
        part.attribute = [axis]
    first, second = load(encode(record)).graph.nodes
    first.attributes["axis"].value = 5
    assert second.attributes["axis"].value == 1
