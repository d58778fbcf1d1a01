"""SX360 element-type-unknown: a tensor type has no element type, or one that does not exist.

Clause: onnx.proto, TypeProto.Tensor.elem_type, TypeProto.SparseTensor.elem_type
Catalogue: TYP-01 TYP-06 TYP-10 TYP-02 TYP-04 TYP-09
Why:    a tensor type without element type describes no values.
Bad:    g (undefined[2] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import LAST_ELEMENT_TYPE
from sardonyx._src.proto.messages import TypeProtoSparseTensor, TypeProtoTensor


@rule(
    "SX360",
    visits=(TypeProtoTensor, TypeProtoSparseTensor),
    cached_by_fingerprint=True,
    suppressed_by="SX003",
)
def check_element_type_unknown(
    type_: TypeProtoTensor | TypeProtoSparseTensor, context: RuleContext
) -> Iterator[Finding]:
    if type_.elem_type not in range(1, LAST_ELEMENT_TYPE + 1):
        message = (
            f"elem_type is {type_.elem_type}" if type_.elem_type else "elem_type is missing or UNDEFINED"
        )
        yield Finding("elem_type", message, "set the element type")
