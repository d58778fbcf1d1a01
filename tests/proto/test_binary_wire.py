"""The wire format byte by byte: alternative encodings, and unknown fields, which are preserved."""

from __future__ import annotations

from typing import TypeVar

import pytest

from proto.judge import assert_same, judge_of
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record

R = TypeVar("R", bound=Record)
MINUS_ONE = "ffffffffffffffffff01"


def read(message: type[R], data: str) -> R:
    """The record decoded from hexadecimal data; asserts that protobuf decodes the same."""
    record = decode(bytes.fromhex(data), message)
    assert_same(record, judge_of(message).FromString(bytes.fromhex(data)))
    return record


def test_no_data_is_an_empty_model() -> None:
    assert read(m.ModelProto, "") == m.ModelProto()
    assert encode(m.ModelProto()) == b""


def test_a_field_set_to_its_default_is_present() -> None:
    record = read(m.AttributeProto, "0a00 1500000000 1800")
    assert (record.has("name"), record.has("f"), record.has("i"), record.has("s")) == (
        True,
        True,
        True,
        False,
    )
    assert encode(record) == bytes.fromhex("0a00 1500000000 1800")


def test_fields_are_written_by_number_whatever_their_order_was() -> None:
    assert encode(read(m.NodeProto, "2203416273 120179 0a0178")) == bytes.fromhex("0a0178 120179 2203416273")


def test_the_last_of_a_repeated_singular_field_wins() -> None:
    assert read(m.NodeProto, "220141 220142") == m.NodeProto(op_type="B")


# --- packing ---


def test_packed_and_single_numbers_of_one_field_mix() -> None:
    record = read(m.TensorProto, "0801 0a020203 0804 0a00")
    assert record == m.TensorProto(dims=[1, 2, 3, 4])
    assert encode(record) == bytes.fromhex("0801 0802 0803 0804")


def test_packed_fields_may_come_one_by_one() -> None:
    record = read(m.TensorProto, "250000803f 220400000040 2801 2a0302ff01 3805 51000000000000f03f")
    assert record == m.TensorProto(
        float_data=[1.0, 2.0], int32_data=[1, 2, 255], int64_data=[5], double_data=[1.0]
    )
    assert encode(record) == bytes.fromhex("22080000803f00000040 2a040102ff01 3a0105 5208000000000000f03f")


def test_a_long_packed_part_joins_with_what_came_before_and_after() -> None:
    long = m.TensorProto(int64_data=list(range(2000)))
    record = read(m.TensorProto, "3807" + encode(long).hex() + "3808")
    assert list(record.int64_data) == [7, *range(2000), 8]


def test_an_empty_packed_field_is_not_written() -> None:
    assert encode(read(m.TensorProto, "2200 3a00 0801")) == bytes.fromhex("0801")


# --- messages in parts, and oneofs ---


def test_parts_of_a_singular_message_merge() -> None:
    record = read(m.ModelProto, "3a08 120167 0a03220141  3a05 0a03220142  3a03 120168")
    nodes = [m.NodeProto(op_type="A"), m.NodeProto(op_type="B")]
    assert record == m.ModelProto(graph=m.GraphProto(name="h", node=nodes))


def test_parts_merge_at_every_level() -> None:
    record = read(m.ValueInfoProto, "1206 0a04 1202 0a00  1206 0a04 1202 0a00  1204 0a02 0801")
    shape = m.TensorShapeProto(dim=[m.TensorShapeProtoDimension(), m.TensorShapeProtoDimension()])
    assert record == m.ValueInfoProto(
        type=m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1, shape=shape))
    )


def test_unknown_fields_of_the_parts_are_joined() -> None:
    record = decode(bytes.fromhex("3a02 7801 3a02 7802"), m.ModelProto)
    assert record.graph is not None
    assert record.graph.unknown == [b"\x78\x01", b"\x78\x02"]


def test_the_last_member_of_a_oneof_wins() -> None:
    dim = m.TensorShapeProtoDimension
    assert read(dim, "0805 12016e") == dim(dim_param="n")
    assert read(dim, "12016e 0805 1a0143") == dim(dim_value=5, denotation="C")


def test_a_member_of_a_oneof_merges_with_itself() -> None:
    record = read(m.TypeProto, "0a020801 0a021200")
    assert record == m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1, shape=m.TensorShapeProto()))


def test_a_member_of_a_oneof_starts_anew_after_another_one() -> None:
    record = read(m.TypeProto, "0a020801 2200 0a021200")
    assert record == m.TypeProto(tensor_type=m.TypeProtoTensor(shape=m.TensorShapeProto()))


# --- numbers ---


@pytest.mark.parametrize("data", ["0808", "088800", "0888808000", "880008", "8880808000888080808080808000"])
def test_varints_may_be_longer_than_they_need(data: str) -> None:
    record = read(m.ModelProto, data)
    assert record == m.ModelProto(ir_version=8)
    assert encode(record) == b"\x08\x08"


def test_negative_integers_take_ten_bytes() -> None:
    record = read(m.TensorProto, f"08{MINUS_ONE} 10{MINUS_ONE}")
    assert record == m.TensorProto(dims=[-1], data_type=-1)
    assert encode(record) == bytes.fromhex(f"08{MINUS_ONE} 10{MINUS_ONE}")


def test_an_int32_is_the_low_half_of_its_varint() -> None:
    assert read(m.TensorProto, "10ffffffff0f").data_type == -1
    assert read(m.TensorProto, "108080808018").data_type == -(1 << 31)
    assert read(m.TensorProto, "1081808080f03f").data_type == 1


def test_the_ends_of_the_ranges_survive() -> None:
    record = m.TensorProto(
        dims=[-(1 << 63), (1 << 63) - 1], int32_data=[-(1 << 31), (1 << 31) - 1], uint64_data=[(1 << 64) - 1]
    )
    assert read(m.TensorProto, encode(record).hex()) == record


def test_an_enum_keeps_a_number_that_has_no_name() -> None:
    record = decode(bytes.fromhex("a00163"), m.AttributeProto)  # protobuf moves it to the unknown fields
    assert record.type == 99
    assert encode(record) == bytes.fromhex("a00163")
    assert decode(bytes.fromhex(f"a001{MINUS_ONE}"), m.AttributeProto).type == -1


def test_strings_that_are_not_utf8_survive() -> None:
    data = bytes.fromhex("2204 41ff80c3")
    record = decode(data, m.NodeProto)
    assert record.op_type == "A\udcff\udc80\udcc3"
    assert encode(record) == data


# --- unknown fields ---

UNKNOWN = {
    "varint": "18ac02",
    "eight bytes": "190102030405060708",
    "bytes": "1a026869",
    "four bytes": "1d01020304",
    "an empty group": "1b1c",
    "a group in a group": "1b 0801 23 120141 24 1c",
    "the largest number": "f8ffffff0f 01",
    "a varint where a string is known": "0801",
    "four bytes where a string is known": "0d01020304",
    "a group where a string is known": "0b0c",
    "a number longer than it needs": "18808000",
}


@pytest.mark.parametrize("field", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_field_is_kept_byte_for_byte(field: str) -> None:
    record = read(m.StringStringEntryProto, "0a016b" + field + "120176")
    assert record.unknown == [bytes.fromhex(field)]
    assert (record.key, record.value) == ("k", "v")
    assert encode(record) == bytes.fromhex("0a016b 120176" + field)
    assert judge_of(m.StringStringEntryProto).FromString(encode(record)) == judge_of(
        m.StringStringEntryProto
    ).FromString(bytes.fromhex("0a016b" + field + "120176"))


def test_unknown_fields_keep_their_order() -> None:
    data = bytes.fromhex("".join(UNKNOWN.values()))
    record = decode(data, m.StringStringEntryProto)
    assert record.unknown == [bytes.fromhex(field) for field in UNKNOWN.values()]
    assert encode(record) == data


def test_a_known_number_in_a_wrong_wire_type_is_unknown() -> None:
    record = read(m.TensorProto, "0d00000000 10020a0105 1200")
    assert (record.dims, record.data_type) == ([5], 2)
    assert record.unknown == [bytes.fromhex("0d00000000"), bytes.fromhex("1200")]
