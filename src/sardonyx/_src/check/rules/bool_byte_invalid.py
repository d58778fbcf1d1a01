"""SX309 bool-byte-invalid: a byte of a BOOL tensor is neither 0 nor 1.

Clause: onnx.proto, TensorProto.raw_data
Catalogue: TEN-09
Why:    readers disagree on what other bytes mean.
Bad:    tensor {dims: [2], data_type: 9, raw_data: hex "0102"}
Good:   tensor {dims: [2], data_type: 9, raw_data: hex "0100"}
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto


@rule("SX309", visits=TensorProto, unless="SX302 SX305", needs="raw_data")
def bool_byte_invalid(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    if tensor.data_type != DataType.BOOL or not tensor.has("raw_data"):
        return
    codes = np.frombuffer(tensor.raw_data, np.uint8)
    if codes.size and codes.max() > 1:
        i = int(np.argmax(codes > 1))
        yield Finding("raw_data", f"byte {i} is {codes[i]}", "write 1 for true and 0 for false")
