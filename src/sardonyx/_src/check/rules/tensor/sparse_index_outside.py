"""SX327 sparse-index-outside: an index of a sparse tensor is outside its shape.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-08
Why:    the value is no element of the tensor.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {2}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {1}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import MAX_INT64, int64_elements, product
from sardonyx._src.proto.messages import SparseTensorProto
from sardonyx._src.proto.record import brief


@rule("SX327", visits=SparseTensorProto, suppressed_by="SX323 SX325 SX328")
def check_sparse_index_outside(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    indices = int64_elements(sparse.indices) if sparse.indices is not None else None
    if indices is None or indices.ndim not in (1, 2) or not indices.size:
        return
    if any(n < 0 for n in sparse.dims):
        return
    total = product(sparse.dims)
    sizes = [MAX_INT64 if total is None else total] if indices.ndim == 1 else list(sparse.dims)
    table = indices.reshape(len(indices), -1)
    if table.shape[1] == len(sizes):
        outside = ((table < 0) | (table >= np.array(sizes, np.int64))).any(axis=1)
        if outside.any():
            i = int(np.argmax(outside))
            message = f"index {i}, {brief(table[i].tolist())}, is outside {brief(list(sparse.dims))}"
            yield Finding("indices", message, "correct the index or dims")
