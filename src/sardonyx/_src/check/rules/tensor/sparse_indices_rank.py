"""SX323 sparse-indices-rank: the indices of a sparse tensor are neither a vector nor a matrix.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-04
Why:    indices have the shape [NNZ], as positions in the flattened tensor, or [NNZ, rank].
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1, 1, 1] {0}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1, 1] {0}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SparseTensorProto
from sardonyx._src.proto.record import brief


@rule("SX323", visits=SparseTensorProto)
def check_sparse_indices_rank(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    if sparse.indices is not None and len(sparse.indices.dims) not in (1, 2):
        message = f"the dims of indices must be [NNZ] or [NNZ, {len(sparse.dims)}]; got {brief(list(sparse.indices.dims))}"
        yield Finding("indices.dims", message, "store one index, or one tuple of indices, for each value")
