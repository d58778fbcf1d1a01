"""Loop nest of a batched GEMM around the microkernel: y [M, N] = epilogue(a [M, K] @ b [K, N] + bias).

    for unit (batch item, panel of B, group of rows):      # units of work, which threads share
        for k_block in K by KC:                            # the block of the panel stays in the cache
            for row_block in group by MR:                  # one register tile
                microkernel over k_block; spill partial sums to scratch, or apply the epilogue and store

A has any strides; B is packed in panels [batch, panels, K, NR]; rows of y are contiguous.  Groups of rows vary fastest,
so that consecutive units reuse a panel that is in the cache.  Unlike the five loops of BLIS there is no packing of A and
no loop over blocks of columns: a unit has one panel.  Source: Goto and van de Geijn (2008); BLIS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import (
    Microkernel,
    TileArithmetic,
    accumulate,
    cache_line_elements,
    init_accumulators,
    load_accumulators,
    make_microkernel,
    panel_address,
)
from sardonyx._src.compile.kernels.gemm.integer_epilogue import operand_type, result_type
from sardonyx._src.compile.kernels.gemm.microkernel import clamp_row, dispatch_tile
from sardonyx._src.compile.kernels.gemm.output import (
    OutputMatrix,
    TileStore,
    load_output_matrix,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.row_blocks import RowBlock, loop_row_blocks

MATMUL_SIZES = (
    "rows", "columns", "k", "panels", "group_rows", "groups", "k_block", "inner", "a_row", "a_step",
    "a_outer", "a_inner", "b_outer", "b_inner", "y_outer", "y_inner",
)  # fmt: skip


def matmul_parameters(epilogue: Epilogue, *, has_bias: bool) -> Parameters:
    """A; panels of B; their bias [panels, width]; sizes; the output; strides of the epilogue's matrices along the batch axes.

    `outer` and `inner` are the batch axes.  Scratch: partial sums [rows of a group + `spare_rows`, width].
    """
    batch_strides = (f"{name}_{axis}" for name in matrix_names(epilogue) for axis in ("outer", "inner"))
    inputs = Parameters("a", "b", "bias") if has_bias else Parameters("a", "b")
    return inputs + Parameters(*MATMUL_SIZES) + output_parameters(epilogue) + Parameters(*batch_strides)


def matrix_names(epilogue: Epilogue) -> list[str]:
    """The parameters of the matrix operands of an epilogue."""
    return [f"o{i}" for i, layout in enumerate(epilogue.operand_layouts) if layout == "matrix"]


def matmul_module(
    name: str,
    target: Target,
    *,
    vectors: int,
    epilogue: Epilogue,
    arithmetic: TileArithmetic,
    has_bias: bool,
    has_strided_a: bool,
) -> str:
    """The LLVM module of the kernel, specialized on the panel's width, the arithmetic, the epilogue, a bias and a strided A."""
    b = KernelBuilder(target, matmul_parameters(epilogue, has_bias=has_bias))
    tile = make_tile(vectors, target)
    m = make_microkernel(b, tile, epilogue, arithmetic)
    emit_matmul(m, has_bias=has_bias, has_strided_a=has_strided_a)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class MatmulUnit:
    """One unit of work: the addresses of A, of the panel and of its bias; the output, its rows and its first column.

    a_step: the stride of A along k; None if it is 1.
    """

    a: str
    a_step: LLVMValue | None
    panel: str
    bias: str | None
    output: OutputMatrix
    first_row: LLVMValue
    num_rows: LLVMValue
    column: LLVMValue


def emit_matmul(m: Microkernel, *, has_bias: bool, has_strided_a: bool) -> None:
    """The loops over units of work, blocks of k and row blocks."""
    b, width = m.b, m.tile.width
    a, panels = b.pointers("a", "b")
    bias = b.pointer("bias") if has_bias else None
    size = {p: b.integer(p) for p in MATMUL_SIZES}
    y = load_output_matrix(b, m.epilogue)
    zero = b.constant(0, I64)
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as index:
        item_panel, group = b.udivmod(index, size["groups"])
        item, panel = b.udivmod(item_panel, size["panels"])
        outer, inner = b.udivmod(item, size["inner"])
        first = group * size["group_rows"]
        a_item = b.gep(a, outer * size["a_outer"] + inner * size["a_inner"])
        b_item = panel_address(m, panels, outer * size["b_outer"] + inner * size["b_inner"])
        unit = MatmulUnit(
            a=a_item,
            a_step=size["a_step"] if has_strided_a else None,
            panel=panel_address(m, b_item, panel * size["k"] * width),
            bias=None if bias is None else b.gep(bias, panel * width),
            output=batch_output(m, y, size, outer, inner),
            first_row=first,
            num_rows=b.min(size["rows"] - first, size["group_rows"]),
            column=panel * width,
        )
        k_blocks = b.udiv(size["k"] + size["k_block"] - 1, size["k_block"])
        k_blocks = b.select(k_blocks < 1, b.constant(1, I64), k_blocks)
        with b.loop(zero, k_blocks, 1, "part") as i:
            k = i * size["k_block"]
            count = b.min(size["k_block"], size["k"] - k)
            with loop_row_blocks(m, unit.num_rows) as block:
                emit_tile(m, size, unit, block, k, count)


def emit_tile(
    m: Microkernel,
    size: Mapping[str, LLVMValue],
    unit: MatmulUnit,
    block: RowBlock,
    k: LLVMValue,
    count: LLVMValue,
) -> None:
    """One register tile: initializes or reloads its sums, adds `count` terms from `k` on, then stores or spills them.

    Each block prefetches a share of the next k block of B, except for a single row, whose speed memory limits anyway.
    """
    b, tile = m.b, m.tile
    spill = b.gep(b.scratch, block.index * (tile.rows * tile.width))
    first = unit.first_row + block.first_row
    panel = panel_address(m, unit.panel, k * tile.width)
    line = prefetched_line(m, block)
    prefetch = panel_address(m, panel, count * (line * cache_line_elements(m) + tile.width))
    is_first, is_last = k.eq(0), k + count >= size["k"]
    tile_store = TileStore(unit.output, first, unit.column, size["columns"], spill, is_last)
    for rows in dispatch_tile(m, block.num_rows, tile_store):
        init_accumulators(m, rows, unit.bias)
        with b.if_then(is_first.eq(0)):
            load_accumulators(m, rows, spill)
        starts = [(first + clamp_row(b, r, block.num_rows)) * size["a_row"] for r in range(rows)]
        offset = k if unit.a_step is None else k * unit.a_step
        addresses = [b.gep(unit.a, start + offset) for start in starts]
        accumulate(m, addresses, panel, count, unit.a_step, None if rows == 1 else prefetch)


def prefetched_line(m: Microkernel, block: RowBlock) -> LLVMValue:
    """The cache line of each row of the next panel block that this row block prefetches."""
    return m.b.min(block.index, -(-m.tile.width // cache_line_elements(m)) - 1)


def batch_output(
    m: Microkernel, y: OutputMatrix, size: Mapping[str, LLVMValue], outer: LLVMValue, inner: LLVMValue
) -> OutputMatrix:
    """The output of a batch item, with the epilogue's operands there; strides count elements of each tensor's type."""
    b, operands = m.b, list(y.operands)
    for i, operand in enumerate(y.operands):
        if operand.layout == "matrix":
            offset = outer * b.integer(f"o{i}_outer") + inner * b.integer(f"o{i}_inner")
            element = operand_type(m.epilogue, i).llvm_element
            operands[i] = replace(operand, address=b.gep(operand.address, offset, element))
    offset = outer * size["y_outer"] + inner * size["y_inner"]
    address = b.gep(y.address, offset, result_type(m.epilogue).llvm_element)
    return replace(y, address=address, operands=tuple(operands))
