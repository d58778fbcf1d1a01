"""sort-sparse-indices: the indices of a sparse tensor are put in ascending order, each with its value.

Leaves: indices that occur twice, as nobody can tell which value holds.
"""

from __future__ import annotations

import numpy as np

from sardonyx.check.elements import elements_of, put_elements
from sardonyx.check.mends import Fault, fix
from sardonyx.check.tensors import dtype_of, int64_elements
from sardonyx.dtypes import DataType
from sardonyx.proto.messages import SparseTensorProto


@fix("SX326")
def sort_sparse_indices(fault: Fault) -> str:
    sparse = fault.the(SparseTensorProto)
    if sparse.values is None or sparse.indices is None:
        return ""
    values, indices, dtype = (
        elements_of(sparse.values),
        int64_elements(sparse.indices),
        dtype_of(sparse.values),
    )
    if values is None or indices is None or dtype is None or values.shape != indices.shape[:1]:
        return ""
    table = indices.reshape(len(indices), -1)
    order = np.lexsort(table.T[::-1])
    if (table[order][1:] == table[order][:-1]).all(axis=1).any():
        return ""
    put_elements(sparse.values, values[order], dtype)
    put_elements(sparse.indices, indices[order], DataType.INT64)
    return f"sorted {len(order)} indices, with their values"
