"""SX330 sparse-indices-not-int64: the indices of a sparse tensor are not INT64.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-04
Why:    readers expect them in int64_data or as eight bytes each.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int32[1] {1}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {1}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import element_type
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX330", visits=SparseTensorProto, suppressed_by="SX300")
def check_sparse_indices_not_int64(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    if sparse.indices is not None and sparse.indices.data_type != DataType.INT64:
        message = f"the indices must be INT64; got {element_type(sparse.indices.data_type)}"
        yield Finding("indices.data_type", message, "store them as INT64")
