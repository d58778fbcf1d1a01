"""drop-relu-before-quantization: remove Relu, if the quantization after it saturates at zero anyway.

Spec:    Relu-6 -13 -14, QuantizeLinear-10 -13 -19 -21 -23 -24 -25 -28
Before:  g (float[2] x) => (uint8[] y) <float s = {0.5}, uint8 z = {0}> { a = Relu(x)  y = QuantizeLinear(a, s, z) }
After:   g (float[2] x) => (uint8[] y) <float s = {0.5}, uint8 z = {0}> { y = QuantizeLinear(x, s, z) }
Keeps:   zero points above the lowest value of their type; scales that are not positive.  How NaN is quantized is undefined.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="QuantizeLinear", phase="simplify")
def drop_relu_before_quantization(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "QuantizeLinear") or len(node.inputs) < 2:
        return False
    relu = edit.producer(node.inputs[0], "Relu")
    source = None if relu is None else relu.inputs[0]
    if source is None or not saturates_at_zero(node, edit):
        return False
    edit.update(node, inputs=[source, *node.inputs[1:]])
    return True


def saturates_at_zero(node: Node, edit: Edit) -> bool:
    """Whether zero is quantized to the lowest value of the type; without a zero point the type is uint8, whose lowest is 0."""
    scale, result_type = edit.constant(node.inputs[1]), edit.type(node.outputs[0])
    if (
        scale is None
        or result_type is None
        or not result_type.dtype.is_integer
        or not (scale.astype(np.float64) > 0).all()
    ):
        return False
    lowest = -(1 << (result_type.dtype.bits - 1)) if result_type.dtype.is_signed else 0
    if len(node.inputs) < 3 or node.inputs[2] is None:
        return lowest == 0
    zero = edit.constant(node.inputs[2])
    return zero is not None and bool((zero.astype(np.int64) == lowest).all())
