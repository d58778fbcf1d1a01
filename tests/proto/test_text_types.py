"""The textual syntax of types, value infos and tensors: pairs of text and record, parsed and printed."""

from __future__ import annotations

import numpy as np
import pytest

from proto.text_examples import Dim, Pair, assert_example, tensor, tensor_type
from sardonyx._src.proto.messages import (
    AttributeProto,
    TensorProto,
    TensorProtoSegment,
    TensorShapeProto,
    TypeProto,
    TypeProtoMap,
    TypeProtoOpaque,
    TypeProtoOptional,
    TypeProtoSequence,
    TypeProtoSparseTensor,
    TypeProtoTensor,
    ValueInfoProto,
)
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import to_text

LOCATED = [Pair(key="location", value="w.bin"), Pair(key="checksum", value="00")]


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("float", tensor_type()),
        ("float[]", TypeProto(tensor_type=TypeProtoTensor(elem_type=1))),
        (
            'int4[3, N, "a b", ?, ""]',
            tensor_type(
                22, Dim(dim_value=3), Dim(dim_param="N"), Dim(dim_param="a b"), Dim(), Dim(dim_param="")
            ),
        ),
        ("undefined", tensor_type(0)),
        ("float6e3m2[-1]", tensor_type(28, Dim(dim_value=-1))),
        ('float[N @{denotation: "DATA_BATCH"}]', tensor_type(1, Dim(dim_param="N", denotation="DATA_BATCH"))),
        ("?", TypeProto()),
        ('? @{denotation: "TEXT"}', TypeProto(denotation="TEXT")),
        (
            'float @{denotation: "IMAGE"}',
            TypeProto(tensor_type=tensor_type().tensor_type, denotation="IMAGE"),
        ),
        ("seq(float)", TypeProto(sequence_type=TypeProtoSequence(elem_type=tensor_type()))),
        ("seq()", TypeProto(sequence_type=TypeProtoSequence())),
        ("optional(float)", TypeProto(optional_type=TypeProtoOptional(elem_type=tensor_type()))),
        ("map(string, float)", TypeProto(map_type=TypeProtoMap(key_type=8, value_type=tensor_type()))),
        ("map(, )", TypeProto(map_type=TypeProtoMap())),
        ("sparse_tensor(float[])", TypeProto(sparse_tensor_type=TypeProtoSparseTensor(elem_type=1))),
        ("opaque()", TypeProto(opaque_type=TypeProtoOpaque())),
        ("opaque(a.b)", TypeProto(opaque_type=TypeProtoOpaque(name="a.b"))),
        ('opaque(a.b, "c.d")', TypeProto(opaque_type=TypeProtoOpaque(domain="a.b", name="c.d"))),
        ("opaque(d,)", TypeProto(opaque_type=TypeProtoOpaque(domain="d"))),
        ("{tensor_type: {elem_type: 99}}", TypeProto(tensor_type=TypeProtoTensor(elem_type=99))),
        ("{tensor_type: {shape: {}}}", TypeProto(tensor_type=TypeProtoTensor(shape=TensorShapeProto()))),
    ],
)
def test_types(text: str, type_: TypeProto) -> None:
    assert_example(text, type_)


@pytest.mark.parametrize(
    ("text", "info"),
    [
        ("x", ValueInfoProto(name="x")),
        ("float x", ValueInfoProto(name="x", type=tensor_type())),
        ('float "float"', ValueInfoProto(name="float", type=tensor_type())),
        ('float "x/1:0"', ValueInfoProto(name="x/1:0", type=tensor_type())),
        ("? x", ValueInfoProto(name="x", type=TypeProto())),
        ("{type: float}", ValueInfoProto(type=tensor_type())),
        (
            'x @{doc_string: "d", metadata_props: ["k": "v"]}',
            ValueInfoProto(name="x", doc_string="d", metadata_props=[Pair(key="k", value="v")]),
        ),
    ],
)
def test_value_infos(text: str, info: ValueInfoProto) -> None:
    assert_example(text, info)


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("float {1.5}", tensor(1, float_data=[1.5])),
        ("float[0] {}", tensor(1, 0)),
        ('float[2] "a b" {0.1, -0.0}', tensor(1, 2, name="a b", float_data=[float(np.float32(0.1)), -0.0])),
        ('float "" {}', tensor(1, name="")),
        (
            "double[4] {1e-300, nan, -inf, -nan}",
            tensor(11, 4, double_data=[1e-300, np.nan, -np.inf, np.copysign(np.nan, -1)]),
        ),
        ("complex64 {1.0, -2.0}", tensor(14, float_data=[1.0, -2.0])),
        ('string[2] {"a", base64 "gICA"}', tensor(8, 2, string_data=[b"a", b"\x80\x80\x80"])),
        ("uint64 {18446744073709551615}", tensor(13, uint64_data=[(1 << 64) - 1])),
        ("float16[2] {15360, 31744}", tensor(10, 2, int32_data=[15360, 31744])),
        ("int4[3] {33, 1}", tensor(22, 3, int32_data=[0x21, 1])),
        ("undefined {}", tensor(0)),
        ("float[2] raw_data: {1.0, 0.1}", tensor(1, 2, raw_data=b"\0\0\x80?\xcd\xcc\xcc=")),
        ("float16[2] raw_data: {1.0, inf}", tensor(10, 2, raw_data=b"\0\x3c\0\x7c")),
        ("bfloat16 raw_data: {0.1}", tensor(16, raw_data=b"\xcd\x3d")),
        ("float8e4m3fn[2] raw_data: {1.0, nan}", tensor(17, 2, raw_data=b"\x38\x7f")),
        ("int4[3] raw_data: {1, 2, -1}", tensor(22, 3, raw_data=b"\x21\x0f")),
        ("uint2[2] raw_data: {1, 3}", tensor(25, 2, raw_data=b"\x0d")),
        ("float4e2m1 raw_data: {-6.0}", tensor(23, raw_data=b"\x0f")),
        ("float6e2m3[2] raw_data: {0.125, 7.5}", tensor(27, 2, raw_data=b"\xc1\x07")),
        ("bool[2] raw_data: {0, 1}", tensor(9, 2, raw_data=b"\0\1")),
        ("complex64 raw_data: {1.0, 0.0}", tensor(14, raw_data=b"\0\0\x80?\0\0\0\0")),
        ("float[0] raw_data: {}", tensor(1, 0, raw_data=b"")),
        ('bool raw_data: base64 "Ag=="', tensor(9, raw_data=b"\2")),
        ('int4 raw_data: base64 "IQ=="', tensor(22, raw_data=b"\x21")),
        ('float[2] raw_data: base64 "AAA="', tensor(1, 2, raw_data=b"\0\0")),
        ('float16 raw_data: base64 "AX4="', tensor(10, raw_data=b"\1\x7e")),
        ('string raw_data: base64 "eA=="', tensor(8, raw_data=b"x")),
        ("float raw_data: {nan(0x7fc00001)}", tensor(1, raw_data=b"\1\0\xc0\x7f")),
        (
            'float[3] w = ["location": "w.bin", "checksum": "00"]',
            tensor(1, 3, name="w", external_data=LOCATED, data_location=1),
        ),
        (
            'float {} @{external_data: ["location": "w.bin", "checksum": "00"]}',
            tensor(1, external_data=LOCATED),
        ),
        ("float {} @{data_location: DEFAULT}", tensor(1, data_location=0)),
        ("float {} @{data_location: 7}", tensor(1, data_location=7)),
        ("float {1.0} @{int64_data: [2]}", tensor(1, float_data=[1.0], int64_data=[2])),
        ('float {1.0} @{raw_data: ""}', tensor(1, float_data=[1.0], raw_data=b"")),
        (
            'float {} @{segment: {begin: 0, end: 5}, doc_string: "d"}',
            tensor(1, segment=TensorProtoSegment(begin=0, end=5), doc_string="d"),
        ),
        ("{data_type: 99, int32_data: [1]}", tensor(99, int32_data=[1])),
        ("{dims: [2]}", TensorProto(dims=[2])),
    ],
)
def test_tensors(text: str, record: TensorProto) -> None:
    assert_example(text, record)


def test_raw_data_of_more_than_64_elements_is_written_as_base64() -> None:
    assert_example("uint8[64] raw_data: {" + ", ".join(["7"] * 64) + "}", tensor(2, 64, raw_data=b"\7" * 64))
    assert_example('uint8[66] raw_data: base64 "' + "BwcH" * 22 + '"', tensor(2, 66, raw_data=b"\7" * 66))


def test_max_elements_leaves_out_what_is_more_and_says_so() -> None:
    def shown(record: Record) -> str:
        return to_text(record, max_elements=2)

    assert shown(tensor(1, 3, float_data=[1.0, 2.0, 3.0])) == "float[3] {1.0, 2.0, ...}"
    assert shown(tensor(7, 3, int64_data=np.arange(3))) == "int64[3] {0, 1, ...}"
    assert shown(tensor(2, 3, raw_data=b"\1\2\3")) == "uint8[3] raw_data: {1, 2, ...}"
    assert shown(tensor(2, 2, raw_data=b"\1\2")) == "uint8[2] raw_data: {1, 2}"
    assert shown(tensor(2, 9, raw_data=b"\1\2\3")) == "uint8[9] raw_data: {...}"
    assert shown(tensor(8, 3, string_data=[b"a", b"b", b"c"])) == 'string[3] {"a", "b", ...}'
    assert shown(AttributeProto(name="a", type=7, ints=[1, 2, 3])) == "a = [1, 2, ...]"
