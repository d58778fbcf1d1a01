"""Steps for attention, y = softmax(scale * q * k' + mask) * v, without a matrix of scores in memory.

The fused kernel (`kernel`) does all of it; with split-KV, a second step combines partial results (`split_kv`); a third
one writes the scores if they are an output (`scores`).
"""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import partial
from typing import Literal

from sardonyx._src.compile.kernels.attention.attention_emitter import (
    ALIGNED_FLOATS,
    DECODE_UNIT_QUERIES,
    KEY_BLOCK,
    PARTIAL_HEADER_FLOATS,
    QUERY_BLOCK,
)
from sardonyx._src.compile.kernels.attention.decode_products import DECODE_KEY_BLOCK
from sardonyx._src.compile.kernels.attention.kernel import attention_source
from sardonyx._src.compile.kernels.attention.scores import SCALED_SCORES, scores_source
from sardonyx._src.compile.kernels.attention.split_kv import FLOAT_BYTES, reduce_splits_step
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant
from sardonyx._src.compile.kernels.attention.work_partitioning import AttentionPartition, partition_heads
from sardonyx._src.compile.kernels.gemm.axes import broadcast_stride
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView, dense_bytes, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_min, dim_product

MASK_TYPES: dict[DataType, Literal["float", "bool"]] = {DataType.FLOAT: "float", DataType.BOOL: "bool"}


def attention_steps(
    q: TensorView,
    k: TensorView,
    v: TensorView,
    y: TensorView,
    *,
    scale: float,
    mask: TensorView | None = None,
    causal_offset: Known | None = None,
    window_offset: Known | None = None,
    lengths: TensorView | None = None,
    max_length: Known = 0,
    status: TensorView | None = None,
    softcap: float = 0.0,
    zero_masked_rows: bool = False,
    scores: TensorView | None = None,
    stage: int = SCALED_SCORES,
) -> tuple[Step, ...]:
    """The steps for q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], y [B, H, S, E]; H is a multiple of G.

    Any strides, but rows of q and y are contiguous.
    mask: float, added to scores, or bool, false for hidden keys; broadcasts to [B, H, S, T]; its rows are contiguous
    unless all queries share one.
    causal_offset, window_offset: query s attends to keys from s + window_offset up to, not including, s + causal_offset.
    lengths: int64 [B], dense; the number of valid keys of each batch, to which both offsets are then relative.  A length
    outside of 0..max_length is reported in `status`.
    softcap: if not 0, scores become softcap * tanh(score / softcap).
    zero_masked_rows: whether a query whose keys are all masked yields zeros.  Otherwise it yields NaN, as does any query
    whose scores are all -inf; without any keys the result is 0.  Values that no query of a panel attends to are not read.
    scores: [B, H, S, max_length], receives the scores in a stage of `scores`; k then has max_length keys.
    """
    for tensor in (q, y):
        assert tensor.strides[-1] == 1 or tensor.shape[-1] == 1, f"rows must be contiguous; got {tensor}"
    variant = AttentionVariant(
        "" if mask is None else MASK_TYPES[mask.dtype],
        causal_offset is not None,
        window_offset is not None,
        lengths is not None,
        softcap != 0.0,
    )
    variant = replace(variant, zero_masked_rows=zero_masked_rows and variant.can_mask_rows)
    kernel = Kernel(variant.key, partial(attention_source, variant=variant))
    batch, heads, queries, depth = q.shape
    keys, width = k.shape[2], v.shape[3]
    length_tensors = () if lengths is None or status is None else (lengths, status)
    assert len(length_tensors) == 2 or lengths is None, "a step with lengths must have a status; got None"
    strides_of_mask = () if mask is None else mask_strides(mask, keys)
    partition = partition_heads(q, k, v, has_dense_mask_rows=mask is None or strides_of_mask[-1] == 1)
    kv_heads, group_size = partition.kv_heads, partition.group_size
    partials = allocate_partials(y, partition.splits)
    offsets = tuple(0 if offset is None else offset for offset in (causal_offset, window_offset))
    sizes = (kv_heads, group_size, queries, keys, depth, width, *offsets, max_length)
    floats = (float_bits(scale), float_bits(softcap))

    def arguments(result: TensorView, partition: AttentionPartition) -> tuple[KernelArgument, ...]:
        """In the order of `AttentionEmitter`."""
        tensors = (q, k, v, result) if mask is None else (q, k, v, result, mask)
        strides = (*stride_arguments(q, k, v, result), *strides_of_mask)
        return *tensors, partials, *length_tensors, *sizes, *floats, *partition.decode_arguments, *strides

    reads = (q, k, v, *(() if mask is None else (mask,)), *length_tensors[:1])
    head_units = ceil_div(kv_heads, partition.unit_kv_heads) * ceil_div(group_size, partition.unit_q_heads)
    units = head_units * partition.splits
    steps = [
        Step(
            kernel,
            arguments(y, partition),
            units=batch * units * ceil_div(queries, QUERY_BLOCK),
            reads=reads,
            writes=(y, partials, *length_tensors[1:]),
            flops=batch * heads * queries * keys * (depth + width + 10) * 2,
            bytes_accessed=sum((tensor.nbytes for tensor in (*reads, y)), start=0),
            scratch=scratch_floats(partition, align_floats(depth), align_floats(width), keys) * FLOAT_BYTES,
        )
    ]
    if partition.splits != 1:
        steps.append(reduce_splits_step(partials, y, zero_masked_rows=variant.zero_masked_rows))
    if scores is not None:
        unsplit = AttentionPartition(kv_heads, group_size)
        tensors = (*reads, scores, *length_tensors[1:])
        steps.append(scores_step(variant, arguments(scores, unsplit), stage, tensors))
    return tuple(steps)


def scores_step(
    variant: AttentionVariant,
    arguments: tuple[KernelArgument, ...],
    stage: int,
    tensors: tuple[TensorView, ...],
) -> Step:
    """The step that writes the scores, its fourth argument; tensors: what it reads, the scores, and the status."""
    scores = next(tensor for tensor in tensors if tensor is arguments[3])
    depth = tensors[0].shape[3]
    return Step(
        Kernel(f"{variant.key}_scores{stage}", partial(scores_source, variant=variant, stage=stage)),
        arguments,
        units=dim_product(scores.shape[:3]),
        reads=tensors[: tensors.index(scores)],
        writes=tensors[tensors.index(scores) :],
        flops=scores.num_elements * (depth + 5) * 2,
        bytes_accessed=scores.nbytes,
        scratch=align_floats(depth) * FLOAT_BYTES,
    )


def allocate_partials(y: TensorView, splits: Known) -> TensorView:
    """The tensor of partial results, [B, H, S, splits, header + E]; empty if there is one split."""
    shape = (*y.shape[:3], splits, align_floats(y.shape[3]) + PARTIAL_HEADER_FLOATS)
    if splits == 1:
        shape = (0, *shape[1:])
    buffer = Buffer("arena", dense_bytes(DataType.FLOAT, shape), f"{y.buffer.name}.parts")
    return TensorView(DataType.FLOAT, shape, row_major_strides(shape), buffer)


def scratch_floats(partition: AttentionPartition, depth: Known, width: Known, keys: Known) -> Known:
    """The floats of scratch that a unit needs, prefill or decode; see `PrefillEmitter` and `DecodeProductsEmitter`."""
    prefill = (depth + width + dim_min(align_floats(keys), KEY_BLOCK) + 3) * QUERY_BLOCK
    row = depth + width + 2 * ALIGNED_FLOATS + DECODE_KEY_BLOCK
    return dim_max(prefill, partition.unit_kv_heads * DECODE_UNIT_QUERIES * row)


def stride_arguments(q: TensorView, k: TensorView, v: TensorView, y: TensorView) -> tuple[Known, ...]:
    """In the order of `SIZE_NAMES`: all four strides of k and v, and all but the last one of q and y."""
    return (*q.strides[:3], *k.strides, *v.strides, *y.strides[:3])


def mask_strides(mask: TensorView, keys: Known) -> tuple[Known, ...]:
    """The strides of a mask along [B, H, S, T], 0 where it is broadcast."""
    strides = tuple(broadcast_stride(mask, axis) for axis in (4, 3, 2, 1))
    assert strides[3] == 1 or strides[2] == 0 or keys == 1, f"rows must be contiguous; got {mask}"
    return strides


def align_floats(size: Known) -> Known:
    return ceil_div(size, ALIGNED_FLOATS) * ALIGNED_FLOATS


def float_bits(number: float) -> int:
    """The bits of a float32, as an i64 argument."""
    bits: int = struct.unpack("<i", struct.pack("<f", number))[0]
    return bits
