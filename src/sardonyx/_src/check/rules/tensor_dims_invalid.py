"""SX301 tensor-dims-invalid: a dimension of a tensor is negative, or their product passes 64 bits.

Clause: IR.md, "Tensor Definition"; onnx.proto, TensorProto.dims
Catalogue: TEN-02
Why:    sizes are counts, and no memory holds so many elements.
Bad:    tensor {dims: [-1], data_type: 1, float_data: [1.0]}
Good:   tensor {dims: [1], data_type: 1, float_data: [1.0]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.tensors import count_of
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX301", visits=TensorProto, by_form=True)
def tensor_dims_invalid(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    for i, n in enumerate(tensor.dims):
        if n < 0:
            yield Finding(f"dims[{i}]", f"the size is {n}", "state the number of elements along this axis")
            return
    if count_of(tensor) is None:
        yield Finding(
            "dims", f"the product of {brief(list(tensor.dims))} passes 2^63 - 1", "correct the sizes"
        )
