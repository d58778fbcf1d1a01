"""SX329 sparse-default-stored: a sparse tensor stores a zero or an empty string.

Clause: onnx.proto, SparseTensorProto.values
Catalogue: SPT-10
Why:    elements that are not stored have this value anyway; storing it wastes space.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {0}, indices: int64[1] {1}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {1}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import count_of, is_default_value
from sardonyx._src.proto.messages import SparseTensorProto


@rule(
    "SX329", "warning", visits=SparseTensorProto, suppressed_by="SX300 SX301 SX302 SX303 SX321", group="style"
)
def check_sparse_default_stored(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    count = count_of(sparse.values) if sparse.values is not None else None
    zeros = is_default_value(sparse.values, count) if sparse.values is not None and count else None
    if zeros is not None and zeros.any():
        message = f"value {int(np.argmax(zeros))} is the default"
        yield Finding("values", message, "drop the value and its index")
