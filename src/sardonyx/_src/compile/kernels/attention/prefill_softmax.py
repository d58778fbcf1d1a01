"""Mask and online softmax of a block of scores [keys, queries] of the prefill kernel, a vector of queries at a time.

Online softmax: Milakov and Gimelshein, "Online normalizer calculation for softmax".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.heads import load_mask_element, load_mask_vector
from sardonyx._src.compile.kernels.attention.online_softmax import (
    exp_below,
    max_skipping_nan,
    negative_infinity,
    softmax_base,
)
from sardonyx._src.compile.kernels.attention.parameters import AttentionKernel
from sardonyx._src.compile.kernels.attention.query_panel import (
    QueryPanel,
    loop_columns,
    query_row_pointer,
    scratch_cell,
)
from sardonyx._src.compile.kernels.loops.lanes import transpose
from sardonyx._src.compile.kernels.loops.vectors import (
    i64,
    load_vector,
    loop_masked_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import AttentionTuning


def add_mask(kernel: AttentionKernel, panel: QueryPanel, key: LLVMValue, count: LLVMValue) -> None:
    """Adds the mask: a row that all queries share (stride 0), or a row for each query."""
    b = kernel.b
    is_shared = kernel.sizes["mask_row"].eq(0)
    with b.if_then(is_shared), b.loop(i64(b, 0), count, name="shared") as i:
        element = load_mask_element(
            kernel, panel.head.pointers["mask"], (key + i) * kernel.sizes["mask_column"]
        )
        with loop_columns(b, panel) as column:
            add_to(b, scratch_cell(b, panel, "p", i, column), element)
    with b.if_then(is_shared.eq(0)), loop_columns(b, panel) as column:
        add_query_masks(kernel, panel, key, count, column)


def add_query_masks(
    kernel: AttentionKernel, panel: QueryPanel, key: LLVMValue, count: LLVMValue, column: LLVMValue
) -> None:
    b = kernel.b
    rows = [query_row_pointer(kernel, panel, "mask", column, i) for i in range(b.target.lanes)]
    for i, lanes in loop_masked_vectors(b, count):
        block = transpose(b, [load_mask_vector(kernel, row, key + i, lanes) for row in rows])
        for j, value in enumerate(block):
            add_to(b, scratch_cell(b, panel, "p", i + j, column), value)


def add_to(b: KernelBuilder, address: str, value: LLVMValue) -> None:
    store_vector(b, load_vector(b, address) + value, address)


def update_column_softmax(
    kernel: AttentionKernel, panel: QueryPanel, key: LLVMValue, count: LLVMValue, column: LLVMValue
) -> None:
    """Turns a block of scores of a vector of queries into exp(score - maximum).

    Updates the queries' maxima and sums, and stores the factors that rescale their outputs to the new maxima.
    """
    b, zero = kernel.b, i64(kernel.b, 0)
    padded_count = count + (AttentionTuning.fold_chains - 1) & -AttentionTuning.fold_chains
    with b.loop(count, padded_count, name="pad") as i:
        store_vector(b, negative_infinity(b), scratch_cell(b, panel, "p", i, column))
    maximum, total, factor = (b.gep(panel.areas[name], column) for name in ("max", "sum", "factor"))
    old_maximum = load_vector(b, maximum)

    maxima = new_chains(b, old_maximum)
    with b.loop(zero, padded_count, AttentionTuning.fold_chains, "fold") as i:
        for j, slot in enumerate(maxima):
            greatest = b.load(slot)
            scores = mask_key_scores(kernel, panel, key, i + j, column)
            b.store(slot, max_skipping_nan(b, greatest, scores))
    new_maximum = combine_chains(b, maxima, partial(max_skipping_nan, b))
    base = softmax_base(b, new_maximum)
    rescaling = exp_below(b, old_maximum, base)
    store_vector(b, new_maximum, maximum)
    store_vector(b, rescaling, factor)

    sums = new_chains(b, zeros(b))
    with b.loop(zero, padded_count, AttentionTuning.fold_chains, "fold") as i:
        for j, slot in enumerate(sums):
            partial_sum = b.load(slot)
            score = scratch_cell(b, panel, "p", i + j, column)
            weight = exp_below(b, load_vector(b, score), base)
            store_vector(b, weight, score)
            b.store(slot, partial_sum + weight)
    block_total = combine_chains(b, sums, operator.add)
    store_vector(b, b.fma(load_vector(b, total), rescaling, block_total), total)


def new_chains(b: KernelBuilder, start: LLVMValue) -> list[MemoryLocation]:
    """Independent accumulators of a fold, all with the initial value `start`, which must be neutral or idempotent."""
    slots = [b.new_slot("fold", vector_type(b)) for _ in range(AttentionTuning.fold_chains)]
    for slot in slots:
        b.store(slot, start)
    return slots


def combine_chains(
    b: KernelBuilder, slots: Sequence[MemoryLocation], combine: Callable[[LLVMValue, LLVMValue], LLVMValue]
) -> LLVMValue:
    """The accumulators combined to one value, pair by pair."""
    values = [b.load(slot) for slot in slots]
    while len(values) > 1:
        values = [combine(*pair) for pair in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def mask_key_scores(
    kernel: AttentionKernel, panel: QueryPanel, key: LLVMValue, i: LLVMValue, column: LLVMValue
) -> LLVMValue:
    """The scores of a key for a vector of queries; -inf for queries with key bounds that exclude the key."""
    b, size, variant = kernel.b, kernel.sizes, kernel.variant
    address = scratch_cell(b, panel, "p", i, column)
    scores = load_vector(b, address)
    if not (variant.causal or variant.windowed):
        return scores
    # The key's position relative to the first query of the vector.
    position = key + i - panel.head.length_offset - panel.query - column
    if variant.causal:
        first_lane = splat_lane_number(b, position - size["causal_offset"] + 1)
        scores = b.select(lane_numbers(b) >= first_lane, scores, negative_infinity(b))
    if variant.windowed:
        last_lane = splat_lane_number(b, position - size["window_offset"])
        scores = b.select(lane_numbers(b) <= last_lane, scores, negative_infinity(b))
    store_vector(b, scores, address)
    return scores


def lane_numbers(b: KernelBuilder) -> LLVMValue:
    lanes = b.target.lanes
    numbers = ", ".join(f"i32 {lane}" for lane in range(lanes))
    return LLVMValue(b, LLVMType("i32", lanes), f"<{numbers}>" if lanes > 1 else "0")


def splat_lane_number(b: KernelBuilder, number: LLVMValue) -> LLVMValue:
    """A lane number in every lane, clamped to -1..lanes so that it fits an i32."""
    clamped = b.min(number, b.target.lanes)
    clamped = b.select(clamped < 0, -1, clamped)
    return b.splat(clamped.convert("trunc", "i32"), b.target.lanes)
