"""SX308 entry-out-of-range: an entry of a tensor's typed field is out of range for its element type.

Clause: onnx.proto, TensorProto.int32_data, uint64_data
Catalogue: TEN-08
Why:    the fields are wider than the element types they store; floats of at most 16 bits are stored as unsigned bit
        patterns, and types of 4 and 2 bits are packed into bytes.
Bad:    tensor {dims: [1], data_type: 3, int32_data: [300]}
Good:   tensor {dims: [1], data_type: 3, int32_data: [-100]}
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import dtype_of
from sardonyx._src.dtypes import DataType, field_of
from sardonyx._src.proto.messages import TensorProto


@rule("SX308", visits=TensorProto, suppressed_by="SX300 SX305 SX306", needs="int32_data uint64_data")
def check_entry_out_of_range(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    dtype = dtype_of(tensor)
    field = next(
        (f for f in ("int32_data", "uint64_data") if tensor.has(f) and len(getattr(tensor, f))), None
    )
    if dtype is None or field != field_of(dtype) or dtype in (DataType.INT32, DataType.UINT64):
        return
    low, high = entry_limits(dtype)
    entries = np.asarray(getattr(tensor, field))
    wrong = (entries < low) | (entries > high)
    if wrong.any():
        i = int(np.argmax(wrong))
        message = f"{field}[{i}] must be from {low} to {high} for {dtype.name}; got {entries[i]}"
        yield Finding("", message, "write the value, or its unsigned bit pattern")


def entry_limits(dtype: DataType) -> tuple[int, int]:
    """The smallest and the largest entry of a typed field."""
    if dtype is DataType.BOOL:
        return 0, 1
    if dtype.is_integer and dtype.bits >= 8:
        return (
            (-(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1)
            if dtype.is_signed
            else (0, (1 << dtype.bits) - 1)
        )
    return 0, (1 << (8 if dtype.bits < 6 else dtype.bits)) - 1
