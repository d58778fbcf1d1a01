"""SX060 quantization-before-ir-5: a graph of an early IR version has quantization annotations.

Clause: onnx.proto, Version, IR_VERSION_2019_3_18
Catalogue: VER-11
Why:    readers of that version ignore the field.
Bad:    <ir_version: 4, opset_import: ["": 9]> g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 5, opset_import: ["": 9]> g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto


@rule("SX060", "warning", visits=GraphProto, until=4)
def quantization_before_ir_5(graph: GraphProto, context: Context) -> Iterator[Finding]:
    if graph.quantization_annotation:
        says = f"quantization_annotation came with IR version 5; the model says {context.ir_version}"
        yield Finding("quantization_annotation", says, "raise ir_version to 5")
