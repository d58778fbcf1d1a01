"""merge-branches: replace an If whose branches are equivalent by one of them.

Spec:    If-1 -11 -13 -16 -19 -21 -23 -24 -25
Before:  g (bool c, float[2] x) => (float[] y) {
           y = If<then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }>(c)
         }
After:   g (bool c, float[2] x) => (float[] y) { y = Neg(x) }
Keeps:   branches with random operators, or that are equal only in value; results exactly.
"""

from __future__ import annotations

from sardonyx._src.ir import Graph, Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.equivalence import are_equivalent


@rewrite(root="If", phase="expand")
def merge_branches(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "If"):
        return False
    branches = [
        node.attributes[name].value for name in ("then_branch", "else_branch") if name in node.attributes
    ]
    graphs = [
        branch for branch in branches if isinstance(branch, Graph) and not branch.quantization_annotations
    ]
    if len(graphs) != 2 or not are_equivalent(graphs[0], graphs[1], edit):
        return False
    edit.splice(node, graphs[0])
    return True
