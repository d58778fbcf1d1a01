"""Attention: scaled dot-product attention with multiple heads, masks and a key/value cache.

Spec: ai.onnx Attention-23, -24, -25.  Version 24 added nonpad_kv_seqlen, for a key/value cache that the caller updates
before the node, and pads masks that have fewer keys than K; 25 added windows.  A query without a visible key gives
zeros.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType, Value
from sardonyx._src.ir.dims import Dim, dim_add, dim_mul, exact_div
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.attention_bias import KeyVisibility, attention_bias
from sardonyx._src.ops.nn.attention_body import body, masks_every_key
from sardonyx._src.ops.nn.heads import (
    SOFTMAX_PRECISIONS,
    check_heads,
    dot_products,
    merge_heads,
    softmax,
    softmax_type,
    split_heads,
    weighted_sums,
)
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.shapes import merge_dims, merge_shapes
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator("Attention", tolerance="rounding", computes_in_float32=True)
op.body(23, 24, 25, opset=15)(body)
HEAD_COUNTS = ("q_num_heads", "kv_num_heads")
UNKNOWN_DIMS: tuple[Dim, ...] = (None, None, None, None)


# --- types -----------------------------------------------------------------------------------


@op.infer(23, 24, 25)
def infer(inference: Inference) -> Result:
    check_call(inference)
    q, k, v = (
        heads_of(inference, i, n) for i, n in ((0, "q_num_heads"), (1, "kv_num_heads"), (2, "kv_num_heads"))
    )
    past_k, past_v = heads_of(inference, 4), heads_of(inference, 5)
    batch = merge_dims(inference, [x[0] for x in (q, k, v, past_k, past_v)], "the batch sizes")
    if (lengths := inference.shape(6)) is not None:
        merge_shapes(inference, [lengths, (batch,)], "nonpad_kv_seqlen and the batch")
    heads = merge_dims(
        inference, [x[1] for x in (k, v, past_k, past_v)], "the numbers of key and value heads"
    )
    new = merge_dims(inference, [k[2], v[2]], "the lengths of K and V")
    past = merge_dims(inference, [past_k[2], past_v[2]], "the lengths of the past") if inference.has(4) else 0
    size = merge_dims(inference, [q[3], k[3], past_k[3]], "the head sizes of Q and K")
    v_size = merge_dims(inference, [v[3], past_v[3]], "the head sizes of V")
    if isinstance(q[1], int) and isinstance(heads, int) and (not heads or q[1] % heads):
        inference.fail(f"query heads must be a multiple of {heads} key heads; got {q[1]}")
    total = dim_add(past, new)
    check_mask(inference, (batch, q[1], q[2], total))
    Y: Shape | None = (batch, q[1], q[2], v_size)
    if inference.rank(0) == 3:
        Y = (batch, q[2], dim_mul(q[1], v_size))
    shapes = [
        Y if inference.rank(0) else None,
        (batch, heads, total, size),
        (batch, heads, total, v_size),
        (batch, q[1], q[2], total),
    ]
    types = zip(
        (inference.dtype(0), inference.dtype(1), inference.dtype(2), inference.dtype(0)), shapes, strict=True
    )
    return [None if dtype is None else TensorType(dtype, shape) for dtype, shape in types][
        : inference.outputs
    ]


def heads_of(inference: Inference, i: int, attribute: str = "") -> tuple[Dim, ...]:
    """Batch, heads, length and size of input i, of rank 4, or of rank 3 with the head count in an attribute."""
    shape = inference.shape(i)
    if shape is None:
        return UNKNOWN_DIMS
    if len(shape) == 4:
        return shape
    if len(shape) != 3 or not attribute:
        inference.fail(f"input {i} must have rank {'3 or 4' if attribute else '4'}; got rank {len(shape)}")
    heads = inference.attributes.get(attribute)
    if not isinstance(heads, int) or heads < 1:
        inference.fail(f"{attribute} must be >= 1 for input {i} of rank 3; got {heads}")
    hidden = shape[2]
    if isinstance(hidden, int) and hidden % heads:
        inference.fail(f"rows of input {i} must be a multiple of {heads} heads; got {hidden} elements")
    return shape[0], heads, shape[1], exact_div(hidden, heads)


def check_call(inference: Inference) -> None:
    """Raises InferenceError for inconsistent inputs, outputs and attributes."""
    mode, precision = (
        inference.integer("qk_matmul_output_mode"),
        inference.attributes.get("softmax_precision"),
    )
    if not 0 <= mode <= 3:
        inference.fail(f"qk_matmul_output_mode must be 0, 1, 2 or 3; got {mode}")
    if isinstance(precision, int) and precision not in SOFTMAX_PRECISIONS:
        inference.fail(
            f"softmax_precision must be one of {', '.join(str(int(p)) for p in SOFTMAX_PRECISIONS)}; got {precision}"
        )
    if inference.has(4) != inference.has(5):
        inference.fail("past_key and past_value must be given together; got only one of them")
    if inference.has(6) and inference.has(4):
        inference.fail("nonpad_kv_seqlen must not be used with past_key: it is for an external cache")
    if len({inference.rank(i) for i in range(3)} - {None}) > 1:
        ranks = [inference.rank(i) for i in range(3)]
        inference.fail(
            f"Q, K and V must all have rank 3 or all rank 4; got {ranks[0]}, {ranks[1]} and {ranks[2]}"
        )
    if inference.version >= 25:
        check_25(inference)


def check_25(inference: Inference) -> None:
    """Raises InferenceError for what only version 25 forbids."""
    for name in ("left_window_size", "right_window_size"):
        if inference.integer(name) < -1:
            inference.fail(f"{name} must be >= -1; got {inference.integer(name)}")
    if inference.outputs == 2:
        inference.fail("present_key and present_value must be given together; got only one of them")
    # With 4 outputs, the names of these two may be empty, as they should be here; inference sees only the number of outputs.
    if inference.has(6) and inference.outputs == 3:
        inference.fail(
            "nonpad_kv_seqlen must not be used with the output present_key: it is for an external cache"
        )
    if inference.rank(0) == 4 and not inference.attributes.keys().isdisjoint(HEAD_COUNTS):
        inference.fail(f"{' and '.join(HEAD_COUNTS)} must be omitted for inputs of rank 4")


def check_mask(inference: Inference, scores: tuple[Dim, ...]) -> None:
    """Raises InferenceError for a mask that does not broadcast to the scores.

    From version 24 on, a mask may have fewer keys: the kernel pads its last axis with -inf, and only a size that is too
    great is an error.
    """
    mask = inference.shape(3)
    if mask is None:
        return
    if len(mask) > 4:
        inference.fail(f"the mask must have rank <= 4; got rank {len(mask)}")
    for i, (size, expected) in enumerate(zip(mask[::-1], scores[::-1], strict=False)):  # from the keys on
        is_padded = i == 0 and inference.version > 23
        if not is_padded:
            inference.require_broadcast(size, expected)
        if not isinstance(size, int) or not isinstance(expected, int) or size in (1, expected):
            continue
        if not is_padded or size > expected:
            inference.fail(
                f"axis {-1 - i} of the mask must broadcast to size {expected} of the scores; got size {size}"
            )


# --- conversions -----------------------------------------------------------------------------


@op.convert((24, 25))
def to_25(adapter: Adapter) -> AdaptedNode:
    """Version 25 allows head counts only for rank 3, and no present_key and present_value with nonpad_kv_seqlen.

    Outputs that nothing reads are dropped.  If the two are read, inference of the converted node fails.
    """
    are_unread = not any(is_read(output) for output in adapter.node.outputs[1:])
    has_spare_outputs = adapter.optional(6) is not None and are_unread
    return adapter.same(
        drop=HEAD_COUNTS if adapter.rank(0) == 4 else (), outputs=1 if has_spare_outputs else None
    )


def is_read(value: Value) -> bool:
    return bool(value.uses) or value.is_graph_output


op.convert((25, 24))(keep)


@op.convert((23, 24))
def to_24(adapter: Adapter) -> AdaptedNode:
    """Expand a mask that may have fewer keys than K, as version 23 broadcasts it; version 24 would pad it with -inf."""
    mask = adapter.optional(3)
    if mask is None or adapter.inference.shape(3) == () or masks_every_key(adapter.inference):
        return adapter.same()
    axis = adapter.rank(1) - 2
    keys = adapter.Shape(adapter.input(1), start=axis, end=axis + 1)
    if (past := adapter.optional(4)) is not None:
        keys = adapter.Add(keys, adapter.Shape(past, start=2, end=3))
    inputs = list(adapter.node.inputs)
    inputs[3] = adapter.Expand(mask, keys)
    return adapter.same(inputs)


@op.convert((24, 23))
def to_23(adapter: Adapter) -> AdaptedNode:
    """Refuse a mask of fewer keys than K, which version 23 does not pad.

    Nothing is done about nonpad_kv_seqlen, an input that 23 lacks: such a node is replaced by its function body.
    """
    if (
        adapter.optional(3) is not None
        and adapter.inference.shape(3) != ()
        and not masks_every_key(adapter.inference)
    ):
        adapter.refuse("the mask must cover every key: version 23 does not pad it")
    return adapter.same()


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
    context: RunContext,
) -> tuple[Array | None, ...]:
    """Y, present_key, present_value, qk_matmul_output; shapes as in the specification."""
    q, k, v = split_qkv(Q, K, V, q_num_heads, kv_num_heads)
    past = 0 if past_key is None else past_key.shape[2]
    present_key, present_value = append_to_past(past_key, past_value, k, v)
    check_heads(q, present_key, present_value)
    if min(left_window_size, right_window_size) < -1:
        raise EvaluationError(f"window sizes must be >= -1; got {left_window_size} and {right_window_size}")
    shape = (*q.shape[:3], present_key.shape[2])
    wide = np.dtype(np.float64 if Q.dtype == np.float64 else np.float32)
    check_result_bytes(context, shape, wide, "attention scores")
    valid = validate_lengths(nonpad_kv_seqlen, shape, past_key)
    before = past if valid is None else valid - shape[2]
    visibility = KeyVisibility(before, valid, bool(is_causal), left_window_size, right_window_size)
    bias = attention_bias(attn_mask, visibility, shape, wide, pads=context.version > 23)
    scores = [dot_products(*scale_operands(promote_to_float32(q), promote_to_float32(present_key), scale))]
    scores.append(softcap * np.tanh(scores[0] / softcap) if softcap else scores[0])
    scores.append(scores[1] if bias is None else scores[1] + bias)
    weights = softmax(round_to_type(scores[2], softmax_type(softmax_precision, wide)))
    weights = zero_masked_rows(
        weights if softmax_precision is None else round_to_type(weights, Q.dtype), bias
    )
    y = round_to_type(weighted_sums(promote_to_float32(weights), promote_to_float32(present_value)), Q.dtype)
    wants_scores = len(context.requested_outputs) > 3 and context.requested_outputs[3]
    qk = (
        round_to_type(select_stage([*scores, weights], qk_matmul_output_mode), Q.dtype)
        if wants_scores
        else None
    )
    return merge_heads(y) if Q.ndim == 3 else y, present_key, present_value, qk


def zero_masked_rows(weights: Array, bias: Array | None) -> Array:
    """The weights, with zeros for queries without a visible key, for which softmax gives NaN."""
    if bias is None:
        return weights
    is_masked = (bias == -np.inf).all(axis=-1, keepdims=True)
    return np.where(is_masked, np.zeros((), weights.dtype), weights)


def split_qkv(
    Q: Array, K: Array, V: Array, q_heads: int | None, kv_heads: int | None
) -> tuple[Array, Array, Array]:
    """Q, K and V as [batch, heads, length, size]."""
    ranks = {Q.ndim, K.ndim, V.ndim}
    if ranks == {4}:
        return Q, K, V
    if ranks != {3}:
        raise EvaluationError(
            f"Q, K and V must all have rank 3 or all rank 4; got {Q.ndim}, {K.ndim} and {V.ndim}"
        )
    if q_heads is None or kv_heads is None:
        raise EvaluationError("q_num_heads and kv_num_heads must be given for Q, K and V of rank 3")
    return split_heads(Q, q_heads, "Q"), split_heads(K, kv_heads, "K"), split_heads(V, kv_heads, "V")


def append_to_past(
    past_key: Array | None, past_value: Array | None, k: Array, v: Array
) -> tuple[Array, Array]:
    """Past keys and values followed by the new ones."""
    if past_key is None and past_value is None:
        return k, v
    if past_key is None or past_value is None:
        raise EvaluationError("past_key and past_value must be given together; got only one of them")
    for past, new, what in ((past_key, k, "past_key"), (past_value, v, "past_value")):
        if past.ndim != 4 or (*past.shape[:2], past.shape[3]) != (*new.shape[:2], new.shape[3]):
            raise EvaluationError(
                f"{what} must match {list(new.shape)} except in length; got {list(past.shape)}"
            )
    return np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)


def validate_lengths(
    nonpad_kv_seqlen: Array | None, shape: tuple[int, ...], past_key: Array | None
) -> Array | None:
    if nonpad_kv_seqlen is None:
        return None
    if past_key is not None:
        raise EvaluationError("nonpad_kv_seqlen must not be used with past_key: it is for an external cache")
    batch, _, _, keys = shape
    if nonpad_kv_seqlen.shape != (batch,) or np.any((nonpad_kv_seqlen < 0) | (nonpad_kv_seqlen > keys)):
        raise EvaluationError(
            f"nonpad_kv_seqlen must be {batch} numbers in [0, {keys}]; got {nonpad_kv_seqlen.tolist()}"
        )
    return nonpad_kv_seqlen


def scale_operands(q: Array, k: Array, scale: float | None) -> tuple[Array, Array]:
    """Queries and keys, each multiplied by the root of the scale, so that their products do not overflow."""
    factor = 1 / math.sqrt(max(q.shape[3], 1)) if scale is None else scale
    root = math.sqrt(abs(factor))
    return q * root, k * math.copysign(root, factor)


def select_stage(stages: list[Array], mode: int) -> Array:
    """The output selected by qk_matmul_output_mode: 0 the products, 1 after softcap, 2 then with bias, 3 after softmax."""
    if not 0 <= mode < len(stages):
        raise EvaluationError(f"qk_matmul_output_mode must be 0, 1, 2 or 3; got {mode}")
    return stages[mode]
