"""Dims that files write for unknown sizes: they name nothing, and are written back as they were."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Model, SequenceType, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

PLACEHOLDERS = ["", "?", "*", "None", "-1", "unk__0", "unk__317"]


def model_record(*dims: m.TensorShapeProtoDimension, ir: int = 10) -> m.ModelProto:
    """A model with two inputs of this shape."""
    record = parse_record("g (x, z) => (float[2] y) { y = Neg(x) }", ir=ir, opset=8)
    assert record.graph is not None
    shape = m.TensorShapeProto(dim=list(dims))
    for value in record.graph.input:
        value.type = m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1, shape=shape))
    return record


def encode_inputs(record: m.ModelProto) -> list[bytes]:
    assert record.graph is not None
    return [encode(value) for value in record.graph.input]


def named(name: str) -> m.TensorShapeProtoDimension:
    return m.TensorShapeProtoDimension(dim_param=name)


def input_type(model: Model) -> TensorType:
    type = model.graph.inputs[0].type
    assert isinstance(type, TensorType)
    return type


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_a_placeholder_is_an_unknown_dim_that_is_written_back(name: str) -> None:
    record = model_record(named(name), named("N"), m.TensorShapeProtoDimension(dim_value=3))
    model = load(record)
    assert input_type(model).shape == (None, symbol("N"), 3)
    written = decode(encode(to_proto.model(model)), m.ModelProto)
    assert encode_inputs(written) == encode_inputs(record)


@pytest.mark.parametrize("name", ["unk_0", "unk__", "unk__a", "none", "-2", "N", "??", "0"])
def test_other_names_are_variables(name: str) -> None:
    assert input_type(load(model_record(named(name)))).shape == (symbol(name),)


def test_a_negative_size_is_written_back() -> None:
    record = model_record(m.TensorShapeProtoDimension(dim_value=-1))
    model = load(record)
    assert input_type(model).shape == (None,)
    assert encode_inputs(to_proto.model(model)) == encode_inputs(record)


def test_a_dim_that_gets_a_size_loses_its_placeholder() -> None:
    model = load(model_record(named("?"), named("?")))
    for value in model.graph.inputs:
        assert isinstance(value.type, TensorType)
        value.type = replace(value.type, shape=(symbol("N"), None))
    assert encode_inputs(to_proto.model(model)) == encode_inputs(model_record(named("N"), named("?")))


def test_a_builder_reads_texts_as_files_are_read() -> None:
    assert sx.Builder(21).tensor(sx.DataType.FLOAT, ["?", "N", 3]).shape == (None, symbol("N"), 3)


@pytest.mark.parametrize("dims", [["*"], ["N", "*"], ["*", "3"]])
def test_up_to_ir_version_3_a_star_stands_for_any_number_of_dims(dims: list[str]) -> None:
    record = model_record(*map(named, dims), ir=3)
    model = load(record)
    assert input_type(model).shape is None
    assert encode_inputs(to_proto.model(model)) == encode_inputs(record)
    newer = to_proto.model(sx.convert(model, ir_version=4))
    without_shape = m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1))
    assert encode_inputs(newer) == [encode(m.ValueInfoProto(name=n, type=without_shape)) for n in "xz"]


def test_a_star_inside_a_sequence_stands_for_any_number_of_dims() -> None:
    record = parse_record('g (seq(float["*"]) x) => (seq(float["*"]) x) { }', ir=3)
    type = load(record).graph.inputs[0].type
    assert isinstance(type, SequenceType)
    assert isinstance(type.elem, TensorType)
    assert type.elem.shape is None


def test_inference_does_not_take_placeholders_for_one_size() -> None:
    model = load(parse_record('g (float["?"] x, float["?"] y) => (float[K] z) { t = Add(x, y)  z = Neg(t) }'))
    inner = sx.infer(model).graph.nodes[0].outputs[0].type
    assert isinstance(inner, TensorType)
    assert inner.shape == (None,)


def test_inference_does_not_know_the_rank_of_a_star() -> None:
    model = load(parse_record('g (float["*"] x) => (float[N] z) { t = Neg(x)  z = Abs(t) }', ir=3, opset=8))
    inner = sx.infer(model).graph.nodes[0].outputs[0].type
    assert isinstance(inner, TensorType)
    assert inner.shape is None
