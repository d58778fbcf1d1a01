"""The encoding of gRPC messages, compared with protobuf's, and its limits on malformed and hostile messages."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.errors import InputError
from sardonyx._src.serve.grpc.messages import (
    InferInputTensor,
    InferTensorContents,
    ModelInferRequest,
    ModelInferResponse,
)
from sardonyx._src.serve.grpc.tensors import decode_inputs
from sardonyx._src.serve.grpc.wire_decoder import decode
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.protocol.failures import RequestFailure
from serve.protobuf_messages import message_classes

PROTOBUF = message_classes()


def test_requests_of_protobuf() -> None:
    theirs = PROTOBUF["ModelInferRequest"](model_name="m", model_version="2", id="é")
    theirs.parameters.add(key="timeout").value.int64_param = -5
    theirs.parameters.add(key="big").value.uint64_param = 1 << 63
    theirs.parameters.add(key="share").value.double_param = 0.5
    theirs.parameters.add(key="flag").value.bool_param = True
    theirs.parameters.add(key="text").value.string_param = "t"
    x = theirs.inputs.add(name="x", datatype="INT32", shape=[2, 1 << 40])
    x.contents.int_contents.extend([-1, 300, 2**31 - 1])
    x.contents.uint64_contents.extend([0, 1 << 63])
    x.contents.fp64_contents.extend([0.5])
    x.contents.bytes_contents.extend([b"a", b""])
    theirs.outputs.add(name="y")
    theirs.raw_input_contents.append(b"\0" * 300)
    ours = decode(ModelInferRequest, theirs.SerializeToString())
    assert (ours.model_name, ours.model_version, ours.id) == ("m", "2", "é")
    assert ours.parameters == {"timeout": -5, "big": 1 << 63, "share": 0.5, "flag": True, "text": "t"}
    tensor = ours.inputs[0]
    assert (tensor.name, tensor.datatype, tensor.shape) == ("x", "INT32", [2, 1 << 40])
    assert tensor.contents is not None
    assert tensor.contents.int_contents[0].tolist() == [-1, 300, 2**31 - 1]
    assert tensor.contents.uint64_contents[0].tolist() == [0, 1 << 63]
    assert tensor.contents.fp64_contents[0].tolist() == [0.5]
    assert [bytes(item) for item in tensor.contents.bytes_contents] == [b"a", b""]
    assert [output.name for output in ours.outputs] == ["y"]
    assert [bytes(item) for item in ours.raw_input_contents] == [b"\0" * 300]


def test_responses_are_those_of_protobuf() -> None:
    ours = ModelInferResponse("m", "1", "7", {"n": -1, "f": 0.25, "b": False, "s": "x", "u": 1 << 63})
    ours.raw_output_contents = [b"123", b""]
    theirs = PROTOBUF["ModelInferResponse"].FromString(encode(ours))
    values = {entry.key: entry.value for entry in theirs.parameters}
    assert values["n"].int64_param == -1
    assert values["u"].uint64_param == 1 << 63
    assert values["f"].double_param == 0.25
    assert values["s"].string_param == "x"
    assert (theirs.model_name, theirs.model_version, theirs.id) == ("m", "1", "7")
    assert list(theirs.raw_output_contents) == [b"123", b""]


def test_numbers_that_are_not_packed_and_unknown_fields() -> None:
    data = b"\x0a\x01m" + b"\x2a\x06" + b"\x18\x02\x18\x03\x2a\x00" + b"\x7a\x02hi" + b"\x80\x01\x05"
    message = decode(ModelInferRequest, data)
    assert message.model_name == "m"
    assert message.inputs[0].shape == [2, 3]


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x05m",  # a text that ends early
        b"\x0a",  # without its length
        b"\x0b",  # a group
        b"\x08\x01",  # a number where a text belongs
        b"\x0a\x01\xff",  # not UTF-8
        b"\x2a\x04\x1a\x02\x80\x80",  # a packed number without an end
        b"\x80" * 12,
        b"\x2a\x0d\x2a\x0b\x12\x09" + b"\x80" * 9,
        b"\x2a\x02\x18\x01" * 200_001,  # too many fields
        b"\x2a\x85\x20\x1a\x82\x20" + b"\x01" * 4098,  # a shape of thousands of dims
    ],
)
def test_malformed_messages(data: bytes) -> None:
    with pytest.raises(InputError, match="the message must be a ModelInferRequest"):
        decode(ModelInferRequest, data)


def test_every_prefix_of_a_request_is_decoded_or_refused() -> None:
    theirs = PROTOBUF["ModelInferRequest"](model_name="m")
    theirs.parameters.add(key="n").value.int64_param = 1 << 40
    theirs.inputs.add(name="x", datatype="INT32", shape=[2]).contents.int_contents.extend([-1, 300])
    data = theirs.SerializeToString()
    for end in range(len(data)):
        for tail in (b"", b"\xff"):
            try:
                decode(ModelInferRequest, data[:end] + tail)
            except InputError:
                continue


CONTENTS = [
    ("BOOL", "bool_contents", "?", [True, False]),
    ("INT8", "int_contents", "<i4", [-128, 127]),
    ("INT64", "int64_contents", "<i8", [-(1 << 63), 1]),
    ("UINT16", "uint_contents", "<u4", [65535, 0]),
    ("UINT64", "uint64_contents", "<u8", [(1 << 64) - 1, 0]),
    ("FP32", "fp32_contents", "<f4", [0.5, -1.0]),
    ("FP64", "fp64_contents", "<f8", [0.1, 1e300]),
]


@pytest.mark.parametrize(("datatype", "field", "dtype", "values"), CONTENTS, ids=[c[0] for c in CONTENTS])
def test_contents_of_datatypes(datatype: str, field: str, dtype: str, values: list[float]) -> None:
    contents = InferTensorContents()
    setattr(contents, field, [np.array(values, dtype)])
    array = decode_inputs([InferInputTensor("x", datatype, [1, 2], {}, contents)], [])["x"]
    assert array.shape == (1, 2)
    assert array.ravel().tolist() == values


def test_contents_of_strings() -> None:
    contents = InferTensorContents(bytes_contents=[memoryview("é".encode()), memoryview(b"")])
    assert decode_inputs([InferInputTensor("x", "BYTES", [2], {}, contents)], [])["x"].tolist() == ["é", ""]


@pytest.mark.parametrize(
    ("tensor", "raw", "why"),
    [
        (InferInputTensor("x", "FP16", [1]), [], "must have raw contents"),
        (InferInputTensor("x", "FP23", [1]), [b""], "did you mean 'FP32'"),
        (InferInputTensor("x", "FP32", [-1]), [b""], "sizes from 0"),
        (InferInputTensor("x", "FP32", [2]), [b"\0" * 4], "must have 8 bytes"),
        (InferInputTensor("x", "FP32", [1]), [b"", b""], "one entry for each of 1 inputs"),
        (InferInputTensor("x", "FP32", [1], {}, InferTensorContents()), [b"\0" * 4], "got both"),
        (
            InferInputTensor(
                "x", "INT8", [1], {}, InferTensorContents(int_contents=[np.array([300], "<i4")])
            ),
            [],
            "got 300",
        ),
        (InferInputTensor("x", "FP32", [1 << 40]), [], "must have 1099511627776 elements"),
    ],
)
def test_invalid_tensors(tensor: InferInputTensor, raw: list[bytes], why: str) -> None:
    with pytest.raises(RequestFailure, match=why):
        decode_inputs([tensor], [memoryview(item) for item in raw])
