"""SX306 tensor-data-elsewhere: a tensor's data are in the field of another element type.

Clause: onnx.proto, TensorProto.float_data, int32_data, string_data, int64_data, double_data, uint64_data
Catalogue: TEN-06 SPT-11
Why:    readers use the field of the element type, which is empty.
Bad:    tensor {dims: [1], data_type: 7, int32_data: [1]}
Good:   tensor {dims: [1], data_type: 7, int64_data: [1]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import data_fields, dtype_of
from sardonyx._src.dtypes import field_of
from sardonyx._src.proto.messages import TensorProto


@rule("SX306", visits=TensorProto, suppressed_by="SX300 SX305", cached_by_fingerprint=True)
def check_tensor_data_elsewhere(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    dtype = dtype_of(tensor)
    for field in data_fields(tensor):
        if dtype is not None and field not in ("raw_data", field_of(dtype)):
            message = f"elements of {dtype.name} belong in {field_of(dtype)}, not in {field}"
            yield Finding("", message, f"move the data to {field_of(dtype)}, or correct data_type")
