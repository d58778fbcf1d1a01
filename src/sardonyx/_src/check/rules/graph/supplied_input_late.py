"""SX127 supplied-input-late: an input with an initializer precedes the inputs that the operator supplies.

Clause: IR.md, "Nodes", note on IR version 3
Catalogue: SUB-05
Why:    operators supply the inputs of their bodies by position.
Bad:    <ir_version: 3, opset_import: ["": 7]> g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] u, float[2] v) => (bool k2, float[2] w) <float[2] u = {1, 2}> {
            k2 = Identity(k) w = Add(v, u)
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


@rule("SX127", visits=NodeProto, until=3, needs="attribute", cached_by_fingerprint=True)
def check_supplied_input_late(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    for path, graph, _ in control_bodies(node):
        initializers = {tensor.name for tensor in graph.initializer}
        backed = [value.name in initializers for value in graph.input]
        if any(backed) and not all(backed[backed.index(True) :]):
            message = "this input has an initializer, but a later one has none"
            yield Finding(
                path,
                f"input[{backed.index(True)}]: {message}",
                "move it after those that the operator supplies",
            )
