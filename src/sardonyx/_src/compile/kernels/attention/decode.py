"""Decode attention kernel: few queries against many keys, limited by the memory bandwidth of reading keys and values.

A unit of work has a range of the keys, one or several heads of keys and values whose rows are adjacent in memory, and for
each of these heads up to `DECODE_UNIT_QUERIES` queries (of all query heads that share it).  Loop nest of a unit:

    for each block of DECODE_KEY_BLOCK keys:
        scores = q * k' for all queries             decode_products: SIMD lanes run along D
        online softmax: rescale sums and outputs to the new maximum, scores -> exp(score - maximum)
        outputs += scores * v                       decode_products: SIMD lanes run along E

With several ranges of keys (split-KV, as in flash-decoding), a unit leaves its unnormalized outputs, maximum and sum in
memory, and `split_kv` combines them.  Online softmax: Milakov and Gimelshein, "Online normalizer calculation for softmax".
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.attention.attention_emitter import ALIGNED_FLOATS, PARTIAL_HEADER_FLOATS
from sardonyx._src.compile.kernels.attention.decode_products import (
    DECODE_KEY_BLOCK,
    QUERY_PAIR,
    DecodeProductsEmitter,
)
from sardonyx._src.compile.kernels.attention.online_softmax import exp_nonpositive
from sardonyx._src.compile.kernels.attention.prefetch import PrefetchStream


class DecodeEmitter(DecodeProductsEmitter):
    """Emits a decode unit.

    Queries of a head of keys and values are numbered query head first: number i is query `i % queries` of query head
    `i / queries`.
    """

    def emit_decode_unit(
        self, batch: LLVMValue, kv_head: LLVMValue, q_head: LLVMValue, split: LLVMValue
    ) -> None:
        """The outputs of all queries of a unit, or its partial results; elements of rows of k and v are contiguous."""
        size, zero = self.sizes, self.i64(0)
        self.unit_indices = batch, kv_head, q_head, split
        self.unit_kv_heads = self.min(size["kv_heads"] - kv_head, size["unit_kv_heads"])
        self.query_count = size["queries"] * self.min(size["group_size"] - q_head, size["unit_q_heads"])
        self.padded_query_count = self.query_count + (QUERY_PAIR - 1) & -QUERY_PAIR
        self.first_head_pointers = dict(self.head_pointers)
        self.streams = {
            name: PrefetchStream(
                self, self.head_pointers[name], self.unit_kv_heads * size[length], size[f"{name}_row"]
            )
            for name, length in (("k", "depth"), ("v", "width"))
        }
        self.for_queries(self.padded_query_count, self.load_query)
        begin, end = self.key_begin_of(zero), self.key_end_of(size["queries"] - 1)

        def emit_key_block(key: LLVMValue) -> None:
            count = self.min(end - key, self.i64(DECODE_KEY_BLOCK))
            self.emit_scores(key, count)
            self.for_queries(self.query_count, lambda i: self.update_query_softmax(i, key, count))
            self.accumulate_values(key, count)

        self.loop_call(begin, end + (DECODE_KEY_BLOCK - 1), DECODE_KEY_BLOCK, emit_key_block, "key")
        has_all_keys = size["splits"].eq(1)
        self.if_then_call(has_all_keys, lambda: self.for_queries(self.query_count, self.store_output))
        self.if_then_call(has_all_keys.eq(0), lambda: self.for_queries(self.query_count, self.store_partial))
        self.head_pointers = dict(self.first_head_pointers)

    def for_queries(self, count: LLVMValue, body: Callable[[LLVMValue], None]) -> None:
        """The body for each of `count` queries of each head of keys and values."""
        self.for_heads(lambda: self.loop_blocks(count, 1, body, "query"))

    def for_heads(self, body: Callable[[], None]) -> None:
        """The body for each head of keys and values of the unit, as the current head."""

        def emit_head(i: LLVMValue) -> None:
            self.head_index, self.first_scratch_row = i, i * self.padded_query_count
            for name, pointer in self.first_head_pointers.items():
                step = i if name in ("k", "v") else i * self.sizes["group_size"]
                self.head_pointers[name] = self.gep(
                    pointer, step * self.sizes[f"{name}_head"], self.element_type(name)
                )
            body()

        self.loop_call(self.i64(0), self.unit_kv_heads, 1, emit_head, "head")

    def query_row(self, name: str, i: LLVMValue) -> str:
        """The address of the row of query number i in q, y or the mask."""
        head, query = self.udivmod(i, self.sizes["queries"])
        offset = head * self.sizes[f"{name}_head"] + query * self.sizes[f"{name}_row"]
        return self.gep(self.head_pointers[name], offset, self.element_type(name))

    def query_position(self, i: LLVMValue) -> LLVMValue:
        """The index of query number i in its head."""
        return self.urem(i, self.sizes["queries"])

    def mask_row(self, i: LLVMValue) -> str:
        return self.query_row("mask", i) if self.variant.mask_type else ""

    def load_query(self, i: LLVMValue) -> None:
        """Copies a scaled query to scratch and clears its output; numbers past the last query repeat the last one."""
        q, elements, output = (
            self.query_row("q", self.min(i, self.query_count - 1)),
            self.scratch_row("q", i),
            self.scratch_row("o", i),
        )
        self.loop_masked_vectors(
            self.sizes["depth"],
            lambda d, mask: self.store_vector(
                self.load_vector(self.gep(q, d), mask) * self.scale, self.gep(elements, d)
            ),
        )
        self.loop_masked_vectors(
            self.sizes["width"], lambda d, _: self.store_vector(self.zeros, self.gep(output, d))
        )
        self.store_vector(self.negative_infinity, self.scratch_row("max", i))
        self.store_vector(self.zeros, self.scratch_row("sum", i))

    # --- online softmax ----------------------------------------------------------------------

    def update_query_softmax(self, i: LLVMValue, key: LLVMValue, count: LLVMValue) -> None:
        """Turns a query's scores into exp(score - maximum); rescales its sum and output to the new maximum."""
        addresses = [self.scratch_row(area, i) for area in ("max", "sum")]
        maximum, total = (self.new_slot(name, self.vector_type) for name in ("max", "sum"))
        old_maximum = self.load_vector(addresses[0])
        self.store(maximum, old_maximum)
        query, mask_row = self.query_position(i), self.mask_row(i)

        def update_maximum(first: LLVMValue) -> None:
            scores = self.mask_query_scores(i, first, query, mask_row, key, count)
            self.store(maximum, self.max_skipping_nan(self.load(maximum), scores))

        self.loop_blocks(count, self.lanes, update_maximum, "look")
        new_maximum = self.reduce_max(self.load(maximum))
        base = self.softmax_base(new_maximum)
        factor = self.call_vector_function(exp_nonpositive, old_maximum - base)
        self.store(total, self.load_vector(addresses[1]) * factor)

        def exponentiate(first: LLVMValue) -> None:
            score = self.gep(self.scratch_row("p", i), first)
            weight = self.call_vector_function(exp_nonpositive, self.load_vector(score) - base)
            self.store_vector(weight, score)
            self.store(total, self.load(total) + weight)

        self.loop_blocks(count, self.lanes, exponentiate, "weight")
        self.store_vector(new_maximum, addresses[0])
        self.store_vector(self.load(total), addresses[1])
        self.rescale_output(i, factor)

    def mask_query_scores(
        self,
        i: LLVMValue,
        first: LLVMValue,
        query: LLVMValue,
        mask_row: str,
        key: LLVMValue,
        count: LLVMValue,
    ) -> LLVMValue:
        """A vector of a query's scores with softcap and mask; -inf for hidden keys and past the last key."""
        address = self.gep(self.scratch_row("p", i), first)
        scores, end = self.load_vector(address), count
        if self.variant.causal:
            end = self.min(count, self.key_end_of(query) - key)
        is_before_end = self.first_lanes(end - first)
        if self.variant.has_softcap:
            scores = self.apply_softcap(scores)
        if self.variant.mask_type:
            scores = scores + self.load_mask_vector(mask_row, key + first, is_before_end)
        scores = self.select(is_before_end, scores, self.negative_infinity)
        if self.variant.windowed:
            is_before_begin = self.first_lanes(self.key_begin_of(query) - key - first)
            scores = self.select(is_before_begin, self.negative_infinity, scores)
        self.store_vector(scores, address)
        return scores

    def rescale_output(self, i: LLVMValue, factor: LLVMValue) -> None:
        output = self.scratch_row("o", i)

        def rescale(d: LLVMValue, _: LLVMValue | None) -> None:
            address = self.gep(output, d)
            self.store_vector(self.load_vector(address) * factor, address)

        self.loop_masked_vectors(self.sizes["width"], rescale)

    # --- outputs -----------------------------------------------------------------------------

    def store_output(self, i: LLVMValue) -> None:
        """Writes a query's output, divided by the sum of its weights."""
        total = self.new_slot("total", self.vector_type)
        self.store(total, self.reduce_lanes("add", self.load_vector(self.scratch_row("sum", i))))
        self.clear_masked_query(i, total, 1.0)
        inverse = self.reciprocal_sum(self.load(total))
        y, output = self.query_row("y", i), self.scratch_row("o", i)
        self.loop_masked_vectors(
            self.sizes["width"],
            lambda d, mask: self.store_vector(
                self.load_vector(self.gep(output, d)) * inverse, self.gep(y, d), mask
            ),
        )

    def store_partial(self, i: LLVMValue) -> None:
        """Writes a query's partial result for one range of the keys, in the layout of `split_kv`."""
        size = self.sizes
        batch, kv_head, q_head, split = self.unit_indices
        head, query = self.udivmod(i, size["queries"])
        head_index = (
            (batch * size["kv_heads"] + kv_head + self.head_index) * size["group_size"] + q_head + head
        )
        row = (head_index * size["queries"] + query) * size["splits"] + split
        partial = self.gep(
            self.extra_pointers["partials"], row * (self.aligned_size("width") + PARTIAL_HEADER_FLOATS)
        )
        total, visibility = (self.new_slot(name, self.vector_type) for name in ("total", "counts"))
        self.store(total, self.reduce_lanes("add", self.load_vector(self.scratch_row("sum", i))))
        self.store(visibility, self.constant(1.0, self.vector_type))

        def clear_header() -> None:
            self.store(visibility, self.zeros)
            self.store_vector(self.negative_infinity, self.scratch_row("max", i))

        self.clear_masked_query(i, total, 0.0, clear_header)
        header = (self.load_vector(self.scratch_row("max", i)), self.load(total), self.load(visibility))
        for index, value in enumerate(header):
            self.store_vector(value, self.gep(partial, self.i64(index * ALIGNED_FLOATS)))
        output, target = self.scratch_row("o", i), self.gep(partial, self.i64(PARTIAL_HEADER_FLOATS))
        self.loop_masked_vectors(
            size["width"],
            lambda d, _: self.store_vector(self.load_vector(self.gep(output, d)), self.gep(target, d)),
        )

    def clear_masked_query(
        self,
        i: LLVMValue,
        total: StackSlot,
        cleared_total: float,
        clear_header: Callable[[], None] = lambda: None,
    ) -> None:
        """Clears the output of a query whose keys are all masked, even if its scores are NaN, and sets `total`."""

        def clear() -> None:
            output = self.scratch_row("o", i)
            self.loop_masked_vectors(
                self.sizes["width"], lambda d, _: self.store_vector(self.zeros, self.gep(output, d))
            )
            self.store(total, self.constant(cleared_total, self.vector_type))
            clear_header()

        def check_mask() -> None:
            self.if_then_call(self.is_fully_masked(self.query_position(i), self.mask_row(i)), clear)

        if self.variant.zero_masked_rows and self.variant.can_mask_rows:
            self.if_then_call(self.is_not_positive(self.load(total)), check_mask)
