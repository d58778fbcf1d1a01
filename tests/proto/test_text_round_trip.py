"""Reading what was printed gives the same record, and the same bytes."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proto.judge import official_files, shared_files
from proto.official_models import node_models
from proto.strategies import SCALARS, message_types, payloads, records, strings
from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.messages import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TensorShapeProto,
    TensorShapeProtoDimension,
    TypeProto,
    TypeProtoTensor,
    ValueInfoProto,
)
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import from_text, to_text
from sardonyx._src.proto.text.words import ATTRIBUTE_FIELDS

relaxed = settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def assert_returns(record: Record) -> None:
    again = from_text(to_text(record), type(record))
    assert again == record
    assert encode(again) == encode(record)


def test_official_files() -> None:
    count = 0
    for path, message in official_files():
        assert_returns(decode(path.read_bytes(), message))
        count += 1
    assert count == 476


def test_node_cases() -> None:
    for data in node_models().values():
        assert_returns(decode(data, ModelProto))


def test_shared_models() -> None:
    files = list(shared_files())
    if not files:
        pytest.skip("the shared models are not available")
    for path, message in files:
        assert_returns(decode(path.read_bytes(), message))


@given(st.data())
@relaxed
def test_any_record(data: st.DataObject) -> None:
    assert_returns(data.draw(records(data.draw(message_types))))


@st.composite
def tensors(draw: st.DrawFn) -> TensorProto:
    """Tensors whose raw data fits their dims, padding bits and odd bits included."""
    dtype = draw(st.sampled_from([d for d in DataType if d not in (DataType.UNDEFINED, DataType.STRING)]))
    dims = draw(st.lists(st.integers(0, 3), max_size=3))
    size = dtypes.nbytes(dtype, dtypes.element_count(dims))
    data = draw(st.one_of(st.binary(min_size=size, max_size=size), st.just(bytes(size))))
    tensor = draw(records(TensorProto, depth=1)) if draw(st.booleans()) else TensorProto()
    for field, value in {"data_type": int(dtype), "dims": dims, "raw_data": data}.items():
        tensor.set(field, value)
    return tensor


@given(tensors())
@relaxed
def test_tensors_with_fitting_raw_data(tensor: TensorProto) -> None:
    assert_returns(tensor)


@st.composite
def attributes(draw: st.DrawFn) -> AttributeProto:
    """Attributes with a value in the field of their type, and sometimes values in other fields."""
    attribute = draw(records(AttributeProto, depth=1)) if draw(st.booleans()) else AttributeProto()
    kind, name = draw(st.sampled_from(sorted(ATTRIBUTE_FIELDS.items())))
    field = AttributeProto.BY_NAME[name]
    elements = records(field.message, 3) if field.message is not None else SCALARS[field.kind]
    attribute.set("name", draw(strings))
    attribute.set("type", int(kind))
    attribute.set(name, draw(st.lists(elements, max_size=3)) if field.repeated else draw(elements))
    return attribute


@given(
    st.lists(attributes(), max_size=3), strings, st.one_of(st.none(), strings), st.lists(strings, max_size=3)
)
@relaxed
def test_nodes_with_fitting_attributes(
    attributes: list[AttributeProto], op_type: str, domain: str | None, names: list[str]
) -> None:
    node = NodeProto(op_type=op_type, attribute=attributes, input=names, output=names[:1])
    if domain is not None:
        node.domain = domain
    assert_returns(GraphProto(node=[node, node]))


@given(payloads, strings, SCALARS["float"], SCALARS["double"])
@relaxed
def test_scalars(payload: bytes, string: str, single: float, double: float) -> None:
    assert_returns(AttributeProto(name=string, type=3, s=payload))
    assert_returns(AttributeProto(name=string, type=1, f=single))
    assert_returns(TensorProto(data_type=11, double_data=[double]))


def test_every_float_of_16_bits_and_fewer_is_written_exactly() -> None:
    for dtype in DataType:
        if not dtype.is_float or dtype.bits > 16:
            continue
        codes = np.arange(1 << dtype.bits, dtype=np.uint16 if dtype.bits == 16 else np.uint8)
        for start in range(0, codes.size, 64):
            array = codes[start : start + 64].view(dtype.numpy)
            raw = bytes(dtypes.pack(array, dtype))
            assert_returns(TensorProto(data_type=int(dtype), dims=[array.size], raw_data=raw))


def test_shortest_decimals_read_back_as_the_same_floats() -> None:
    bits = np.random.default_rng(7).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    assert_returns(TensorProto(data_type=1, float_data=bits.view(np.float32)))
    wide = np.random.default_rng(8).integers(0, 1 << 64, 100_000, dtype=np.uint64)
    assert_returns(TensorProto(data_type=11, double_data=wide.view(np.float64)))


def test_printing_leaves_the_record_as_it_was() -> None:
    node = NodeProto(op_type="F")
    to_text(ModelProto(graph=GraphProto(node=[node])))
    assert not node.has("input") and not node.has("attribute")


def typed_value(name: str) -> ValueInfoProto:
    shape = TensorShapeProto(dim=[TensorShapeProtoDimension(dim_value=3)])
    return ValueInfoProto(name=name, type=TypeProto(tensor_type=TypeProtoTensor(elem_type=1, shape=shape)))


def chain(count: int) -> Mapping[str, list[Record]]:
    axis = AttributeProto(name="axis", type=2, i=1)
    nodes: list[Record] = [
        NodeProto(
            op_type="Add", name=f"n{i}", input=[f"v{i}", f"v{i // 2}"], output=[f"v{i + 1}"], attribute=[axis]
        )
        for i in range(count)
    ]
    return {"node": nodes, "value_info": [typed_value(f"v{i}") for i in range(count)]}


def test_a_graph_of_20000_nodes_takes_seconds() -> None:
    graph = GraphProto(name="g", **chain(20_000))
    begin = time.process_time()
    assert from_text(to_text(graph), GraphProto) == graph
    assert time.process_time() - begin < 20  # about 2; a quadratic step anywhere takes minutes
