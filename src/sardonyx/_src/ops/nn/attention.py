"""Attention: sums of values, weighted by how well their keys match a query.

Spec: ai.onnx Attention-23, -24, -25.  Version 24 added nonpad_kv_seqlen, for a cache that is kept outside, and pads
masks of fewer keys than there are; 25 added windows.  A query without any key that it may look at gives zeros.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_add, dim_mul, exact_div
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.limited_broadcast import is_wide
from sardonyx._src.ops.nn.attention_bias import Reach, attention_bias
from sardonyx._src.ops.nn.attention_body import body, masks_every_key
from sardonyx._src.ops.nn.heads import (
    PRECISIONS,
    check_heads,
    dot_products,
    merge_heads,
    softmax,
    softmax_type,
    split_heads,
    weighted_sums,
)
from sardonyx._src.ops.shapes import merge_dims, merge_shapes

op = Operator("Attention", tolerance="rounding")
op.body(23, 24, 25, opset=15)(body)
HEADS = ("q_num_heads", "kv_num_heads")
UNKNOWN: tuple[Dim, ...] = (None, None, None, None)


# --- types -----------------------------------------------------------------------------------


@op.infer(23, 24, 25)
def infer(t: Inference) -> Result:
    check_call(t)
    q, k, v = (heads_of(t, i, n) for i, n in ((0, "q_num_heads"), (1, "kv_num_heads"), (2, "kv_num_heads")))
    past_k, past_v = heads_of(t, 4), heads_of(t, 5)
    batch = merge_dims(t, [x[0] for x in (q, k, v, past_k, past_v)], "the batch sizes")
    if (lengths := t.shape(6)) is not None:
        merge_shapes(t, [lengths, (batch,)], "nonpad_kv_seqlen and the batch")
    heads = merge_dims(t, [x[1] for x in (k, v, past_k, past_v)], "the numbers of key and value heads")
    new = merge_dims(t, [k[2], v[2]], "the lengths of K and V")
    past = merge_dims(t, [past_k[2], past_v[2]], "the lengths of the past") if t.has(4) else 0
    size = merge_dims(t, [q[3], k[3], past_k[3]], "the head sizes of Q and K")
    v_size = merge_dims(t, [v[3], past_v[3]], "the head sizes of V")
    if isinstance(q[1], int) and isinstance(heads, int) and (not heads or q[1] % heads):
        t.fail(f"{q[1]} query heads are no multiple of {heads} key heads")
    total = dim_add(past, new)
    check_mask(t, (batch, q[1], q[2], total))
    Y: Shape | None = (batch, q[1], q[2], v_size)
    if t.rank(0) == 3:
        Y = (batch, q[2], dim_mul(q[1], v_size))
    shapes = [
        Y if t.rank(0) else None,
        (batch, heads, total, size),
        (batch, heads, total, v_size),
        (batch, q[1], q[2], total),
    ]
    types = zip((t.dtype(0), t.dtype(1), t.dtype(2), t.dtype(0)), shapes, strict=True)
    return [None if dtype is None else TensorType(dtype, shape) for dtype, shape in types][: t.outputs]


def heads_of(t: Inference, i: int, attribute: str = "") -> tuple[Dim, ...]:
    """Batch, heads, length and size of input i, of rank 4, or of rank 3 with the number of heads in an attribute."""
    shape = t.shape(i)
    if shape is None:
        return UNKNOWN
    if len(shape) == 4:
        return shape
    if len(shape) != 3 or not attribute:
        t.fail(f"input {i} has {len(shape)} axes; {'3 or 4' if attribute else '4'} are wanted")
    heads = t.attributes.get(attribute)
    if not isinstance(heads, int) or heads < 1:
        t.fail(f"input {i} has 3 axes, and {attribute} is {heads}; a positive number is wanted")
    hidden = shape[2]
    if isinstance(hidden, int) and hidden % heads:
        t.fail(f"input {i} has rows of {hidden} elements, which {heads} heads cannot share")
    return shape[0], heads, shape[1], exact_div(hidden, heads)


def check_call(t: Inference) -> None:
    """Raises InferenceError for inputs, outputs and attributes that exclude each other."""
    mode, precision = t.integer("qk_matmul_output_mode"), t.attributes.get("softmax_precision")
    if not 0 <= mode <= 3:
        t.fail(f"qk_matmul_output_mode is {mode}; 0 to 3 are wanted")
    if isinstance(precision, int) and precision not in PRECISIONS:
        t.fail(f"softmax_precision is {precision}; {', '.join(str(int(p)) for p in PRECISIONS)} are allowed")
    if t.has(4) != t.has(5):
        t.fail("past_key and past_value belong together; one of them is missing")
    if t.has(6) and t.has(4):
        t.fail("nonpad_kv_seqlen is for a cache kept outside; it cannot be used with past_key")
    if len({t.rank(i) for i in range(3)} - {None}) > 1:
        ranks = [t.rank(i) for i in range(3)]
        t.fail(f"Q, K and V have {ranks[0]}, {ranks[1]} and {ranks[2]} axes; all 3 or all 4 are wanted")
    if t.version >= 25:
        check_25(t)


def check_25(t: Inference) -> None:
    for name in ("left_window_size", "right_window_size"):
        if t.integer(name) < -1:
            t.fail(f"{name} is {t.integer(name)}; -1 or more is wanted")
    if t.outputs == 2:
        t.fail("present_key and present_value belong together; one of them is missing")
    if t.has(6) and t.outputs == 3:
        t.fail("nonpad_kv_seqlen is for a cache kept outside; there is no present_key with it")
    if t.rank(0) == 4 and not t.attributes.keys().isdisjoint(HEADS):
        t.fail(f"{' and '.join(HEADS)} are for inputs of 3 axes, and Q has 4")


def check_mask(t: Inference, scores: tuple[Dim, ...]) -> None:
    """Raises InferenceError for a mask that cannot be broadcast to the scores; from 24 on it may have fewer keys."""
    mask = t.shape(3)
    if mask is None:
        return
    if len(mask) > 4:
        t.fail(f"the mask has {len(mask)} axes; at most 4 are wanted")
    for i, (size, wanted) in enumerate(zip(mask[::-1], scores[::-1], strict=False)):
        if not isinstance(size, int) or not isinstance(wanted, int) or size in (1, wanted):
            continue
        if i > 0 or t.version == 23 or size > wanted:
            t.fail(f"the mask has {size} elements on axis {-1 - i}, where the scores have {wanted}")


# --- conversions -----------------------------------------------------------------------------


@op.convert((24, 25))
def to_25(c: Change) -> Converted:
    """Numbers of heads may be given there for inputs of three axes alone, and no present beside lengths of a cache."""
    spare = c.optional(6) is not None and not any(is_read(one) for one in c.node.outputs[1:])
    return c.same(drop=HEADS if c.rank(0) == 4 else (), outputs=1 if spare else None)


def is_read(value: Value) -> bool:
    return bool(value.uses) or value.is_graph_output


op.convert((25, 24))(lambda c: c.same())


@op.convert((23, 24))
def to_24(c: Change) -> Converted:
    """A mask that version 23 would stretch over all keys is stretched before, as 24 fills up with minus infinity."""
    mask, shape = c.optional(3), c.t.shape(3)
    if mask is None or shape == () or masks_every_key(c.t) or (shape and is_wide(shape[-1])):
        return c.same()
    at = c.rank(1) - 2
    keys = c.Shape(c.input(1), start=at, end=at + 1)
    if (past := c.optional(4)) is not None:
        keys = c.Add(keys, c.Shape(past, start=2, end=3))
    inputs = list(c.node.inputs)
    inputs[3] = c.Expand(mask, keys)
    return c.same(inputs)


@op.convert((24, 23))
def to_23(c: Change) -> Converted:
    """The body says what cannot be said with the operator: lengths of a cache, masks of fewer keys than there are."""
    if c.optional(3) is not None and c.t.shape(3) != () and not masks_every_key(c.t):
        c.refuse("a mask of fewer keys than there are is not filled up there")
    return c.same()


# --- values ----------------------------------------------------------------------------------


@op.eval(23, 24, 25)
def evaluate(
    Q: Array,
    K: Array,
    V: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    *,
    is_causal: int,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float,
    softmax_precision: int | None = None,
    call: Call,
) -> tuple[Array | None, ...]:
    """Y, present_key, present_value, qk_matmul_output; shapes as the specification tabulates them."""
    q, k, v = unpacked(Q, K, V, q_num_heads, kv_num_heads)
    past = 0 if past_key is None else past_key.shape[2]
    present_key, present_value = extended(past_key, past_value, k, v)
    check_heads(q, present_key, present_value)
    if min(left_window_size, right_window_size) < -1:
        raise EvaluationError(f"windows of {left_window_size} and {right_window_size}; -1 or more are wanted")
    shape = (*q.shape[:3], present_key.shape[2])
    wide = np.dtype(np.float64 if Q.dtype == np.float64 else np.float32)
    claim(call, shape, wide, "attention scores")
    valid = checked_lengths(nonpad_kv_seqlen, shape, past_key)
    before = past if valid is None else valid - shape[2]
    reach = Reach(before, valid, bool(is_causal), left_window_size, right_window_size)
    bias = attention_bias(attn_mask, reach, shape, wide, pads=call.version > 23)
    scores = [dot_products(*scaled(widen(q), widen(present_key), scale))]
    scores.append(softcap * np.tanh(scores[0] / softcap) if softcap else scores[0])
    scores.append(scores[1] if bias is None else scores[1] + bias)
    weights = softmax(narrow(scores[2], softmax_type(softmax_precision, wide)))
    weights = seeing(weights if softmax_precision is None else narrow(weights, Q.dtype), bias)
    y = narrow(weighted_sums(widen(weights), widen(present_value)), Q.dtype)
    wants_scores = len(call.wanted) > 3 and call.wanted[3]
    qk = narrow(picked([*scores, weights], qk_matmul_output_mode), Q.dtype) if wants_scores else None
    return merge_heads(y) if Q.ndim == 3 else y, present_key, present_value, qk


def seeing(weights: Array, bias: Array | None) -> Array:
    """The weights, but zeros where the bias lets a query look at no key, of which softmax makes NaN."""
    if bias is None:
        return weights
    blind = (bias == -np.inf).all(axis=-1, keepdims=True)
    return np.where(blind, np.zeros((), weights.dtype), weights)


def unpacked(
    Q: Array, K: Array, V: Array, q_heads: int | None, kv_heads: int | None
) -> tuple[Array, Array, Array]:
    """Q, K and V as [batch, heads, length, size]."""
    ranks = {Q.ndim, K.ndim, V.ndim}
    if ranks == {4}:
        return Q, K, V
    if ranks != {3}:
        raise EvaluationError(
            f"Q, K and V have {Q.ndim}, {K.ndim} and {V.ndim} axes; all 3 or all 4 are wanted"
        )
    if q_heads is None or kv_heads is None:
        raise EvaluationError("Q, K and V have 3 axes: q_num_heads and kv_num_heads are wanted")
    return split_heads(Q, q_heads, "Q"), split_heads(K, kv_heads, "K"), split_heads(V, kv_heads, "V")


def extended(past_key: Array | None, past_value: Array | None, k: Array, v: Array) -> tuple[Array, Array]:
    """Keys and values with those of the past in front."""
    if past_key is None and past_value is None:
        return k, v
    if past_key is None or past_value is None:
        raise EvaluationError("past_key and past_value belong together; one of them is missing")
    for past, new, what in ((past_key, k, "past_key"), (past_value, v, "past_value")):
        if past.ndim != 4 or (*past.shape[:2], past.shape[3]) != (*new.shape[:2], new.shape[3]):
            raise EvaluationError(f"{what} of shape {list(past.shape)} does not fit {list(new.shape)}")
    return np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)


def checked_lengths(
    nonpad_kv_seqlen: Array | None, shape: tuple[int, ...], past_key: Array | None
) -> Array | None:
    if nonpad_kv_seqlen is None:
        return None
    if past_key is not None:
        raise EvaluationError("nonpad_kv_seqlen is for a cache kept outside; it cannot be used with past_key")
    batch, _, _, keys = shape
    if nonpad_kv_seqlen.shape != (batch,) or np.any((nonpad_kv_seqlen < 0) | (nonpad_kv_seqlen > keys)):
        raise EvaluationError(
            f"nonpad_kv_seqlen is {nonpad_kv_seqlen.tolist()}; {batch} numbers up to {keys} are wanted"
        )
    return nonpad_kv_seqlen


def scaled(q: Array, k: Array, scale: float | None) -> tuple[Array, Array]:
    """Queries and keys, each with the root of the scale, so that their products do not overflow on the way."""
    factor = 1 / math.sqrt(max(q.shape[3], 1)) if scale is None else scale
    root = math.sqrt(abs(factor))
    return q * root, k * math.copysign(root, factor)


def picked(stages: list[Array], mode: int) -> Array:
    """What qk_matmul_output_mode asks for: products, after softcap, with bias, after softmax."""
    if not 0 <= mode < len(stages):
        raise EvaluationError(f"qk_matmul_output_mode is {mode}; 0 to 3 are wanted")
    return stages[mode]
