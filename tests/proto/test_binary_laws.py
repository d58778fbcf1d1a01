"""Laws of the binary codec on random messages of every type, with protobuf as the reference."""

from __future__ import annotations

import mmap
import struct

import pytest
from google.protobuf.message import DecodeError as Refused
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proto.judge import assert_same, judge_of
from proto.random_messages import integers, message_types, messages
from sardonyx._src.errors import DecodeError, LimitError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.messages import MESSAGES
from sardonyx._src.proto.record import Record


@pytest.mark.parametrize("message", MESSAGES)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_what_protobuf_writes_is_read_and_written_the_same(
    data: st.DataObject, message: type[Record]
) -> None:
    theirs = data.draw(messages(message))
    written = theirs.SerializeToString(deterministic=True)
    record = decode(written, message)
    assert_same(record, theirs)
    assert encode(record) == written


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_messages_end_to_end_merge_as_in_protobuf(data: st.DataObject) -> None:
    message = data.draw(message_types)
    parts = data.draw(st.lists(messages(message), min_size=2, max_size=3))
    written = b"".join(part.SerializeToString() for part in parts)
    theirs = judge_of(message).FromString(written)
    assert_same(decode(written, message), theirs)
    assert encode(decode(written, message)) == theirs.SerializeToString(deterministic=True)


def varint(value: int) -> bytes:
    """The shortest varint, implemented independently of the codec."""
    groups = [(value & (1 << 64) - 1) >> shift & 0x7F for shift in range(0, 70, 7)]
    while len(groups) > 1 and groups[-1] == 0:
        groups.pop()
    return bytes(g | 0x80 for g in groups[:-1]) + bytes(groups[-1:])


NUMBERS = [  # message, field, encoding of a single number, its wire type
    (m.TensorProto, "dims", "int64", 0),
    (m.TensorProto, "int32_data", "int32", 0),
    (m.TensorProto, "int64_data", "int64", 0),
    (m.TensorProto, "uint64_data", "uint64", 0),
    (m.TensorProto, "float_data", "<f", 5),
    (m.TensorProto, "double_data", "<d", 1),
    (m.AttributeProto, "floats", "<f", 5),
    (m.AttributeProto, "ints", "int64", 0),
]


@pytest.mark.parametrize(("message", "name", "form", "wire"), NUMBERS)
@settings(deadline=None, derandomize=True)
@given(data=st.data())
def test_numbers_read_the_same_however_they_are_packed(
    data: st.DataObject, message: type[Record], name: str, form: str, wire: int
) -> None:
    numbers: st.SearchStrategy[bytes] = (
        integers(form).map(varint) if wire == 0 else st.floats(width=32).map(lambda v: struct.pack(form, v))
    )
    written = b""
    for run in data.draw(st.lists(st.lists(numbers, max_size=6), max_size=5)):
        number = message.BY_NAME[name].number
        if data.draw(st.booleans()):
            written += varint(number << 3 | 2) + varint(len(b"".join(run))) + b"".join(run)
        else:
            written += b"".join(varint(number << 3 | wire) + encoded for encoded in run)
    theirs = judge_of(message).FromString(written)
    assert_same(decode(written, message), theirs)
    assert encode(decode(written, message)) == theirs.SerializeToString(deterministic=True)


@settings(deadline=None, derandomize=True)
@given(st.sampled_from(["int32_data", "int64_data", "uint64_data"]), st.data())
def test_long_packed_integers_read_and_write_as_in_protobuf(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(integers(name.removesuffix("_data")), min_size=110, max_size=130)) * 10
    theirs = judge_of(m.TensorProto)(**{name: values})
    written = theirs.SerializeToString()
    record = decode(written, m.TensorProto)
    assert not isinstance(getattr(record, name), list)
    assert_same(record, theirs)
    assert encode(record) == written


# --- damaged data ---

DIM = m.TensorShapeProtoDimension
SHAPE = m.TensorShapeProto(dim=[DIM(dim_value=2), DIM(dim_param="n")])
MODEL = m.ModelProto(
    ir_version=10,
    opset_import=[m.OperatorSetIdProto(version=21)],
    graph=m.GraphProto(
        name="g",
        node=[
            m.NodeProto(
                input=["x", "w"],
                output=["y"],
                op_type="Conv",
                attribute=[m.AttributeProto(name="pads", ints=[1, -1], floats=[0.5], type=7)],
            )
        ],
        initializer=[m.TensorProto(dims=[2], data_type=1, float_data=[1.0, 2.0], int64_data=[300], name="w")],
        input=[m.ValueInfoProto(name="x", type=m.TypeProto(tensor_type=m.TypeProtoTensor(shape=SHAPE)))],
    ),
)
VALID = encode(MODEL)


@st.composite
def damaged_models(draw: st.DrawFn) -> bytes:
    """A small model with some of its bytes replaced, removed or added."""
    data = bytearray(VALID)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        removed = draw(st.sampled_from([0, 1, 1, 1, 2, 5, 1000]))
        data[start : start + removed] = draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"\x80", b"\xff" * 9]))
        )
    return bytes(data)


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(damaged_models())
def test_damaged_data_give_a_record_or_our_own_error(data: bytes) -> None:
    try:
        record = decode(data, m.ModelProto)
    except (DecodeError, LimitError):
        return
    assert decode(encode(record), m.ModelProto) == record


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(damaged_models())
def test_damaged_data_are_read_only_if_protobuf_reads_them_the_same(data: bytes) -> None:
    judge = judge_of(m.ModelProto)
    try:
        record = decode(data, m.ModelProto)
    except DecodeError:
        return  # we refuse some that it takes: varints of more than 64 bits, field 0 inside a group
    assert judge.FromString(encode(record)) == judge.FromString(data)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(damaged_models())
def test_what_protobuf_refuses_we_refuse(data: bytes) -> None:
    try:
        judge_of(m.ModelProto).FromString(data)
    except Refused:
        with pytest.raises(DecodeError):
            decode(data, m.ModelProto)
    else:
        assume(False)


def outcome(data: bytes | mmap.mmap) -> Record | str:
    try:
        return decode(data, m.ModelProto)
    except DecodeError as error:
        return str(error)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(damaged_models())
def test_damage_gives_the_same_error_in_a_memory_map(data: bytes) -> None:
    assume(data)
    mapped = mmap.mmap(-1, len(data))
    mapped[:] = data
    assert outcome(mapped) == outcome(data)
