"""drop-stored-default: drops stored zeros and empty strings of a sparse tensor, which are the default.

Leaves: negative zeros, whose bits differ.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.elements import put_elements, sparse_parts
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.proto.messages import SparseTensorProto


@fix("SX329")
def drop_stored_default(violation: Violation) -> str:
    sparse = violation.visited_record(SparseTensorProto)
    parts = sparse_parts(sparse)
    if parts is None or sparse.values is None or sparse.indices is None:
        return ""
    values, indices, dtype = parts
    nonzero = ~is_zero(values, dtype)
    dropped = int((~nonzero).sum())
    if not dropped:
        return ""
    put_elements(sparse.values, values[nonzero], dtype)
    put_elements(sparse.indices, indices[nonzero], DataType.INT64)
    return f"dropped {dropped} of {len(nonzero)} values, with their indices"


def is_zero(values: Array, dtype: DataType) -> Array:
    """For each element, whether all its bits are zero, or the string is empty."""
    if dtype is DataType.STRING:
        return np.array([not len(text) for text in values], bool)
    width = values.dtype.itemsize
    return np.asarray(~np.ascontiguousarray(values).view(np.uint8).reshape(len(values), width).any(axis=1))
