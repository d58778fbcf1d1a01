"""SX321 sparse-values-no-vector: the values of a sparse tensor are not a vector.

Clause: onnx.proto, SparseTensorProto.values
Catalogue: SPT-02
Why:    values have the shape [NNZ], the number of stored values.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1, 1] {5}, indices: int64[1] {0}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {0}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX321", visits=SparseTensorProto)
def check_sparse_values_no_vector(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    if sparse.values is not None and len(sparse.values.dims) != 1:
        message = f"the dims of values must be [NNZ]; got {list(sparse.values.dims)}"
        yield Finding("values.dims", message, "state the number of stored values")
