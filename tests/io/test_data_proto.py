"""Stored data: conversion of inputs and outputs of models to messages of onnx-data.proto and back."""

from __future__ import annotations

from typing import cast

import ml_dtypes
import numpy as np
import pytest

from models import NoFiles
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.data import DataRecord, Datum, datum_from, datum_to
from sardonyx._src.ir import MapType, OptionalType, SequenceType, SparseTensor, Tensor, TensorType
from sardonyx._src.ir.tensors import RawStorage
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

F = np.float32
A, B = np.array([[1, 2]], F), np.array([3, 4], np.int64)


def again(value: Datum) -> Datum:
    """The value after a round trip through the binary format."""
    record = datum_to(value, "v")
    return datum_from(decode(encode(record), type(record)), NoFiles())


def plain(value: object) -> object:
    """The value as Python's own objects, arrays with their element type."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.tolist()
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {key: plain(element) for key, element in value.items()}
    return value


@pytest.mark.parametrize(
    "value",
    [
        A,
        np.array(1.5, F),
        np.zeros((0, 3), F),
        np.array([1, -2], ml_dtypes.int4),
        np.array([1.5], ml_dtypes.bfloat16),
        np.array([1 + 2j], np.complex64),
        np.array(["a", "ü", "\udcff"], object),
        [],
        [A, A],
        [[A], [A, A]],
        {1: A, -2: A},
        {"a": B, "ü": B},
        [{1: A}, {2: A}],
        None,
        [None, None],
    ],
    ids=repr,
)
def test_a_value_comes_back(value: Datum) -> None:
    assert plain(again(value)) == plain(value)


def test_a_sparse_tensor_comes_back() -> None:
    values, indices = Tensor.of(np.array([5], F), name="v"), Tensor.of(np.array([2]))
    tensor = again(SparseTensor(values, indices, (4,)))
    assert isinstance(tensor, SparseTensor)
    assert tensor.numpy().tolist() == [0, 0, 5, 0]


def test_an_optional_holds_what_its_message_holds() -> None:
    tensor = m.TensorProto(dims=[1], data_type=1, float_data=[7.0])
    inner = m.OptionalProto(elem_type=1, tensor_value=tensor)
    value = datum_from(m.OptionalProto(elem_type=5, optional_value=inner), NoFiles())
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [7]
    assert datum_from(m.OptionalProto(elem_type=1), NoFiles()) is None


def test_the_wheel_reads_what_is_written() -> None:
    from onnx import MapProto, SequenceProto, TensorProto, numpy_helper

    tensor = TensorProto.FromString(encode(datum_to(A, "x")))
    assert tensor.name == "x"
    assert numpy_helper.to_array(tensor).tolist() == A.tolist()
    sequence = SequenceProto.FromString(encode(datum_to([A, A])))
    assert [x.tolist() for x in numpy_helper.to_list(sequence)] == [A.tolist()] * 2
    by_number: dict[int, Datum] = {1: A}
    mapping = MapProto.FromString(encode(datum_to(by_number)))
    assert {k: v.tolist() for k, v in numpy_helper.to_dict(mapping).items()} == {1: A.tolist()}


def values(count: int) -> m.SequenceProto:
    tensor = m.TensorProto(dims=[1], data_type=1, float_data=[1.0])
    return m.SequenceProto(elem_type=1, tensor_values=[tensor] * count)


@pytest.mark.parametrize(
    ("record", "match"),
    [
        (m.SequenceProto(elem_type=0), "v: the element kind of a sequence must be a defined one; got 0"),
        (m.SequenceProto(elem_type=9), "v: the element kind of a sequence must be a defined one; got 9"),
        (m.MapProto(key_type=7, keys=[1]), "v: a map must have values; got none"),
        (
            m.MapProto(key_type=7, keys=[1, 2], values=values(1)),
            "v: a map must have as many keys as values; got 2 keys and 1 values",
        ),
        (m.MapProto(key_type=7, keys=[1, 1], values=values(2)), "v: the keys of a map must be unique"),
        (
            m.MapProto(key_type=1, keys=[1], values=values(1)),
            "v: the keys of a map must be integers or strings; got float",
        ),
        (m.MapProto(keys=[1], values=values(1)), "v: the element type must be a defined one; got UNDEFINED"),
        (m.TensorProto(dims=[2], data_type=1, float_data=[1.0]), "v: .*must have 2 entries"),
        (
            m.SequenceProto(elem_type=1, tensor_values=[m.TensorProto(dims=[1], data_type=99)]),
            r"v\.tensor_values\[0\]: the element type must be a defined one; got 99",
        ),
    ],
)
def test_what_is_no_value_is_rejected_with_its_location(record: DataRecord, match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        datum_from(record, NoFiles(), "v")


def test_a_sparse_message_is_not_made_dense_to_be_read() -> None:
    huge = SparseTensor(
        Tensor(DataType.FLOAT, (1,), RawStorage(bytes(4))),
        Tensor(DataType.INT64, (1,), RawStorage(bytes(8))),
        (1 << 40,),
    )
    tensor = again(huge)
    assert isinstance(tensor, SparseTensor)
    assert tensor.shape == (1 << 40,)


def test_the_declared_type_describes_what_is_empty() -> None:
    floats = TensorType(DataType.FLOAT, (1,))
    empty = datum_to({}, "v", MapType(DataType.STRING, SequenceType(floats)))
    assert isinstance(empty, m.MapProto) and empty.values is not None
    assert (empty.key_type, empty.values.elem_type) == (DataType.STRING, m.SequenceProtoDataType.SEQUENCE)
    narrow = datum_to(cast("dict[int, Datum]", {1: A}), "v", MapType(DataType.INT32, floats))
    assert isinstance(narrow, m.MapProto) and narrow.key_type == DataType.INT32
    nested = datum_to([None, A], "v", SequenceType(OptionalType(floats)))
    assert isinstance(nested, m.SequenceProto)
    assert [o.elem_type for o in nested.optional_values] == [0, m.SequenceProtoDataType.TENSOR]
