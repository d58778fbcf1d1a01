"""Values that a field cannot hold are refused when they are written, with their place."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.errors import InvalidModel
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.record import Record

NODE = m.NodeProto()
REFUSED = [  # message, field, value, place in it, reason
    (m.ModelProto, "ir_version", 1 << 63, "", "9223372036854775808 does not fit int64"),
    (m.ModelProto, "ir_version", 8.0, "", "float 8.0 stands where int64 is wanted"),
    (m.ModelProto, "domain", 5, "", "int 5 stands where string is wanted"),
    (m.ModelProto, "domain", b"x", "", "bytes b'x' stands where string is wanted"),
    (m.ModelProto, "domain", "\ud800", "", "'\\ud800' holds surrogates that stand for no byte"),
    (m.ModelProto, "graph", NODE, "", "NodeProto stands where GraphProto is wanted"),
    (m.GraphProto, "node", [NODE, None], "[1]", "NoneType None stands where NodeProto is wanted"),
    (m.NodeProto, "input", "xy", "", "'xy' stands where a list is wanted"),
    (m.NodeProto, "input", ["x", 7], "[1]", "int 7 stands where string is wanted"),
    (m.NodeProto, "attribute", NODE, "", "NodeProto() stands where a list is wanted"),
    (m.TensorProto, "data_type", -(1 << 31) - 1, "", "-2147483649 does not fit int32"),
    (m.TensorProto, "dims", ["2"], "[0]", "str '2' stands where int64 is wanted"),
    (
        m.TensorProto,
        "raw_data",
        np.zeros(2, np.uint8),
        "",
        "ndarray array([0, 0], dtype=uint8) stands where bytes is wanted",
    ),
    (
        m.TensorProto,
        "raw_data",
        memoryview(b"abcd")[::2],
        "",
        "a view of scattered bytes stands where bytes in one piece are wanted",
    ),
    (m.TensorProto, "raw_data", "text", "", "str 'text' stands where bytes is wanted"),
    (m.TensorProto, "int32_data", [0, 1 << 31], "[1]", "2147483648 does not fit int32"),
    (m.TensorProto, "int32_data", np.array([0, 1 << 31]), "[1]", "2147483648 does not fit int32"),
    (m.TensorProto, "uint64_data", [0, -1], "[1]", "-1 does not fit uint64"),
    (m.TensorProto, "uint64_data", np.array([0, -1]), "[1]", "-1 does not fit uint64"),
    (m.TensorProto, "int64_data", [1.5], "[0]", "float 1.5 stands where int64 is wanted"),
    (
        m.TensorProto,
        "int64_data",
        np.array([1.0]),
        "[0]",
        "float64 np.float64(1.0) stands where int64 is wanted",
    ),
    (m.TensorProto, "float_data", [1.0, 1e39], "[1]", "1e+39 does not fit float"),
    (m.TensorProto, "float_data", np.array([1.0, 1e39]), "[1]", "1e+39 does not fit float"),
    (m.TensorProto, "float_data", ["1"], "[0]", "str '1' stands where float is wanted"),
    (m.TensorProto, "float_data", 1.0, "", "1.0 stands where a list is wanted"),
    (m.AttributeProto, "f", 1e39, "", "1e+39 does not fit float"),
]


@pytest.mark.parametrize(("message", "name", "value", "place", "why"), REFUSED)
def test_a_value_that_does_not_fit_is_refused(
    message: type[Record], name: str, value: object, place: str, why: str
) -> None:
    with pytest.raises(InvalidModel) as error:
        encode(message(**{name: value}))
    assert (error.value.location, error.value.why) == (name + place, why)


def test_the_place_is_told_from_the_top() -> None:
    bad = m.NodeProto(attribute=[m.AttributeProto(), m.AttributeProto(i="3")])
    with pytest.raises(InvalidModel, match=r"^graph.node\[1\].attribute\[1\].i: str '3' stands where"):
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
