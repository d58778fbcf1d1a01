"""Digests of values: the bytes that are hashed are those that the page defines, written here by hand."""

from __future__ import annotations

import hashlib
import struct

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.dtypes import DataType, pack, unpack
from sardonyx._src.runtime.identity import value_digest
from sardonyx._src.runtime.identity.value_digest import NANS, digest_value, digest_values


def text(content: str) -> bytes:
    return struct.pack("<Q", len(content.encode())) + content.encode()


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FLOATS = text("tensor") + text("float") + numbers(2, 1, 2) + struct.pack("<2f", 1, -2)


def test_a_tensor_is_its_type_dims_and_elements() -> None:
    array = np.array([[1, -2]], np.float32)
    assert digest_value(array) == sha(FLOATS)
    assert digest_value(array.astype(">f4")) == sha(FLOATS)
    assert digest_value(np.array([[1], [-2]], np.float32).T) == sha(FLOATS)
    assert digest_value(np.array([1, 0, -2, 0], np.float32)[None, ::2]) == sha(FLOATS)


def test_named_values_have_no_order() -> None:
    x, y = np.array([[1, -2]], np.float32), None
    expected = text("values") + numbers(2)
    for name, value in (("b", text("none")), ("é", FLOATS)):
        expected += text(name) + hashlib.sha256(value).digest()
    assert digest_values({"é": x, "b": y}) == digest_values({"b": y, "é": x}) == sha(expected)
    assert sx.tools.digest({"b": y, "é": x}) == sha(expected)
    assert digest_values({}) == sha(text("values") + numbers(0))


def test_strings_have_lengths() -> None:
    head = text("tensor") + text("string") + numbers(1, 2)
    for dtype in (object, str):
        assert digest_value(np.array(["ab", "é"], dtype)) == sha(head + text("ab") + text("é"))
    assert digest_value(np.array(["a", "bc"], object)) != digest_value(np.array(["ab", "c"], object))
    assert digest_value(np.array(["\udcff"], object)) == sha(
        text("tensor") + text("string") + numbers(1, 1, 1) + b"\xff"
    )


def test_narrow_elements_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    nibbles = np.array([1, -2, 3], ml_dtypes.int4)
    expected = sha(text("tensor") + text("int4") + numbers(1, 3) + b"\xe1\x03")
    assert digest_value(nibbles) == expected
    long = np.arange(100, dtype=np.uint8).astype(ml_dtypes.uint4)
    whole = digest_value(long)
    monkeypatch.setattr(value_digest, "CHUNK_ELEMENTS", 8)
    assert digest_value(long) == whole


def test_sequences_maps_and_optionals() -> None:
    scalar = text("tensor") + text("int64") + numbers(0) + struct.pack("<q", 1)
    assert digest_value([np.int64(1), None]) == sha(text("sequence") + numbers(2) + scalar + text("none"))
    keys = {10: np.int64(1), -1: np.int64(1)}
    entries = b"".join(text("int") + struct.pack("<q", key) + scalar for key in (-1, 10))
    assert digest_value(keys) == sha(text("map") + numbers(2) + entries)
    entries = b"".join(text("string") + text(key) + scalar for key in ("a", "é"))
    assert digest_value({"é": np.int64(1), "a": np.int64(1)}) == sha(text("map") + numbers(2) + entries)
    with pytest.raises(TypeError, match="results of a run; got float"):
        digest_value({1: 0.5})
    with pytest.raises(TypeError, match="integers or strings; got tuple"):
        digest_value({(): None})
    with pytest.raises(TypeError, match="values must map names to values"):
        digest_values({1: None})  # type: ignore[dict-item]


def test_a_sparse_tensor_has_one_digest_for_all_forms_of_its_indices() -> None:
    head = text("sparse") + text("float") + numbers(2, 2, 3, 2)
    expected = sha(head + struct.pack("<2q2f", 1, 5, 7, 8))
    for values, indices in (([7, 8], [1, 5]), ([8, 7], [5, 1]), ([7, 8], [[0, 1], [1, 2]])):
        tensors = sx.Tensor.of(np.array(values, np.float32)), sx.Tensor.of(np.array(indices, np.int64))
        assert digest_value(sx.SparseTensor(*tensors, (2, 3))) == expected


# --- NaN and zero ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NANS, ids=str)
def test_every_nan_is_one_nan(dtype: DataType) -> None:
    """All patterns of at most 16 bits, and samples of the others, by the NaN of the type's own arithmetic."""
    width = dtype.bits
    sign, quiet = 1 << width - 1, NANS[dtype] & -NANS[dtype]
    variants = (NANS[dtype], NANS[dtype] | 1, NANS[dtype] | sign, NANS[dtype] ^ quiet | 1, 0, sign)
    samples = range(1 << width) if width <= 16 else variants
    raw = b"".join(pattern.to_bytes(width // 8, "little") for pattern in samples)
    array = unpack(raw, dtype, [len(samples)])
    with np.errstate(invalid="ignore"):  # signaling NaNs
        is_nan = np.isnan(array)
    nans, kept = array[is_nan], array[~is_nan]
    assert nans.size and np.isnan(unpack(NANS[dtype].to_bytes(width // 8, "little"), dtype, []))
    nan = NANS[dtype].to_bytes(width // 8, "little")
    head = text("tensor") + text(dtype.text) + numbers(1, nans.size)
    assert digest_value(nans) == sha(head + nan * nans.size)
    head = text("tensor") + text(dtype.text) + numbers(1, kept.size)
    assert digest_value(kept) == sha(head + bytes(pack(kept, dtype)))


def test_all_types_with_nans_are_listed() -> None:
    floats = [t for t in DataType if t.is_float and t.bits >= 8]
    assert sorted(NANS) == sorted(floats)


def test_parts_of_complex_numbers_are_floats() -> None:
    negative = np.array([0xFFC00001, 0x3F800000], np.uint32).view(np.complex64)
    head = text("tensor") + text("complex64") + numbers(1, 1)
    assert digest_value(negative) == sha(head + struct.pack("<II", 0x7FC00000, 0x3F800000))


def test_zeros_keep_their_signs() -> None:
    assert digest_value(np.array([0], np.float32)) != digest_value(np.array([-0.0], np.float32))


def test_an_array_is_not_changed() -> None:
    array = np.array([0xFFC00001], np.uint32).view(np.float32)
    array.flags.writeable = False
    digest_value(array)
    assert array.view(np.uint32)[0] == 0xFFC00001


def cyclic() -> list[object]:
    values: list[object] = []
    values.append(values)
    return values


@pytest.mark.parametrize(
    "value",
    ["\ud800", [{"\ud800": np.float32(1)}], {1 << 63: np.float32(1)}, cyclic(), object()],
    ids=["text", "map", "key", "cyclic list", "object"],
)
def test_values_that_no_run_returns_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        sx.tools.digest({"y": value})
