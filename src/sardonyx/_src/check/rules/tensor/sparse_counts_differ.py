"""SX324 sparse-counts-differ: a sparse tensor has different numbers of indices and values.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-05 SPT-03
Why:    each stored value has one index.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[2] {0, 1}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {0}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX324", visits=SparseTensorProto, suppressed_by="SX321 SX323 SX301")
def check_sparse_counts_differ(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    if sparse.values is None or sparse.indices is None or not sparse.values.dims or not sparse.indices.dims:
        return
    if sparse.indices.dims[0] != sparse.values.dims[0]:
        message = f"{sparse.indices.dims[0]} indices for {sparse.values.dims[0]} values"
        yield Finding("indices.dims", message, "store one index for each value")
