"""Attention scores as a separate output: ONNX's `qk_matmul_output`, [B, H, S, T].

A unit of work is the row of scores of one query.  Loop nest: vectors of keys -> dot products along D.  The stage says after
which operation the scores are written.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen import LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.heads import (
    AttentionHead,
    apply_softcap,
    is_fully_masked,
    key_begin_of,
    key_end_of,
    load_mask_vector,
    row_pointer,
    select_head,
)
from sardonyx._src.compile.kernels.attention.online_softmax import (
    exp_below,
    first_lane,
    is_not_positive,
    max_skipping_nan,
    negative_infinity,
    reduce_max,
    softmax_base,
)
from sardonyx._src.compile.kernels.attention.parameters import (
    AttentionKernel,
    attention_parameters,
    load_arguments,
)
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant
from sardonyx._src.compile.kernels.gemm.unpacked.dot_products import dot_rows
from sardonyx._src.compile.kernels.loops.lanes import reduce_to_all_lanes
from sardonyx._src.compile.kernels.loops.rows import narrow_equal_lanes, summed_vector_type
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    load_typed,
    load_vector,
    loop_masked_vectors,
    store_vector,
    vector_type,
    zeros,
)

# The stages: scale * q * k'; with softcap, too; with mask and key bounds, too; after softmax.
SCALED_SCORES, SOFTCAPPED_SCORES, MASKED_SCORES, ATTENTION_WEIGHTS = range(4)


def scores_module(name: str, target: Target, *, variant: AttentionVariant, stage: int) -> str:
    """The LLVM module of a kernel.  Its y is [B, H, S, max_length]: scores from `keys` on are masked."""
    b = KernelBuilder(target, attention_parameters(variant))
    kernel = load_arguments(b, variant if stage >= MASKED_SCORES else without_key_bounds(variant))
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        emit_row(kernel, stage, unit)
    return b.build_module(name)


def without_key_bounds(variant: AttentionVariant) -> AttentionVariant:
    """The variant with the same parameters but without key bounds."""
    return replace(variant, causal=False, windowed=False)


def emit_row(kernel: AttentionKernel, stage: int, unit: LLVMValue) -> None:
    """A row of scores.  Scratch: the scaled query."""
    b, size = kernel.b, kernel.sizes
    index, query = b.udivmod(unit, size["queries"])
    index, q_head = b.udivmod(index, size["group_size"])
    batch, kv_head = b.udivmod(index, size["kv_heads"])
    head = select_head(kernel, batch, kv_head, q_head)
    q, y = (row_pointer(kernel, head, name, query) for name in ("q", "y"))
    scale = b.splat(kernel.scale, b.target.lanes)
    for d, mask in loop_masked_vectors(b, size["depth"]):
        store_vector(b, load_vector(b, b.gep(q, d), mask) * scale, b.gep(b.scratch, d))
    maximum = b.new_slot("max", vector_type(b))
    b.store(maximum, negative_infinity(b))
    for key, mask in loop_masked_vectors(b, size["max_length"]):
        scores = score_vector(kernel, stage, head, query, key)
        b.store(maximum, max_skipping_nan(b, b.load(maximum), scores))
        store_vector(b, scores, b.gep(y, key), mask)
    if stage == ATTENTION_WEIGHTS:
        total = apply_softmax(kernel, y, softmax_base(b, reduce_max(b, b.load(maximum))))
        if kernel.variant.can_mask_rows:
            clear_masked_row(kernel, head, query, y, total)


def score_vector(
    kernel: AttentionKernel, stage: int, head: AttentionHead, query: LLVMValue, key: LLVMValue
) -> LLVMValue:
    """A vector of scores; lanes past the last key repeat its score, or hold -inf from the stage `MASKED_SCORES` on."""
    b, variant = kernel.b, kernel.variant
    last = kernel.sizes["max_length"] - 1
    rows = [row_pointer(kernel, head, "k", b.min(key + i, last)) for i in range(b.target.lanes)]
    scores = dot_rows(b, b.scratch, rows, kernel.sizes["depth"])
    if variant.has_softcap and stage >= SOFTCAPPED_SCORES:
        scores = apply_softcap(kernel, scores)
    if stage < MASKED_SCORES:
        return scores
    is_before_end = first_lanes(b, key_end_of(kernel, head, query) - key)
    if variant.mask_type:
        mask_row = row_pointer(kernel, head, "mask", query)
        scores = scores + load_mask_vector(kernel, mask_row, key, is_before_end)
    scores = b.select(is_before_end, scores, negative_infinity(b))
    if variant.windowed:
        is_before_begin = first_lanes(b, key_begin_of(kernel, head, query) - key)
        scores = b.select(is_before_begin, negative_infinity(b), scores)
    return scores


def apply_softmax(kernel: AttentionKernel, y: str, base: LLVMValue) -> LLVMValue:
    """Turns a row of scores into weights; returns the sum of exp(score - base), in every lane."""
    b, summed = kernel.b, summed_vector_type(kernel.b.target)
    total, factor = b.new_slot("total", summed), b.new_slot("factor", vector_type(b))
    zero, wide_base = b.constant(0.0, summed), b.splat(first_lane(b, base), summed.lanes)
    b.store(total, zero)
    for key, mask in loop_masked_vectors(b, kernel.sizes["max_length"], summed.lanes):
        address = b.gep(y, key)
        weights = exp_below(b, load_typed(b, summed, address, mask), wide_base)
        store_vector(b, weights, address, mask)
        addend = weights if mask is None else b.select(mask, weights, zero)
        b.store(total, b.load(total) + addend)
    row_total = narrow_equal_lanes(b, reduce_to_all_lanes(b, "add", b.load(total)))
    b.store(factor, 1.0 / row_total)
    for key, mask in loop_masked_vectors(b, kernel.sizes["max_length"]):
        address = b.gep(y, key)
        store_vector(b, load_vector(b, address, mask) * b.load(factor), address, mask)
    return row_total


def clear_masked_row(
    kernel: AttentionKernel, head: AttentionHead, query: LLVMValue, y: str, total: LLVMValue
) -> None:
    """Clears the weights of a query if all of its keys are masked."""
    b = kernel.b
    mask_row = row_pointer(kernel, head, "mask", query) if kernel.variant.mask_type else ""
    with b.if_then(is_not_positive(b, total)), b.if_then(is_fully_masked(kernel, head, query, mask_row)):
        for key, mask in loop_masked_vectors(b, kernel.sizes["max_length"]):
            store_vector(b, zeros(b), b.gep(y, key), mask)
