"""Attention scores as an output of their own: ONNX's `qk_matmul_output`, [B, H, S, T].

A unit of work is a row of scores, of one query.  The stage says how far the scores are on their way to softmax weights.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.attention.attention_emitter import AttentionEmitter
from sardonyx._src.compile.kernels.attention.online_softmax import exp_nonpositive
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant

# Stages: scale * q * k'; then with softcap; then with mask and key bounds; then after softmax.
SCALED_SCORES, SOFTCAPPED_SCORES, MASKED_SCORES, ATTENTION_WEIGHTS = range(4)


def scores_source(name: str, target: Target, *, variant: AttentionVariant, stage: int) -> str:
    """The LLVM module of a kernel with the arguments of `AttentionEmitter`, except y: [B, H, S, max_length]."""
    emitter = ScoresEmitter(target, variant if stage >= MASKED_SCORES else without_key_bounds(variant), stage)
    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, emitter.emit_row, "unit")
    return emitter.build_module(name)


def without_key_bounds(variant: AttentionVariant) -> AttentionVariant:
    """The variant with the same arguments, whose key bounds are not applied."""
    return replace(variant, causal=False, windowed=False)


class ScoresEmitter(AttentionEmitter):
    """Emits a row of scores of `max_length` keys, those from `keys` on masked.  Scratch: the scaled query."""

    def __init__(self, target: Target, variant: AttentionVariant, stage: int) -> None:
        super().__init__(target, variant)
        self.stage = stage

    def emit_row(self, unit: LLVMValue) -> None:
        size = self.sizes
        index, query = self.udivmod(unit, size["queries"])
        index, q_head = self.udivmod(index, size["group_size"])
        batch, kv_head = self.udivmod(index, size["kv_heads"])
        self.select_head(batch, kv_head, q_head)
        q, y, length = self.row_pointer("q", query), self.row_pointer("y", query), size["max_length"]
        self.loop_masked_vectors(
            size["depth"],
            lambda d, mask: self.store_vector(
                self.load_vector(self.gep(q, d), mask) * self.scale, self.gep(self.scratch, d)
            ),
        )
        maximum = self.new_slot("max", self.vector_type)
        self.store(maximum, self.negative_infinity)

        def emit_vector(key: LLVMValue, mask: LLVMValue | None) -> None:
            scores = self.score_vector(query, key)
            self.store(maximum, self.max_skipping_nan(self.load(maximum), scores))
            self.store_vector(scores, self.gep(y, key), mask)

        self.loop_masked_vectors(length, emit_vector)
        if self.stage == ATTENTION_WEIGHTS:
            self.apply_softmax(query, y, self.softmax_base(self.reduce_max(self.load(maximum))))

    def score_vector(self, query: LLVMValue, key: LLVMValue) -> LLVMValue:
        """A vector of scores; lanes past the last key repeat its score, or hold -inf once the mask is applied."""
        last = self.sizes["max_length"] - 1
        rows = [self.row_pointer("k", self.min(key + i, last)) for i in range(self.lanes)]
        scores = self.dot_rows(self.scratch, rows, self.sizes["depth"])
        if self.variant.has_softcap and self.stage >= SOFTCAPPED_SCORES:
            scores = self.apply_softcap(scores)
        if self.stage < MASKED_SCORES:
            return scores
        is_before_end = self.first_lanes(self.key_end_of(query) - key)
        if self.variant.mask_type:
            scores = scores + self.load_mask_vector(self.row_pointer("mask", query), key, is_before_end)
        scores = self.select(is_before_end, scores, self.negative_infinity)
        if self.variant.windowed:
            is_before_begin = self.first_lanes(self.key_begin_of(query) - key)
            scores = self.select(is_before_begin, self.negative_infinity, scores)
        return scores

    def apply_softmax(self, query: LLVMValue, y: str, base: LLVMValue) -> None:
        """Turns a row of scores into weights; zeros for a query whose keys are all masked."""
        total, factor = (self.new_slot(name, self.vector_type) for name in ("total", "factor"))
        self.store(total, self.zeros)

        def exponentiate(key: LLVMValue, mask: LLVMValue | None) -> None:
            address = self.gep(y, key)
            weights = self.call_vector_function(exp_nonpositive, self.load_vector(address, mask) - base)
            self.store_vector(weights, address, mask)
            addend = weights if mask is None else self.select(mask, weights, self.zeros)
            self.store(total, self.load(total) + addend)

        def normalize(key: LLVMValue, mask: LLVMValue | None) -> None:
            address = self.gep(y, key)
            self.store_vector(self.load_vector(address, mask) * self.load(factor), address, mask)

        def clear(key: LLVMValue, mask: LLVMValue | None) -> None:
            self.store_vector(self.zeros, self.gep(y, key), mask)

        self.loop_masked_vectors(self.sizes["max_length"], exponentiate)
        row_total = self.reduce_lanes("add", self.load(total))
        self.store(factor, 1.0 / row_total)
        self.loop_masked_vectors(self.sizes["max_length"], normalize)
        if self.variant.can_mask_rows:
            mask_row = self.row_pointer("mask", query) if self.variant.mask_type else ""

            def check_mask() -> None:
                self.if_then_call(
                    self.is_fully_masked(query, mask_row),
                    lambda: self.loop_masked_vectors(self.sizes["max_length"], clear),
                )

            self.if_then_call(self.is_not_positive(row_total), check_mask)
