"""SX303 tensor-without-data: a tensor with elements has no data.

Clause: IR.md, "Tensor Definition"; onnx.proto, TensorProto
Catalogue: TEN-04 SPT-11
Why:    the values are missing.
Bad:    tensor {dims: [2], data_type: 1}
Good:   tensor {dims: [0], data_type: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import count_of, data_fields, is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX303", visits=TensorProto, suppressed_by="SX300 SX301 SX353 SX355 SX003", cached_by_fingerprint=True)
def check_tensor_without_data(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if count_of(tensor) and not data_fields(tensor) and not is_external(tensor):
        yield Finding(
            "", f"dims {brief(list(tensor.dims))} require {count_of(tensor)} elements", "add the data"
        )
