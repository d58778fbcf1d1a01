"""RotaryEmbedding: pairs of elements rotated by an angle that depends on the token's position.

Spec: ai.onnx RotaryEmbedding-23.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape
from sardonyx._src.ir.dims import Dim, exact_div
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.heads import merge_heads, split_heads
from sardonyx._src.ops.nn.heads_text import split_heads_text
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.body_text import SLICE_END, rank_of, vector
from sardonyx._src.ops.support.shapes import merge_shapes, same_tensor

op = Operator("RotaryEmbedding", tolerance="rounding", computes_in_float32=True)


@op.infer(23)
def infer(inference: Inference) -> Result:
    x = inference.shape(0)
    if x is not None:
        check_caches(inference, *token_dims(inference, x))
    return same_tensor(inference)


def token_dims(inference: Inference, x: Shape) -> tuple[Dim, Dim, Dim]:
    """The batch, the length and the head size."""
    if len(x) not in (3, 4):
        inference.fail(f"input 0 must have rank 3 or 4; got rank {len(x)}")
    if len(x) == 4:
        return x[0], x[2], x[3]
    heads = inference.attributes.get("num_heads")
    if not isinstance(heads, int) or heads < 1:
        inference.fail(f"num_heads must be >= 1 for input 0 of rank 3; got {heads}")
    if isinstance(x[2], int) and x[2] % heads:
        inference.fail(f"rows of input 0 must be a multiple of {heads} heads; got {x[2]} elements")
    return x[0], x[1], exact_div(x[2], heads)


def check_caches(inference: Inference, batch: Dim, length: Dim, size: Dim) -> None:
    """Raises InferenceError where the shapes of caches and positions do not match heads of `size` elements."""
    rotated = inference.integer("rotary_embedding_dim") or size
    if isinstance(rotated, int) and (
        rotated % 2 or rotated < 0 or (isinstance(size, int) and rotated > size)
    ):
        inference.fail(f"rotary_embedding_dim must be even and in [0, {size}], the head size; got {rotated}")
    half = exact_div(rotated, 2)
    rows = merge_shapes(inference, [inference.shape(1), inference.shape(2)], "cos_cache and sin_cache")
    positions = inference.shape(3)
    if positions is not None:
        merge_shapes(inference, [positions, (batch, length)], "position_ids and the tokens")
    if rows is not None:
        expected = (rows[0], half) if inference.has(3) else (batch, length, half)
        merge_shapes(inference, [rows, expected], "the caches and half the rotated elements")


@op.eval(23)
def evaluate(
    X: Array,
    cos_cache: Array,
    sin_cache: Array,
    position_ids: Array | None = None,
    *,
    interleaved: int,
    num_heads: int | None = None,
    rotary_embedding_dim: int,
) -> Array:
    """X, result: [batch, heads, length, size] or [batch, length, heads * size].

    The first 2 * half elements of each head are rotated.  The caches are [positions, half] if position_ids, [batch,
    length], select their rows, else [batch, length, half].
    """
    if X.ndim not in (3, 4) or (X.ndim == 3 and not num_heads):
        raise EvaluationError(
            f"X must have rank 4, or rank 3 with num_heads; got rank {X.ndim} and num_heads {num_heads}"
        )
    x = promote_to_float32(split_heads(X, num_heads or 0, "X") if X.ndim == 3 else X)
    rotated = rotary_embedding_dim or x.shape[3]
    if rotated % 2 or not 0 <= rotated <= x.shape[3]:
        raise EvaluationError(
            f"rotary_embedding_dim must be even and in [0, {x.shape[3]}], the head size; got {rotated}"
        )
    shape = (x.shape[0], x.shape[2], rotated // 2)
    cos, sin = (
        angles(c, position_ids, shape, w) for c, w in ((cos_cache, "cos_cache"), (sin_cache, "sin_cache"))
    )
    result = x.copy()
    pairs = (
        (slice(0, rotated, 2), slice(1, rotated, 2))
        if interleaved
        else (slice(rotated // 2), slice(rotated // 2, rotated))
    )
    first, second = (x[..., pair] for pair in pairs)
    result[..., pairs[0]] = cos * first - sin * second
    result[..., pairs[1]] = sin * first + cos * second
    return round_to_type(merge_heads(result) if X.ndim == 3 else result, X.dtype)


def angles(cache: Array, position_ids: Array | None, shape: tuple[int, ...], what: str) -> Array:
    """The cache's rows for each token: [batch, 1, length, half]."""
    if position_ids is not None:
        if cache.ndim != 2 or np.any((position_ids < 0) | (position_ids >= len(cache))):
            raise EvaluationError(
                f"position_ids must be rows of {what} of rank 2; its shape is {list(cache.shape)}"
            )
        cache = cache[position_ids]
    if cache.shape != shape:
        raise EvaluationError(f"{what} must give angles of shape {list(shape)}; got {list(cache.shape)}")
    return promote_to_float32(cache)[:, None]


# --- body ------------------------------------------------------------------------------------


@op.body(23, opset=15)
def body(inference: Inference) -> str:
    packed = (
        rank_of(inference) == 3
    )  # X of rank 3: splitting it makes the heads axis 2; in rank 4 they are axis 1
    if packed and "num_heads" not in inference.attributes:
        inference.fail("num_heads must be given for X of rank 3")
    rotated = inference.integer("rotary_embedding_dim")
    positions = "cosine_rows = Gather(cos_cache, places)  sine_rows = Gather(sin_cache, places)"
    rows = "cosine_rows = Identity(cos_cache)  sine_rows = Identity(sin_cache)"
    return f"""(x, cos_cache, sin_cache, places) => (y) {{
      {split_heads_text("x", [inference.integer("num_heads")]) if packed else "x_heads = Identity(x)"}
      {SLICE_CONSTANTS_TEXT if rotated or inference.integer("interleaved") else ""}
      {f"turned = {vector([rotated])}{SPLIT_ROTATED_TEXT}" if rotated else "turning = Identity(x_heads)"}
      {positions if inference.has(3) else rows}
      axis = {vector([2 if packed else 1])}
      cosines = Unsqueeze(cosine_rows, axis)
      sines = Unsqueeze(sine_rows, axis)
      {INTERLEAVED_PAIRS_TEXT if inference.integer("interleaved") else SPLIT_PAIRS_TEXT}
      {"whole = Concat <axis = 3> (pairs, kept)" if rotated else "whole = Identity(pairs)"}
      shape = Shape(x)
      y = Reshape <allowzero = 1> (whole, shape)
    }}"""


SLICE_CONSTANTS_TEXT = f"""
      zero = {vector([0])}
      end = {vector([SLICE_END])}
      last = {vector([3])}"""
SPLIT_ROTATED_TEXT = """
      turning = Slice(x_heads, zero, turned, last)
      kept = Slice(x_heads, turned, end, last)"""
ROTATION_TEXT = """
      near = Mul(cosines, first)
      far = Mul(sines, second)
      real = Sub(near, far)
      side = Mul(sines, first)
      ahead = Mul(cosines, second)
      imaginary = Add(side, ahead)"""
SPLIT_PAIRS_TEXT = f"""first, second = Split <axis = 3> (turning){ROTATION_TEXT}
      pairs = Concat <axis = 3> (real, imaginary)"""
INTERLEAVED_PAIRS_TEXT = f"""
      one = {vector([1])}
      two = {vector([2])}
      first = Slice(turning, zero, end, last, two)
      second = Slice(turning, one, end, last, two){ROTATION_TEXT}
      deeper = {vector([4])}
      reals = Unsqueeze(real, deeper)
      imaginaries = Unsqueeze(imaginary, deeper)
      beside = Concat <axis = 4> (reals, imaginaries)
      turning_shape = Shape(turning)
      pairs = Reshape <allowzero = 1> (beside, turning_shape)"""
