"""shape-sparse-parts: flattens the values of a sparse tensor, and converts its indices to INT64.

Leaves: values or indices that are external, or do not match their dims or each other.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.elements import elements_of, put_elements
from sardonyx._src.check.records.tensors import count_of, dtype_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import SparseTensorProto


@fix("SX321")
def flatten_values(violation: Violation) -> str:
    values, indices = (
        violation.visited_record(SparseTensorProto).values,
        violation.visited_record(SparseTensorProto).indices,
    )
    count = count_of(values) if values is not None else None
    if values is None or count is None or (indices.dims[:1] if indices is not None else [0]) != [count]:
        return ""
    old, values.dims = list(values.dims), [count]
    return f"set the dims of values to {values.dims}, from {old}"


@fix("SX330")
def widen_indices(violation: Violation) -> str:
    indices = violation.visited_record(SparseTensorProto).indices
    dtype = dtype_of(indices) if indices is not None else None
    if indices is None or dtype is None or not dtype.is_integer:
        return ""
    elements = elements_of(indices)
    if elements is None or (elements.size and int(elements.max()) > np.iinfo(np.int64).max):
        return ""
    put_elements(indices, elements.astype(np.int64), DataType.INT64)
    return f"stored the indices as INT64, from {dtype.name}"
