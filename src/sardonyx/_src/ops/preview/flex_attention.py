"""FlexAttention: attention whose scores and weights pass through subgraphs of the model.

Spec: ai.onnx.preview FlexAttention-1.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Graph, TensorType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.control.bodies import run_body
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.heads import (
    SOFTMAX_PRECISIONS,
    check_heads,
    dot_products,
    softmax,
    softmax_type,
    weighted_sums,
)
from sardonyx._src.ops.nn.heads_text import matmul_text, softmax_text
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.body_text import element_type, scalar, vector
from sardonyx._src.ops.support.shapes import merge_dims, merge_shapes

op = Operator("FlexAttention", "ai.onnx.preview", tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    """Y has the type of Q, but the head size of V."""
    dtype = inference.dtype(0)
    if dtype is None:
        return None
    shapes = [inference.shape(i) for i in range(3)]
    if any(s is not None and len(s) != 4 for s in shapes):
        inference.fail("Q, K and V must have rank 4; got others")
    q, k, v = ((None,) * 4 if s is None else s for s in shapes)
    batch = merge_dims(inference, [q[0], k[0], v[0]], "the batch sizes")
    heads = merge_dims(inference, [k[1], v[1]], "the numbers of key and value heads")
    length = merge_dims(inference, [k[2], v[2]], "the lengths of K and V")
    merge_dims(inference, [q[3], k[3]], "the head sizes of Q and K")
    if isinstance(q[1], int) and isinstance(heads, int) and (not heads or q[1] % heads):
        inference.fail(
            f"the number of query heads must be a multiple of {heads}, that of key heads; got {q[1]}"
        )
    scores = TensorType(score_type(inference, dtype), (batch, q[1], q[2], length))
    for name in ("score_mod", "prob_mod"):
        results = inference.subgraph(name, [scores])
        if results and isinstance(results[0], TensorType):
            merge_shapes(inference, [scores.shape, results[0].shape], f"the shapes before and after {name}")
    return TensorType(dtype, (batch, q[1], q[2], v[3]))


def score_type(inference: Inference, dtype: DataType) -> DataType:
    """The element type that the subgraphs see."""
    precision = inference.attributes.get("softmax_precision")
    if precision is None:
        return DataType.DOUBLE if dtype is DataType.DOUBLE else DataType.FLOAT
    if not isinstance(precision, int) or precision not in SOFTMAX_PRECISIONS:
        inference.fail(f"softmax_precision must be the number of a float type; got {precision}")
    return DataType.from_number(precision)


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
    context: RunContext,
) -> Array:
    """Q: [batch, q_heads, q_length, size], K: [batch, kv_heads, length, size], V: [batch, kv_heads, length, v_size];
    result: [batch, q_heads, q_length, v_size].
    """
    if {Q.ndim, K.ndim, V.ndim} != {4}:
        raise EvaluationError(f"Q, K and V must have rank 4; got ranks {Q.ndim}, {K.ndim} and {V.ndim}")
    check_heads(Q, K, V)
    wide = np.dtype(np.float64 if Q.dtype == np.float64 else np.float32)
    check_result_bytes(context, (*Q.shape[:3], K.shape[2]), wide, "attention scores")
    factor = 1 / math.sqrt(max(Q.shape[3], 1)) if scale is None else scale
    scores = round_to_type(
        dot_products(promote_to_float32(Q), promote_to_float32(K)) * factor,
        softmax_type(softmax_precision, wide),
    )
    weights = apply_subgraph(
        context, prob_mod, softmax(apply_subgraph(context, score_mod, scores, "score_mod")), "prob_mod"
    )
    return round_to_type(weighted_sums(promote_to_float32(weights), promote_to_float32(V)), Q.dtype)


def apply_subgraph(context: RunContext, graph: Graph | None, x: Array, what: str) -> Array:
    if graph is None:
        return x
    (result, *_) = run_body(context, graph, [x], 1)
    if not isinstance(result, np.ndarray) or result.shape != x.shape or result.dtype != x.dtype:
        actual = (
            f"{result.dtype}{list(result.shape)}" if isinstance(result, np.ndarray) else type(result).__name__
        )
        raise EvaluationError(f"{what} must keep type and shape, {x.dtype}{list(x.shape)}; got {actual}")
    return result


@op.body(1, opset=16)
def body(inference: Inference) -> str:
    dtype = element_type(inference)
    wide = DataType.DOUBLE if dtype is DataType.DOUBLE else DataType.FLOAT
    q, k = inference.shape(0), inference.shape(1)
    grouped = q is None or k is None or not known_equal(q[1], k[1])
    return f"""(q, k, v) => (y) {{
      wide_query = Cast <to = {int(wide)}> (q)
      wide_key = Cast <to = {int(wide)}> (k)
      columns = Transpose <perm = [0, 1, 3, 2]> (wide_key)
      {matmul_text("wide_query", "columns", "products", is_grouped=grouped)}
      {scale_text(inference, wide)}
      scores = Mul(products, scale)
      precise = Cast <to = {int(score_type(inference, dtype))}> (scores)
      {subgraph_text(inference, "score_mod", "precise", "chosen")}
      {softmax_text("chosen", "shares", score_type(inference, dtype))}
      {subgraph_text(inference, "prob_mod", "shares", "weights")}
      wide_weights = Cast <to = {int(wide)}> (weights)
      wide_value = Cast <to = {int(wide)}> (v)
      {matmul_text("wide_weights", "wide_value", "sums", is_grouped=grouped)}
      y = Cast <to = {int(dtype)}> (sums)
    }}"""


def scale_text(inference: Inference, wide: DataType) -> str:
    if "scale" in inference.attributes:
        return f"scale = {scalar(inference.number('scale'), wide)}"
    return f"""
      size = Shape <start = 3> (q)
      real_size = Cast <to = {int(wide)}> (size)
      root = Sqrt(real_size)
      scale = Reciprocal(root)"""


def subgraph_text(inference: Inference, name: str, x: str, result: str) -> str:
    """The nodes that apply the subgraph to x: a Scan of one iteration, since no operator only calls a graph."""
    if name not in inference.attributes:
        return f"{result} = Identity({x})"
    return f"""
      {result}_front = {vector([0])}
      {result}_given = Unsqueeze({x}, {result}_front)
      {result}_made = Scan <body: graph = @{name}, num_scan_inputs: int = 1> ({result}_given)
      {result} = Squeeze({result}_made, {result}_front)"""
