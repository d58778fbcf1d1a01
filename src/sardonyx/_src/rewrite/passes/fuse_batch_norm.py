"""fuse-batch-norm: fold BatchNormalization into the weight and bias of the preceding layer.

Spec:    BatchNormalization-7 -9 -14 -15, Conv-1 -11 -22, ConvTranspose-1 -11 -22, Gemm-7 -9 -11 -13
Before:  g (float[1,1,2] x) => (float[] y)
         <float[1,1,1] w = {2}, float[1] s = {3}, float[1] b = {1}, float[1] m = {0}, float[1] v = {1}> {
           a = Conv(x, w)  y = BatchNormalization<epsilon = 0.0>(a, s, b, m, v)
         }
After:   g (float[1,1,2] x) => (float[] y) <float[1,1,1] w = {6}, float[1] b = {1}> { y = Conv(x, w, b) }
Keeps:   layers whose result has other uses; normalization in training mode; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.batch_norm import fold_statistics
from sardonyx._src.rewrite.support.linear_layers import fold_scale_and_shift, linear_layer_of


@rewrite(root="BatchNormalization", phase="simplify")
def fuse_batch_norm(node: Node, edit: Edit) -> bool:
    layer = linear_layer_of(node.inputs[0], edit)
    if layer is None or len(node.inputs) != 5:
        return False
    columns = fold_statistics(
        node, edit.attributes(node), [edit.constant(value) for value in node.inputs[1:]]
    )
    if columns is None or columns[0].shape != (layer.channels,):
        return False
    if not edit.replace_uses(node.outputs[0], layer.node.outputs[0]):
        return False
    fold_scale_and_shift(layer, *columns, edit)
    edit.prune(node)
    return True
