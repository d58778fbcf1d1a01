"""fold-shapes: replace small tensors whose elements inference knows, such as shapes, by constants.

Before:  g (float[2,3] x) => (int64[1] y) <int64[1] i = {1}> { s = Shape(x)  y = Gather(s, i) }
After:   g (float[2,3] x) => (int64[1] y) { y = Constant<value = int64[1] {3}>() }
Keeps:   dims that depend on the inputs; the results of DequantizeLinear; every element.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.passes.fold_constants import DEQUANTIZE

MAX_FOLDED_ELEMENTS = 512  # more than any shape has; larger tensors would enlarge the file


@rewrite(phase="simplify")
def fold_shapes(node: Node, edit: Edit) -> bool:
    used_outputs = [v for v in node.outputs if v.name]
    if not node.inputs or any(edit.elements(v) is None for v in used_outputs):
        return False
    operator = edit.operator_of(node)
    if operator is None or operator.op.is_random or node.subgraphs or node.op_type == DEQUANTIZE:
        return False
    tensors = {v: tensor for v in used_outputs if (tensor := known_tensor(v, edit)) is not None}
    return len(tensors) == len(used_outputs) and edit.replace_with_constants(node, tensors)


def known_tensor(value: Value, edit: Edit) -> Tensor | None:
    """The value as a tensor; None unless all elements are known numbers."""
    type, elements = edit.type(value), edit.elements(value)
    if (
        type is None
        or elements is None
        or elements.dtype == np.object_
        or elements.size > MAX_FOLDED_ELEMENTS
    ):
        return None
    if type.shape != elements.shape or type.dtype.numpy != elements.dtype:
        return None
    return Tensor.of(elements.copy(), type.dtype)
