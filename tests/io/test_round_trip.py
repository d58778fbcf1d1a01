"""Round trips between records and models lose nothing, for every real model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import sardonyx as sx
from models import load_record, only, parse_model, parse_record
from proto.official_models import node_models, shared_models, stored_models
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode


def assert_survives(data: bytes) -> None:
    """The record comes back, and byte for byte if decoding and encoding the data gives them again."""
    is_canonical = encode(decode(data, m.ModelProto)) == data
    model = load(data)
    verify(model)
    assert all("is imported" in str(note) for note in model.notes)
    written = encode(to_proto.model(model))
    assert decode(written, m.ModelProto) == decode(data, m.ModelProto)
    if is_canonical:
        assert written == data


@pytest.mark.parametrize("name", list(stored_models()))
def test_stored_models(name: str) -> None:
    assert_survives(stored_models()[name])


@pytest.mark.parametrize("name", list(shared_models()))
def test_real_models(name: str) -> None:
    assert_survives(shared_models()[name])


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_models_of_other_packages() -> None:
    onnxruntime = find_spec("onnxruntime")
    assert onnxruntime is not None and onnxruntime.origin is not None
    paths = sorted(Path(onnxruntime.origin).parent.rglob("*.onnx"))
    assert paths
    for path in paths:
        assert_survives(path.read_bytes())


@pytest.mark.parametrize("part", range(4))
def test_models_of_one_operator(part: int) -> None:
    models = list(node_models().values())[part::4]
    assert len(models) > 400
    for data in models:
        assert_survives(data)


# --- attributes ------------------------------------------------------------------------------

TENSOR = m.TensorProto(name="t", dims=[1], data_type=1, float_data=[1.0], doc_string="d")
SPARSE = m.SparseTensorProto(
    values=TENSOR, indices=m.TensorProto(dims=[1], data_type=7, int64_data=[1]), dims=[3]
)
GRAPH = m.GraphProto(
    name="g",
    node=[m.NodeProto(op_type="Neg", input=["x"], output=["p"])],
    output=[m.ValueInfoProto(name="p")],
)
TYPE = m.TypeProto(
    map_type=m.TypeProtoMap(key_type=7, value_type=m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1)))
)
VALUES: dict[AttributeType, tuple[str, object]] = {
    AttributeType.FLOAT: ("f", 1.5),
    AttributeType.INT: ("i", -1),
    AttributeType.STRING: ("s", b"\xff"),
    AttributeType.TENSOR: ("t", TENSOR),
    AttributeType.GRAPH: ("g", GRAPH),
    AttributeType.FLOATS: ("floats", [1.5, 2.0]),
    AttributeType.INTS: ("ints", [1, -2]),
    AttributeType.STRINGS: ("strings", [b"a", b""]),
    AttributeType.TENSORS: ("tensors", [TENSOR, TENSOR]),
    AttributeType.GRAPHS: ("graphs", [GRAPH, GRAPH]),
    AttributeType.SPARSE_TENSOR: ("sparse_tensor", SPARSE),
    AttributeType.SPARSE_TENSORS: ("sparse_tensors", [SPARSE]),
    AttributeType.TYPE_PROTO: ("tp", TYPE),
    AttributeType.TYPE_PROTOS: ("type_protos", [TYPE, TYPE]),
}


@pytest.mark.parametrize("kind", [kind for kind in AttributeType if kind])
def test_all_fourteen_types_of_attribute(kind: AttributeType) -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    assert record.graph is not None
    field, value = VALUES[kind]
    record.graph.node[0].attribute = [
        m.AttributeProto(name="a", type=int(kind), doc_string="d", **{field: value})
    ]
    model = load_record(record)
    verify(model)
    attribute = only(model.graph, "Abs").attributes["a"]
    assert attribute.type is kind
    assert len(attribute.graphs) == {"g": 1, "graphs": 2}.get(field, 0)
    assert to_proto.model(model) == record


@pytest.mark.parametrize("kind", [kind for kind in AttributeType if kind.is_list])
def test_an_empty_list_stays_one_of_its_type(kind: AttributeType) -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    assert record.graph is not None
    record.graph.node[0].attribute = [m.AttributeProto(name="a", type=int(kind))]
    attribute = only(load(encode(to_proto.model(load_record(record)))).graph, "Abs").attributes["a"]
    assert (attribute.type, attribute.value) == (kind, ())


# --- initializers ----------------------------------------------------------------------------


def load_with_value_info(info: m.ValueInfoProto) -> sx.Model:
    record = parse_record("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    assert record.graph is not None
    record.graph.value_info = [info]
    return load_record(record)


def float_of(size: int, denotation: str = "") -> m.TypeProto:
    dim = m.TensorShapeProtoDimension(dim_value=size)
    shape = m.TensorShapeProto(dim=[dim])
    return m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1, shape=shape), denotation=denotation)


def test_text_and_metadata_of_an_initializer_are_kept() -> None:
    entry = m.StringStringEntryProto(key="k", value="v")
    model = load_with_value_info(
        m.ValueInfoProto(name="w", doc_string="weight", metadata_props=[entry], type=float_of(2, "TENSOR"))
    )
    value = model.graph.initializers["w"]
    assert (value.doc, value.metadata, model.notes) == ("weight", {"k": "v"}, [])
    assert value.type is not None
    assert value.type.denotation == "TENSOR"
    info = to_proto.graph(model.graph).value_info
    assert [(v.name, v.doc_string) for v in info] == [("w", "weight")]


def test_of_another_type_than_the_tensor_s_own_the_tensor_counts() -> None:
    model = load_with_value_info(m.ValueInfoProto(name="w", type=float_of(3)))
    assert str(model.graph.initializers["w"].type) == "float[2]"
    assert "value_info declares float[3] for initializer 'w', whose type is float[2]" in str(model.notes[0])


# --- long data -------------------------------------------------------------------------------

LONG = 3 << 30  # bytes; a signed 32-bit length ends at 2 << 30


class Counting:
    """A file object that counts the bytes written to it."""

    count = 0

    def write(self, data: bytes | memoryview, /) -> int:
        self.count += len(data)
        return len(data)


def test_models_may_exceed_two_gibibytes(tmp_path: Path) -> None:
    """A sparse file of three gibibytes, which takes no disk space and is not read."""
    data = bytearray(encode(parse_record("g (float[2] x) => (float[2] y) { y = Abs(x) }")))
    tensor = encode(m.TensorProto(name="w", dims=[LONG // 4], data_type=1))
    inner = tensor + b"\x4a" + varint(LONG)  # raw_data
    graph = b"\x2a" + varint(len(inner) + LONG) + inner  # initializer
    head = bytes(data) + b"\x3a" + varint(len(graph) + LONG) + graph  # a second part of the graph
    path = tmp_path / "long.onnx"
    path.write_bytes(head)
    with path.open("r+b") as file:
        file.truncate(len(head) + LONG)
    model = sx.load(path)
    weight = model.graph.initializers["w"].initializer
    assert weight is not None
    assert weight.numpy()[-1] == 0
    counting = Counting()
    sx.save(model, counting)
    assert counting.count > LONG


def varint(value: int) -> bytes:
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes([*result, value])


def test_a_model_is_equal_after_any_number_of_round_trips() -> None:
    model = parse_model(
        "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { a = Add(x, w)  y = Neg(a) }"
    )
    once = encode(to_proto.model(model))
    assert encode(to_proto.model(load(once))) == once
