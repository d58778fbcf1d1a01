"""Layout of data files: offsets, shards, shared ranges, inline tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.dtypes import DataType
from sardonyx._src.io.saving.layout import ExternalDataLayout, pack_tensor
from sardonyx._src.ir import Tensor
from sardonyx._src.ir.tensors import FieldStorage, RawStorage


def raw(size: int) -> Tensor:
    return Tensor(DataType.UINT8, (size,), RawStorage(bytes(size)))


def places(layout: ExternalDataLayout, *sizes: int) -> list[tuple[str, int]]:
    tensors = [raw(size) for size in sizes]
    for tensor in tensors:
        layout.place(tensor)
    entries = [dict(layout.place(tensor) or []) for tensor in tensors]
    assert [int(e["length"]) for e in entries] == list(sizes)
    return [(e["location"], int(e["offset"])) for e in entries]


def everything(align: int = 4096, shard_size: int | None = None) -> ExternalDataLayout:
    return ExternalDataLayout("m.data", lambda tensor: True, align=align, shard_size=shard_size)


def test_tensors_of_a_page_start_on_a_page_and_shorter_ones_on_64_bytes() -> None:
    ranges = places(everything(), 100, 10, 4095, 4096, 1, 5000)
    assert [offset for _, offset in ranges] == [0, 128, 192, 8192, 12288, 16384]


def test_a_smaller_alignment_holds_for_all() -> None:
    assert [offset for _, offset in places(everything(align=16), 1, 15, 16, 17, 1)] == [0, 16, 32, 48, 80]


def test_alignment_of_one_leaves_no_gaps() -> None:
    assert [offset for _, offset in places(everything(align=1), 3, 5000, 7)] == [0, 3, 5003]


def test_one_file_keeps_its_name() -> None:
    assert places(everything(shard_size=10_000), 100, 100) == [("m.data", 0), ("m.data", 128)]


def test_a_file_that_would_grow_past_the_shard_size_ends_before() -> None:
    ranges = places(everything(align=1, shard_size=10), 4, 6, 1, 25, 3, 3)
    assert ranges == [
        ("m-00001-of-00004.data", 0),
        ("m-00001-of-00004.data", 4),
        ("m-00002-of-00004.data", 0),
        ("m-00003-of-00004.data", 0),
        ("m-00004-of-00004.data", 0),
        ("m-00004-of-00004.data", 3),
    ]


def test_strings_and_empty_tensors_stay_inline() -> None:
    assert everything().place(Tensor.of(["long" * 1000])) is None
    assert everything().place(Tensor.of(np.zeros((0, 7), np.float32))) is None


def test_the_rule_decides_what_leaves_the_model() -> None:
    layout = ExternalDataLayout("m.data", lambda tensor: tensor.nbytes >= 1024, align=4096)
    assert layout.place(raw(1023)) is None
    assert layout.place(raw(1024)) == [("location", "m.data"), ("offset", "0"), ("length", "1024")]


def test_tensors_that_share_storage_share_a_range() -> None:
    storage = RawStorage(bytes(64))
    first, second = (Tensor(DataType.UINT8, (64,), storage, name) for name in "ab")
    layout = everything()
    assert layout.place(first) == layout.place(second)
    assert layout.place(raw(64)) != layout.place(first)
    assert [file.size for file in layout.files] == [128]


def test_one_storage_read_as_another_type_is_other_data() -> None:
    storage = FieldStorage("int32_data", [1, 2])
    layout = everything(align=1)
    layout.place(Tensor(DataType.INT32, (2,), storage))
    assert dict(layout.place(Tensor(DataType.INT8, (2,), storage)) or [])["offset"] == "8"


def test_placing_again_moves_nothing() -> None:
    layout, tensor = everything(), raw(5)
    first = layout.place(tensor)
    assert layout.place(tensor) == first
    assert len(layout.files[0].pieces) == 1


@pytest.mark.parametrize("location", ["w", "w.bin", "sub.d/w", "a.b.c", ".data"])
def test_shard_numbers_precede_the_suffix(location: str) -> None:
    layout = ExternalDataLayout(location, lambda tensor: True, align=1, shard_size=1)
    numbered = {
        "w": "w-00001-of-00002",
        "w.bin": "w-00001-of-00002.bin",
        "sub.d/w": "sub.d/w-00001-of-00002",
        "a.b.c": "a.b-00001-of-00002.c",
        ".data": ".data-00001-of-00002",
    }
    assert places(layout, 1, 1)[0][0] == numbered[location]


def test_packed_bytes_are_returned_as_stored() -> None:
    data = b"\x01\x00\x00\x00"
    assert pack_tensor(Tensor(DataType.INT32, (1,), RawStorage(data))) is data
    assert (
        bytes(pack_tensor(Tensor(DataType.INT4, (3,), FieldStorage("int32_data", [0x21, 0x03]))))
        == b"\x21\x03"
    )
    array = np.arange(4, dtype=np.int32)
    assert np.shares_memory(np.frombuffer(pack_tensor(Tensor.of(array)), np.int32), array)


@given(
    st.lists(st.integers(1, 9000), min_size=1, max_size=30),
    st.sampled_from([1, 2, 64, 256, 4096]),
    st.none() | st.integers(1, 20_000),
)
def test_ranges_never_overlap_and_keep_alignment_and_shard_size(
    sizes: list[int], align: int, shard_size: int | None
) -> None:
    ranges = places(layout := everything(align, shard_size), *sizes)
    end: dict[str, int] = {}
    count: dict[str, int] = {}
    for (location, offset), size in zip(ranges, sizes, strict=True):
        assert offset >= end.get(location, 0)
        assert offset % (align if size >= align else min(align, 64)) == 0
        end[location] = offset + size
        count[location] = count.get(location, 0) + 1
    assert list(end) == layout.names()
    assert list(end.values()) == [file.size for file in layout.files]
    assert all(size <= (shard_size or size) or count[location] == 1 for location, size in end.items())
