"""Comparison of tensor data: cheap samples first, then hashes."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np

from sardonyx._src.check.records.tensors import data_fields, is_external
from sardonyx._src.proto.messages import TensorProto

DataHash: TypeAlias = tuple[str, bytes]  # the field that holds the data, and their hash
SAMPLE_BYTES = 64


def data_of(tensor: TensorProto) -> tuple[str, memoryview] | None:
    """The field that holds the data of a numeric tensor, and its bytes; None if there is no such field."""
    fields = data_fields(tensor)
    if is_external(tensor) or len(fields) != 1 or fields == ["string_data"]:
        return None
    (field,) = fields
    if field == "raw_data":
        return field, memoryview(tensor.raw_data).cast("B")
    return field, np.ascontiguousarray(getattr(tensor, field)).data.cast("B")


def sample(tensor: TensorProto) -> bytes:
    """Some bytes from the middle; b"" for data that cannot be compared."""
    data = data_of(tensor)
    if data is None:
        return b""
    middle = len(data[1]) // 2
    return bytes(data[1][middle : middle + SAMPLE_BYTES])


def hash_data(tensor: TensorProto) -> DataHash:
    """The hash of a tensor with a non-empty sample."""
    data = data_of(tensor)
    assert data is not None, "the tensor has a sample"
    return data[0], hashlib.blake2b(data[1], digest_size=16).digest()
