"""LinearAttention: attention without softmax, as a recurrent state that every token updates and reads.

Spec: ai.onnx LinearAttention-27.  The state is a matrix [d_k, d_v] for each key/value head.  A token with key k and value
v adds k v^T to it.  With the gated rules the state first decays by the factor exp(decay); with the delta rules v is
replaced by beta * (v - k^T state), so that the state is corrected toward v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.heads import group_heads, merge_heads, split_heads, ungroup_heads
from sardonyx._src.ops.nn.heads_text import split_heads_text
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.body_text import element_type, scalar, vector
from sardonyx._src.ops.support.shapes import merge_dims, merge_shapes
from sardonyx._src.ops.traits import enum_values

UPDATE_RULES = ("linear", "gated", "delta", "gated_delta")

op = Operator(
    "LinearAttention", tolerance="rounding", enum_attributes={"update_rule": enum_values(*UPDATE_RULES)}
)


@op.infer(27)
def infer(inference: Inference) -> Result:
    q_heads, heads = inference.integer("q_num_heads"), inference.integer("kv_num_heads")
    if heads < 1 or q_heads < 1 or q_heads % heads:
        inference.fail(f"query heads must be a positive multiple of key heads; got {q_heads} and {heads}")
    q, k, v = (packed_dims(inference, i, n) for i, n in ((0, q_heads), (1, heads), (2, heads)))
    state = inference.shape(3) or (None, heads, None, None)
    if len(state) != 4:
        inference.fail(f"past_state must have rank 4; got rank {len(state)}")
    merge_dims(inference, [state[1], heads], "the numbers of key heads")
    batch = merge_dims(inference, [q[0], k[0], v[0], state[0]], "the batch sizes")
    length = merge_dims(inference, [q[1], k[1], v[1]], "the lengths")
    d_k = merge_dims(inference, [q[2], k[2], state[2]], "the key sizes")
    d_v = merge_dims(inference, [v[2], state[3]], "the value sizes")
    rule = str(inference.attributes["update_rule"])
    if rule.startswith("gated"):
        check_factors(inference, 4, "decay", (batch, length), (heads, dim_mul(heads, d_k)))
    if rule.endswith("delta"):
        check_factors(inference, 5, "beta", (batch, length), (heads, 1))
    dtype, state_dtype = inference.dtype(0), inference.dtype(3) if inference.has(3) else inference.dtype(0)
    output = None if dtype is None else TensorType(dtype, (batch, length, dim_mul(q_heads, d_v)))
    return [output, None if state_dtype is None else TensorType(state_dtype, (batch, heads, d_k, d_v))][
        : inference.outputs
    ]


def check_factors(
    inference: Inference, i: int, name: str, tokens: tuple[Dim, Dim], sizes: tuple[Dim, Dim]
) -> None:
    """Raises InferenceError unless input i is given and can be [*tokens, n], where n is one of the `sizes`."""
    if not inference.has(i):
        inference.fail(f"{name} must be given for update_rule {inference.attributes['update_rule']!r}")
    shape = inference.shape(i)
    if shape is None:
        return
    merge_shapes(inference, [shape, (*tokens, None)], f"{name} and the tokens")
    last = shape[2]
    if isinstance(last, int) and all(isinstance(n, int) and n != last for n in sizes):
        inference.fail(f"{name} must have {sizes[0]} or {sizes[1]} numbers per token; got {last}")


def packed_dims(inference: Inference, i: int, heads: int) -> tuple[Dim, Dim, Dim]:
    """Batch, length and head size of an input whose rows contain `heads` heads."""
    shape = inference.shape(i)
    if shape is None:
        return None, None, None
    if len(shape) != 3:
        inference.fail(f"input {i} must have rank 3; got rank {len(shape)}")
    if isinstance(shape[2], int) and shape[2] % heads:
        inference.fail(f"rows of input {i} must be a multiple of {heads} heads; got {shape[2]} elements")
    return shape[0], shape[1], exact_div(shape[2], heads)


@op.eval(27, ignores=("chunk_size",))
def evaluate(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float,
    update_rule: str,
    context: RunContext,
) -> tuple[Array, Array]:
    """output: [batch, length, q_heads * d_v] and present_state: [batch, kv_heads, d_k, d_v]."""
    if update_rule not in UPDATE_RULES:
        raise EvaluationError(f"update_rule must be one of {', '.join(UPDATE_RULES)}; got {update_rule!r}")
    if kv_num_heads < 1 or q_num_heads < 1 or q_num_heads % kv_num_heads:
        raise EvaluationError(
            f"query heads must be a positive multiple of key heads; got {q_num_heads} and {kv_num_heads}"
        )
    q = heads_first(query, q_num_heads, "query")
    k, v = heads_first(key, kv_num_heads, "key"), heads_first(value, kv_num_heads, "value")
    batch, heads, length, d_k = k.shape
    if (q.shape[0], *q.shape[2:]) != (batch, length, d_k) or v.shape[:3] != k.shape[:3]:
        shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
        raise EvaluationError(
            f"query, key and value must agree in batch, length and head sizes; got {shapes}"
        )
    shape = (batch, heads, d_k, v.shape[3])
    check_result_bytes(context, shape, np.float32, "LinearAttention state")
    check_result_bytes(
        context, (batch, q_num_heads, length, v.shape[3]), np.float32, "LinearAttention result"
    )
    state = initial_state(past_state, shape)
    decay_factor = decay_factors(decay, k.shape) if update_rule.startswith("gated") else None
    update_rate = update_rates(beta, k.shape) if update_rule.endswith("delta") else None
    factor = scale or 1 / math.sqrt(max(d_k, 1))
    out, state = scan_tokens(factor * group_heads(q, heads), k, v, state, decay_factor, update_rate)
    output = round_to_type(merge_heads(ungroup_heads(out)), query.dtype)
    return output, round_to_type(state, query.dtype if past_state is None else past_state.dtype)


def scan_tokens(
    q: Array, k: Array, v: Array, state: Array, decay_factor: Array | None, update_rate: Array | None
) -> tuple[Array, Array]:
    """The outputs of queries [batch, heads, group, length, d_k], token by token, and the state after the last token."""
    out = np.empty((*q.shape[:4], v.shape[3]), np.float32)
    for t in range(k.shape[2]):
        if decay_factor is not None:
            state = state * decay_factor[:, :, t, :, None]
        k_t, new = k[:, :, t, :, None], v[:, :, t, None, :]
        if update_rate is not None:
            new = update_rate[:, :, t, None, None] * (new - k_t.swapaxes(2, 3) @ state)
        state = state + k_t * new
        out[:, :, :, t] = q[:, :, :, t] @ state
    return out, state


def heads_first(x: Array, heads: int, what: str) -> Array:
    if x.ndim != 3:
        raise EvaluationError(f"{what} must have rank 3; got rank {x.ndim}")
    return promote_to_float32(split_heads(x, heads, what))


def initial_state(past_state: Array | None, shape: tuple[int, ...]) -> Array:
    if past_state is None:
        return np.zeros(shape, np.float32)
    if past_state.shape != shape:
        raise EvaluationError(f"past_state must have shape {list(shape)}; got {list(past_state.shape)}")
    return promote_to_float32(past_state)


def decay_factors(decay: Array | None, shape: tuple[int, ...]) -> Array:
    """The factor of the state at each token: [batch, heads, length, d_k] or [batch, heads, length, 1]."""
    batch, heads, length, d_k = shape
    if decay is None or decay.shape not in ((batch, length, heads), (batch, length, heads * d_k)):
        actual = None if decay is None else list(decay.shape)
        raise EvaluationError(
            f"decay must have shape [{batch}, {length}, {heads} or {heads * d_k}]; got {actual}"
        )
    return np.exp(promote_to_float32(split_heads(decay, heads, "decay")))


def update_rates(beta: Array | None, shape: tuple[int, ...]) -> Array:
    """The learning rate of each token's update: [batch, heads or 1, length]."""
    batch, heads, length, _ = shape
    if beta is None or beta.shape not in ((batch, length, heads), (batch, length, 1)):
        actual = None if beta is None else list(beta.shape)
        raise EvaluationError(f"beta must have shape [{batch}, {length}, {heads} or 1]; got {actual}")
    return promote_to_float32(beta).swapaxes(1, 2)


# --- body ------------------------------------------------------------------------------------


@op.body(27, opset=15)
def body(inference: Inference) -> str:
    """A Scan over the tokens, computed as float."""
    q_heads, heads, scale = (
        inference.integer("q_num_heads"),
        inference.integer("kv_num_heads"),
        inference.number("scale"),
    )
    rule, dtype = str(inference.attributes["update_rule"]), element_type(inference)
    optional_scans = ["fade"] * rule.startswith("gated") + ["rate"] * rule.endswith("delta")
    scans = ["scaled", "keys", "values", *(f"{name}s" for name in optional_scans)]
    present = (
        f"present = Cast <to = {int(element_type(inference, 3) if inference.has(3) else dtype)}> (state)"
    )
    return f"""(query, key, value, past, decay, beta) => ({"y, present" if inference.outputs > 1 else "y"}) {{
      last = {vector([-1])}
      second_last = {vector([-2])}
      {split_heads_text("query", [heads, q_heads // heads])}
      {split_heads_text("key", [heads])}
      {split_heads_text("value", [heads])}
      queries = Cast <to = 1> (query_heads)
      keys = Cast <to = 1> (key_heads)
      values = Cast <to = 1> (value_heads)
      {f"scale = {scalar(scale, DataType.FLOAT)}" if scale else ROOT_OF_SIZE}
      scaled = Mul(queries, scale)
      {split_heads_text("decay", [heads]) + DECAYS if "fade" in optional_scans else ""}
      {RATES if "rate" in optional_scans else ""}
      {"start = Cast <to = 1> (past)" if inference.has(3) else start_text(heads)}
      state, reads = Scan <
        body = token {token_text(optional_scans)},
        num_scan_inputs = {len(scans)}, scan_input_axes = [{", ".join("1" * len(scans))}], scan_output_axes = [1]
      > (start, {", ".join(scans)})
      row_heads = {vector([q_heads])}
      row = Mul(row_heads, value_size)
      packed = Concat <axis = 0> (query_tokens, row)
      rows = Reshape <allowzero = 1> (reads, packed)
      y = Cast <to = {int(dtype)}> (rows)
      {present if inference.outputs > 1 else ""}
    }}"""


ROOT_OF_SIZE = """
      real_size = Cast <to = 1> (key_size)
      root = Sqrt(real_size)
      scale = Reciprocal(root)"""
DECAYS = """
      logs = Cast <to = 1> (decay_heads)
      fades = Exp(logs)"""
RATES = """
      matrix = Constant <value = int64[2] {3, 4}> ()
      wide_beta = Cast <to = 1> (beta)
      rates = Unsqueeze(wide_beta, matrix)"""


def start_text(heads: int) -> str:
    """The nodes of `start`, a state of zeros."""
    return f"""
      batch = Shape <end = 1> (query)
      heads = {vector([heads])}
      start_shape = Concat <axis = 0> (batch, heads, key_size, value_size)
      start = ConstantOfShape(start_shape)"""


def token_text(optional_scans: Sequence[str]) -> str:
    """The Scan body for one token: the next state, and the product of the query and the next state."""
    fading = "column = Unsqueeze(fade, last)  faded = Mul(before, column)"
    writing = """
          k_row = Unsqueeze(k, second_last)
          known = MatMul(k_row, faded)
          new = Sub(v_row, known)
          written = Mul(rate, new)"""
    inputs = ", ".join(f"float[] {name}" for name in ("before", "q", "k", "v", *optional_scans))
    return f"""({inputs}) => (float[] next, float[] read) {{
          {fading if "fade" in optional_scans else "faded = Identity(before)"}
          v_row = Unsqueeze(v, second_last)
          {writing if "rate" in optional_scans else "written = Identity(v_row)"}
          k_column = Unsqueeze(k, last)
          added = Mul(k_column, written)
          next = Add(faded, added)
          read = MatMul(q, next)
        }}"""
