"""Whether tensors hold the same data, at little cost where they do not."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np

from sardonyx._src.check.tensors import data_fields, is_external
from sardonyx._src.proto.messages import TensorProto

Fingerprint: TypeAlias = tuple[str, bytes]  # the field that holds the data, and their hash
SAMPLE = 64  # bytes


def data_of(tensor: TensorProto) -> tuple[str, memoryview] | None:
    """The field that holds the data of a tensor of numbers, and its bytes; None for data elsewhere."""
    fields = data_fields(tensor)
    if is_external(tensor) or len(fields) != 1 or fields == ["string_data"]:
        return None
    (field,) = fields
    if field == "raw_data":
        return field, memoryview(tensor.raw_data).cast("B")
    return field, np.ascontiguousarray(getattr(tensor, field)).data.cast("B")


def sample(tensor: TensorProto) -> bytes:
    """Some bytes from the middle; none of data that cannot be compared."""
    found = data_of(tensor)
    if found is None:
        return b""
    middle = len(found[1]) // 2
    return bytes(found[1][middle : middle + SAMPLE])


def fingerprint(tensor: TensorProto) -> Fingerprint:
    """Of a tensor that has a sample."""
    found = data_of(tensor)
    assert found is not None, "there is a sample of it"
    return found[0], hashlib.blake2b(found[1], digest_size=16).digest()
