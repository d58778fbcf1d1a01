"""The elements of a tensor as they are stored."""

from __future__ import annotations

import numpy as np

from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.ir.tensors import ArrayStorage, RawStorage


def stored_bytes(tensor: Tensor) -> Array | None:
    """The bytes of a tensor, or its array, without a copy; None for data in typed fields of the record, as `float_data`."""
    match tensor.storage:
        case RawStorage() | ExternalStorage() as storage:
            return np.frombuffer(storage.view(), np.uint8)
        case ArrayStorage(values):
            return values
    return None
