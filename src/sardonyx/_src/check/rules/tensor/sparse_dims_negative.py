"""SX328 sparse-dims-negative: a size of a sparse tensor is negative.

Clause: IR.md, "Tensor Definition"; onnx.proto, SparseTensorProto.dims
Catalogue: SPT-09
Why:    sizes are counts.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [-2], values: float[0] {}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[0] {}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX328", visits=SparseTensorProto)
def check_sparse_dims_negative(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    for i, n in enumerate(sparse.dims):
        if n < 0:
            yield Finding(
                f"dims[{i}]",
                f"the size must be at least 0; got {n}",
                "state the number of elements along this axis",
            )
            return
