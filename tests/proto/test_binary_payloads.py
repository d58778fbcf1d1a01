"""Long payloads are not copied, neither by decoding nor by encoding."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from proto.judge import judge_of
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import chunks, decode, encode


def map_file(path: Path, data: bytes) -> mmap.mmap:
    path.write_bytes(data)
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def whole(data: bytes | mmap.mmap) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


@pytest.mark.parametrize("filler", [0, 100_000], ids=["in a short model", "in a long model"])
def test_a_payload_of_a_kibibyte_is_a_view_of_the_map(tmp_path: Path, filler: int) -> None:
    raw = bytes(range(256)) * 4
    tensors = [m.TensorProto(raw_data=bytes(filler)), m.TensorProto(raw_data=raw)]
    data = map_file(tmp_path / "m.onnx", encode(m.ModelProto(graph=m.GraphProto(initializer=tensors))))
    graph = decode(data, m.ModelProto).graph
    assert graph is not None
    payload = graph.initializer[1].raw_data
    assert isinstance(payload, memoryview)
    assert payload == raw
    assert np.shares_memory(whole(data), np.frombuffer(payload, np.uint8))


def test_a_shorter_payload_is_bytes(tmp_path: Path) -> None:
    data = map_file(tmp_path / "m.pb", encode(m.TensorProto(raw_data=bytes(1023), string_data=[bytes(1023)])))
    record = decode(data, m.TensorProto)
    assert type(record.raw_data) is bytes
    assert [type(s) for s in record.string_data] == [bytes]


def test_a_long_payload_of_bytes_is_a_view_of_them() -> None:
    data = encode(m.TensorProto(raw_data=bytes(1024)))
    payload = decode(data, m.TensorProto).raw_data
    assert isinstance(payload, memoryview)
    assert payload.obj is data


@pytest.mark.parametrize(
    ("name", "dtype", "count"),
    [("float_data", "<f4", 256), ("double_data", "<f8", 128)],
    ids=["float", "double"],
)
def test_long_floats_are_an_array_that_views_the_map(
    tmp_path: Path, name: str, dtype: str, count: int
) -> None:
    values = np.arange(count, dtype=dtype) / 8
    written = judge_of(m.TensorProto)(**{name: values.tolist()}).SerializeToString()
    data = map_file(tmp_path / "t.pb", written)
    array = getattr(decode(data, m.TensorProto), name)
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.dtype(dtype)
    assert np.array_equal(array, values)
    assert np.shares_memory(whole(data), array)


def test_short_floats_are_a_list() -> None:
    data = encode(m.TensorProto(float_data=[0.5] * 255, double_data=[0.25] * 127))
    record = decode(data, m.TensorProto)
    assert record.float_data == [0.5] * 255
    assert record.double_data == [0.25] * 127


@pytest.mark.parametrize(
    ("name", "dtype", "value"),
    [
        ("int32_data", np.int32, -(1 << 31)),
        ("int64_data", np.int64, -5),
        ("uint64_data", np.uint64, (1 << 64) - 1),
    ],
)
def test_long_integers_are_an_array(name: str, dtype: type[np.integer], value: int) -> None:
    data = judge_of(m.TensorProto)(**{name: [value, 1, 300] * 100}).SerializeToString()
    array = getattr(decode(data, m.TensorProto), name)
    assert isinstance(array, np.ndarray)
    assert array.dtype == dtype
    assert array.tolist() == [value, 1, 300] * 100


def test_long_packed_attributes_are_lists_all_the_same() -> None:
    written = b"\x3a\x80\x10" + np.full(512, 0.5, "<f4").tobytes() + b"\x42\x80\x10" + b"\x07" * 2048
    record = decode(written, m.AttributeProto)
    assert record.floats == [0.5] * 512
    assert record.ints == [7] * 2048


def test_writing_yields_payloads_without_copies() -> None:
    raw = bytes(5000)
    view = memoryview(bytearray(5000))
    floats = np.zeros(1000, np.float32)
    tensors = [m.TensorProto(raw_data=raw), m.TensorProto(raw_data=view), m.TensorProto(float_data=floats)]
    pieces = list(chunks(m.ModelProto(graph=m.GraphProto(initializer=tensors))))
    assert any(piece is raw for piece in pieces)
    views = [np.frombuffer(piece, np.uint8) for piece in pieces if isinstance(piece, memoryview)]
    assert any(np.shares_memory(v, np.frombuffer(view, np.uint8)) for v in views)
    assert any(np.shares_memory(v, floats) for v in views)


def test_an_array_in_another_order_of_bytes_or_memory_is_written_right() -> None:
    values = np.arange(600, dtype=">f4")
    for array in (values, values[::-1][::-1], np.repeat(values, 2)[::2], values.astype("<f8")):
        data = encode(m.TensorProto(float_data=array))
        assert list(judge_of(m.TensorProto).FromString(data).float_data) == list(range(600))


def test_a_payload_may_be_a_view_of_other_elements() -> None:
    data = encode(m.TensorProto(raw_data=np.arange(4, dtype="<u2").data))
    assert data == b"\x4a\x08" + np.arange(4, dtype="<u2").tobytes()
