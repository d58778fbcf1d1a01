"""SX305 tensor-with-two-data-fields: more than one field of a tensor holds data.

Clause: onnx.proto, TensorProto
Catalogue: TEN-05 SPT-11
Why:    readers may use either.
Bad:    tensor {dims: [1], data_type: 1, float_data: [1.0], raw_data: "abcd"}
Good:   tensor {dims: [1], data_type: 1, float_data: [1.0]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import data_fields
from sardonyx._src.proto.messages import TensorProto


@rule("SX305", visits=TensorProto, cached_by_fingerprint=True)
def check_tensor_with_two_data_fields(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    fields = data_fields(tensor)
    if len(fields) > 1:
        yield Finding("", f"{' and '.join(fields)} hold data", "keep the intended one")
