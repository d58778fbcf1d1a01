"""fold-shapes: what inference knows of a small tensor, as sizes and what is computed of them, becomes a constant.

Before:  g (float[2,3] x) => (int64[1] y) <int64[1] i = {1}> { s = Shape(x)  y = Gather(s, i) }
After:   g (float[2,3] x) => (int64[1] y) { y = Constant<value = int64[1] {3}>() }
Keeps:   sizes that depend on the inputs; every element; what DequantizeLinear would widen.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.passes.fold_constants import WIDENS

MOST = 512  # elements: shapes are shorter, and larger results would make the file grow


@rewrite(phase="simplify")
def fold_shapes(node: Node, edit: Edit) -> bool:
    found = edit.meaning(node)
    if found is None or found.op.is_random or node.subgraphs or not node.inputs or node.op_type == WIDENS:
        return False
    wanted = [v for v in node.outputs if v.name]
    tensors = [known(v, edit) for v in wanted]
    if None in tensors:
        return False
    done = False
    for value, tensor in zip(wanted, tensors, strict=True):
        assert tensor is not None, "looked at above"
        done |= edit.become_constant(value, tensor)
    return done


def known(value: Value, edit: Edit) -> Tensor | None:
    """The value as a tensor, where all of its elements are known numbers."""
    type, elements = edit.type(value), edit.elements(value)
    if type is None or elements is None or elements.dtype == np.object_ or elements.size > MOST:
        return None
    if type.shape != elements.shape or type.dtype.numpy != elements.dtype:
        return None
    return Tensor.of(elements.copy(), type.dtype)
