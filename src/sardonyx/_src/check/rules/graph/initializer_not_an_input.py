"""SX122 initializer-not-an-input: an initializer of an old model is not among the inputs of its graph.

Clause: IR.md (IR version 3), "Graphs", initializer; onnx.proto, Version, IR_VERSION_2019_1_22
Catalogue: GRA-22
Why:    up to IR version 3, initializers are defaults of inputs; constants that are not inputs require version 4.
Bad:    <ir_version: 3, opset_import: ["": 7]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <ir_version: 3, opset_import: ["": 7]>
        g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX122", visits=GraphProto, until=3, suppressed_by="SX104")
def check_initializer_not_an_input(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    assert context.body is not None, "a graph has a body"
    inputs = context.body.inputs
    for i, tensor in enumerate(graph.initializer):
        if tensor.name and tensor.name not in inputs:
            message = f"{brief(tensor.name)} must be an input of its graph in IR version {context.ir_version}"
            yield Finding(f"initializer[{i}]", message, "list it among the inputs, or raise ir_version to 4")
