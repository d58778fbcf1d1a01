"""SX200 node-without-operator: a node does not name its operator.

Clause: IR.md, "Nodes", op_type
Catalogue: NOD-01
Why:    the computation of the node is not defined.
Bad:    g (float[2] x) => (float[2] y) { {input: ["x"], output: ["y"]} }
Good:   g (float[2] x) => (float[2] y) { {input: ["x"], output: ["y"], op_type: "Abs"} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX200", visits=NodeProto, cached_by_fingerprint=True, suppressed_by="SX003")
def check_node_without_operator(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if not node.op_type:
        yield Finding("op_type", "op_type is empty", "set op_type")
