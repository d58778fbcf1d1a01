"""RotaryEmbedding: pairs of elements turned by an angle that depends on the token's position.

Spec: ai.onnx RotaryEmbedding-23.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, exact_div
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.body_text import END, rank_of, vector
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.heads import merge_heads, split_heads
from sardonyx._src.ops.nn.heads_text import unpacked
from sardonyx._src.ops.shapes import merge_shapes, same_tensor

op = Operator("RotaryEmbedding", tolerance="rounding")


@op.infer(23)
def infer(t: Inference) -> Result:
    x = t.shape(0)
    if x is not None:
        check_caches(t, *token_dims(t, x))
    return same_tensor(t)


def token_dims(t: Inference, x: Shape) -> tuple[Dim, Dim, Dim]:
    """The batch, the length and how many elements each head has."""
    if len(x) not in (3, 4):
        t.fail(f"input 0 has {len(x)} axes; 3 or 4 are wanted")
    if len(x) == 4:
        return x[0], x[2], x[3]
    heads = t.attributes.get("num_heads")
    if not isinstance(heads, int) or heads < 1:
        t.fail(f"input 0 has 3 axes, and num_heads is {heads}; a positive number is wanted")
    if isinstance(x[2], int) and x[2] % heads:
        t.fail(f"input 0 has rows of {x[2]} elements, which {heads} heads cannot share")
    return x[0], x[1], exact_div(x[2], heads)


def check_caches(t: Inference, batch: Dim, length: Dim, size: Dim) -> None:
    """Raises InferenceError where caches and positions do not fit heads of `size` elements."""
    turned = t.integer("rotary_embedding_dim") or size
    if isinstance(turned, int) and (turned % 2 or turned < 0 or (isinstance(size, int) and turned > size)):
        t.fail(f"{turned} of {size} elements are to be turned; an even number up to it is wanted")
    half = exact_div(turned, 2)
    rows = merge_shapes(t, [t.shape(1), t.shape(2)], "cos_cache and sin_cache")
    places = t.shape(3)
    if places is not None:
        merge_shapes(t, [places, (batch, length)], "position_ids and the tokens")
    if rows is not None:
        wanted = (rows[0], half) if t.has(3) else (batch, length, half)
        merge_shapes(t, [rows, wanted], "the caches and half of what is turned")


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
    """X, result: [batch, heads, length, size] or [batch, length, heads * size]; caches: [positions, half] with
    position_ids [batch, length], else [batch, length, half], where 2 half elements of each head are turned.
    """
    if X.ndim not in (3, 4) or (X.ndim == 3 and not num_heads):
        raise EvaluationError(
            f"X has {X.ndim} axes and num_heads is {num_heads}; 4 axes, or 3 and heads, are wanted"
        )
    x = widen(split_heads(X, num_heads or 0, "X") if X.ndim == 3 else X)
    turned = rotary_embedding_dim or x.shape[3]
    if turned % 2 or not 0 <= turned <= x.shape[3]:
        raise EvaluationError(
            f"{turned} of {x.shape[3]} elements are to be turned; an even number up to it is wanted"
        )
    shape = (x.shape[0], x.shape[2], turned // 2)
    cos, sin = (
        angles(c, position_ids, shape, w) for c, w in ((cos_cache, "cos_cache"), (sin_cache, "sin_cache"))
    )
    result = x.copy()
    pairs = (
        (slice(0, turned, 2), slice(1, turned, 2))
        if interleaved
        else (slice(turned // 2), slice(turned // 2, turned))
    )
    first, second = (x[..., pair] for pair in pairs)
    result[..., pairs[0]] = cos * first - sin * second
    result[..., pairs[1]] = sin * first + cos * second
    return narrow(merge_heads(result) if X.ndim == 3 else result, X.dtype)


def angles(cache: Array, position_ids: Array | None, shape: tuple[int, ...], what: str) -> Array:
    """The cache's rows for each token: [batch, 1, length, half]."""
    if position_ids is not None:
        if cache.ndim != 2 or np.any((position_ids < 0) | (position_ids >= len(cache))):
            raise EvaluationError(
                f"position_ids do not all point into {what}, which is of shape {list(cache.shape)}"
            )
        cache = cache[position_ids]
    if cache.shape != shape:
        raise EvaluationError(f"{what} gives angles of shape {list(cache.shape)}; {list(shape)} is wanted")
    return widen(cache)[:, None]


# --- body ------------------------------------------------------------------------------------


@op.body(23, opset=15)
def body(t: Inference) -> str:
    packed = rank_of(t) == 3  # then heads are axis 2 once they are unpacked, else axis 1
    if packed and "num_heads" not in t.attributes:
        t.fail("x has 3 axes: num_heads is wanted")
    turned = t.integer("rotary_embedding_dim")
    places = "cosine_rows = Gather(cos_cache, places)  sine_rows = Gather(sin_cache, places)"
    rows = "cosine_rows = Identity(cos_cache)  sine_rows = Identity(sin_cache)"
    return f"""(x, cos_cache, sin_cache, places) => (y) {{
      {unpacked("x", [t.integer("num_heads")]) if packed else "x_heads = Identity(x)"}
      {SLICES if turned or t.integer("interleaved") else ""}
      {f"turned = {vector([turned])}{PARTS}" if turned else "turning = Identity(x_heads)"}
      {places if t.has(3) else rows}
      axis = {vector([2 if packed else 1])}
      cosines = Unsqueeze(cosine_rows, axis)
      sines = Unsqueeze(sine_rows, axis)
      {NEIGHBOURS if t.integer("interleaved") else HALVES}
      {"whole = Concat <axis = 3> (pairs, kept)" if turned else "whole = Identity(pairs)"}
      shape = Shape(x)
      y = Reshape <allowzero = 1> (whole, shape)
    }}"""


SLICES = f"""
      zero = {vector([0])}
      end = {vector([END])}
      last = {vector([3])}"""
PARTS = """
      turning = Slice(x_heads, zero, turned, last)
      kept = Slice(x_heads, turned, end, last)"""
TURNS = """
      near = Mul(cosines, first)
      far = Mul(sines, second)
      real = Sub(near, far)
      side = Mul(sines, first)
      ahead = Mul(cosines, second)
      imaginary = Add(side, ahead)"""
HALVES = f"""first, second = Split <axis = 3> (turning){TURNS}
      pairs = Concat <axis = 3> (real, imaginary)"""
NEIGHBOURS = f"""
      one = {vector([1])}
      two = {vector([2])}
      first = Slice(turning, zero, end, last, two)
      second = Slice(turning, one, end, last, two){TURNS}
      deeper = {vector([4])}
      reals = Unsqueeze(real, deeper)
      imaginaries = Unsqueeze(imaginary, deeper)
      beside = Concat <axis = 4> (reals, imaginaries)
      turning_shape = Shape(turning)
      pairs = Reshape <allowzero = 1> (beside, turning_shape)"""
