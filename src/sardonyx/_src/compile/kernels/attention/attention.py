"""Steps for attention, y = softmax(scale * q * k' + mask) * v, without a matrix of scores in memory.

The fused kernel (`kernel`) computes y.  With split-KV, where units of work have ranges of the keys, a second step combines
their partial results (`split_kv`).  If the scores are an output, another step writes them (`scores`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from sardonyx._src.compile.codegen import float32_bits
from sardonyx._src.compile.kernels.attention.kernel import attention_module
from sardonyx._src.compile.kernels.attention.parameters import (
    ALIGNED_FLOATS,
    PARTIAL_HEADER_FLOATS,
    attention_parameters,
    name_strides,
)
from sardonyx._src.compile.kernels.attention.scores import SCALED_SCORES, scores_module
from sardonyx._src.compile.kernels.attention.split_kv import FLOAT_BYTES, reduce_splits_step
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant
from sardonyx._src.compile.kernels.attention.work_partitioning import AttentionPartition, partition_heads
from sardonyx._src.compile.kernels.loops.batch_space import broadcast_stride
from sardonyx._src.compile.kernels.tuning import AttentionTuning
from sardonyx._src.compile.program import Buffer, Kernel, KernelArgument, Step, TensorView, row_major_strides
from sardonyx._src.compile.program.operands.tensor import dense_bytes
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
    lengths: int64 [B], dense; the number of valid keys of each batch.  Both offsets are then relative to it.  A length
    outside of 0..max_length is reported in `status`.
    softcap: if not 0, scores become softcap * tanh(score / softcap).
    zero_masked_rows: whether a query with only masked keys yields zeros.  Otherwise it yields NaN, as any query does if all
    of its scores are -inf; without any keys the result is 0.  Values that no query of a panel attends to are not read.
    scores: [B, H, S, max_length], receives the scores; k then has max_length keys.
    stage: the stage of the scores that are written, such as `SCALED_SCORES` (see the module `scores`).
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
    tensors = tensor_arguments(q, k, v, y, mask)
    partition = partition_heads(q, k, v, has_dense_mask_rows=tensors.get("mask_column", 1) == 1)
    partials = allocate_partials(y, partition.splits)
    arguments: dict[str, KernelArgument] = {
        **tensors,
        **partition.to_arguments(),
        "partials": partials,
        "causal_offset": 0 if causal_offset is None else causal_offset,
        "window_offset": 0 if window_offset is None else window_offset,
        "max_length": max_length,
        "scale": float32_bits(scale),
        "softcap": float32_bits(softcap),
    }
    reads = (q, k, v, *(tensor for tensor in (mask, lengths) if tensor is not None))
    statuses: tuple[TensorView, ...] = ()
    if lengths is not None:
        assert status is not None, "a step with lengths must have a status; got None"
        arguments |= {"lengths": lengths, "status": status}
        statuses = (status,)
    steps = [fused_step(variant, partition, arguments, reads, (y, partials, *statuses))]
    if partition.splits != 1:
        steps.append(reduce_splits_step(partials, y, zero_masked_rows=variant.zero_masked_rows))
    if scores is not None:
        unsplit = AttentionPartition(partition.kv_heads, partition.group_size)
        arguments |= {"y": scores, **name_strides("y", scores.strides[:3]), **unsplit.to_arguments()}
        # This kernel has the parameters of the fused one; therefore the partial results are an argument of it, too.
        steps.append(scores_step(variant, stage, arguments, reads, (scores, partials, *statuses)))
    return tuple(steps)


def fused_step(
    variant: AttentionVariant,
    partition: AttentionPartition,
    arguments: Mapping[str, KernelArgument],
    reads: tuple[TensorView, ...],
    writes: tuple[TensorView, ...],
) -> Step:
    """The step of the fused kernel; reads: q, k, v, ...; writes: y, ..."""
    parameters = attention_parameters(variant)
    q, k, v, *_ = reads
    (batch, heads, queries, depth), keys, width = q.shape, k.shape[2], v.shape[3]
    return Step(
        Kernel(variant.key, partial(attention_module, variant=variant), parameters),
        parameters.pack(**arguments),
        units=batch * partition.head_units * ceil_div(queries, AttentionTuning.query_block),
        reads=reads,
        writes=writes,
        flops=batch * heads * queries * keys * (depth + width + 10) * 2,
        bytes_accessed=sum((tensor.nbytes for tensor in (*reads, writes[0])), start=0),
        scratch=scratch_floats(partition, align_floats(depth), align_floats(width), keys) * FLOAT_BYTES,
    )


def scores_step(
    variant: AttentionVariant,
    stage: int,
    arguments: Mapping[str, KernelArgument],
    reads: tuple[TensorView, ...],
    writes: tuple[TensorView, ...],
) -> Step:
    """The step that writes the scores; reads: q, ...; writes: the scores, ..."""
    parameters = attention_parameters(variant)
    source = partial(scores_module, variant=variant, stage=stage)
    scores, depth = writes[0], reads[0].shape[3]
    return Step(
        Kernel(f"{variant.key}_scores{stage}", source, parameters),
        parameters.pack(**arguments),
        units=dim_product(scores.shape[:3]),
        reads=reads,
        writes=writes,
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
    """The floats of scratch that a unit needs; see `query_panel` (prefill) and `decode_unit`."""
    block_keys = dim_min(align_floats(keys), AttentionTuning.key_block)
    prefill = (depth + width + block_keys + 3) * AttentionTuning.query_block
    row = depth + width + 2 * ALIGNED_FLOATS + AttentionTuning.decode_key_block
    return dim_max(prefill, partition.unit_kv_heads * AttentionTuning.decode_unit_queries * row)


def align_floats(size: Known) -> Known:
    return ceil_div(size, ALIGNED_FLOATS) * ALIGNED_FLOATS


def tensor_arguments(
    q: TensorView, k: TensorView, v: TensorView, y: TensorView, mask: TensorView | None
) -> dict[str, KernelArgument]:
    """The tensors that have heads, their sizes and their strides."""
    arguments: dict[str, KernelArgument] = {
        "q": q,
        "k": k,
        "v": v,
        "y": y,
        "queries": q.shape[2],
        "keys": k.shape[2],
        "depth": q.shape[3],
        "width": v.shape[3],
        **name_strides("q", q.strides[:3]),
        **name_strides("k", k.strides),
        **name_strides("v", v.strides),
        **name_strides("y", y.strides[:3]),
    }
    if mask is None:
        return arguments
    strides = tuple(broadcast_stride(mask, axis) for axis in (4, 3, 2, 1))
    is_dense = strides[3] == 1 or strides[2] == 0 or k.shape[2] == 1
    assert is_dense, f"rows must be contiguous; got {mask}"
    return {**arguments, "mask": mask, **name_strides("mask", strides)}
