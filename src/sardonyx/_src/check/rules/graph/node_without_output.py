"""SX123 node-without-output: a node has no output.

Clause: IR.md, "Graphs", "Nodes"
Catalogue: GRA-23
Why:    operators have no effect other than their outputs, so the node does nothing.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x) = Neg(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX123", visits=NodeProto, cached_by_fingerprint=True, suppressed_by="SX003")
def check_node_without_output(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if not node.output:
        yield Finding("output", "the node has no output", "name its outputs, or drop the node")
