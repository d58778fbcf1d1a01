"""SX200 node-without-operator: a node does not name its operator.

Clause: IR.md, "Nodes", op_type
Catalogue: NOD-01
Why:    nobody knows what the node does.
Bad:    g (float[2] x) => (float[2] y) { {input: ["x"], output: ["y"]} }
Good:   g (float[2] x) => (float[2] y) { {input: ["x"], output: ["y"], op_type: "Abs"} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX200", visits=NodeProto, by_form=True, unless="SX003")
def node_without_operator(node: NodeProto, context: Context) -> Iterator[Finding]:
    if not node.op_type:
        yield Finding("op_type", "the node names no operator", "set op_type")
