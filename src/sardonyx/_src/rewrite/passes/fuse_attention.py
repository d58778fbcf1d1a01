"""fuse-attention: fuse scaled dot products, mask, Softmax and the product with values into Attention.

Spec:    MatMul-1 -9 -13, Transpose-1 -13 -21 -23 -24 -25, Mul-7 -13 -14, Div-7 -13 -14, Add-7 -13 -14, Softmax-13,
         Attention-23 -24 -25
Before:  g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (float[] y) <float c = {0.5}> {
           t = Transpose<perm = [0, 1, 3, 2]>(k)  s = MatMul(q, t)  a = Mul(s, c)  p = Softmax(a)  y = MatMul(p, v)
         }
After:   g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (float[] y) { y = Attention<scale = 0.5>(q, k, v) }
Keeps:   intermediate values with other uses; masks that may hide all keys of a query, for which Attention returns
         zeros; attention in float64, which few kernels have; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Shape, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.attention import AttentionMatch, find_attention

KEY_PERMUTATIONS = {
    (0, 1, 3, 2): None,
    (0, 2, 3, 1): [0, 2, 1, 3],
}  # permutation of the Transpose that produces the keys -> permutation of its input for Attention; None: none is needed


@rewrite(root="MatMul", phase="fuse")
def fuse_attention(node: Node, edit: Edit) -> bool:
    if node.graph is None or not edit.can_insert("Attention", node.graph):
        return False
    for attention in find_attention(node, edit):
        is_double = (type_ := edit.type(attention.queries)) is not None and type_.dtype is DataType.DOUBLE
        has_finite_mask = attention.mask is None or is_finite(attention.mask, edit)
        if has_finite_mask and not is_double and shapes_agree(edit, attention):
            return replace_by_attention(node, attention, edit)
    return False


def replace_by_attention(node: Node, attention: AttentionMatch, edit: Edit) -> bool:
    """Replaces attention that ends with a node by an Attention node.

    Returns False, and changes nothing, if the keys are not transposed as the fusion requires.
    """
    transpose = edit.producer(attention.keys, "Transpose")
    if transpose is None or not edit.has_one_use(attention.keys):
        return False
    keys, perm = transpose.inputs[0], edit.attributes(transpose).get("perm")
    if keys is None or perm not in KEY_PERMUTATIONS:
        return False
    if (order := KEY_PERMUTATIONS[perm]) is not None:
        keys = edit.make("Transpose", [keys], {"perm": order}, before=node).outputs[0]
    inputs = [attention.queries, keys, attention.values, attention.mask]
    return edit.replace(node, "Attention", inputs, {"scale": attention.scale})


def is_finite(value: Value, edit: Edit) -> bool:
    """Whether a value is a constant of finite numbers; as a mask it then hides no key completely."""
    data = edit.constant(value)
    return data is not None and data.ndim >= 1 and bool(np.isfinite(data.astype(np.float64)).all())


def shapes_agree(edit: Edit, attention: AttentionMatch) -> bool:
    """Whether batch and heads agree, as Attention requires, and the mask covers all keys."""
    shapes = [edit.shape(v) for v in (attention.queries, attention.keys, attention.values)]
    if any(s is None or len(s) != 4 for s in shapes):
        return False
    q, t, v = (s for s in shapes if s is not None)
    same = all(a is not None and a == b for other in (t, v) for a, b in zip(q[:2], other[:2], strict=True))
    if not same or t[3] is None or t[3] != v[2]:
        return False
    return attention.mask is None or mask_covers_keys(edit.shape(attention.mask), t[3])


def mask_covers_keys(mask: Shape | None, keys: object) -> bool:
    return mask is not None and len(mask) <= 4 and bool(mask) and mask[-1] == keys
