"""SX326 sparse-indices-unsorted: the indices of a sparse tensor do not ascend, or one occurs twice.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-07
Why:    readers search and merge sorted lists; two values with the same index are ambiguous.
Bad:    g () => (float[3] y) { y = Constant <sparse_value: sparse_tensor = {dims: [3], values: float[2] {5, 6}, indices: int64[2] {2, 0}}> () }
Good:   g () => (float[3] y) { y = Constant <sparse_value: sparse_tensor = {dims: [3], values: float[2] {6, 5}, indices: int64[2] {0, 2}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import int64_elements
from sardonyx._src.proto.messages import SparseTensorProto
from sardonyx._src.proto.record import brief


@rule("SX326", visits=SparseTensorProto, suppressed_by="SX323 SX325")
def check_sparse_indices_unsorted(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    indices = int64_elements(sparse.indices) if sparse.indices is not None else None
    if indices is None or indices.ndim not in (1, 2) or len(indices) < 2:
        return
    table = indices.reshape(len(indices), -1)
    ahead = np.zeros(len(table) - 1, bool)  # the next tuple is greater in the axes compared so far
    level = np.ones(len(table) - 1, bool)
    for column in table.T:
        ahead |= level & (column[1:] > column[:-1])
        level &= column[1:] == column[:-1]
    if not ahead.all():
        i = int(np.argmin(ahead)) + 1
        message = (
            f"index {i}, {brief(table[i].tolist())}, must be greater than {brief(table[i - 1].tolist())}"
        )
        yield Finding("indices", message, "sort the indices, with their values, and store each once")
