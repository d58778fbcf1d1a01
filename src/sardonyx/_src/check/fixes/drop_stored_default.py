"""drop-stored-default: values of a sparse tensor that are zero or empty are left out, as all that is not stored is that.

Leaves: negative zeros, which are not the same bits.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.check.elements import put_elements, sparse_parts
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.proto.messages import SparseTensorProto


@fix("SX329")
def drop_stored_default(fault: Fault) -> str:
    sparse = fault.the(SparseTensorProto)
    parts = sparse_parts(sparse)
    if parts is None or sparse.values is None or sparse.indices is None:
        return ""
    values, indices, dtype = parts
    kept = ~is_zero(values, dtype)
    dropped = int((~kept).sum())
    if not dropped:
        return ""
    put_elements(sparse.values, values[kept], dtype)
    put_elements(sparse.indices, indices[kept], DataType.INT64)
    return f"left out {dropped} of {len(kept)} values, with their indices"


def is_zero(values: Array, dtype: DataType) -> Array:
    """For each element, whether all its bits are zero, or the string is empty."""
    if dtype is DataType.STRING:
        return np.array([not len(one) for one in values], bool)
    width = values.dtype.itemsize
    return np.asarray(~np.ascontiguousarray(values).view(np.uint8).reshape(len(values), width).any(axis=1))
