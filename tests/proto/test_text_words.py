"""The textual syntax of strings, bytes, numbers and white space: pairs of text and record, parsed and printed."""

from __future__ import annotations

import numpy as np
import pytest

from proto.text_examples import assert_example, tensor
from sardonyx._src.proto.messages import AttributeProto, NodeProto, TensorProto
from sardonyx._src.proto.text import from_text, to_text


@pytest.mark.parametrize(
    ("text", "string"),
    [
        ('""', ""),
        ('"a\\"b\\\\"', 'a"b\\'),
        ('"tab\tand\nline"', "tab\tand\nline"),
        ('b"\\x00\\x0d\\x7f"', "\0\r\x7f"),
        ('"é\u2028"', "é\u2028"),
        ('b"\\xffé"', "\udcffé"),
    ],
)
def test_strings(text: str, string: str) -> None:
    assert_example(f"[{text}] = F()", NodeProto(op_type="F", name=string))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('"a"', b"a"),
        ('b"\\xff"', b"\xff"),
        ('base64 "//79/A=="', b"\xff\xfe\xfd\xfc"),
        ('b"a sentence with one \\x00"', b"a sentence with one \0"),
    ],
)
def test_bytes_are_written_the_shorter_way(text: str, data: bytes) -> None:
    assert_example(f"a = {text}", AttributeProto(name="a", type=3, s=data))


def test_bytes_are_read_in_hex_too() -> None:
    assert from_text('a = hex "00fF"', AttributeProto).s == b"\0\xff"


def test_nans_keep_their_bits() -> None:
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFF800001], np.uint32)
    text = "float[4] {nan, -nan, nan(0x7fc00001), nan(0xff800001)}"
    record = tensor(1, 4, float_data=bits.view(np.float32))
    assert to_text(record) == text
    read = from_text(text, TensorProto).float_data
    assert np.asarray(read, np.float32).view(np.uint32).tolist() == bits.tolist()
    spaced = from_text("float[2] {nan(0x7fc00001)\n, -nan }", TensorProto).float_data
    assert np.asarray(spaced, np.float32).view(np.uint32).tolist() == [0x7FC00001, 0xFFC00000]


def test_comments_and_line_breaks_are_space() -> None:
    text = "# first # comment\n y # second\n=\tF ( x , # third\r\n z ) # end"
    assert from_text(text, NodeProto) == NodeProto(op_type="F", output=["y"], input=["x", "z"])
    assert from_text("int64[2] { 1 # one\n, 2 }", TensorProto) == tensor(7, 2, int64_data=[1, 2])


def test_floats_of_32_bits_are_rounded_when_read() -> None:
    assert from_text("a = 0.1", AttributeProto).f == 0.10000000149011612
    assert list(from_text("float {16777217}", TensorProto).float_data) == [16777216.0]
