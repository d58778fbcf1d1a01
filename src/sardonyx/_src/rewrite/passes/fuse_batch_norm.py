"""fuse-batch-norm: fold BatchNormalization into the weight and bias of the preceding layer.

Spec:    BatchNormalization-7 -9 -14 -15, Conv-1 -11 -22, ConvTranspose-1 -11 -22, Gemm-7 -9 -11 -13
Before:  g (float[1,1,2] x) => (float[] y)
         <float[1,1,1] w = {2}, float[1] s = {3}, float[1] b = {1}, float[1] m = {0}, float[1] v = {1}> {
           a = Conv(x, w)  y = BatchNormalization<epsilon = 0.0>(a, s, b, m, v)
         }
After:   g (float[1,1,2] x) => (float[] y) <float[1,1,1] w = {6}, float[1] b = {1}> { y = Conv(x, w, b) }
Keeps:   layers whose result has other uses; normalisation in training mode; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.linear_layers import fold_scale_and_shift, is_inference, linear_layer_of


@rewrite(root="BatchNormalization", phase="simplify")
def fuse_batch_norm(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "BatchNormalization") or len(node.inputs) != 5 or not is_inference(node, edit):
        return False
    layer = linear_layer_of(node.inputs[0], edit)
    numbers = [edit.constant(v) for v in node.inputs[1:]]
    if layer is None or any(n is None or n.shape != (layer.channels,) for n in numbers):
        return False
    scale, bias, mean, variance = (np.asarray(n).astype(np.float64) for n in numbers)
    epsilon = edit.attributes(node)["epsilon"]
    assert isinstance(epsilon, float), "epsilon is a float"
    factor = scale / np.sqrt(variance + epsilon)
    if not np.isfinite(factor).all():
        return False
    if not edit.replace_uses(node.outputs[0], layer.node.outputs[0]):
        return False
    fold_scale_and_shift(layer, factor, bias - mean * factor, edit)
    edit.prune(node)
    return True
