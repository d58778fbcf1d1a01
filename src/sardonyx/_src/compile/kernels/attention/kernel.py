"""The fused attention kernel: softmax(scale * q * k' + mask) * v, in units of the prefill or the decode kernel.

A unit of work is a block of `QUERY_BLOCK` queries of one head (prefill), or the few queries of several heads and a range of
the keys (decode).  `is_decode`, a kernel argument, chooses, since the number of queries may be known only at run time.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.attention.attention_emitter import QUERY_BLOCK, SPLIT_KEYS
from sardonyx._src.compile.kernels.attention.decode import DecodeEmitter
from sardonyx._src.compile.kernels.attention.panel_gemm import PanelGemmEmitter, panel_widths
from sardonyx._src.compile.kernels.attention.prefill import PrefillEmitter
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant


def attention_source(name: str, target: Target, *, variant: AttentionVariant) -> str:
    """The LLVM module of a kernel; its arguments are those of `AttentionEmitter`."""
    emitter = AttentionKernelEmitter(name, target, variant)
    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, emitter.emit_unit, "unit")
    panel_gemms = []
    for vectors in emitter.widths:
        gemm = PanelGemmEmitter(vectors, target)
        panel_gemms.append(gemm.emit_function(f"{name}_product{vectors}"))
        emitter.definitions.declare(*gemm.declarations)
    return "\n".join((emitter.build_module(name), *panel_gemms))


class AttentionKernelEmitter(PrefillEmitter, DecodeEmitter):
    """Emits the kernel; `widths` are the panel widths, in vectors, for which its module has a panel GEMM."""

    def __init__(self, name: str, target: Target, variant: AttentionVariant) -> None:
        super().__init__(target, variant)
        self.name, self.widths = name, panel_widths(target)
        # So few queries more than a panel holds are faster in a panel of their own than in a wider panel.
        self.max_excess = self.i64(target.lanes // 8)

    def emit_unit(self, unit: LLVMValue) -> None:
        """Decomposes a unit number, [batch, kv_heads, q_heads, splits, query blocks], and emits the unit."""
        size = self.sizes
        blocks = self.udiv(size["queries"] + (QUERY_BLOCK - 1), self.i64(QUERY_BLOCK))
        q_head_blocks, kv_head_blocks = (
            self.udiv(size[count] + (size[block] - 1), size[block])
            for count, block in (("group_size", "unit_q_heads"), ("kv_heads", "unit_kv_heads"))
        )
        index, block = self.udivmod(unit, blocks)
        index, split = self.udivmod(index, size["splits"])
        index, q_head_block = self.udivmod(index, q_head_blocks)
        batch, kv_head_block = self.udivmod(index, kv_head_blocks)
        kv_head, q_head = kv_head_block * size["unit_kv_heads"], q_head_block * size["unit_q_heads"]
        self.select_head(batch, kv_head, q_head)
        self.key_begin = split * SPLIT_KEYS
        self.key_end = self.select(
            size["splits"] > 1, self.min(self.key_end, self.key_begin + SPLIT_KEYS), self.key_end
        )
        is_decode = size["is_decode"].ne(0)
        self.if_then_call(is_decode, lambda: self.emit_decode_unit(batch, kv_head, q_head, split))
        self.if_then_call(is_decode.eq(0), lambda: self.emit_prefill_unit(block * QUERY_BLOCK))

    def emit_prefill_unit(self, first: LLVMValue) -> None:
        """The outputs of a block of the queries of a head, panel by panel."""
        count = self.min(self.sizes["queries"] - first, self.i64(QUERY_BLOCK))
        slot = self.new_slot("queries", I64)
        self.store(slot, self.i64(0))
        head, done = self.new_label("head"), self.new_label("done")
        self.enter_block(head)
        position = self.load(slot)
        panel_queries = self.choose_panel_queries(count - position)
        self.emit_narrowest_panel(first + position, panel_queries)
        self.store(slot, position + panel_queries)
        self.lines.append(f" br {position + panel_queries < count}, label %{head}, label %{done}")
        self.start_block(done)

    def choose_panel_queries(self, remaining: LLVMValue) -> LLVMValue:
        """The number of queries of the next panel: as many as the widest panel holds.

        A full narrower panel is preferred if it leaves at most `max_excess` queries over.
        """
        widest, *narrower = (vectors * self.lanes for vectors in self.widths)
        count = self.min(remaining, self.i64(widest))
        for width in narrower:
            is_slightly_wider = (count > width) & (count - width <= self.max_excess)
            count = self.select(is_slightly_wider, self.i64(width), count)
        return count

    def emit_narrowest_panel(self, query: LLVMValue, count: LLVMValue) -> None:
        """The outputs of `count` queries, in the narrowest panel that holds them."""
        widest, *narrower = self.widths
        self.panel_width, self.panel_gemm = self.i64(widest * self.lanes), f"@{self.name}_product{widest}"
        for vectors in narrower:
            fits = count <= vectors * self.lanes
            self.panel_width = self.select(fits, self.i64(vectors * self.lanes), self.panel_width)
            self.panel_gemm = self.select_pointer(fits, f"@{self.name}_product{vectors}", self.panel_gemm)
        self.emit_panel(query, count)
