"""The fused attention kernel: softmax(scale * q * k' + mask) * v, in units of the prefill or the decode kernel.

A unit of work is a block of `query_block` queries of one head (prefill), or the few queries of several heads and a range of
the keys (decode).  The kernel argument `is_decode` chooses at run time, since the number of queries may not be known before.
Loop nest: units -> panels of queries -> `prefill`; or units -> `decode`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sardonyx._src.compile.codegen import I64, LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.decode import emit_decode_unit
from sardonyx._src.compile.kernels.attention.heads import AttentionHead, select_head
from sardonyx._src.compile.kernels.attention.panel_gemm import panel_gemm_function
from sardonyx._src.compile.kernels.attention.parameters import (
    AttentionKernel,
    attention_parameters,
    load_arguments,
)
from sardonyx._src.compile.kernels.attention.prefill import emit_panel
from sardonyx._src.compile.kernels.attention.query_panel import QueryPanel, lay_out_scratch
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.tuning import AttentionTuning, tuning_for


def attention_module(name: str, target: Target, *, variant: AttentionVariant) -> str:
    """The LLVM module of a kernel: its function, and one function with a panel GEMM for each panel width."""
    b = KernelBuilder(target, attention_parameters(variant))
    kernel = load_arguments(b, variant)
    gemms = {vectors: f"{name}_product{vectors}" for vectors in tuning_for(target).attention.tile_rows}
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        emit_unit(kernel, gemms, unit)
    functions = []
    for vectors, symbol in gemms.items():
        gemm_builder = KernelBuilder(target)
        functions.append(panel_gemm_function(gemm_builder, symbol, vectors))
        b.definitions.declare(*gemm_builder.declarations)
    return "\n".join((b.build_module(name), *functions))


def emit_unit(kernel: AttentionKernel, gemms: dict[int, str], unit: LLVMValue) -> None:
    """Decomposes a unit number, [batch, kv_heads, q_heads, splits, query blocks], and emits the unit."""
    b, size = kernel.b, kernel.sizes
    blocks = b.udiv(size["queries"] + (AttentionTuning.query_block - 1), AttentionTuning.query_block)
    q_head_blocks = b.udiv(size["group_size"] + (size["unit_q_heads"] - 1), size["unit_q_heads"])
    kv_head_blocks = b.udiv(size["kv_heads"] + (size["unit_kv_heads"] - 1), size["unit_kv_heads"])
    index, block = b.udivmod(unit, blocks)
    index, split = b.udivmod(index, size["splits"])
    index, q_head_block = b.udivmod(index, q_head_blocks)
    batch, kv_head_block = b.udivmod(index, kv_head_blocks)
    kv_head, q_head = kv_head_block * size["unit_kv_heads"], q_head_block * size["unit_q_heads"]
    head = split_keys(kernel, select_head(kernel, batch, kv_head, q_head), split)
    is_decode = size["is_decode"].ne(0)
    with b.if_then(is_decode):
        emit_decode_unit(kernel, head, (batch, kv_head, q_head, split))
    with b.if_then(is_decode.eq(0)):
        emit_prefill_unit(kernel, gemms, head, block * AttentionTuning.query_block)


def split_keys(kernel: AttentionKernel, head: AttentionHead, split: LLVMValue) -> AttentionHead:
    """The head with the keys of one split: all of them if there is only one."""
    b, begin = kernel.b, split * AttentionTuning.split_keys
    has_splits = kernel.sizes["splits"] > 1
    end = b.select(has_splits, b.min(head.key_end, begin + AttentionTuning.split_keys), head.key_end)
    return replace(head, key_begin=begin, key_end=end)


def emit_prefill_unit(
    kernel: AttentionKernel, gemms: dict[int, str], head: AttentionHead, first: LLVMValue
) -> None:
    """The outputs of a block of the queries of a head, panel by panel."""
    b = kernel.b
    block_queries = b.min(kernel.sizes["queries"] - first, AttentionTuning.query_block)
    with loop_panels(b, block_queries, list(gemms)) as (position, count):
        query = first + position
        width, gemm = choose_panel_gemm(b, gemms, count)
        emit_panel(kernel, QueryPanel(head, first, query, count, width, gemm, lay_out_scratch(kernel)))


@contextmanager
def loop_panels(
    b: KernelBuilder, count: LLVMValue, widths: list[int]
) -> Iterator[tuple[LLVMValue, LLVMValue]]:
    """A loop over the panels of `count` > 0 queries: the first query of each, and its number of queries."""
    slot = b.new_slot("queries", I64)
    b.store(slot, i64(b, 0))
    head, done = b.new_label("head"), b.new_label("done")
    b.enter_block(head)
    position = b.load(slot)
    panel_queries = choose_panel_queries(b, count - position, widths)
    yield position, panel_queries
    b.store(slot, position + panel_queries)
    b.lines.append(f" br {position + panel_queries < count}, label %{head}, label %{done}")
    b.start_block(done)


def choose_panel_queries(b: KernelBuilder, remaining: LLVMValue, widths: list[int]) -> LLVMValue:
    """The number of queries of the next panel: as many as the widest panel holds.

    A full narrower panel is preferred if at most an eighth of a vector of queries remains: the remaining queries are faster
    in another panel than as part of a wider one.
    """
    widest, *narrower = (vectors * b.target.lanes for vectors in widths)
    count = b.min(remaining, widest)
    for width in narrower:
        is_slightly_wider = (count > width) & (count - width <= b.target.lanes // 8)
        count = b.select(is_slightly_wider, width, count)
    return count


def choose_panel_gemm(b: KernelBuilder, gemms: dict[int, str], count: LLVMValue) -> tuple[LLVMValue, str]:
    """The width of the narrowest panel that holds `count` queries, and the symbol of its GEMM."""
    (widest, symbol), *narrower = gemms.items()
    width, gemm = i64(b, widest * b.target.lanes), f"@{symbol}"
    for vectors, symbol in narrower:
        fits = count <= vectors * b.target.lanes
        width = b.select(fits, vectors * b.target.lanes, width)
        gemm = b.select_pointer(fits, f"@{symbol}", gemm)
    return width, gemm
