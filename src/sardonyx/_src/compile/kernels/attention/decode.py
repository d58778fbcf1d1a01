"""Decode attention kernel: few queries against many keys, limited by the memory bandwidth of reading keys and values.

A unit of work has a range of the keys, and one or several heads of keys and values with rows adjacent in memory.  For each of
these heads it has up to `decode_unit_queries` queries, from all query heads that share the head.  Loop nest of a unit:

    for each block of `decode_key_block` keys:
        scores = q * k' for all queries             decode_products: SIMD lanes run along D
        online softmax: rescale sums and outputs to the new maximum, scores -> exp(score - maximum)
        outputs += scores * v                       decode_products: SIMD lanes run along E

With several ranges of keys (split-KV, as in flash-decoding), a unit stores its unnormalized outputs, maximum and sum, and
`split_kv` combines them.  Online softmax: Milakov and Gimelshein, "Online normalizer calculation for softmax".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen import LLVMValue, MemoryLocation
from sardonyx._src.compile.kernels.attention.decode_products import accumulate_values, emit_scores
from sardonyx._src.compile.kernels.attention.decode_unit import (
    DecodeHead,
    UnitIndices,
    loop_queries,
    make_decode_unit,
    mask_row,
    query_position,
    query_row,
    scratch_row,
)
from sardonyx._src.compile.kernels.attention.heads import (
    AttentionHead,
    apply_softcap,
    is_fully_masked,
    key_begin_of,
    key_end_of,
    load_mask_vector,
)
from sardonyx._src.compile.kernels.attention.online_softmax import (
    exp_below,
    is_not_positive,
    max_skipping_nan,
    negative_infinity,
    reciprocal_sum,
    reduce_max,
    softmax_base,
)
from sardonyx._src.compile.kernels.attention.parameters import (
    ALIGNED_FLOATS,
    PARTIAL_HEADER_FLOATS,
    AttentionKernel,
    aligned_size,
)
from sardonyx._src.compile.kernels.loops.lanes import reduce_to_all_lanes
from sardonyx._src.compile.kernels.loops.rows import narrow_equal_lanes, summed_vector_type
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_typed,
    load_vector,
    loop_blocks,
    loop_masked_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import AttentionTuning


def emit_decode_unit(kernel: AttentionKernel, first_head: AttentionHead, indices: UnitIndices) -> None:
    """Emits a unit: the outputs of all of its queries, or their partial results; rows of k and v must be contiguous."""
    b, size = kernel.b, kernel.sizes
    unit = make_decode_unit(kernel, first_head, indices)
    with loop_queries(kernel, unit, unit.padded_query_count) as (head, i):
        load_query(kernel, head, i)
    begin, end = (
        key_begin_of(kernel, first_head, i64(b, 0)),
        key_end_of(kernel, first_head, size["queries"] - 1),
    )
    block = AttentionTuning.decode_key_block
    with b.loop(begin, end + (block - 1), block, "key") as key:
        count = b.min(end - key, block)
        emit_scores(kernel, unit, key, count)
        with loop_queries(kernel, unit, unit.query_count) as (head, i):
            update_query_softmax(kernel, head, i, key, count)
        accumulate_values(kernel, unit, key, count)
    has_all_keys = size["splits"].eq(1)
    with b.if_then(has_all_keys), loop_queries(kernel, unit, unit.query_count) as (head, i):
        store_output(kernel, head, i)
    with b.if_then(has_all_keys.eq(0)), loop_queries(kernel, unit, unit.query_count) as (head, i):
        store_partial(kernel, head, i)


def load_query(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue) -> None:
    """Copies query number i, scaled, to scratch and clears its output; numbers past the last query repeat the last one."""
    b = kernel.b
    q = query_row(kernel, head, "q", b.min(i, head.unit.query_count - 1))
    elements, output = (scratch_row(kernel, head, area, i) for area in ("q", "o"))
    summed = summed_vector_type(b.target)
    scale = b.splat(kernel.scale, summed.lanes)
    for d, mask in loop_masked_vectors(b, kernel.sizes["depth"], summed.lanes):
        store_vector(b, load_typed(b, summed, b.gep(q, d), mask) * scale, b.gep(elements, d))
    for d, _ in loop_masked_vectors(b, kernel.sizes["width"]):
        store_vector(b, zeros(b), b.gep(output, d))
    store_vector(b, negative_infinity(b, summed.lanes), scratch_row(kernel, head, "max", i))
    store_vector(b, b.constant(0.0, summed), scratch_row(kernel, head, "sum", i))


def update_query_softmax(
    kernel: AttentionKernel, head: DecodeHead, i: LLVMValue, key: LLVMValue, count: LLVMValue
) -> None:
    """Turns a query's scores into exp(score - maximum); rescales its sum and output to the new maximum."""
    b, summed = kernel.b, summed_vector_type(kernel.b.target)
    stored_maximum, stored_total = (scratch_row(kernel, head, area, i) for area in ("max", "sum"))
    maximum, total = (b.new_slot(name, summed) for name in ("max", "sum"))
    old_maximum = b.load(MemoryLocation(stored_maximum, summed))
    b.store(maximum, old_maximum)
    query, mask = query_position(kernel, i), mask_row(kernel, head, i)
    with loop_blocks(b, count, summed.lanes, "score") as first:
        scores = MemoryLocation(b.gep(scratch_row(kernel, head, "p", i), first), summed)
        masked = mask_query_scores(kernel, head.operands, query, mask, b.load(scores), (key, first, count))
        b.store(scores, masked)
        b.store(maximum, max_skipping_nan(b, b.load(maximum), masked))
    new_maximum = reduce_max(b, b.load(maximum))
    base = softmax_base(b, new_maximum)
    factor = exp_below(b, old_maximum, base)
    b.store(total, b.load(MemoryLocation(stored_total, summed)) * factor)
    with loop_blocks(b, count, summed.lanes, "score") as first:
        score = MemoryLocation(b.gep(scratch_row(kernel, head, "p", i), first), summed)
        weight = exp_below(b, b.load(score), base)
        b.store(score, weight)
        b.store(total, b.load(total) + weight)
    store_vector(b, new_maximum, stored_maximum)
    store_vector(b, b.load(total), stored_total)
    rescale_output(kernel, head, i, narrow_equal_lanes(b, factor))


def mask_query_scores(
    kernel: AttentionKernel,
    head: AttentionHead,
    query: LLVMValue,
    mask: str,
    scores: LLVMValue,
    block: tuple[LLVMValue, LLVMValue, LLVMValue],
) -> LLVMValue:
    """A vector of a query's scores with softcap and mask; -inf for hidden keys and past the last key.

    block: the first key of the block, the index in the block of the vector's first key, and the number of keys of the block.
    """
    b, variant = kernel.b, kernel.variant
    key, first, end = block
    if variant.causal:
        end = b.min(end, key_end_of(kernel, head, query) - key)
    lanes = scores.type.lanes
    is_before_end = first_lanes(b, end - first, lanes)
    if variant.has_softcap:
        scores = apply_softcap(kernel, scores)
    if variant.mask_type:
        scores = scores + load_mask_vector(kernel, mask, key + first, is_before_end)
    scores = b.select(is_before_end, scores, negative_infinity(b, lanes))
    if variant.windowed:
        is_before_begin = first_lanes(b, key_begin_of(kernel, head, query) - key - first, lanes)
        scores = b.select(is_before_begin, negative_infinity(b, lanes), scores)
    return scores


def rescale_output(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue, factor: LLVMValue) -> None:
    b, output = kernel.b, scratch_row(kernel, head, "o", i)
    for d, _ in loop_masked_vectors(b, kernel.sizes["width"]):
        address = b.gep(output, d)
        store_vector(b, load_vector(b, address) * factor, address)


# --- outputs ---------------------------------------------------------------------------------


def store_output(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue) -> None:
    """Writes a query's output, divided by the sum of its weights."""
    b, total = kernel.b, load_total(kernel, head, i)
    if kernel.variant.zero_masked_rows:
        with if_fully_masked(kernel, head, i, total):
            clear_output(kernel, head, i)
            b.store(total, b.constant(1.0, total.type))
    inverse = reciprocal_sum(b, b.load(total), kernel.sizes["keys"])
    y, output = query_row(kernel, head, "y", i), scratch_row(kernel, head, "o", i)
    for d, mask in loop_masked_vectors(b, kernel.sizes["width"]):
        store_vector(b, load_vector(b, b.gep(output, d)) * inverse, b.gep(y, d), mask)


def store_partial(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue) -> None:
    """Writes a query's partial result for one range of the keys, in the layout of `split_kv`."""
    b, destination = kernel.b, partial_pointer(kernel, head, i)
    total, visibility = load_total(kernel, head, i), b.new_slot("visibility", vector_type(b))
    b.store(visibility, b.constant(1.0, visibility.type))
    if kernel.variant.zero_masked_rows:
        with if_fully_masked(kernel, head, i, total):
            clear_output(kernel, head, i)
            b.store(total, zeros(b))
            b.store(visibility, zeros(b))
            store_vector(b, negative_infinity(b), scratch_row(kernel, head, "max", i))
    maximum = load_vector(b, scratch_row(kernel, head, "max", i))
    for index, value in enumerate((maximum, b.load(total), b.load(visibility))):
        store_vector(b, value, b.gep(destination, i64(b, index * ALIGNED_FLOATS)))
    output = scratch_row(kernel, head, "o", i)
    result = b.gep(destination, i64(b, PARTIAL_HEADER_FLOATS))
    for d, _ in loop_masked_vectors(b, kernel.sizes["width"]):
        store_vector(b, load_vector(b, b.gep(output, d)), b.gep(result, d))


def partial_pointer(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue) -> str:
    """The address of the partial result of query number i."""
    b, size = kernel.b, kernel.sizes
    batch, kv_head, first_q_head, split = head.unit.indices
    q_head, query = b.udivmod(i, size["queries"])
    group = batch * size["kv_heads"] + kv_head + head.index
    head_index = group * size["group_size"] + first_q_head + q_head
    row = (head_index * size["queries"] + query) * size["splits"] + split
    length = aligned_size(kernel, "width") + PARTIAL_HEADER_FLOATS
    return b.gep(kernel.pointers["partials"], row * length)


def load_total(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue) -> MemoryLocation:
    """A new variable that holds the sum of a query's weights in every lane."""
    b = kernel.b
    total = b.new_slot("total", vector_type(b))
    sums = b.load(MemoryLocation(scratch_row(kernel, head, "sum", i), summed_vector_type(b.target)))
    b.store(total, narrow_equal_lanes(b, reduce_to_all_lanes(b, "add", sums)))
    return total


@contextmanager
def if_fully_masked(
    kernel: AttentionKernel, head: DecodeHead, i: LLVMValue, total: MemoryLocation
) -> Iterator[None]:
    """Code that runs if all keys of a query are masked, even if its scores are NaN; total: the sum of its weights."""
    b = kernel.b
    with b.if_then(is_not_positive(b, b.load(total))):
        query, mask = query_position(kernel, i), mask_row(kernel, head, i)
        with b.if_then(is_fully_masked(kernel, head.operands, query, mask)):
            yield


def clear_output(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue) -> None:
    b, output = kernel.b, scratch_row(kernel, head, "o", i)
    for d, _ in loop_masked_vectors(b, kernel.sizes["width"]):
        store_vector(b, zeros(b), b.gep(output, d))
