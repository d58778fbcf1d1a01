"""FlexAttention: attention whose scores and weights pass through subgraphs of the model.

Spec: ai.onnx.preview FlexAttention-1.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.body_text import element_type, real, scalar, vector
from sardonyx._src.ops.control.bodies import run_body
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.heads import (
    PRECISIONS,
    check_heads,
    dot_products,
    softmax,
    softmax_type,
    weighted_sums,
)
from sardonyx._src.ops.nn.heads_text import product
from sardonyx._src.ops.nn.heads_text import softmax as softmax_text
from sardonyx._src.ops.shapes import merge_dims, merge_shapes

op = Operator("FlexAttention", "ai.onnx.preview", tolerance="rounding")


@op.infer(1)
def infer(t: Inference) -> Result:
    """Y is like Q, but for the head size, which is that of V."""
    dtype = t.dtype(0)
    if dtype is None:
        return None
    shapes = [t.shape(i) for i in range(3)]
    if any(s is not None and len(s) != 4 for s in shapes):
        t.fail("Q, K and V need 4 axes each")
    q, k, v = ((None,) * 4 if s is None else s for s in shapes)
    batch = merge_dims(t, [q[0], k[0], v[0]], "the batch sizes")
    heads = merge_dims(t, [k[1], v[1]], "the numbers of key and value heads")
    length = merge_dims(t, [k[2], v[2]], "the lengths of K and V")
    merge_dims(t, [q[3], k[3]], "the head sizes of Q and K")
    if isinstance(q[1], int) and isinstance(heads, int) and (not heads or q[1] % heads):
        t.fail(f"{q[1]} query heads are no multiple of {heads} key heads")
    scores = TensorType(score_type(t, dtype), (batch, q[1], q[2], length))
    for name in ("score_mod", "prob_mod"):
        found = t.subgraph(name, [scores])
        if found and isinstance(found[0], TensorType):
            merge_shapes(t, [scores.shape, found[0].shape], f"the shapes before and after {name}")
    return TensorType(dtype, (batch, q[1], q[2], v[3]))


def score_type(t: Inference, dtype: DataType) -> DataType:
    """The element type that the subgraphs see."""
    precision = t.attributes.get("softmax_precision")
    if precision is None:
        return DataType.DOUBLE if dtype is DataType.DOUBLE else DataType.FLOAT
    if not isinstance(precision, int) or precision not in PRECISIONS:
        t.fail(f"softmax_precision is {precision}, which is no type to compute in")
    return DataType.numbered(precision)


@op.eval(1)
def evaluate(
    Q: Array,
    K: Array,
    V: Array,
    *,
    prob_mod: Graph | None = None,
    scale: float | None = None,
    score_mod: Graph | None = None,
    softmax_precision: int | None = None,
    call: Call,
) -> Array:
    """Q: [batch, q_heads, q_length, size], K: [batch, kv_heads, length, size], V: [batch, kv_heads, length, v_size];
    result: [batch, q_heads, q_length, v_size].
    """
    if {Q.ndim, K.ndim, V.ndim} != {4}:
        raise EvaluationError(f"Q, K and V have {Q.ndim}, {K.ndim} and {V.ndim} axes; 4 are wanted of each")
    check_heads(Q, K, V)
    wide = np.dtype(np.float64 if Q.dtype == np.float64 else np.float32)
    claim(call, (*Q.shape[:3], K.shape[2]), wide, "attention scores")
    factor = 1 / math.sqrt(max(Q.shape[3], 1)) if scale is None else scale
    scores = narrow(dot_products(widen(Q), widen(K)) * factor, softmax_type(softmax_precision, wide))
    weights = modified(call, prob_mod, softmax(modified(call, score_mod, scores, "score_mod")), "prob_mod")
    return narrow(weighted_sums(widen(weights), widen(V)), Q.dtype)


def modified(call: Call, graph: Graph | None, x: Array, what: str) -> Array:
    if graph is None:
        return x
    (result, *_) = run_body(call, graph, [x], 1)
    if not isinstance(result, np.ndarray) or result.shape != x.shape or result.dtype != x.dtype:
        found = (
            f"{result.dtype}{list(result.shape)}" if isinstance(result, np.ndarray) else type(result).__name__
        )
        raise EvaluationError(
            f"{what} makes {found} of {x.dtype}{list(x.shape)}; type and shape have to stay"
        )
    return result


@op.body(1, opset=16)
def body(t: Inference) -> str:
    dtype = element_type(t)
    wide = DataType.DOUBLE if dtype is DataType.DOUBLE else DataType.FLOAT
    q, k = t.shape(0), t.shape(1)
    grouped = q is None or k is None or not known_equal(q[1], k[1])
    return f"""(q, k, v) => (y) {{
      wide_query = Cast <to = {int(wide)}> (q)
      wide_key = Cast <to = {int(wide)}> (k)
      columns = Transpose <perm = [0, 1, 3, 2]> (wide_key)
      {product("wide_query", "columns", "products", is_grouped=grouped)}
      {scale_text(t, wide)}
      scores = Mul(products, scale)
      precise = Cast <to = {int(score_type(t, dtype))}> (scores)
      {modified_text(t, "score_mod", "precise", "chosen")}
      {softmax_text("chosen", "shares", score_type(t, dtype))}
      {modified_text(t, "prob_mod", "shares", "weights")}
      wide_weights = Cast <to = {int(wide)}> (weights)
      wide_value = Cast <to = {int(wide)}> (v)
      {product("wide_weights", "wide_value", "sums", is_grouped=grouped)}
      y = Cast <to = {int(dtype)}> (sums)
    }}"""


def scale_text(t: Inference, wide: DataType) -> str:
    if "scale" in t.attributes:
        return f"scale = {scalar(real(t, 'scale'), wide)}"
    return f"""
      size = Shape <start = 3> (q)
      real_size = Cast <to = {int(wide)}> (size)
      root = Sqrt(real_size)
      scale = Reciprocal(root)"""


def modified_text(t: Inference, name: str, x: str, result: str) -> str:
    """The nodes of `result`: what the subgraph makes of x; a Scan of one step calls it, as nothing else does just once."""
    if name not in t.attributes:
        return f"{result} = Identity({x})"
    return f"""
      {result}_front = {vector([0])}
      {result}_given = Unsqueeze({x}, {result}_front)
      {result}_made = Scan <body: graph = @{name}, num_scan_inputs: int = 1> ({result}_given)
      {result} = Squeeze({result}_made, {result}_front)"""
