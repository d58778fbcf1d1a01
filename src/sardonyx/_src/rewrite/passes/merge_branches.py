"""merge-branches: an If whose branches compute the same is replaced by one of them.

Spec:    If-1 -11 -13 -16 -19 -21 -23 -24 -25
Before:  g (bool c, float[2] x) => (float[] y) {
           y = If<then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }>(c)
         }
After:   g (bool c, float[2] x) => (float[] y) { y = Neg(x) }
Keeps:   branches that draw random numbers, or that only happen to give the same; every bit.
"""

from __future__ import annotations

from sardonyx._src.ir.graph import Graph, Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.sameness import same_work


@rewrite(root="If", phase="expand")
def merge_branches(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "If"):
        return False
    branches = [
        node.attributes[name].value for name in ("then_branch", "else_branch") if name in node.attributes
    ]
    graphs = [b for b in branches if isinstance(b, Graph) and not b.quantization_annotations]
    if len(graphs) != 2 or not same_work(graphs[0], graphs[1], edit):
        return False
    edit.splice(node, graphs[0])
    return True
