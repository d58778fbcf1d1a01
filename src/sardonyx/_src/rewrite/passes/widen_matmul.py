"""widen-matmul: multiply a tensor of higher rank directly, instead of reshaping it to a matrix and back.

Spec:    MatMul-1 -9 -13, Gemm-7 -9 -11 -13, Add-7 -13 -14, Reshape-5 -13 -14 -19 -21 -23 -24 -25,
         Flatten-1 -9 -11 -13 -21 -23 -24 -25, Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25
Before:  g (float[N,2,3] x, float[3,4] w) => (float[] y) <int64[2] s = {-1, 3}, int64[3] t = {-1, 2, 4}> {
           a = Reshape(x, s)  b = MatMul(a, w)  y = Reshape(b, t)
         }
After:   g (float[N,2,3] x, float[3,4] w) => (float[] y) { y = MatMul(x, w) }
Keeps:   Reshapes that change the last axis; intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


@rewrite(root=RESHAPES, phase="fuse")
def widen_matmul(node: Node, edit: Edit) -> bool:
    product = product_of(node, edit)
    if product is None or product.inputs[0] is None:
        return False
    inner = product.inputs[0].producer
    if inner is None or inner.op_type not in RESHAPES or not edit.is_a(inner, inner.op_type):
        return False
    if inner.graph is not node.graph or not edit.has_one_use(product.inputs[0]):
        return False
    x, result_shape = edit.shape(inner.inputs[0]), edit.shape(node.outputs[0])
    flat, wide = edit.shape(product.inputs[0]), edit.shape(product.outputs[0])
    if (
        not (x and result_shape and flat and wide)
        or len(wide) < 2
        or len(x) < 2
        or edit.rank(product.inputs[1]) != 2
    ):
        return False
    if not (
        has_inference(x)
        and x[-1] == flat[-1]
        and result_shape == (*x[:-1], wide[-1])
        and has_inference(result_shape)
    ):
        return False
    return emit_product(node, product, inner.inputs[0], edit)


def product_of(node: Node, edit: Edit) -> Node | None:
    """The product that only this node reads: a MatMul, or a Gemm equivalent to one with a bias per column."""
    if not edit.is_a(node, node.op_type) or not node.inputs or node.inputs[0] is None:
        return None
    product = node.inputs[0].producer
    if product is None or product.graph is not node.graph or not edit.has_one_use(node.inputs[0]):
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


def has_inference(shape: Sequence[Dim]) -> bool:
    return None not in shape


def emit_product(node: Node, product: Node, x: Value | None, edit: Edit) -> bool:
    bias = product.inputs[2] if len(product.inputs) > 2 else None
    assert node.graph is not None, "the node is in a graph"
    if not edit.can_insert("MatMul", node.graph) or (
        bias is not None and not edit.can_insert("Add", node.graph)
    ):
        return False
    operands = [x, matrix_of(product, edit)]
    if bias is None:
        return edit.replace(node, "MatMul", operands)
    wide = edit.make("MatMul", operands, before=node)
    replaced = edit.replace(node, "Add", [wide.outputs[0], bias])
    if not replaced:
        edit.prune(wide)
    return replaced


def matrix_of(product: Node, edit: Edit) -> Value | None:
    """The right-hand matrix in the orientation of MatMul."""
    value = product.inputs[1]
    if product.op_type == "MatMul" or not edit.attributes(product)["transB"]:
        return value
    data = edit.constant(value)
    assert data is not None and value is not None, "only constants are transposed"
    return edit.make_constant(np.ascontiguousarray(data.T), f"{value.name}_transposed", before=product)
