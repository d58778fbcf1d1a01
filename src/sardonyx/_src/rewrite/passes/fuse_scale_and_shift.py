"""fuse-scale-and-shift: fold a scale or shift per channel into the weight and bias of the preceding layer.

Spec:    Mul-7 -13 -14, Add-7 -13 -14, Sub-7 -13 -14, Div-7 -13 -14, Conv-1 -11 -22, ConvTranspose-1 -11 -22, Gemm-7 -9 -11 -13,
         BatchNormalization-7 -9 -14 -15
Before:  g (float[1,1,2] x) => (float[] y) <float[2,1,1] w = {1, 2}, float[2,1] c = {3, 4}> { a = Conv(x, w)  y = Add(a, c) }
After:   g (float[1,1,2] x) => (float[] y) <float[2,1,1] w = {1, 2}, float[2] b = {3, 4}> { y = Conv(x, w, b) }
Keeps:   layers whose result has other uses; constants that vary within a channel; results up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.linear_layers import LinearLayer, fold_scale_and_shift, linear_layer_of


@rewrite(root=("Mul", "Add", "Sub", "Div"), phase="simplify")
def fuse_scale_and_shift(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or len(node.inputs) != 2:
        return False
    left, right = node.inputs
    for layer_output, other in ((left, right), (right, left)):
        for layer in layers(layer_output, node.op_type, edit):
            numbers = per_channel(layer, other, edit)
            folded = (
                None
                if numbers is None
                else scale_and_shift_of(node.op_type, numbers, is_left=layer_output is left)
            )
            if layer_output is None or folded is None or not edit.replace_uses(node.outputs[0], layer_output):
                continue
            fold_scale_and_shift(layer, *folded, edit)
            edit.prune(node)
            return True
    return False


def layers(value: Value | None, op_type: str, edit: Edit) -> Iterator[LinearLayer]:
    """The layer that produces a value or, for Add, one that produces a summand of it of the same shape."""
    layer = linear_layer_of(value, edit)
    if layer is not None:
        yield layer
        return
    shape = edit.shape(value)
    if value is None or op_type != "Add" or shape is None or None in shape or not edit.has_one_use(value):
        return
    for summand in summands(value, edit):
        layer = linear_layer_of(summand, edit)
        if layer is not None and edit.shape(summand) == shape:
            yield layer


def summands(value: Value, edit: Edit) -> Sequence[Value | None]:
    """The operands of an Add, or the bias operand of a Gemm with beta 1."""
    total = edit.producer(value, "Add")
    if total is not None:
        return total.inputs
    product = edit.producer(value, "Gemm")
    if product is None or edit.attributes(product)["beta"] != 1:
        return ()
    return product.inputs[2:]


def scale_and_shift_of(
    op_type: str, numbers: Array, *, is_left: bool
) -> tuple[Array | None, Array | None] | None:
    """The factor and shift equivalent to an operator with these numbers as its other operand."""
    if op_type == "Mul":
        return numbers, None
    if op_type == "Add":
        return None, numbers
    if op_type == "Sub":
        return (None, -numbers) if is_left else (np.full(numbers.shape, -1.0), numbers)
    return (1 / numbers, None) if is_left and numbers.all() else None


def per_channel(layer: LinearLayer, other: Value | None, edit: Edit) -> Array | None:
    """A constant as one number per channel; None if it varies within a channel or broadcasts the result."""
    data, rank = edit.constant(other), edit.rank(layer.node.outputs[0])
    if data is None or rank is None or data.ndim > rank or not np.isfinite(data.astype(np.float64)).all():
        return None
    shape = (1,) * (rank - data.ndim) + data.shape
    if any(size != 1 for axis, size in enumerate(shape) if axis != 1) or shape[1] not in (1, layer.channels):
        return None
    return np.broadcast_to(data.reshape(-1).astype(np.float64), (layer.channels,))
