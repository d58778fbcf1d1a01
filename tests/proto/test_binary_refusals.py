"""Values that a field cannot hold are rejected when they are encoded, with their location."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.errors import InvalidModel
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.record import Record

NODE = m.NodeProto()
REFUSED = [  # message, field, value, place in it, reason
    (m.ModelProto, "ir_version", 1 << 63, "", "the value must fit in int64; got 9223372036854775808"),
    (m.ModelProto, "ir_version", 8.0, "", "the value must be int64; got float 8.0"),
    (m.ModelProto, "domain", 5, "", "the value must be string; got int 5"),
    (m.ModelProto, "domain", b"x", "", "the value must be string; got bytes b'x'"),
    (
        m.ModelProto,
        "domain",
        "\ud800",
        "",
        "a surrogate in a string must be the escape of a byte; got '\\ud800'",
    ),
    (m.ModelProto, "graph", NODE, "", "the value must be GraphProto; got NodeProto"),
    (m.GraphProto, "node", [NODE, None], "[1]", "the value must be NodeProto; got NoneType None"),
    (m.NodeProto, "input", "xy", "", "the value must be a list; got 'xy'"),
    (m.NodeProto, "input", ["x", 7], "[1]", "the value must be string; got int 7"),
    (m.NodeProto, "attribute", NODE, "", "the value must be a list; got NodeProto()"),
    (m.TensorProto, "data_type", -(1 << 31) - 1, "", "the value must fit in int32; got -2147483649"),
    (m.TensorProto, "dims", ["2"], "[0]", "the value must be int64; got str '2'"),
    (
        m.TensorProto,
        "raw_data",
        np.zeros(2, np.uint8),
        "",
        "the value must be bytes; got ndarray array([0, 0], dtype=uint8)",
    ),
    (
        m.TensorProto,
        "raw_data",
        memoryview(b"abcd")[::2],
        "",
        "the value must be contiguous bytes; got a strided memoryview",
    ),
    (m.TensorProto, "raw_data", "text", "", "the value must be bytes; got str 'text'"),
    (m.TensorProto, "int32_data", [0, 1 << 31], "[1]", "the value must fit in int32; got 2147483648"),
    (
        m.TensorProto,
        "int32_data",
        np.array([0, 1 << 31]),
        "[1]",
        "the value must fit in int32; got 2147483648",
    ),
    (m.TensorProto, "uint64_data", [0, -1], "[1]", "the value must fit in uint64; got -1"),
    (m.TensorProto, "uint64_data", np.array([0, -1]), "[1]", "the value must fit in uint64; got -1"),
    (m.TensorProto, "int64_data", [1.5], "[0]", "the value must be int64; got float 1.5"),
    (
        m.TensorProto,
        "int64_data",
        np.array([1.0]),
        "[0]",
        "the value must be int64; got float64 np.float64(1.0)",
    ),
    (m.TensorProto, "float_data", [1.0, 1e39], "[1]", "the value must fit in float; got 1e+39"),
    (m.TensorProto, "float_data", np.array([1.0, 1e39]), "[1]", "the value must fit in float; got 1e+39"),
    (m.TensorProto, "float_data", ["1"], "[0]", "the value must be float; got str '1'"),
    (m.TensorProto, "float_data", 1.0, "", "the value must be a list; got 1.0"),
    (m.AttributeProto, "f", 1e39, "", "the value must fit in float; got 1e+39"),
]


@pytest.mark.parametrize(("message", "name", "value", "place", "why"), REFUSED)
def test_a_value_that_does_not_fit_is_refused(
    message: type[Record], name: str, value: object, place: str, why: str
) -> None:
    with pytest.raises(InvalidModel) as error:
        encode(message(**{name: value}))
    assert (error.value.location, error.value.why) == (name + place, why)


def test_the_location_is_a_path_from_the_top() -> None:
    bad = m.NodeProto(attribute=[m.AttributeProto(), m.AttributeProto(i="3")])
    with pytest.raises(
        InvalidModel, match=r"^graph.node\[1\].attribute\[1\].i: the value must be int64; got str '3'"
    ):
        encode(m.ModelProto(graph=m.GraphProto(node=[NODE, bad])))


def test_an_attribute_that_is_no_field_is_refused() -> None:
    node = m.NodeProto()
    node.__dict__["op_typ"] = "Abs"  # as `node.op_typ = "Abs"`, which the type checker refuses
    with pytest.raises(InvalidModel, match=r"^node\[0\].op_typ: NodeProto has no such field"):
        encode(m.GraphProto(node=[node]))


def test_numbers_of_numpy_are_numbers() -> None:
    record = m.AttributeProto(i=np.int64(-1), f=np.float32(0.5), ints=[np.int8(3)], type=np.uint8(2))
    assert encode(record) == encode(m.AttributeProto(i=-1, f=0.5, ints=[3], type=2))


def test_none_is_a_field_that_is_absent() -> None:
    node = m.NodeProto(name="n", op_type=None, input=None)
    assert encode(node) == encode(m.NodeProto(name="n"))
    assert not node.has("op_type")
