"""SX302 tensor-count-differs: a tensor has another number of elements than its dimensions require.

Clause: IR.md, "Tensor Definition"; onnx.proto, TensorProto
Catalogue: TEN-03 TEN-04 ATT-12 SPT-11
Why:    readers would stop short, read past the end, or ignore data.
Bad:    tensor {dims: [3], data_type: 1, float_data: [1.0, 2.0]}
Good:   tensor {dims: [2], data_type: 1, float_data: [1.0, 2.0]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import count_of, data_fields, dtype_of, entries_of, is_external
from sardonyx._src.dtypes import DataType, nbytes
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule(
    "SX302",
    visits=TensorProto,
    suppressed_by="SX300 SX301 SX305 SX306 SX307 SX003",
    cached_by_fingerprint=True,
)
def check_tensor_count_differs(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    dtype, count, fields = dtype_of(tensor), count_of(tensor), data_fields(tensor)
    if dtype is None or count is None or is_external(tensor) or not fields:
        return
    field = fields[0]
    if field == "raw_data" and dtype is DataType.STRING:
        return
    expected = nbytes(dtype, count) if field == "raw_data" else entries_of(dtype, count)
    actual = len(getattr(tensor, field))
    if actual != expected:
        unit = "bytes" if field == "raw_data" else "entries"
        message = (
            f"{field} must have {expected} {unit} for {dtype.name}{brief(list(tensor.dims))}; got {actual}"
        )
        yield Finding("", message, "correct dims or the data")
