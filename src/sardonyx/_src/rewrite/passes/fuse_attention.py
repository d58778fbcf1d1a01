"""fuse-attention: products with keys, scaled, through Softmax and times values, are Attention.

Spec:    MatMul-1 -9 -13, Transpose-1 -13 -21 -23 -24 -25, Mul-7 -13 -14, Div-7 -13 -14, Add-7 -13 -14, Softmax-13,
         Attention-23 -24 -25
Before:  g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (float[] y) <float c = {0.5}> {
           t = Transpose<perm = [0, 1, 3, 2]>(k)  s = MatMul(q, t)  a = Mul(s, c)  p = Softmax(a)  y = MatMul(p, v)
         }
After:   g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (float[] y) { y = Attention<scale = 0.5>(q, k, v) }
Keeps:   values still read elsewhere; masks that may hide every key from a query, which Attention answers with zeros;
         results up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.types import Shape
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit

TURNED = {
    (0, 1, 3, 2): None,
    (0, 2, 3, 1): [0, 2, 1, 3],
}  # how keys were turned, and how heads still have to be


@dataclass(slots=True)
class Scores:
    """What goes into a Softmax: products of queries and keys, times `scale`, plus `mask`."""

    product: Node
    scale: float = 1.0
    mask: Value | None = None


@rewrite(root="MatMul", phase="fuse")
def fuse_attention(node: Node, edit: Edit) -> bool:
    graph = node.graph
    weights, values = node.inputs
    if graph is None or weights is None or values is None or not edit.has("Attention", graph):
        return False
    softmax = alone(weights, "Softmax", edit)
    if softmax is None or edit.rank(weights) != 4 or edit.attributes(softmax)["axis"] not in (-1, 3):
        return False
    scores = scores_in(softmax.inputs[0], edit)
    if scores is None:
        return False
    queries, turned = scores.product.inputs
    keys = alone(turned, "Transpose", edit)
    if queries is None or keys is None or keys.inputs[0] is None:
        return False
    perm = edit.attributes(keys).get("perm")
    if perm not in TURNED or not agree(edit, queries, turned, values, scores.mask):
        return False
    own = keys.inputs[0]
    if (order := TURNED[perm]) is not None:
        own = edit.make("Transpose", [own], {"perm": order}, before=node).outputs[0]
    return edit.replace(node, "Attention", [queries, own, values, scores.mask], {"scale": scores.scale})


def scores_in(value: Value | None, edit: Edit) -> Scores | None:
    """The products that a value is, with what they are scaled by and what is added to them."""
    mask, scale = None, 1.0
    if (added := alone(value, "Add", edit)) is not None:
        sides = [v for v in added.inputs if v is not None and is_finite(v, edit)]
        if len(sides) != 1:
            return None
        mask = sides[0]
        value = next(v for v in added.inputs if v is not mask)
    for op_type in ("Mul", "Div"):
        if (scaled := alone(value, op_type, edit)) is not None:
            factor = edit.scalar(scaled.inputs[1])
            if factor is None or not np.isfinite(factor) or factor <= 0:
                return None
            scale = factor if op_type == "Mul" else 1 / factor
            value = scaled.inputs[0]
            break
    product = alone(value, "MatMul", edit)
    return None if product is None else Scores(product, scale, mask)


def alone(value: Value | None, op_type: str, edit: Edit) -> Node | None:
    """The node of that operator that makes a value which nothing else reads."""
    found = edit.producer(value, op_type)
    return found if found is not None and value is not None and edit.is_read_once(value) else None


def is_finite(value: Value, edit: Edit) -> bool:
    """Whether a value is a constant of finite numbers, which as a mask hides no key altogether."""
    found = edit.constant(value)
    return found is not None and found.ndim >= 1 and bool(np.isfinite(found.astype(np.float64)).all())


def agree(edit: Edit, queries: Value, turned: Value | None, values: Value, mask: Value | None) -> bool:
    """Whether batch and heads are the same everywhere, as Attention wants them, and the mask has all keys."""
    shapes = [edit.shape(v) for v in (queries, turned, values)]
    if any(s is None or len(s) != 4 for s in shapes):
        return False
    q, t, v = (s for s in shapes if s is not None)
    same = all(a is not None and a == b for other in (t, v) for a, b in zip(q[:2], other[:2], strict=True))
    if not same or t[3] is None or t[3] != v[2]:
        return False
    return mask is None or covers(edit.shape(mask), t[3])


def covers(mask: Shape | None, keys: object) -> bool:
    return mask is not None and len(mask) <= 4 and bool(mask) and mask[-1] == keys
