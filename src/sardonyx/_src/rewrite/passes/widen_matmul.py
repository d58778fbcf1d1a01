"""widen-matmul: a product with a matrix reads more than two axes as they are, instead of a Reshape of them.

Spec:    MatMul-1 -9 -13, Gemm-7 -9 -11 -13, Add-7 -13 -14, Reshape-5 -13 -14 -19 -21 -23 -24 -25,
         Flatten-1 -9 -11 -13 -21 -23 -24 -25, Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25
Before:  g (float[N,2,3] x, float[3,4] w) => (float[] y) <int64[2] s = {-1, 3}, int64[3] t = {-1, 2, 4}> {
           a = Reshape(x, s)  b = MatMul(a, w)  y = Reshape(b, t)
         }
After:   g (float[N,2,3] x, float[3,4] w) => (float[] y) { y = MatMul(x, w) }
Keeps:   Reshapes that touch the last axis; what others read in between; results up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit

RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


@rewrite(root=RESHAPES, phase="fuse")
def widen_matmul(node: Node, edit: Edit) -> bool:
    product = product_of(node, edit)
    if product is None or product.inputs[0] is None:
        return False
    inner = product.inputs[0].producer
    if inner is None or inner.op_type not in RESHAPES or not edit.is_a(inner, inner.op_type):
        return False
    if inner.graph is not node.graph or not edit.is_read_once(product.inputs[0]):
        return False
    x, made = edit.shape(inner.inputs[0]), edit.shape(node.outputs[0])
    flat, wide = edit.shape(product.inputs[0]), edit.shape(product.outputs[0])
    if not (x and made and flat and wide) or len(wide) < 2 or len(x) < 2 or edit.rank(product.inputs[1]) != 2:
        return False
    if not (is_known(x) and x[-1] == flat[-1] and made == (*x[:-1], wide[-1]) and is_known(made)):
        return False
    return put(node, product, inner.inputs[0], edit)


def product_of(node: Node, edit: Edit) -> Node | None:
    """The MatMul, or Gemm that is no more than one with a bias for each column, that a node alone reads."""
    if not edit.is_a(node, node.op_type) or not node.inputs or node.inputs[0] is None:
        return None
    product = node.inputs[0].producer
    if product is None or product.graph is not node.graph or not edit.is_read_once(node.inputs[0]):
        return None
    if edit.is_a(product, "MatMul"):
        return product
    if not edit.is_a(product, "Gemm"):
        return None
    attributes, assumed = edit.attributes(product), {"alpha": 1.0, "transA": 0}
    bias = product.inputs[2] if len(product.inputs) > 2 else None
    if bias is not None:
        assumed["beta"] = 1.0
        if edit.rank(bias) not in (0, 1):
            return None
    if attributes["transB"] and edit.tensor(product.inputs[1]) is None:
        return None
    return product if all(attributes.get(name) == value for name, value in assumed.items()) else None


def is_known(shape: Sequence[Dim]) -> bool:
    return None not in shape


def put(node: Node, product: Node, x: Value | None, edit: Edit) -> bool:
    bias = product.inputs[2] if len(product.inputs) > 2 else None
    assert node.graph is not None, "a node that is asked about is in a graph"
    if not edit.has("MatMul", node.graph) or (bias is not None and not edit.has("Add", node.graph)):
        return False
    operands = [x, matrix_of(product, edit)]
    if bias is None:
        return edit.replace(node, "MatMul", operands)
    wide = edit.make("MatMul", operands, before=node)
    done = edit.replace(node, "Add", [wide.outputs[0], bias])
    if not done:
        edit.prune(wide)
    return done


def matrix_of(product: Node, edit: Edit) -> Value | None:
    """The matrix as a MatMul reads it."""
    value = product.inputs[1]
    if product.op_type == "MatMul" or not edit.attributes(product)["transB"]:
        return value
    data = edit.constant(value)
    assert data is not None and value is not None, "only constants are turned"
    return edit.constant_of(np.ascontiguousarray(data.T), f"{value.name}_turned", before=product)
