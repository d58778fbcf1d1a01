"""SX325 sparse-tuple-length: the index tuples of a sparse tensor do not have one entry per dimension.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-06
Why:    a tuple identifies one element of the tensor.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1, 2] {0, 0}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1, 1] {0}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX325", visits=SparseTensorProto, suppressed_by="SX301")
def check_sparse_tuple_length(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    indices = sparse.indices
    if indices is not None and len(indices.dims) == 2 and indices.dims[1] != len(sparse.dims):
        message = f"the tuples must have {len(sparse.dims)} entries; got {indices.dims[1]}"
        yield Finding("indices.dims[1]", message, "store an index for each dimension")
