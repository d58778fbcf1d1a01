"""SX128 if-branches-differ: a branch of If has inputs, or not as many outputs as the node.

Clause: Operators.md, If
Catalogue: SUB-16
Why:    branches take nothing, and each yields one value for every output of the node.
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

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.reading import subgraphs
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import canonical


@rule("SX128", visits=NodeProto, needs="attribute", by_form=True)
def if_branches_differ(node: NodeProto, context: Context) -> Iterator[Finding]:
    if node.op_type != "If" or canonical(node.domain):
        return
    for path, graph in subgraphs(node):
        own = {tensor.name for tensor in graph.initializer}  # SX125 tells of inputs with initializers
        inputs = [i for i, value in enumerate(graph.input) if value.name not in own]
        if inputs:
            says = f"the branch has {len(inputs)} inputs; If supplies none"
            yield Finding(f"{path}.input[{inputs[0]}]", says, "read outer values by their names")
        if len(graph.output) != len(node.output):
            says = f"the branch yields {len(graph.output)} values, the node has {len(node.output)} outputs"
            yield Finding(path, says, "give the branch an output for each of the node's")
