"""constants-to-initializers: turn Constant nodes into initializers of their graph.

Spec:    Constant-1 -9 -11 -12 -13 -19 -21 -23 -24 -25
Before:  g (float[2] x) => (float[2] y) { c = Constant<value = float[2] {1, 2}>()  y = Add(x, c) }
After:   g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Add(x, c) }
Keeps:   Constants that are graph outputs, sparse, or in functions, which have no initializers.
"""

from __future__ import annotations

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.facts import outermost_graph


@rewrite(root="Constant", phase="simplify")
def constants_to_initializers(node: Node, edit: Edit) -> bool:
    value = node.outputs[0]
    if not edit.is_a(node, "Constant") or not edit.is_internal(value) or node.graph is None:
        return False
    tensor = edit.constant_tensor(node)
    if tensor is None or outermost_graph(node.graph).function is not None:
        return False
    return edit.replace_with_constants(node, {value: tensor})
