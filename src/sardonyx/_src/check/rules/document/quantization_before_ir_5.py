"""SX060 quantization-before-ir-5: a graph of an early IR version has quantization annotations.

Clause: onnx.proto, Version, IR_VERSION_2019_3_18
Catalogue: VER-11
Why:    readers of that version ignore the field.
Bad:    <ir_version: 4, opset_import: ["": 9]> g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 5, opset_import: ["": 9]> g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto


@rule("SX060", "warning", visits=GraphProto, until=4)
def check_quantization_before_ir_5(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    if graph.quantization_annotation:
        message = f"quantization_annotation requires IR version 5; the model has version {context.ir_version}"
        yield Finding("quantization_annotation", message, "raise ir_version to 5")
