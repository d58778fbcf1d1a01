"""fuse-attention: fuse scaled dot products, mask, Softmax and the product with values into Attention.

Spec:    MatMul-1 -9 -13, Transpose-1 -13 -21 -23 -24 -25, Mul-7 -13 -14, Div-7 -13 -14, Add-7 -13 -14, Softmax-13,
         Attention-23 -24 -25
Before:  g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (float[] y) <float c = {0.5}> {
           t = Transpose<perm = [0, 1, 3, 2]>(k)  s = MatMul(q, t)  a = Mul(s, c)  p = Softmax(a)  y = MatMul(p, v)
         }
After:   g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (float[] y) { y = Attention<scale = 0.5>(q, k, v) }
Keeps:   intermediate values with other uses; masks that may hide all keys of a query, for which Attention returns
         zeros; results up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.types import Shape
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

KEY_PERMUTATIONS = {
    (0, 1, 3, 2): None,
    (0, 2, 3, 1): [0, 2, 1, 3],
}  # permutation of the keys -> permutation still needed


@dataclass(slots=True)
class AttentionScores:
    """The input of the Softmax: products of queries and keys, times `scale`, plus `mask`."""

    product: Node
    scale: float = 1.0
    mask: Value | None = None


@rewrite(root="MatMul", phase="fuse")
def fuse_attention(node: Node, edit: Edit) -> bool:
    graph = node.graph
    weights, values = node.inputs
    if graph is None or weights is None or values is None or not edit.can_insert("Attention", graph):
        return False
    softmax = private_producer(weights, "Softmax", edit)
    if softmax is None or edit.rank(weights) != 4 or edit.attributes(softmax)["axis"] not in (-1, 3):
        return False
    scores = scores_in(softmax.inputs[0], edit)
    if scores is None:
        return False
    queries, transposed_keys = scores.product.inputs
    keys = private_producer(transposed_keys, "Transpose", edit)
    if queries is None or keys is None or keys.inputs[0] is None:
        return False
    perm = edit.attributes(keys).get("perm")
    if perm not in KEY_PERMUTATIONS or not shapes_agree(edit, queries, transposed_keys, values, scores.mask):
        return False
    head_keys = keys.inputs[0]
    if (order := KEY_PERMUTATIONS[perm]) is not None:
        head_keys = edit.make("Transpose", [head_keys], {"perm": order}, before=node).outputs[0]
    return edit.replace(node, "Attention", [queries, head_keys, values, scores.mask], {"scale": scores.scale})


def scores_in(value: Value | None, edit: Edit) -> AttentionScores | None:
    """Decompose a value into products of queries and keys, their scale and an additive mask."""
    mask, scale = None, 1.0
    if (added := private_producer(value, "Add", edit)) is not None:
        sides = [v for v in added.inputs if v is not None and is_finite(v, edit)]
        if len(sides) != 1:
            return None
        mask = sides[0]
        value = next(v for v in added.inputs if v is not mask)
    for op_type in ("Mul", "Div"):
        if (scaled := private_producer(value, op_type, edit)) is not None:
            factor = edit.scalar(scaled.inputs[1])
            if factor is None or not np.isfinite(factor) or factor <= 0:
                return None
            scale = factor if op_type == "Mul" else 1 / factor
            value = scaled.inputs[0]
            break
    product = private_producer(value, "MatMul", edit)
    return None if product is None else AttentionScores(product, scale, mask)


def private_producer(value: Value | None, op_type: str, edit: Edit) -> Node | None:
    """The producer of a value with one use, if it has this operator."""
    node = edit.producer(value, op_type)
    return node if node is not None and value is not None and edit.has_one_use(value) else None


def is_finite(value: Value, edit: Edit) -> bool:
    """Whether a value is a constant of finite numbers; as a mask it then hides no key completely."""
    data = edit.constant(value)
    return data is not None and data.ndim >= 1 and bool(np.isfinite(data.astype(np.float64)).all())


def shapes_agree(
    edit: Edit, queries: Value, transposed_keys: Value | None, values: Value, mask: Value | None
) -> bool:
    """Whether batch and heads agree, as Attention requires, and the mask covers all keys."""
    shapes = [edit.shape(v) for v in (queries, transposed_keys, values)]
    if any(s is None or len(s) != 4 for s in shapes):
        return False
    q, t, v = (s for s in shapes if s is not None)
    same = all(a is not None and a == b for other in (t, v) for a, b in zip(q[:2], other[:2], strict=True))
    if not same or t[3] is None or t[3] != v[2]:
        return False
    return mask is None or mask_covers_keys(edit.shape(mask), t[3])


def mask_covers_keys(mask: Shape | None, keys: object) -> bool:
    return mask is not None and len(mask) <= 4 and bool(mask) and mask[-1] == keys
