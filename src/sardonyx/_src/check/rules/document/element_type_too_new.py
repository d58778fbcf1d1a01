"""SX050 element-type-too-new: an element type is newer than the model's IR version.

Clause: onnx.proto, Version, TensorProto.DataType
Catalogue: VER-01
Why:    readers of that version do not know the type.
Bad:    <ir_version: 9> g (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }
Good:   <ir_version: 10> g (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import LAST_ELEMENT_TYPE
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto, TypeProtoSparseTensor, TypeProtoTensor


@rule(
    "SX050",
    visits=(TensorProto, TypeProtoTensor, TypeProtoSparseTensor),
    suppresses=True,
    cached_by_fingerprint=True,
)
def check_element_type_too_new(
    holder: TensorProto | TypeProtoTensor | TypeProtoSparseTensor, context: RuleContext
) -> Iterator[Finding]:
    """Reported once per type."""
    number = holder.data_type if isinstance(holder, TensorProto) else holder.elem_type
    if not DataType.BFLOAT16 <= number <= LAST_ELEMENT_TYPE:
        return
    dtype = DataType.from_number(number)
    if dtype.ir_version > context.ir_version:
        field = "data_type" if isinstance(holder, TensorProto) else "elem_type"
        message = (
            f"{dtype.name} requires IR version {dtype.ir_version}; the model has version {context.ir_version}"
        )
        yield Finding(field, message, f"raise ir_version to {dtype.ir_version}", dedup_key=dtype.name)
