"""choose-branch: replace an If by the branch it takes, if the condition is known.

Spec:    If-1 -11 -13 -16 -19 -21 -23 -24 -25
Before:  g (float[2] x) => (float[] y) <bool c = {1}> {
           y = If<then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Abs(x) }>(c)
         }
After:   g (float[2] x) => (float[] y) { y = Neg(x) }
Keeps:   names of the outputs; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Graph, Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="If", phase="expand")
def choose_branch(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "If") or not node.inputs:
        return False
    known = edit.elements(node.inputs[0])
    if known is None or known.size != 1 or known.dtype != np.bool_:
        return False
    attribute = node.attributes.get("then_branch" if known.reshape(-1)[0] else "else_branch")
    branch = None if attribute is None else attribute.value
    if not isinstance(branch, Graph) or branch.quantization_annotations:
        return False
    edit.splice(node, branch)
    return True
