"""sort-sparse-indices: sorts the indices of a sparse tensor, together with their values.

Leaves: duplicate indices, since either value may be intended.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.elements import put_elements, sparse_parts
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import SparseTensorProto


@fix("SX326")
def sort_sparse_indices(violation: Violation) -> str:
    sparse = violation.visited_record(SparseTensorProto)
    parts = sparse_parts(sparse)
    if parts is None or sparse.values is None or sparse.indices is None:
        return ""
    values, indices, dtype = parts
    table = indices.reshape(len(indices), -1)
    order = np.lexsort(table.T[::-1])
    if (table[order][1:] == table[order][:-1]).all(axis=1).any():
        return ""
    put_elements(sparse.values, values[order], dtype)
    put_elements(sparse.indices, indices[order], DataType.INT64)
    return f"sorted {len(order)} indices, with their values"
