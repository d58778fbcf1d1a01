"""Prefill attention kernel: tiled attention over panels of queries, with online softmax.

A panel has up to `query_block` queries of one head, stored transposed: SIMD lanes run along queries, so that softmax over
keys needs no reductions across lanes.  Loop nest of a panel:

    for each block of `key_block` keys:
        p [keys, queries] = k * q                   panel_gemm
        softcap, mask, causal and window bounds     prefill_softmax
        online softmax: maximum, sum and rescaling factor of each query; p -> exp(p - maximum)
        o [E, queries] = factor * o + v' * p        panel_gemm
    y = transposed o / sum

Only one block of scores exists at a time.  Tiling: Dao et al., "FlashAttention"; online softmax: Milakov and Gimelshein,
"Online normalizer calculation for softmax".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.heads import (
    apply_softcap,
    is_fully_masked,
    key_begin_of,
    key_end_of,
    row_pointer,
)
from sardonyx._src.compile.kernels.attention.online_softmax import negative_infinity, reciprocal_sum
from sardonyx._src.compile.kernels.attention.parameters import AttentionKernel
from sardonyx._src.compile.kernels.attention.prefill_softmax import add_mask, update_column_softmax
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
    loop_blocks,
    loop_masked_vectors,
    store_vector,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import AttentionTuning


def emit_panel(kernel: AttentionKernel, panel: QueryPanel) -> None:
    """The outputs of a panel of queries."""
    b, count = kernel.b, panel.count
    with loop_columns(b, panel) as column:
        load_queries(kernel, panel, column)
    with loop_key_blocks(kernel, panel) as (key, keys):
        emit_key_block(kernel, panel, key, keys)
    if kernel.variant.zero_masked_rows:
        with b.loop(i64(b, 0), count, name="query") as i:
            clear_masked_column(kernel, panel, i)
    with loop_blocks(b, count, b.target.lanes, "column") as column:
        store_queries(kernel, panel, column)


@contextmanager
def loop_key_blocks(kernel: AttentionKernel, panel: QueryPanel) -> Iterator[tuple[LLVMValue, LLVMValue]]:
    """A loop over the blocks of keys that a panel attends to: the first key of each, and its number of keys.

    Blocks and the chains of their sums begin at the first key of the unit, since the panels depend on the lanes of the target.
    The keys of the first block before those of the panel are left out.
    """
    b, block, chains = kernel.b, AttentionTuning.key_block, AttentionTuning.fold_chains
    unit_begin = key_begin_of(kernel, panel.head, panel.unit_query)
    end = key_end_of(kernel, panel.head, panel.query + panel.count - 1)
    skipped = (key_begin_of(kernel, panel.head, panel.query) - unit_begin) & -chains
    begin = unit_begin + skipped
    with b.loop(unit_begin + (skipped & -block), end + (block - 1), block, "key") as first:
        key = b.select(first < begin, begin, first)
        yield key, b.min(end, first + block) - key


def load_queries(kernel: AttentionKernel, panel: QueryPanel, column: LLVMValue) -> None:
    """Copies a vector of scaled queries, transposed, into the panel, and clears their outputs."""
    b, lanes = kernel.b, range(kernel.b.target.lanes)
    store_vector(b, negative_infinity(b), b.gep(panel.areas["max"], column))
    store_vector(b, zeros(b), b.gep(panel.areas["sum"], column))
    rows = [query_row_pointer(kernel, panel, "q", column, i) for i in lanes]
    scale = b.splat(kernel.scale, b.target.lanes)
    for d, mask in loop_masked_vectors(b, kernel.sizes["depth"]):
        block = transpose(b, [load_vector(b, b.gep(row, d), mask) * scale for row in rows])
        for i, value in enumerate(block):
            store_vector(b, value, scratch_cell(b, panel, "q", d + i, column))
    with b.loop(i64(b, 0), kernel.sizes["width"], name="d") as d:
        store_vector(b, zeros(b), scratch_cell(b, panel, "o", d, column))


def emit_key_block(kernel: AttentionKernel, panel: QueryPanel, key: LLVMValue, count: LLVMValue) -> None:
    """Adds the values of a block of keys, weighted by their scores, to the outputs."""
    b, size = kernel.b, kernel.sizes
    q, p, o, factor = (f"ptr {panel.areas[name]}" for name in ("q", "p", "o", "factor"))
    k = row_pointer(kernel, panel.head, "k", key)
    call_panel_gemm(
        b, panel, f"ptr {k}", size["k_row"], size["k_column"], q, size["depth"], p, count, "ptr null"
    )
    if kernel.variant.has_softcap:
        with b.loop(i64(b, 0), count * panel.width, b.target.lanes, "score") as i:
            address = b.gep(panel.areas["p"], i)
            store_vector(b, apply_softcap(kernel, load_vector(b, address)), address)
    if kernel.variant.mask_type:
        add_mask(kernel, panel, key, count)
    with loop_columns(b, panel) as column:
        update_column_softmax(kernel, panel, key, count, column)
    v = row_pointer(kernel, panel.head, "v", key)  # exchanged strides make it the transpose
    call_panel_gemm(b, panel, f"ptr {v}", size["v_column"], size["v_row"], p, count, o, size["width"], factor)


def call_panel_gemm(b: KernelBuilder, panel: QueryPanel, *arguments: str | LLVMValue) -> None:
    """Calls the function of `panel_gemm` for the width of the panel."""
    b.lines.append(f" call void {panel.gemm}({', '.join(map(str, arguments))})")


def clear_masked_column(kernel: AttentionKernel, panel: QueryPanel, i: LLVMValue) -> None:
    """Clears the output of query i of the panel if all its keys are masked, even if its scores are NaN."""
    b, scalar = kernel.b, LLVMType("float")
    total = MemoryLocation(b.gep(panel.areas["sum"], i), scalar)
    with b.if_then((b.load(total) > 0).eq(0)):
        has_mask = kernel.variant.mask_type
        mask_row = row_pointer(kernel, panel.head, "mask", panel.query + i) if has_mask else ""
        with b.if_then(is_fully_masked(kernel, panel.head, panel.query + i, mask_row)):
            b.store(total, b.constant(1.0, scalar))
            with b.loop(i64(b, 0), kernel.sizes["width"], name="d") as d:
                b.store(MemoryLocation(scratch_cell(b, panel, "o", d, i), scalar), b.constant(0.0, scalar))


def store_queries(kernel: AttentionKernel, panel: QueryPanel, column: LLVMValue) -> None:
    """Writes the outputs of a vector of queries, transposed to a row for each query.

    Lanes past the last query write to the last query's row, too.  Rows are written in reverse, so that the last query
    overwrites what these lanes wrote.
    """
    b, lanes = kernel.b, range(kernel.b.target.lanes)
    inverse = reciprocal_sum(b, load_vector(b, b.gep(panel.areas["sum"], column)), kernel.sizes["keys"])
    last = panel.query + panel.count - 1
    rows = [row_pointer(kernel, panel.head, "y", b.min(panel.query + column + i, last)) for i in lanes]
    for d, mask in loop_masked_vectors(b, kernel.sizes["width"]):
        outputs = [load_vector(b, scratch_cell(b, panel, "o", d + i, column)) * inverse for i in lanes]
        for row, value in reversed(list(zip(rows, transpose(b, outputs), strict=True))):
            store_vector(b, value, b.gep(row, d), mask)
