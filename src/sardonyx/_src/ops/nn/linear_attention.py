"""LinearAttention: attention without softmax, as a state that every token updates and reads.

Spec: ai.onnx LinearAttention-27.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_mul, exact_div
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.body_text import element_type, real, scalar, vector
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.heads import grouped, merge_heads, split_heads, ungrouped
from sardonyx._src.ops.nn.heads_text import unpacked
from sardonyx._src.ops.shapes import merge_dims, merge_shapes

op = Operator("LinearAttention", tolerance="rounding")
RULES = ("linear", "gated", "delta", "gated_delta")


@op.infer(27)
def infer(t: Inference) -> Result:
    q_heads, heads = t.integer("q_num_heads"), t.integer("kv_num_heads")
    if heads < 1 or q_heads < 1 or q_heads % heads:
        t.fail(f"{q_heads} query heads are no positive multiple of {heads} key heads")
    q, k, v = (packed(t, i, n) for i, n in ((0, q_heads), (1, heads), (2, heads)))
    state = t.shape(3) or (None, heads, None, None)
    if len(state) != 4:
        t.fail(f"past_state has {len(state)} axes; 4 are wanted")
    merge_dims(t, [state[1], heads], "the numbers of key heads")
    batch = merge_dims(t, [q[0], k[0], v[0], state[0]], "the batch sizes")
    length = merge_dims(t, [q[1], k[1], v[1]], "the lengths")
    d_k = merge_dims(t, [q[2], k[2], state[2]], "the key sizes")
    d_v = merge_dims(t, [v[2], state[3]], "the value sizes")
    rule = str(t.attributes["update_rule"])
    if rule.startswith("gated"):
        check_factors(t, 4, "decay", (batch, length), (heads, dim_mul(heads, d_k)))
    if rule.endswith("delta"):
        check_factors(t, 5, "beta", (batch, length), (heads, 1))
    dtype, state_dtype = t.dtype(0), t.dtype(3) if t.has(3) else t.dtype(0)
    output = None if dtype is None else TensorType(dtype, (batch, length, dim_mul(q_heads, d_v)))
    return [output, None if state_dtype is None else TensorType(state_dtype, (batch, heads, d_k, d_v))][
        : t.outputs
    ]


def check_factors(t: Inference, i: int, name: str, tokens: tuple[Dim, Dim], sizes: tuple[Dim, Dim]) -> None:
    """Raises InferenceError unless input i may be [batch, length, n] with n one of the sizes."""
    if not t.has(i):
        t.fail(f"{name} is missing, which update_rule {t.attributes['update_rule']!r} wants")
    shape = t.shape(i)
    if shape is None:
        return
    merge_shapes(t, [shape, (*tokens, None)], f"{name} and the tokens")
    last = shape[2]
    if isinstance(last, int) and all(isinstance(n, int) and n != last for n in sizes):
        t.fail(f"{name} has {last} numbers for each token, where {sizes[0]} or {sizes[1]} are wanted")


def packed(t: Inference, i: int, heads: int) -> tuple[Dim, Dim, Dim]:
    """Batch, length and head size of an input that holds `heads` heads in its rows."""
    shape = t.shape(i)
    if shape is None:
        return None, None, None
    if len(shape) != 3:
        t.fail(f"input {i} has {len(shape)} axes; 3 are wanted")
    if isinstance(shape[2], int) and shape[2] % heads:
        t.fail(f"input {i} has rows of {shape[2]} elements, which {heads} heads cannot share")
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
    call: Call,
) -> tuple[Array, Array]:
    """output: [batch, length, q_heads * d_v] and present_state: [batch, kv_heads, d_k, d_v]."""
    if update_rule not in RULES:
        raise EvaluationError(f"update_rule is {update_rule!r}; one of {', '.join(RULES)} is wanted")
    if kv_num_heads < 1 or q_num_heads < 1 or q_num_heads % kv_num_heads:
        raise EvaluationError(
            f"{q_num_heads} query heads are no positive multiple of {kv_num_heads} key heads"
        )
    q = heads_first(query, q_num_heads, "query")
    k, v = heads_first(key, kv_num_heads, "key"), heads_first(value, kv_num_heads, "value")
    batch, heads, length, d_k = k.shape
    if (q.shape[0], *q.shape[2:]) != (batch, length, d_k) or v.shape[:3] != k.shape[:3]:
        shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
        raise EvaluationError(f"{shapes} do not fit together")
    shape = (batch, heads, d_k, v.shape[3])
    claim(call, shape, np.float32, "LinearAttention state")
    claim(call, (batch, q_num_heads, length, v.shape[3]), np.float32, "LinearAttention result")
    state = start(past_state, shape)
    fade = decays(decay, k.shape) if update_rule.startswith("gated") else None
    rate = rates(beta, k.shape) if update_rule.endswith("delta") else None
    factor = scale or 1 / math.sqrt(max(d_k, 1))
    out, state = walked(factor * grouped(q, heads), k, v, state, fade, rate)
    output = narrow(merge_heads(ungrouped(out)), query.dtype)
    return output, narrow(state, query.dtype if past_state is None else past_state.dtype)


def walked(
    q: Array, k: Array, v: Array, state: Array, fade: Array | None, rate: Array | None
) -> tuple[Array, Array]:
    """What the queries [batch, heads, group, length, d_k] read, token by token, and the state behind the last one."""
    out = np.empty((*q.shape[:4], v.shape[3]), np.float32)
    for t in range(k.shape[2]):
        if fade is not None:
            state = state * fade[:, :, t, :, None]
        k_t, new = k[:, :, t, :, None], v[:, :, t, None, :]
        if rate is not None:
            new = rate[:, :, t, None, None] * (new - k_t.swapaxes(2, 3) @ state)
        state = state + k_t * new
        out[:, :, :, t] = q[:, :, :, t] @ state
    return out, state


def heads_first(x: Array, heads: int, what: str) -> Array:
    if x.ndim != 3:
        raise EvaluationError(f"{what} has {x.ndim} axes; 3 are wanted")
    return widen(split_heads(x, heads, what))


def start(past_state: Array | None, shape: tuple[int, ...]) -> Array:
    if past_state is None:
        return np.zeros(shape, np.float32)
    if past_state.shape != shape:
        raise EvaluationError(f"past_state is of shape {list(past_state.shape)}; {list(shape)} is wanted")
    return widen(past_state)


def decays(decay: Array | None, shape: tuple[int, ...]) -> Array:
    """What is left of the state at each token: [batch, heads, length, d_k] or [batch, heads, length, 1]."""
    batch, heads, length, d_k = shape
    if decay is None or decay.shape not in ((batch, length, heads), (batch, length, heads * d_k)):
        found = None if decay is None else list(decay.shape)
        raise EvaluationError(f"decay is {found}; [{batch}, {length}, {heads} or {heads * d_k}] is wanted")
    return np.exp(widen(split_heads(decay, heads, "decay")))


def rates(beta: Array | None, shape: tuple[int, ...]) -> Array:
    """How much of what is new each token writes: [batch, heads or 1, length]."""
    batch, heads, length, _ = shape
    if beta is None or beta.shape not in ((batch, length, heads), (batch, length, 1)):
        found = None if beta is None else list(beta.shape)
        raise EvaluationError(f"beta is {found}; [{batch}, {length}, {heads} or 1] is wanted")
    return widen(beta).swapaxes(1, 2)


# --- body ------------------------------------------------------------------------------------


@op.body(27, opset=15)
def body(t: Inference) -> str:
    """A Scan over the tokens, which computes as float."""
    q_heads, heads, scale = t.integer("q_num_heads"), t.integer("kv_num_heads"), real(t, "scale")
    rule, dtype = str(t.attributes["update_rule"]), element_type(t)
    given = ["fade"] * rule.startswith("gated") + ["rate"] * rule.endswith("delta")
    scans = ["scaled", "keys", "values", *(f"{name}s" for name in given)]
    present = f"present = Cast <to = {int(element_type(t, 3) if t.has(3) else dtype)}> (state)"
    return f"""(query, key, value, past, decay, beta) => ({"y, present" if t.outputs > 1 else "y"}) {{
      last = {vector([-1])}
      second_last = {vector([-2])}
      {unpacked("query", [heads, q_heads // heads])}
      {unpacked("key", [heads])}
      {unpacked("value", [heads])}
      queries = Cast <to = 1> (query_heads)
      keys = Cast <to = 1> (key_heads)
      values = Cast <to = 1> (value_heads)
      {f"scale = {scalar(scale, DataType.FLOAT)}" if scale else ROOT_OF_SIZE}
      scaled = Mul(queries, scale)
      {unpacked("decay", [heads]) + DECAYS if "fade" in given else ""}
      {RATES if "rate" in given else ""}
      {"start = Cast <to = 1> (past)" if t.has(3) else start_text(heads)}
      state, reads = Scan <
        body = token {token_text(given)},
        num_scan_inputs = {len(scans)}, scan_input_axes = [{", ".join("1" * len(scans))}], scan_output_axes = [1]
      > (start, {", ".join(scans)})
      row_heads = {vector([q_heads])}
      row = Mul(row_heads, value_size)
      packed = Concat <axis = 0> (query_tokens, row)
      rows = Reshape <allowzero = 1> (reads, packed)
      y = Cast <to = {int(dtype)}> (rows)
      {present if t.outputs > 1 else ""}
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


def token_text(given: Sequence[str]) -> str:
    """The graph of one token: the next state, and what the query reads of it."""
    fading = "column = Unsqueeze(fade, last)  faded = Mul(before, column)"
    writing = """
          k_row = Unsqueeze(k, second_last)
          known = MatMul(k_row, faded)
          new = Sub(v_row, known)
          written = Mul(rate, new)"""
    inputs = ", ".join(f"float[] {name}" for name in ("before", "q", "k", "v", *given))
    return f"""({inputs}) => (float[] next, float[] read) {{
          {fading if "fade" in given else "faded = Identity(before)"}
          v_row = Unsqueeze(v, second_last)
          {writing if "rate" in given else "written = Identity(v_row)"}
          k_column = Unsqueeze(k, last)
          added = Mul(k_column, written)
          next = Add(faded, added)
          read = MatMul(q, next)
        }}"""
