"""SX052 sparse-tensor-before-ir-6: a model of an early IR version stores a sparse tensor.

Clause: onnx.proto, Version, IR_VERSION_2019_9_19
Catalogue: VER-03
Why:    readers of that version do not know the field.
Bad:    <ir_version: 5, opset_import: ["": 11]> g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[0] {}}> () }
Good:   <ir_version: 6, opset_import: ["": 11]> g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[0] {}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX052", visits=SparseTensorProto, until=5, suppresses=True)
def check_sparse_tensor_before_ir_6(sparse: SparseTensorProto, context: RuleContext) -> Iterator[Finding]:
    message = f"sparse tensors require IR version 6; the model has version {context.ir_version}"
    yield Finding("", message, "raise ir_version to 6")
