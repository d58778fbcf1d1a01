"""shape-sparse-parts: values of a sparse tensor become a vector, and indices of other integers become INT64.

Leaves: values or indices that are external, or do not fit their own dims or each other.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.check.elements import elements_of, put_elements
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.tensors import count_of, dtype_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import SparseTensorProto


@fix("SX321")
def flatten_values(fault: Fault) -> str:
    values, indices = fault.the(SparseTensorProto).values, fault.the(SparseTensorProto).indices
    count = count_of(values) if values is not None else None
    if values is None or count is None or (indices.dims[:1] if indices is not None else [0]) != [count]:
        return ""
    old, values.dims = list(values.dims), [count]
    return f"made the dims of values {values.dims}, from {old}"


@fix("SX330")
def widen_indices(fault: Fault) -> str:
    indices = fault.the(SparseTensorProto).indices
    dtype = dtype_of(indices) if indices is not None else None
    if indices is None or dtype is None or not dtype.is_integer:
        return ""
    found = elements_of(indices)
    if found is None or (found.size and int(found.max()) > np.iinfo(np.int64).max):
        return ""
    put_elements(indices, found.astype(np.int64), DataType.INT64)
    return f"stored the indices as INT64, from {dtype.name}"
