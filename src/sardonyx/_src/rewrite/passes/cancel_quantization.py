"""cancel-quantization: quantising what has just been dequantised with the same numbers gives back what was there.

Spec:    DequantizeLinear-10 -13 -19 -21 -23 -24 -25 -28, QuantizeLinear-10 -13 -19 -21 -23 -24 -25 -28
Before:  g (uint8[2] x) => (float[] y) <float s = {0.5}, uint8 z = {3}> {
           a = DequantizeLinear(x, s, z)  b = QuantizeLinear(a, s, z)  y = Cast<to = 1>(b)
         }
After:   g (uint8[2] x) => (float[] y) { y = Cast<to = 1>(x) }
Keeps:   pairs whose numbers or axes differ, or are not constant; every bit.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit


@rewrite(root="QuantizeLinear", phase="simplify")
def cancel_quantization(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "QuantizeLinear") or len(node.inputs) < 2:
        return False
    inner = edit.producer(node.inputs[0], "DequantizeLinear")
    if inner is None or len(inner.inputs) != len(node.inputs) or inner.inputs[0] is None:
        return False
    source, given, made = inner.inputs[0], edit.type(inner.inputs[0]), edit.type(node.outputs[0])
    if given is None or made is None or given.dtype is not made.dtype or not is_exact(node, edit):
        return False
    if not all(same(a, b, edit) for a, b in zip(inner.inputs[1:], node.inputs[1:], strict=True)):
        return False
    if by_axis(node, edit) != by_axis(inner, edit):
        return False
    if not edit.forward(node.outputs[0], source):
        return False
    edit.prune(node)
    return True


def is_exact(node: Node, edit: Edit) -> bool:
    """Whether every quantised number survives: those of up to 8 bits do, with scales that are ordinary numbers."""
    found, scale = edit.type(node.outputs[0]), edit.constant(node.inputs[1])
    if found is None or scale is None or not found.dtype.is_integer or found.dtype.bits > 8:
        return False
    numbers = np.abs(scale.astype(np.float64))
    return scale.dtype == np.float32 and bool(((numbers > 1e-30) & (numbers < 1e30)).all())


def same(a: Value | None, b: Value | None, edit: Edit) -> bool:
    if a is b:
        return True
    one, other = edit.constant(a), edit.constant(b)
    return one is not None and other is not None and one.dtype == other.dtype and np.array_equal(one, other)


def by_axis(node: Node, edit: Edit) -> tuple[object, object]:
    attributes = edit.attributes(node)
    return attributes.get("axis", 1), attributes.get("block_size", 0)
