"""SX309 bool-byte-invalid: a byte of a BOOL tensor is neither 0 nor 1.

Clause: onnx.proto, TensorProto.raw_data
Catalogue: TEN-09
Why:    readers interpret other bytes differently.
Bad:    tensor {dims: [2], data_type: 9, raw_data: hex "0102"}
Good:   tensor {dims: [2], data_type: 9, raw_data: hex "0100"}
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto


@rule("SX309", visits=TensorProto, suppressed_by="SX302 SX305", needs="raw_data")
def check_bool_byte_invalid(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if tensor.data_type != DataType.BOOL or not tensor.has("raw_data"):
        return
    codes = np.frombuffer(tensor.raw_data, np.uint8)
    if codes.size and codes.max() > 1:
        i = int(np.argmax(codes > 1))
        yield Finding(
            "raw_data", f"byte {i} must be 0 or 1; got {codes[i]}", "write 1 for true and 0 for false"
        )
