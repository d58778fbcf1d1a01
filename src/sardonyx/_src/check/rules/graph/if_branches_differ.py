"""SX128 if-branches-differ: a branch of If has inputs, or another number of outputs than the node.

Clause: Operators.md, If
Catalogue: SUB-16
Why:    branches have no inputs, and yield one value for each output of the node.
Bad:    g (float[2] x, bool c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p, float[2] r) { p = Abs(x) r = Neg(x) },
                  else_branch = e () => (float[2] q) { q = Neg(x) }> (c)
        }
Good:   g (float[2] x, bool c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import subgraphs
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import canonical


@rule("SX128", visits=NodeProto, needs="attribute", cached_by_fingerprint=True)
def check_if_branches_differ(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if node.op_type != "If" or canonical(node.domain):
        return
    for path, graph in subgraphs(node):
        own = {tensor.name for tensor in graph.initializer}  # SX125 reports inputs with initializers
        inputs = [i for i, value in enumerate(graph.input) if value.name not in own]
        if inputs:
            message = f"the branch must have no inputs; got {len(inputs)}"
            yield Finding(f"{path}.input[{inputs[0]}]", message, "refer to outer values by name")
        if len(graph.output) != len(node.output):
            message = f"the branch yields {len(graph.output)} values, the node has {len(node.output)} outputs"
            yield Finding(path, message, "give the branch one output for each output of the node")
