"""Data that are no messages: errors name location and reason, and only our own errors are raised."""

from __future__ import annotations

import mmap

import pytest

from sardonyx._src.errors import DecodeError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record

#                      0    2    4    6      9      12         17
SMALL = bytes.fromhex("0808 3a10 0a0b 0a0178 120179 2203416273 120167")


def map_bytes(data: bytes) -> mmap.mmap:
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memory


def fault(data: bytes, message: type[Record]) -> tuple[int, str, str]:
    """Offset, path and reason: the same from bytes and from a memory map."""
    with pytest.raises(DecodeError) as plain:
        decode(data, message)
    with pytest.raises(DecodeError) as from_map:
        decode(map_bytes(data), message)
    assert str(plain.value) == str(from_map.value)
    return plain.value.offset, plain.value.path, plain.value.why


def test_the_small_model_is_whole() -> None:
    node = m.NodeProto(input=["x"], output=["y"], op_type="Abs")
    assert decode(SMALL, m.ModelProto) == m.ModelProto(
        ir_version=8, graph=m.GraphProto(name="g", node=[node])
    )


# Remaining bytes -> offset and path of the error; the other lengths end between two fields.
CUT_MODEL = {1: (1, "ir_version"), 3: (3, "graph")} | dict.fromkeys(range(4, 20), (2, "graph"))
CUT_GRAPH = {1: (1, "node[0]"), 14: (14, "name"), 15: (13, "name")} | dict.fromkeys(
    range(2, 13), (0, "node[0]")
)
CUT_NODE = {
    1: (1, "input[0]"),
    2: (0, "input[0]"),
    4: (4, "output[0]"),
    5: (3, "output[0]"),
    7: (7, "op_type"),
    8: (6, "op_type"),
    9: (6, "op_type"),
    10: (6, "op_type"),
}


@pytest.mark.parametrize(
    ("data", "message", "faults"),
    [
        (SMALL, m.ModelProto, CUT_MODEL),
        (SMALL[4:], m.GraphProto, CUT_GRAPH),
        (SMALL[6:17], m.NodeProto, CUT_NODE),
    ],
    ids=["model", "graph", "node"],
)
def test_truncation_is_detected_at_every_byte(
    data: bytes, message: type[Record], faults: dict[int, tuple[int, str]]
) -> None:
    for length in range(1, len(data)):
        if length in faults:
            assert fault(data[:length], message)[:2] == faults[length]
        else:
            assert encode(decode(data[:length], message)) == data[:length]


@pytest.mark.parametrize("length", range(16))
def test_an_inner_length_that_is_too_short_is_detected(length: int) -> None:
    data = SMALL[:3] + bytes((length,)) + SMALL[4 : 4 + length] + b"\x28\x00"  # model_version follows
    expected = {1: (4, "graph.node[0]"), 14: (17, "graph.name"), 15: (17, "graph.name")}
    expected |= dict.fromkeys(range(2, 13), (4, "graph.node[0]"))
    if length in expected:
        assert fault(data, m.ModelProto)[:2] == expected[length]
    else:
        assert decode(data, m.ModelProto).has("model_version")


OVER = "a field runs past the end of its message"
FAULTS = [  # message, data, error
    (m.ModelProto, "3a05 0a03 0a0278 1200", "byte 4 (graph.node[0].input[0]): the length of a field must be at most 1, the bytes left in its message; got 2"),
    (m.ModelProto, "3a04 0a03 0a01 78", "byte 2 (graph.node[0]): the length of a field must be at most 2, the bytes left in its message; got 3"),
    (m.ModelProto, "3a03 0a01 0a 2800", "byte 4 (graph.node[0].input[0]): the length of a field must be at most 0, the bytes left in its message; got 40"),
    (m.ModelProto, "3a06 2a04 1001 0880 2800", f"byte 6 (graph.initializer[0].dims[0]): {OVER}"),
    (m.AttributeProto, "0a0161 15000080", "byte 3 (f): the length of a field must be at most 3, the bytes left in its message; got 4"),
    (m.TensorProto, "5100000000000000", "byte 0 (double_data[0]): the length of a field must be at most 7, the bytes left in its message; got 8"),
    (m.GraphProto, "0a020a00 0a020a01 1200", "byte 6 (node[1].input[0]): the length of a field must be at most 0, the bytes left in its message; got 1"),
    (m.TensorProto, "2203000080", "byte 2 (float_data): the length of a packed field must be a multiple of 4 bytes; got 3"),
    (m.TensorProto, "0a020180 0801", "byte 3 (dims): a number runs past the end of its field"),
    (m.ModelProto, "08" + "ff" * 10 + "01", "byte 1 (ir_version): a varint must have at most ten bytes"),
    (m.ModelProto, "08" + "ff" * 9 + "02", "byte 1 (ir_version): a varint must fit in 64 bits"),
    (m.TensorProto, "3a0b01" + "ff" * 9 + "02", "byte 3 (int64_data): a varint must fit in 64 bits"),
    (m.ModelProto, "0808 888080808000 08", "byte 2: a tag must fit in 32 bits"),
    (m.ModelProto, "0808 f8ffffff1f 01", "byte 2: a tag must fit in 32 bits"),
    (m.ModelProto, "0808 0000", "byte 2: a field number must be positive; got 0"),
    (m.ModelProto, "3a02 0200", "byte 2 (graph): a field number must be positive; got 0"),
    (m.ModelProto, "0808 0e00", "byte 2: a wire type must be 0 to 5; got 6"),
    (m.ModelProto, "0808 0f00", "byte 2: a wire type must be 0 to 5; got 7"),
    (m.ModelProto, "0808 0c", "byte 2: an end-group tag must match an open group"),
    (m.ModelProto, "0b 14", "byte 1: an end-group tag must match an open group"),
    (m.ModelProto, "3a02 fb01 2800", "byte 2 (graph): a group does not end"),
    (m.ModelProto, "3a04 fb0108 80 01", f"byte 4 (graph): {OVER}"),
    (m.ModelProto, "3a03 fa0105 2800", f"byte 2 (graph): {OVER}"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "data", "error"), FAULTS)
def test_an_error_names_its_location(message: type[Record], data: str, error: str) -> None:
    offset, path, why = fault(bytes.fromhex(data), message)
    assert f"byte {offset}{f' ({path})' if path else ''}: {why}" == error


def test_the_error_names_the_source() -> None:
    with pytest.raises(
        DecodeError, match=r"^m.onnx: byte 2 \(graph\): the length of a field must be at most 0, .*; got 5$"
    ):
        decode(b"\x08\x08\x3a\x05", m.ModelProto, source="m.onnx")


def test_a_long_packed_field_reports_where_its_number_breaks() -> None:
    ones = b"\x01" * 1500
    too_wide = b"\x3a\xe3\x0b" + ones[:1492] + b"\xff" * 9 + b"\x02" + b"\x01" * 9
    assert fault(too_wide, m.TensorProto) == (1495, "int64_data", "a varint must fit in 64 bits")
    open_end = b"\x3a\xdc\x0b" + ones[:1499] + b"\x80"
    assert fault(open_end, m.TensorProto) == (1502, "int64_data", "a number runs past the end of its field")
