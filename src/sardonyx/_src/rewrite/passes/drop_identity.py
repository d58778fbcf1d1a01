"""drop-identity: remove Identity and connect its consumers to its input.

Spec:    Identity-1 -13 -14 -16 -19 -21 -23 -24 -25
Before:  g (float[2] x) => (float[2] y) { a = Identity(x)  y = Neg(a) }
After:   g (float[2] x) => (float[2] y) { y = Neg(x) }
Keeps:   an Identity between two public names, as from an input to an output; results exactly.
"""

from __future__ import annotations

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="Identity", phase="simplify")
def drop_identity(node: Node, edit: Edit) -> bool:
    source = node.inputs[0] if node.inputs else None
    if source is None or not edit.is_a(node, "Identity") or not edit.replace_uses(node.outputs[0], source):
        return False
    edit.prune(node)
    return True
