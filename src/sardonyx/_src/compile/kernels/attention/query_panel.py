"""A panel of the queries of one head in scratch: the operands, scores and outputs of the prefill kernel."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.heads import AttentionHead, row_pointer
from sardonyx._src.compile.kernels.attention.parameters import AttentionKernel, aligned_size
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.tuning import AttentionTuning
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class QueryPanel:
    """A panel of `count` queries of a head, from number `query` on.

    unit_query: the first query of the unit, which decides where blocks of keys begin.
    width: the number of queries, padded to a width for which there is a panel GEMM.
    gemm: the symbol of the panel GEMM for this width.
    areas: addresses in scratch by name (`lay_out_scratch`).
    """

    head: AttentionHead
    unit_query: LLVMValue
    query: LLVMValue
    count: LLVMValue
    width: LLVMValue
    gemm: str
    areas: Mapping[str, str]


def lay_out_scratch(kernel: AttentionKernel) -> dict[str, str]:
    """The addresses of the areas of scratch by name, each [rows, queries].

    "max", "sum" and "factor" have one row, "q" has D rows, "o" (outputs) E rows, and "p" (scores), which is the last area,
    one row for each key of a block.
    """
    b, single, zero = kernel.b, i64(kernel.b, 1), i64(kernel.b, 0)
    depth, width = aligned_size(kernel, "depth"), aligned_size(kernel, "width")
    rows = {"max": single, "sum": single, "factor": single, "q": depth, "o": width, "p": zero}
    areas, offset = {}, zero
    for name, count in rows.items():
        areas[name] = b.gep(b.scratch, offset)
        offset = offset + count * AttentionTuning.query_block
    return areas


def loop_columns(b: KernelBuilder, panel: QueryPanel) -> AbstractContextManager[LLVMValue]:
    """A loop over the vectors of queries of a panel: the first query of each."""
    return b.loop(i64(b, 0), panel.width, b.target.lanes, "column")


def scratch_cell(b: KernelBuilder, panel: QueryPanel, area: str, row: LLVMValue, column: LLVMValue) -> str:
    return b.gep(panel.areas[area], row * panel.width + column)


def query_row_pointer(
    kernel: AttentionKernel, panel: QueryPanel, name: str, column: LLVMValue, lane: int
) -> str:
    """The address of the row of query number column + lane of the panel; queries that pad it repeat the last one."""
    query = kernel.b.min(panel.query + column + lane, kernel.sizes["queries"] - 1)
    return row_pointer(kernel, panel.head, name, query)
