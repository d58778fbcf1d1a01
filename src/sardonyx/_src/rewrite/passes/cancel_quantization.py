"""cancel-quantization: remove a DequantizeLinear and QuantizeLinear pair with the same parameters.

Spec:    DequantizeLinear-10 -13 -19 -21 -23 -24 -25 -28, QuantizeLinear-10 -13 -19 -21 -23 -24 -25 -28
Before:  g (uint8[2] x) => (float[] y) <float s = {0.5}, uint8 z = {3}> {
           a = DequantizeLinear(x, s, z)  b = QuantizeLinear(a, s, z)  y = Cast<to = 1>(b)
         }
After:   g (uint8[2] x) => (float[] y) { y = Cast<to = 1>(x) }
Keeps:   pairs whose parameters or axes differ, or are not constant; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="QuantizeLinear", phase="simplify")
def cancel_quantization(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "QuantizeLinear") or len(node.inputs) < 2:
        return False
    inner = edit.producer(node.inputs[0], "DequantizeLinear")
    if inner is None or len(inner.inputs) != len(node.inputs) or inner.inputs[0] is None:
        return False
    source, source_type, result_type = inner.inputs[0], edit.type(inner.inputs[0]), edit.type(node.outputs[0])
    if (
        source_type is None
        or result_type is None
        or source_type.dtype is not result_type.dtype
        or not is_exact(node, edit)
    ):
        return False
    if not all(
        are_same_constants(a, b, edit) for a, b in zip(inner.inputs[1:], node.inputs[1:], strict=True)
    ):
        return False
    if axis_and_block(node, edit) != axis_and_block(inner, edit):
        return False
    if not edit.replace_uses(node.outputs[0], source):
        return False
    edit.prune(node)
    return True


def is_exact(node: Node, edit: Edit) -> bool:
    """Whether every quantized value is unchanged by the pair: true for at most 8 bits and moderate float32 scales."""
    result_type, scale = edit.type(node.outputs[0]), edit.constant(node.inputs[1])
    if result_type is None or scale is None or not result_type.dtype.is_integer or result_type.dtype.bits > 8:
        return False
    numbers = np.abs(scale.astype(np.float64))
    return scale.dtype == np.float32 and bool(((numbers > 1e-30) & (numbers < 1e30)).all())


def are_same_constants(a: Value | None, b: Value | None, edit: Edit) -> bool:
    if a is b:
        return True
    left, right = edit.constant(a), edit.constant(b)
    return (
        left is not None and right is not None and left.dtype == right.dtype and np.array_equal(left, right)
    )


def axis_and_block(node: Node, edit: Edit) -> tuple[object, object]:
    attributes = edit.attributes(node)
    return attributes.get("axis", 1), attributes.get("block_size", 0)
