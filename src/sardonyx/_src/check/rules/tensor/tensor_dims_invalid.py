"""SX301 tensor-dims-invalid: a dimension of a tensor is negative, or their product exceeds 64 bits.

Clause: IR.md, "Tensor Definition"; onnx.proto, TensorProto.dims
Catalogue: TEN-02
Why:    sizes are counts, and no memory can hold that many elements.
Bad:    tensor {dims: [-1], data_type: 1, float_data: [1.0]}
Good:   tensor {dims: [1], data_type: 1, float_data: [1.0]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import count_of
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX301", visits=TensorProto, cached_by_fingerprint=True)
def check_tensor_dims_invalid(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    for i, n in enumerate(tensor.dims):
        if n < 0:
            yield Finding(
                f"dims[{i}]",
                f"the size must be at least 0; got {n}",
                "state the number of elements along this axis",
            )
            return
    if count_of(tensor) is None:
        yield Finding(
            "dims", f"the product of {brief(list(tensor.dims))} exceeds 2^63 - 1", "correct the sizes"
        )
