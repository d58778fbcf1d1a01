"""resolve-optionals: read a value directly instead of from an optional that certainly contains it.

Spec:    OptionalGetElement-15 -18 -28, OptionalHasElement-15 -18 -28, Optional-15 -28,
         Identity-1 -13 -14 -16 -19 -21 -23 -24 -25
Before:  g (float[2] x) => (float[2] y) { o = Optional(x)  e = OptionalGetElement(o)  y = Neg(e) }
After:   g (float[2] x) => (float[2] y) { y = Neg(x) }
Keeps:   optionals that inputs, loops or branches give; empty ones; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node, OptionalType, Tensor, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root=("OptionalGetElement", "OptionalHasElement"), phase="simplify")
def resolve_optionals(node: Node, edit: Edit) -> bool:
    value = held_value(node.inputs[0] if node.inputs else None, edit)
    if value is None:
        return False
    if edit.is_a(node, "OptionalHasElement"):
        true = Tensor.of(np.array(True))
        return edit.replace_with_constants(node, {node.outputs[0]: true})
    return edit.is_a(node, "OptionalGetElement") and edit.forward(node, value)


def held_value(value: Value | None, edit: Edit) -> Value | None:
    """The value that an optional contains; a tensor or sequence itself, which some versions accept instead of an optional."""
    if value is None or value.type is None:
        return None
    if not isinstance(value.type, OptionalType):
        return value
    node = edit.producer(value, "Optional")
    return node.inputs[0] if node is not None and node.inputs else None
