"""Attention in float32: one attention step over heads as strided views [B, H, S, D] of the projections.

Present keys and values are the past ones followed by the new ones, written directly to the outputs.  Causality and window
sizes become bounds of the keys of each query.  Falls back for `softmax_precision` other than float32, dynamic head sizes,
and masks that do not broadcast to the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sardonyx._src.compile.kernels.attention.attention import MASK_TYPES, attention_steps
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.layouts.views import reshape_view
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.views import slice_axis
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.graph_info import MAX_ELEMENTS
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, dim_min, known_equal, known_ge
from sardonyx._src.ir.graph import Value

SWAP_HEADS_AND_TOKENS = (0, 2, 1, 3)  # [B, H, S, D] to [B, S, H, D] and back
Q, K, V, MASK, PAST_K, PAST_V, LENGTHS = range(7)
SCORES_OUTPUT = 3  # index of the output


@lowers("Attention", 25)
def lower_attention(op: BoundNode, lowering: Lowering) -> bool:
    """Lowers Attention with float32 queries, keys and values."""
    if not has_native_inputs(op, lowering):
        return False
    inputs = [(Q, "q_num_heads"), (K, "kv_num_heads"), (V, "kv_num_heads"), (PAST_K, ""), (PAST_V, "")]
    q, k, v, past_k, past_v = (as_heads(op, lowering, op.input(i), name) for i, name in inputs)
    if (
        q is None
        or k is None
        or v is None
        or (past_k is None) != (past_v is None)
        or not are_matching_heads(lowering, q, k, v)
    ):
        return False
    past: Known = 0
    if past_k is not None and past_v is not None:
        past = past_k.shape[2]
        if not (
            is_matching_past(lowering, past_k, k)
            and is_matching_past(lowering, past_v, v)
            and lowering.guard_equal(past, past_v.shape[2])
        ):
            return False
    total = past + k.shape[2]
    lengths = op.input(LENGTHS)
    if lengths is not None and not lowering.guard_equal(lowering.known_shape(lengths)[0], q.shape[0]):
        return False
    mask = attention_mask(lowering, op.input(MASK), (*q.shape[:3], total))
    if mask is None or not has_supported_scores(op, lowering, mask, (*q.shape[:3], total)):
        return False
    k, v = (
        append_past(op, lowering, i, earlier, new) for i, earlier, new in ((1, past_k, k), (2, past_v, v))
    )
    bounds = key_bounds(op, past, q.shape[2], mask.keys, has_lengths=lengths is not None)
    lowering.emit(
        *attention_steps(
            q,
            slice_axis(k, 2, 0, bounds.keys),
            slice_axis(v, 2, 0, bounds.keys),
            allocate_output(op, lowering, q, v),
            scale=attention_scale(op, q),
            mask=None
            if mask.tensor is None
            else slice_axis(mask.tensor, 3, 0, dim_min(mask.tensor.shape[3], bounds.keys)),
            causal_offset=bounds.causal_offset,
            window_offset=bounds.window_offset,
            lengths=None if lengths is None else lowering.dense(lengths),
            max_length=total,
            status=lowering.status,
            softcap=op.attribute("softcap", float),
            zero_masked_rows=True,
            scores=lowering.allocate_result(op.node.outputs[SCORES_OUTPUT])
            if op.is_output_used(SCORES_OUTPUT)
            else None,
            stage=op.attribute("qk_matmul_output_mode", int),
        )
    )
    return True


def has_supported_scores(
    op: BoundNode, lowering: Lowering, mask: AttentionMask, shape: tuple[Known, ...]
) -> bool:
    """Whether the scores output is unused, or its shape and the layout of the mask are supported."""
    if not op.is_output_used(SCORES_OUTPUT):
        return True
    dims = lowering.shape(op.node.outputs[SCORES_OUTPUT])
    if dims is None or len(dims) != 4 or not all(map(lowering.guard_equal, dims, shape)):
        return False
    return mask.tensor is None or mask.tensor.strides[3] == 1


def has_native_inputs(op: BoundNode, lowering: Lowering) -> bool:
    """Whether all inputs are native, with supported element types."""
    if lowering.shape(op.output) is None or op.attributes.get("softmax_precision") not in (
        None,
        DataType.FLOAT,
    ):
        return False
    present = [(i, value) for i, value in enumerate(op.node.inputs) if value is not None]
    if not all(lowering.is_native(value) for _, value in present):
        return False
    return all(lowering.dtype_of(value) in allowed_dtypes(i) for i, value in present)


def allowed_dtypes(index: int) -> tuple[DataType, ...]:
    """The supported element types of an input."""
    if index == MASK:
        return tuple(MASK_TYPES)
    return (DataType.INT64,) if index == LENGTHS else (DataType.FLOAT,)


def attention_scale(op: BoundNode, q: TensorView) -> float:
    """The factor of the scores: 1 / sqrt(head size) by default."""
    scale, depth = op.optional("scale"), q.shape[3]
    assert isinstance(depth, int), "head sizes are constant"
    return float(scale) if isinstance(scale, float) else 1 / math.sqrt(max(depth, 1))


# --- keys of a query ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """The keys that queries attend to.

    keys: the number of keys that any query attends to.  causal_offset, window_offset: query s
    attends to keys from s + window_offset up to, but not including, s + causal_offset; None for no such bound.
    """

    keys: Known
    causal_offset: Known | None
    window_offset: Known | None


def key_bounds(op: BoundNode, past: Known, queries: Known, keys: Known, *, has_lengths: bool) -> KeyBounds:
    """The bounds by causality and window sizes; relative to the end of each sequence if lengths are passed."""
    left, right = (
        min(int(window), MAX_ELEMENTS) if isinstance(window := op.optional(name), int) else -1
        for name in ("left_window_size", "right_window_size")
    )
    if op.attribute("is_causal", int):
        right = 0
    first_position = -queries if has_lengths else past  # position of the first query
    causal_offset = first_position + (right + 1) if right >= 0 else None
    window_offset = first_position - left if left >= 0 else None
    if causal_offset is not None and queries == 1:
        return KeyBounds(keys if has_lengths else dim_min(keys, causal_offset), None, window_offset)
    return KeyBounds(keys, causal_offset, window_offset)


@dataclass(frozen=True, slots=True)
class AttentionMask:
    """A mask [B, H, S, T], broadcast by strides of 0, or None; and the number of keys that it covers."""

    tensor: TensorView | None
    keys: Known


def attention_mask(
    lowering: Lowering, value: Value | None, scores: tuple[Known, ...]
) -> AttentionMask | None:
    """The mask of scores [B, H, S, T], which hides keys past its last one; None if it does not broadcast."""
    total = scores[3]
    if value is None:
        return AttentionMask(None, total)
    shape = lowering.known_shape(value)
    if len(shape) > 4:
        return None
    outer = zip(reversed(shape[:-1]), reversed(scores[:3]), strict=False)
    if not all(lowering.guard_broadcast(size, dim) for size, dim in outer):
        return None
    keys = count_masked_keys(lowering, shape[-1], total) if shape else total
    if keys is None:
        return None
    source = lowering.any_layout(value)
    layouts = [layout for layout in lowering.tensors[value] if not layout.shape or layout.strides[-1] == 1]
    return AttentionMask(
        broadcast_mask(
            layouts[0] if layouts else lowering.dense(value) if source.rank else source, scores, keys
        ),
        keys,
    )


def count_masked_keys(lowering: Lowering, size: Known, total: Known) -> Known | None:
    """The number of keys that a mask covers; None if that is known to exceed the number of keys."""
    if known_equal(size, total) or known_ge(total, size):
        return size
    if size == 1:
        return dim_min(size, total)
    if isinstance(size, int) and isinstance(total, int):
        return None
    lowering.guards[dim_min(size, total), size] = None
    return size


def broadcast_mask(mask: TensorView, scores: tuple[Known, ...], keys: Known) -> TensorView:
    """A mask broadcast to the rank of the scores; a dim that may be 1 at run time gets a stride that is 0 in that case."""
    leading = 4 - mask.rank
    strides: list[Known] = [0] * leading
    for size, stride, dim in zip(mask.shape[:-1], mask.strides, scores[leading:], strict=False):
        strides.append(0 if size == 1 else stride if size == dim else stride * dim_min(1, size - 1))
    if mask.rank:
        strides.append(1)
    shape = tuple(1 if s == 0 else dim for s, dim in zip(strides, (*scores[:3], keys), strict=True))
    return TensorView(mask.dtype, shape, tuple(strides), mask.buffer, mask.offset)


# --- heads -------------------------------------------------------------------------------------


def as_heads(
    op: BoundNode, lowering: Lowering, value: Value | None, heads_attribute: str
) -> TensorView | None:
    """A value [B, H, S, D] or [B, S, H * D] as [B, H, S, D] with contiguous rows; None if it is neither."""
    shape = () if value is None else lowering.known_shape(value)
    if value is not None and len(shape) == 4:
        lowering.any_layout(value)
        return next(
            (layout for layout in lowering.tensors[value] if layout.strides[3] == 1), None
        ) or lowering.dense(value)
    num_heads = op.attributes.get(heads_attribute)
    if value is None or len(shape) != 3 or not isinstance(num_heads, int) or num_heads < 1:
        return None
    head_size = shape[2] // num_heads
    if not known_equal(head_size * num_heads, shape[2]):
        return None
    view = reshape_view(lowering.dense_rows(value), (shape[0], shape[1], num_heads, head_size))
    return None if view is None else view.permute(SWAP_HEADS_AND_TOKENS)


def are_matching_heads(lowering: Lowering, q: TensorView, k: TensorView, v: TensorView) -> bool:
    """Whether the dims of queries, keys and values match (guarded), with constant head counts and sizes."""
    (batch, queries_heads, _, depth), group = q.shape, k.shape[1]
    equal_dims: list[tuple[Known, Known]] = [(batch, k.shape[0]), (batch, v.shape[0]), (depth, k.shape[3])]
    equal_dims += [(group, v.shape[1]), (k.shape[2], v.shape[2])]
    if not all(lowering.guard_equal(a, b) for a, b in equal_dims):
        return False
    if not (isinstance(depth, int) and isinstance(group, int) and isinstance(queries_heads, int)):
        return False
    return group > 0 and queries_heads % group == 0


def is_matching_past(lowering: Lowering, past: TensorView, new: TensorView) -> bool:
    """Whether past keys or values match the new ones in all dims except the number of keys; guarded."""
    return all(lowering.guard_equal(past.shape[d], new.shape[d]) for d in (0, 1, 3))


def append_past(
    op: BoundNode, lowering: Lowering, index: int, past: TensorView | None, new: TensorView
) -> TensorView:
    """The past and the new keys or values, in the present output if it is used."""
    output = op.node.outputs[index] if op.is_output_used(index) else None
    if past is None:
        if output is not None:
            lowering.bind(output, new)
        return new
    earlier = past.shape[2]
    shape = (*new.shape[:2], earlier + new.shape[2], new.shape[3])
    name = op.output.name
    output_tensor = (
        lowering.temporary(new.dtype, shape, name) if output is None else lowering.allocate_result(output)
    )
    lowering.emit(
        copy_step(past, slice_axis(output_tensor, 2, 0, earlier)),
        copy_step(new, slice_axis(output_tensor, 2, earlier, new.shape[2])),
    )
    return output_tensor


def allocate_output(op: BoundNode, lowering: Lowering, q: TensorView, v: TensorView) -> TensorView:
    """The tensor of the result; [B, S, H, D] in memory if the consumer is a Transpose, which then needs no copy."""
    shape = (q.shape[0], q.shape[1], q.shape[2], v.shape[3])
    if len(lowering.known_shape(op.output)) == 3:
        tensor = lowering.allocate_result(op.output)
        view = reshape_view(tensor, (shape[0], shape[2], shape[1], shape[3]))
        assert view is not None, "a dense tensor can be reshaped"
        return view.permute(SWAP_HEADS_AND_TOKENS)
    consumer = lowering.sole_consumer(op.output)
    if consumer is None or consumer.op_type != "Transpose":
        return lowering.allocate_result(op.output)
    permuted = tuple(shape[i] for i in SWAP_HEADS_AND_TOKENS)
    tensor = lowering.temporary(DataType.FLOAT, permuted, op.output.name).permute(SWAP_HEADS_AND_TOKENS)
    lowering.bind(op.output, tensor)
    return tensor
