"""Attention in float32: one attention step over heads as strided views [B, H, S, D] of the projections.

The past and the new keys and values are written one after the other into the outputs `present_key` and
`present_value`.  Causality and window sizes become bounds of the keys of each query.  Falls back to the reference
kernel for a `softmax_precision` other than float32, dynamic head sizes, and masks that do not broadcast to the
scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.compile.kernels.attention.attention import MASK_TYPES, attention_steps
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Alias, Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.partition.operands.attention_operands import (
    Heads,
    as_heads,
    broadcast_mask,
    match_heads,
    match_mask,
    read_mask,
    write_heads,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.graph_info import MAX_ELEMENTS
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, dim_min

Q, K, V, MASK, PAST_K, PAST_V, LENGTHS = range(7)
INPUT_NAMES = ("q", "k", "v", "mask", "past_k", "past_v", "lengths")
SCORES_OUTPUT = 3  # the index of `qk_matmul_output`


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """The keys that queries attend to.

    keys: the number of keys that any query attends to.
    causal_offset: query s attends to keys before s + causal_offset; None for no such bound.
    window_offset: query s attends to keys from s + window_offset on; None for no such bound.
    """

    keys: Known
    causal_offset: Known | None
    window_offset: Known | None


@dataclass(frozen=True, slots=True)
class Attention:
    """The parameters of an Attention node.

    operands: the names (`INPUT_NAMES`) of the operands that the region reads, in order.
    results: the names of the results that the region writes, in order: "y", "present_k", "present_v", "scores".
    shapes: the dims [B, H, S, D] of the queries, of the keys with the past, and of the values with the past.
    mask_keys: the number of keys that the mask covers.
    bounds: the keys that each query attends to.
    stage: which scores the scores output receives (`qk_matmul_output_mode`).
    """

    operands: tuple[str, ...]
    results: tuple[str, ...]
    shapes: tuple[Shape, Shape, Shape]
    mask_keys: Known
    bounds: KeyBounds
    scale: float
    softcap: float
    stage: int


@matches("Attention", 25)
def match_attention(op: BoundNode, scope: Scope) -> Region[Attention] | None:
    """Attention with float32 queries, keys and values."""
    if not has_native_inputs(op, scope):
        return None
    heads = matched_heads(op, scope)
    if heads is None:
        return None
    q, k, v, past_k = (heads.get(i) for i in (Q, K, V, PAST_K))
    assert q is not None and k is not None and v is not None, "matched heads have queries, keys and values"
    past: Known = 0 if past_k is None else past_k.shape[2]
    scores = (*q.shape[:3], past + k.shape[2])
    mask, lengths = op.input(MASK), op.input(LENGTHS)
    mask_keys = scores[3] if mask is None else match_mask(scope, mask, scores)
    if mask_keys is None or not has_supported_scores(op, scope, scores):
        return None
    if lengths is not None and not scope.guard_equal(scope.known_shape(lengths)[0], q.shape[0]):
        return None
    reads = {i: part.read for i, part in heads.items()}
    if mask is not None:
        reads[MASK] = read_mask(mask)
    if lengths is not None:
        reads[LENGTHS] = Read(lengths)
    writes, aliases = match_outputs(op, scope, k, v, has_past=past_k is not None)
    totals = tuple((*part.shape[:2], scores[3], part.shape[3]) for part in (k, v))
    config = Attention(
        tuple(INPUT_NAMES[i] for i in reads),
        tuple(writes),
        (q.shape, totals[0], totals[1]),
        mask_keys,
        key_bounds(op, past, q.shape[2], mask_keys, has_lengths=lengths is not None),
        attention_scale(op, q),
        op.attribute("softcap", float),
        op.attribute("qk_matmul_output_mode", int),
    )
    return Region("Attention", (op.node,), config, tuple(reads.values()), tuple(writes.values()), aliases)


def has_native_inputs(op: BoundNode, scope: Scope) -> bool:
    """Whether all inputs are native, with supported element types."""
    if scope.shape(op.output) is None or op.attributes.get("softmax_precision") not in (None, DataType.FLOAT):
        return False
    present = [(i, value) for i, value in enumerate(op.node.inputs) if value is not None]
    if not all(scope.is_native(value) for _, value in present):
        return False
    return all(scope.dtype_of(value) in allowed_dtypes(i) for i, value in present)


def allowed_dtypes(index: int) -> tuple[DataType, ...]:
    """The supported element types of an input."""
    if index == MASK:
        return tuple(MASK_TYPES)
    return (DataType.INT64,) if index == LENGTHS else (DataType.FLOAT,)


def matched_heads(op: BoundNode, scope: Scope) -> dict[int, Heads] | None:
    """The heads of queries, keys, values, and past keys and values, by input; None if their dims do not match (guarded)."""
    names = {Q: "q_num_heads", K: "kv_num_heads", V: "kv_num_heads", PAST_K: "", PAST_V: ""}
    present = [i for i in names if op.input(i) is not None]
    heads = {
        i: part
        for i in present
        if (part := match_heads(scope, op.input(i), op.attributes.get(names[i]))) is not None
    }
    if len(heads) < len(present) or not {Q, K, V} <= heads.keys() or (PAST_K in heads) != (PAST_V in heads):
        return None
    if not are_matching_heads(scope, heads[Q].shape, heads[K].shape, heads[V].shape):
        return None
    if PAST_K in heads:
        pairs = [
            (heads[past].shape[d], heads[new].shape[d])
            for past, new in ((PAST_K, K), (PAST_V, V))
            for d in (0, 1, 3)
        ]
        pairs.append((heads[PAST_K].shape[2], heads[PAST_V].shape[2]))
        if not all(scope.guard_equal(a, b) for a, b in pairs):
            return None
    return heads


def are_matching_heads(scope: Scope, q: Shape, k: Shape, v: Shape) -> bool:
    """Whether the dims of queries, keys and values match (guarded), with constant head counts and sizes."""
    (batch, queries_heads, _, depth), group = q, k[1]
    equal_dims: list[tuple[Known, Known]] = [(batch, k[0]), (batch, v[0]), (depth, k[3])]
    equal_dims += [(group, v[1]), (k[2], v[2])]
    if not all(scope.guard_equal(a, b) for a, b in equal_dims):
        return False
    if not (isinstance(depth, int) and isinstance(group, int) and isinstance(queries_heads, int)):
        return False
    return group > 0 and queries_heads % group == 0


def has_supported_scores(op: BoundNode, scope: Scope, shape: Shape) -> bool:
    """Whether the scores output is unused, or its shape and the rows of the mask are supported."""
    if not op.is_output_used(SCORES_OUTPUT):
        return True
    dims, mask = scope.shape(op.node.outputs[SCORES_OUTPUT]), op.input(MASK)
    if dims is None or len(dims) != 4 or not all(map(scope.guard_equal, dims, shape)):
        return False
    return mask is None or len(scope.known_shape(mask)) > 0


def attention_scale(op: BoundNode, q: Heads) -> float:
    """The factor of the scores: 1 / sqrt(head size) by default."""
    scale, depth = op.optional("scale"), q.shape[3]
    assert isinstance(depth, int), "head sizes are constant"
    return float(scale) if isinstance(scale, float) else 1 / math.sqrt(max(depth, 1))


def match_outputs(
    op: BoundNode, scope: Scope, k: Heads, v: Heads, *, has_past: bool
) -> tuple[dict[str, Write], tuple[Alias, ...]]:
    """The results that kernels write, by name; and, without a past, present keys and values as views of the new ones."""
    writes, aliases = {"y": write_heads(scope, op.output)}, []
    for index, name, new in ((1, "present_k", k), (2, "present_v", v)):
        if op.is_output_used(index):
            output = op.node.outputs[index]
            if has_past:
                writes[name] = Write(output)
            else:
                aliases.append(Alias(output, new.value, new.view))
    if op.is_output_used(SCORES_OUTPUT):
        writes["scores"] = Write(op.node.outputs[SCORES_OUTPUT])
    return writes, tuple(aliases)


def key_bounds(op: BoundNode, past: Known, queries: Known, keys: Known, *, has_lengths: bool) -> KeyBounds:
    """The bounds by causality and window sizes; relative to the end of each sequence if there are lengths."""
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


@lowers("Attention")
def lower_attention(region: LaidOutRegion[Attention], lowering: Lowering) -> Sequence[Step]:
    config, bounds = region.config, region.config.bounds
    operands = dict(zip(config.operands, region.operands, strict=True))
    results = dict(zip(config.results, region.results, strict=True))
    q_shape, k_shape, v_shape = config.shapes
    q = as_heads(operands["q"], q_shape)
    k, k_steps = append_past(region, lowering, operands, results, "k", k_shape)
    v, v_steps = append_past(region, lowering, operands, results, "v", v_shape)
    mask = operands.get("mask")
    if mask is not None:
        mask = broadcast_mask(mask, (*q_shape[:3], k_shape[2]), config.mask_keys)
        mask = slice_axis(mask, 3, 0, dim_min(mask.shape[3], bounds.keys))
    y = as_heads(results["y"], (*q_shape[:3], v_shape[3]))
    steps = attention_steps(
        q,
        slice_axis(k, 2, 0, bounds.keys),
        slice_axis(v, 2, 0, bounds.keys),
        y,
        scale=config.scale,
        mask=mask,
        causal_offset=bounds.causal_offset,
        window_offset=bounds.window_offset,
        lengths=operands.get("lengths"),
        max_length=k_shape[2],
        status=lowering.status,
        softcap=config.softcap,
        zero_masked_rows=True,
        scores=results.get("scores"),
        stage=config.stage,
    )
    return *k_steps, *v_steps, *steps


def append_past(
    region: LaidOutRegion[Attention],
    lowering: Lowering,
    operands: dict[str, TensorView],
    results: dict[str, TensorView],
    name: str,
    total: Shape,
) -> tuple[TensorView, tuple[Step, ...]]:
    """The past followed by the new keys or values, in the present output if it is used, and the steps that copy them there."""
    past, new = operands.get(f"past_{name}"), operands[name]
    if past is None:
        return as_heads(new, total), ()
    earlier = past.shape[2]
    new = as_heads(new, (*total[:2], total[2] - earlier, total[3]))
    present = results.get(f"present_{name}")
    if present is None:
        present = lowering.temporary(new.dtype, total, region.name)
    return present, (
        copy_step(past, slice_axis(present, 2, 0, earlier)),
        copy_step(new, slice_axis(present, 2, earlier, new.shape[2])),
    )
