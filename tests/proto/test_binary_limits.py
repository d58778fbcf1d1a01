"""Limits of the binary codec: data that are too deep or too large are rejected in bounded time and memory."""

from __future__ import annotations

import mmap
from collections.abc import Callable

import pytest

from sardonyx._src.errors import LimitError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.wire import Limits


def nested_types(levels: int) -> bytes:
    """A TypeProto of `levels` sequences of sequences, the innermost empty."""
    data = b""
    for _ in range(levels - 1):
        data = encode_part(b"\x22", encode_part(b"\x0a", data))
    return data


def encode_part(tag: bytes, data: bytes) -> bytes:
    return encode(m.AttributeProto(s=data)).replace(b"\x22", tag, 1)


def map_bytes(data: bytes) -> mmap.mmap:
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memory


def nested_graphs(levels: int) -> m.ModelProto:
    graph = m.GraphProto(name="innermost")
    for _ in range(levels - 1):
        graph = m.GraphProto(node=[m.NodeProto(attribute=[m.AttributeProto(g=graph)])])
    return m.ModelProto(graph=graph)


def test_nesting_ends_at_the_limit() -> None:
    deep = decode(nested_types(128), m.TypeProto)
    assert encode(deep) == nested_types(128)
    with pytest.raises(LimitError, match="at most 128 levels deep") as error:
        decode(nested_types(129), m.TypeProto)
    assert error.value.limit == "nesting"


def test_nesting_counts_levels_and_not_messages() -> None:
    many = m.GraphProto(input=[m.ValueInfoProto(type=m.TypeProto(denotation="x"))] * 300)
    assert decode(encode(many), m.GraphProto) == many


def test_ten_thousand_levels_are_refused_like_any_others() -> None:
    data = nested_types(10_000)
    with pytest.raises(LimitError):
        decode(data, m.TypeProto)
    with pytest.raises(LimitError):
        decode(map_bytes(data), m.TypeProto)
    with pytest.raises(LimitError, match="recursion limit") as error:
        decode(data, m.TypeProto, Limits(nesting=20_000))
    assert error.value.limit == "sys.setrecursionlimit"


def test_the_deepest_model_allowed_is_written_read_and_compared() -> None:
    model = nested_graphs(128)
    data = encode(model)
    assert decode(data, m.ModelProto) == model
    assert decode(map_bytes(data), m.ModelProto) == model
    with pytest.raises(LimitError):
        decode(encode(nested_graphs(129)), m.ModelProto)


def test_a_record_too_deep_to_be_written_is_refused() -> None:
    with pytest.raises(LimitError, match="recursion limit"):
        encode(nested_graphs(2000))


def test_messages_are_counted() -> None:
    model = encode(m.GraphProto(node=[m.NodeProto()] * 4))
    assert len(decode(model, m.GraphProto, Limits(records=4)).node) == 4
    with pytest.raises(LimitError, match="at most 3 messages") as error:
        decode(model, m.GraphProto, Limits(records=3))
    assert error.value.limit == "records"
    with pytest.raises(LimitError, match="at most 3 messages"):
        decode(map_bytes(model), m.GraphProto, Limits(records=3))


def test_bytes_are_counted() -> None:
    data = b"\x08\x08"
    assert decode(data, m.ModelProto, Limits(size=2)).ir_version == 8
    with pytest.raises(LimitError, match="at most 1 bytes; got 2") as error:
        decode(data, m.ModelProto, Limits(size=1))
    assert error.value.limit == "size"


@pytest.mark.parametrize("convert", [bytes, map_bytes])
def test_nodes_that_say_nothing_are_refused(convert: Callable[[bytes], bytes | mmap.mmap]) -> None:
    data, limits = convert(encode(m.GraphProto(node=[m.NodeProto()] * 100_000))), Limits(records=160_000)
    with pytest.raises(
        LimitError, match="more than 10000 nodes must have at least 10 bytes each; got 2"
    ) as error:
        decode(data, m.GraphProto, limits)
    assert error.value.limit == "records"
    assert len(decode(data, m.GraphProto).node) == 100_000


def test_many_short_nodes_are_decoded() -> None:
    short = m.GraphProto(node=[m.NodeProto(input=["a"], output=["b"], op_type="Op")] * 100_000)
    assert len(decode(encode(short), m.GraphProto, Limits(records=1_000_000)).node) == 100_000
