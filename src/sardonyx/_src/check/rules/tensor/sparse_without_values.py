"""SX320 sparse-without-values: a sparse tensor has no values.

Clause: onnx.proto, SparseTensorProto.values
Catalogue: SPT-01
Why:    values define the element type and, for an initializer, the name; a tensor of zeros has empty values.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2]}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[0] {}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX320", visits=SparseTensorProto, suppressed_by="SX003")
def check_sparse_without_values(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    if sparse.values is None:
        yield Finding("values", "values is not set", "set values, if only to an empty tensor")
