"""SX050 element-type-too-new: an element type is newer than the model's IR version.

Clause: onnx.proto, Version, TensorProto.DataType
Catalogue: VER-01
Why:    readers of that version do not know the type.
Bad:    <ir_version: 9> g (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }
Good:   <ir_version: 10> g (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.tensors import LAST_TYPE
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto, TypeProtoSparseTensor, TypeProtoTensor


@rule("SX050", visits=(TensorProto, TypeProtoTensor, TypeProtoSparseTensor), hides=True, by_form=True)
def element_type_too_new(
    holder: TensorProto | TypeProtoTensor | TypeProtoSparseTensor, context: Context
) -> Iterator[Finding]:
    """Once for each type."""
    number = holder.data_type if isinstance(holder, TensorProto) else holder.elem_type
    if not DataType.BFLOAT16 <= number <= LAST_TYPE:
        return
    dtype = DataType.numbered(number)
    if dtype.ir_version > context.ir_version:
        field = "data_type" if isinstance(holder, TensorProto) else "elem_type"
        says = f"{dtype.name} came with IR version {dtype.ir_version}; the model says {context.ir_version}"
        yield Finding(field, says, f"raise ir_version to {dtype.ir_version}", once=dtype.name)
