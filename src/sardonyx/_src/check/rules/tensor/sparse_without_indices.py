"""SX322 sparse-without-indices: a sparse tensor has values, but no indices.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-03
Why:    the positions of the values are unknown.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {0}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import count_of
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX322", visits=SparseTensorProto, suppressed_by="SX321")
def check_sparse_without_indices(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    if sparse.indices is None and sparse.values is not None and count_of(sparse.values):
        yield Finding("indices", f"{count_of(sparse.values)} values have no indices", "set indices")
