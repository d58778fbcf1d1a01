"""SX300 tensor-type-unknown: a tensor has no element type, or one that does not exist.

Clause: onnx.proto, TensorProto.data_type
Catalogue: TEN-01 ATT-12 SPT-11
Why:    without it the data are bytes without meaning.
Bad:    tensor {dims: [1], data_type: 99, raw_data: "abcd"}
Good:   tensor {dims: [1], data_type: 1, raw_data: "abcd"}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import dtype_of
from sardonyx._src.proto.messages import TensorProto


@rule("SX300", visits=TensorProto, cached_by_fingerprint=True, suppressed_by="SX003")
def check_tensor_type_unknown(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if dtype_of(tensor) is None:
        message = (
            f"data_type is {tensor.data_type}" if tensor.data_type else "data_type is missing or UNDEFINED"
        )
        yield Finding("data_type", message, "set the element type of the data")
