"""SX126 supplied-input-initialized: an input that a control-flow operator supplies is an initializer of its body.

Clause: IR.md, "Nodes", note on IR version 3
Catalogue: SUB-04
Why:    the operator's value and the default contradict each other.
Bad:    <ir_version: 3, opset_import: ["": 7]> g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) <float[2] v = {1, 2}> {
            k2 = Identity(k) w = Abs(v)
          }> (n, c, x)
        }
Good:   <ir_version: 3, opset_import: ["": 7]> g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v, float[2] u) => (bool k2, float[2] w) <float[2] u = {1, 2}> {
            k2 = Identity(k) w = Add(v, u)
          }> (n, c, x)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import control_bodies
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule(
    "SX126", visits=NodeProto, until=3, suppressed_by="SX127", needs="attribute", cached_by_fingerprint=True
)
def check_supplied_input_initialized(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    for path, graph, supplied in control_bodies(node):
        initializers = {tensor.name for tensor in graph.initializer}
        for i, value in enumerate(graph.input[:supplied]):
            if value.name in initializers:
                message = (
                    f"{node.op_type} supplies this input, but {brief(value.name)} is also an initializer"
                )
                yield Finding(f"{path}.input[{i}]", message, "drop the initializer")
