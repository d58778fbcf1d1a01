"""Prefill attention kernel: tiled attention over panels of queries, with online softmax.

A panel has up to `QUERY_BLOCK` queries of one head, stored transposed: SIMD lanes run along queries, so softmax over keys
needs no horizontal reductions.  Loop nest of a panel:

    for each block of KEY_BLOCK keys:
        p [keys, queries] = k * q                   panel_gemm
        softcap, mask, causal and window bounds
        online softmax: maximum, sum and rescaling factor of each query; p -> exp(p - maximum)
        o [E, queries] = factor * o + v' * p        panel_gemm
    y = transposed o / sum

Only one block of scores exists at a time.  Tiling: Dao et al., "FlashAttention"; online softmax: Milakov and Gimelshein,
"Online normalizer calculation for softmax".
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.kernels.attention.attention_emitter import KEY_BLOCK, QUERY_BLOCK, AttentionEmitter
from sardonyx._src.compile.kernels.attention.online_softmax import exp_nonpositive

FOLD_CHAINS = 4  # independent accumulators of a fold over keys, which hide its latency


class PrefillEmitter(AttentionEmitter):
    """Emits the attention of a panel of queries."""

    panel_width: LLVMValue  # queries of the panel, padded to whole vectors
    scratch_areas: dict[str, str]  # addresses
    panel_gemm: str  # symbol of the panel GEMM for this panel width

    def emit_panel(self, query: LLVMValue, count: LLVMValue) -> None:
        """The outputs of `count` queries, at most a panel."""
        self.scratch_areas = self.lay_out_scratch()
        self.for_columns(lambda column: self.load_queries(query, column))
        end = self.key_end_of(query + count - 1)
        self.loop_call(
            self.key_begin_of(query),
            end + (KEY_BLOCK - 1),
            KEY_BLOCK,
            lambda key: self.emit_key_block(query, key, self.min(end - key, self.i64(KEY_BLOCK))),
            "key",
        )
        if self.variant.zero_masked_rows and self.variant.can_mask_rows:
            self.loop_call(self.i64(0), count, 1, lambda i: self.clear_masked_column(query, i), "blind")
        padded_count = count + (self.lanes - 1)
        self.loop_call(
            self.i64(0),
            padded_count,
            self.lanes,
            lambda column: self.store_queries(query, column, count),
            "give",
        )

    def lay_out_scratch(self) -> dict[str, str]:
        """Areas of scratch, each [rows, queries].

        "max", "sum" and "factor" have one row, "q" has D, "o" (outputs) E, and "p" (scores) one for each key of a block.
        """
        i64_one, zero = self.i64(1), self.i64(0)
        depth, width = self.aligned_size("depth"), self.aligned_size("width")
        rows = {"max": i64_one, "sum": i64_one, "factor": i64_one, "q": depth, "o": width, "p": zero}
        areas, offset = {}, zero
        for name, count in rows.items():
            areas[name] = self.gep(self.scratch, offset)
            offset = offset + count * QUERY_BLOCK
        return areas

    def for_columns(self, body: Callable[[LLVMValue], None]) -> None:
        """The body for the first query of each vector of queries in the panel."""
        self.loop_call(self.i64(0), self.panel_width, self.lanes, body, "column")

    def scratch_cell(self, area: str, row: LLVMValue, column: LLVMValue) -> str:
        return self.gep(self.scratch_areas[area], row * self.panel_width + column)

    def load_queries(self, query: LLVMValue, column: LLVMValue) -> None:
        """Copies a vector of scaled queries, transposed, into the panel, and clears their outputs."""
        for name, value in (("max", self.negative_infinity), ("sum", self.zeros)):
            self.store_vector(value, self.gep(self.scratch_areas[name], column))
        rows = [self.row_pointer("q", self.clamp_query(query + column + i)) for i in range(self.lanes)]

        def transpose_block(d: LLVMValue, mask: LLVMValue | None) -> None:
            block = self.transpose([self.load_vector(self.gep(row, d), mask) * self.scale for row in rows])
            for i, value in enumerate(block):
                self.store_vector(value, self.scratch_cell("q", d + i, column))

        self.loop_masked_vectors(self.sizes["depth"], transpose_block)
        self.loop_call(
            self.i64(0),
            self.sizes["width"],
            1,
            lambda d: self.store_vector(self.zeros, self.scratch_cell("o", d, column)),
            "o",
        )

    def clamp_query(self, query: LLVMValue) -> LLVMValue:
        """The query, or the last one in place of those past it, which pad the panel."""
        return self.min(query, self.sizes["queries"] - 1)

    def emit_key_block(self, query: LLVMValue, key: LLVMValue, count: LLVMValue) -> None:
        """Adds the values of a block of keys, weighted by their scores, to the outputs."""
        size, areas = self.sizes, self.scratch_areas
        depth = size["depth"]
        k_strides = (size["k_row"], size["k_column"])
        self.call_panel_gemm(self.row_pointer("k", key), k_strides, "q", depth, "p", count, "null")
        if self.variant.has_softcap:
            self.loop_call(self.i64(0), count * self.panel_width, self.lanes, self.softcap_scores, "cap")
        if self.variant.mask_type:
            self.add_mask(query, key, count)
        self.for_columns(lambda column: self.update_column_softmax(query, key, count, column))
        v_strides = (size["v_column"], size["v_row"])  # A is v transposed
        self.call_panel_gemm(
            self.row_pointer("v", key), v_strides, "p", count, "o", size["width"], areas["factor"]
        )

    def call_panel_gemm(
        self,
        a: str,
        strides: tuple[LLVMValue, LLVMValue],
        b: str,
        k: LLVMValue,
        c: str,
        rows: LLVMValue,
        factor: str,
    ) -> None:
        """c = factor * c + a * b, where b and c name areas of scratch."""
        row, column = strides
        arguments = (
            f"ptr {a}, {row}, {column}, ptr {self.scratch_areas[b]}, {k}, ptr {self.scratch_areas[c]}, {rows}"
        )
        self.lines.append(f" call void {self.panel_gemm}({arguments}, ptr {factor})")

    # --- scores ------------------------------------------------------------------------------

    def softcap_scores(self, i: LLVMValue) -> None:
        address = self.gep(self.scratch_areas["p"], i)
        self.store_vector(self.apply_softcap(self.load_vector(address)), address)

    def add_mask(self, query: LLVMValue, key: LLVMValue, count: LLVMValue) -> None:
        """Adds the mask: a row that all queries share (stride 0), or a row for each query."""
        is_shared = self.sizes["mask_row"].eq(0)
        self.if_then_call(is_shared, lambda: self.add_shared_mask(key, count))
        self.if_then_call(
            is_shared.eq(0),
            lambda: self.for_columns(lambda column: self.add_query_masks(query, key, count, column)),
        )

    def add_shared_mask(self, key: LLVMValue, count: LLVMValue) -> None:
        def add_element(i: LLVMValue) -> None:
            element = self.load_mask_element(
                self.head_pointers["mask"], (key + i) * self.sizes["mask_column"]
            )
            self.for_columns(lambda column: self.add_to(self.scratch_cell("p", i, column), element))

        self.loop_call(self.i64(0), count, 1, add_element, "shared")

    def add_query_masks(self, query: LLVMValue, key: LLVMValue, count: LLVMValue, column: LLVMValue) -> None:
        rows = [self.row_pointer("mask", self.clamp_query(query + column + i)) for i in range(self.lanes)]

        def transpose_block(i: LLVMValue, mask: LLVMValue | None) -> None:
            block = self.transpose([self.load_mask_vector(row, key + i, mask) for row in rows])
            for j, value in enumerate(block):
                self.add_to(self.scratch_cell("p", i + j, column), value)

        self.loop_masked_vectors(count, transpose_block)

    def add_to(self, address: str, value: LLVMValue) -> None:
        self.store_vector(self.load_vector(address) + value, address)

    def update_column_softmax(
        self, query: LLVMValue, key: LLVMValue, count: LLVMValue, column: LLVMValue
    ) -> None:
        """Turns a block of scores of a vector of queries into exp(score - maximum).

        Updates the queries' maxima and sums, and stores the factors that rescale their outputs to the new maxima.
        """
        padded_count = count + (FOLD_CHAINS - 1) & -FOLD_CHAINS
        self.loop_call(
            count,
            padded_count,
            1,
            lambda i: self.store_vector(self.negative_infinity, self.scratch_cell("p", i, column)),
            "even",
        )
        addresses = {name: self.gep(self.scratch_areas[name], column) for name in ("max", "sum", "factor")}
        old_maximum = self.load_vector(addresses["max"])
        new_maximum = self.fold_keys(
            padded_count,
            old_maximum,
            self.max_skipping_nan,
            lambda i: self.mask_key_scores(query, key, i, column),
        )
        base = self.softmax_base(new_maximum)
        factor = self.call_vector_function(exp_nonpositive, old_maximum - base)
        self.store_vector(new_maximum, addresses["max"])
        self.store_vector(factor, addresses["factor"])

        def exponentiate(i: LLVMValue) -> LLVMValue:
            address = self.scratch_cell("p", i, column)
            weight = self.call_vector_function(exp_nonpositive, self.load_vector(address) - base)
            self.store_vector(weight, address)
            return weight

        total = self.fold_keys(padded_count, self.zeros, lambda a, b: a + b, exponentiate)
        self.store_vector(self.fma(self.load_vector(addresses["sum"]), factor, total), addresses["sum"])

    def mask_key_scores(self, query: LLVMValue, key: LLVMValue, i: LLVMValue, column: LLVMValue) -> LLVMValue:
        """The scores of a key for a vector of queries; -inf for queries whose key bounds exclude it."""
        address = self.scratch_cell("p", i, column)
        scores = self.load_vector(address)
        if not (self.variant.causal or self.variant.windowed):
            return scores
        # The key's position relative to the first query of the vector.
        sizes, position = self.sizes, key + i - self.length_offset - query - column
        if self.variant.causal:
            first_lane = self.splat_lane_number(position - sizes["causal_offset"] + 1)
            scores = self.select(self.lane_numbers >= first_lane, scores, self.negative_infinity)
        if self.variant.windowed:
            last_lane = self.splat_lane_number(position - sizes["window_offset"])
            scores = self.select(self.lane_numbers <= last_lane, scores, self.negative_infinity)
        self.store_vector(scores, address)
        return scores

    @property
    def lane_numbers(self) -> LLVMValue:
        lanes = ", ".join(f"i32 {lane}" for lane in range(self.lanes))
        return LLVMValue(self, LLVMType("i32", self.lanes), f"<{lanes}>" if self.lanes > 1 else "0")

    def splat_lane_number(self, number: LLVMValue) -> LLVMValue:
        """A lane number in every lane, clamped to -1..lanes so that it fits an i32."""
        clamped = self.min(number, self.i64(self.lanes))
        clamped = self.select(clamped < 0, self.i64(-1), clamped)
        return self.splat(clamped.convert("trunc", "i32"), self.lanes)

    def fold_keys(
        self,
        count: LLVMValue,
        start: LLVMValue,
        op: Callable[[LLVMValue, LLVMValue], LLVMValue],
        element: Callable[[LLVMValue], LLVMValue],
    ) -> LLVMValue:
        """The fold of `element(i)` for i in 0..count, a multiple of `FOLD_CHAINS`; start: neutral or idempotent."""
        slots = [self.new_slot("fold", self.vector_type) for _ in range(FOLD_CHAINS)]
        for slot in slots:
            self.store(slot, start)

        def update_chains(i: LLVMValue) -> None:
            for j, slot in enumerate(slots):
                self.store(slot, op(self.load(slot), element(i + j)))

        self.loop_call(self.i64(0), count, FOLD_CHAINS, update_chains, "fold")
        first, second, third, fourth = (self.load(slot) for slot in slots)
        return op(op(first, second), op(third, fourth))

    # --- outputs -----------------------------------------------------------------------------

    def clear_masked_column(self, query: LLVMValue, i: LLVMValue) -> None:
        """Clears the output of query i of the panel if all its keys are masked, even if its scores are NaN."""
        total = StackSlot(self.gep(self.scratch_areas["sum"], i), LLVMType("float"))

        def clear() -> None:
            zero = self.constant(0.0, total.type)
            self.store(total, self.constant(1.0, total.type))
            self.loop_call(
                self.i64(0),
                self.sizes["width"],
                1,
                lambda d: self.store(StackSlot(self.scratch_cell("o", d, i), total.type), zero),
                "none",
            )

        def check_mask() -> None:
            mask_row = self.row_pointer("mask", query + i) if self.variant.mask_type else ""
            self.if_then_call(self.is_fully_masked(query + i, mask_row), clear)

        self.if_then_call((self.load(total) > 0).eq(0), check_mask)

    def store_queries(self, query: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
        """Writes the outputs of a vector of queries, transposed to a row for each query.

        Lanes past the last query write to its row, too; rows are written in reverse, so the last query overwrites them.
        """
        inverse = self.reciprocal_sum(self.load_vector(self.gep(self.scratch_areas["sum"], column)))
        last = query + count - 1
        rows = [self.row_pointer("y", self.min(query + column + i, last)) for i in range(self.lanes)]

        def transpose_block(d: LLVMValue, mask: LLVMValue | None) -> None:
            outputs = [
                self.load_vector(self.scratch_cell("o", d + i, column)) * inverse for i in range(self.lanes)
            ]
            for row, value in reversed(list(zip(rows, self.transpose(outputs), strict=True))):
                self.store_vector(value, self.gep(row, d), mask)

        self.loop_masked_vectors(self.sizes["width"], transpose_block)
