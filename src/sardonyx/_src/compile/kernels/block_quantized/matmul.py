"""Product of float32 rows with block-quantized weights: y [M, N] = epilogue(a [M, K] @ b [K, N]).

    for panel of B:                                     # a unit of work is a panel and a group of rows
        for rows in the panel's units of this call:
            if the product has at most one register tile of rows: one tile over all of K, dequantizing in registers
            else: for k_block in K: dequantize; for row_block in rows by MR: a tile of the GEMM

The packed bytes are read once for each group of rows; with few rows, memory limits the product.  Rows of int8 have one loop
for all numbers of rows (`int8_matmul.py`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.block_quantized import int8_tiles
from sardonyx._src.compile.kernels.block_quantized.blocks import BlockFormat, PackedBlocks, terms_per_part
from sardonyx._src.compile.kernels.block_quantized.int8_matmul import emit_int8_rows
from sardonyx._src.compile.kernels.block_quantized.tiles import TermSpan, accumulate_span, dequantize_span
from sardonyx._src.compile.kernels.epilogue import NO_EPILOGUE, Epilogue
from sardonyx._src.compile.kernels.gemm.floats.loop_nest import unit_rows
from sardonyx._src.compile.kernels.gemm.floats.panel_rows import (
    PanelRows,
    TermRange,
    emit_row_blocks,
    row_starts,
)
from sardonyx._src.compile.kernels.gemm.tile import nest
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    FLOAT32_ARITHMETIC,
    Microkernel,
    make_microkernel,
)
from sardonyx._src.compile.kernels.gemm.tile.nest import TileSums
from sardonyx._src.compile.kernels.gemm.tile.output import (
    TileStore,
    load_output_matrix,
    output_arguments,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import rows_per_unit
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.tuning import BlockQuantizedTuning, GemmTuning, tuning_for
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import Known, ceil_div, dim_product

# The rows that a kernel has code for: at most one register tile ("few"), more ("many"), or all ("any").
RowCounts = Literal["few", "many", "any"]
SIZES = ("rows", "columns", "k", "group_rows", "groups", "panel_bytes", "a_row")


def product_parameters(epilogue: Epilogue) -> Parameters:
    """A, packed B, sizes, and the output."""
    return Parameters("a", "b", *SIZES) + output_parameters(epilogue)


def block_quantized_matmul_step(
    a: TensorView,
    b: PackedBlocks,
    y: TensorView,
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The step of y [..., N] = epilogue(a [..., K] @ b); rows of a and of y are contiguous and have one stride.

    If the format has int8 rows, a is [..., bytes] uint8, the result of `quantize_rows_step`.
    """
    assert a.row_stride is not None, f"rows of {a} must be contiguous and have one stride"
    rows = dim_product(y.shape[:-1])
    group_rows = rows_per_unit(rows, b.tile.rows, BlockQuantizedTuning.unit_rows)
    groups, panels = ceil_div(rows, group_rows), b.num_panels
    args: tuple[KernelArgument, ...] = product_parameters(epilogue).pack(
        a=a,
        b=b.tensor,
        rows=rows,
        columns=b.columns,
        k=b.k,
        group_rows=group_rows,
        groups=groups,
        panel_bytes=b.tensor.strides[0],
        a_row=a.row_stride,
        **output_arguments(y, epilogue, operands),
    )
    return Step(
        product_kernel(b.format, epilogue, row_counts(b, rows)),
        args,
        units=groups * panels,
        reads=(a, b.tensor, *operands),
        writes=(y,),
        flops=rows * b.columns * b.k * 2,
        bytes_accessed=(rows * b.k + rows * b.columns) * 4 + b.tensor.nbytes,
        scratch=0 if b.format.has_int8_rows else scratch_floats(b) * 4,
    )


def scratch_floats(b: PackedBlocks) -> int:
    """The floats of scratch of a unit: partial sums, and a part of a panel."""
    return (GemmTuning.max_rows + GemmTuning.spare_rows + terms_per_part(b.format)) * b.tile.width


def row_counts(b: PackedBlocks, rows: Known) -> RowCounts:
    """The row counts that a kernel needs code for, given the number of rows of the product."""
    if not isinstance(rows, int) or b.format.has_int8_rows:
        return "any"
    return "few" if rows <= b.tile.rows else "many"


def product_kernel(format_: BlockFormat, epilogue: Epilogue, counts: RowCounts) -> Kernel:
    """The kernel, specialized on the format of the blocks, the epilogue and the row counts."""
    zero = "zeros" if format_.zero is None else f"zero{format_.zero}"
    zero += "_int8" * format_.has_int8_rows
    key = f"matmul_blocks_{format_.bits}_{format_.size}_{format_.width}_{zero}_{counts}:{epilogue.key}"
    source = partial(product_module, format_=format_, epilogue=epilogue, counts=counts)
    return Kernel(key, source, product_parameters(epilogue))


def product_module(
    name: str, target: Target, format_: BlockFormat, epilogue: Epilogue, counts: RowCounts
) -> str:
    """The LLVM module of the kernel."""
    b = KernelBuilder(target, product_parameters(epilogue))
    tile = make_tile(tuning_for(target).gemm.dynamic_tile_vectors, target)
    assert tile.width == format_.width, f"panels must be packed for the target, {tile.width} columns wide"
    if format_.has_int8_rows:
        heights = int8_tiles.row_counts(format_, target)
        tile = replace(tile, rows=heights[-1], counts=heights)
    m = make_microkernel(b, tile, epilogue, FLOAT32_ARITHMETIC)
    a, panels = b.pointers("a", "b")
    size = {name: b.integer(name) for name in SIZES}
    y = load_output_matrix(b, epilogue)
    groups = b.select(size["groups"] < 1, b.constant(1, I64), size["groups"])
    with b.loop(b.udiv(b.first_unit, groups), b.udiv(b.end_unit + groups - 1, groups), 1, "panel") as number:
        panel = b.gep(panels, number * size["panel_bytes"], "i8")
        first, end = unit_rows(b, size, number * groups)
        with b.loop(first, end + (GemmTuning.max_rows - 1), GemmTuning.max_rows, "rows") as row:
            unit = PanelRows(
                a=a,
                a_row=size["a_row"],
                panel=panel,
                k=size["k"],
                output=y,
                first_row=row,
                num_rows=b.min(end - row, GemmTuning.max_rows),
                column=number * tile.width,
                end_column=size["columns"],
            )
            if format_.has_int8_rows:
                emit_int8_rows(m, format_, unit)
            else:
                emit_float_rows(m, format_, unit, size["rows"], counts)
    return b.build_module(name)


def emit_float_rows(
    m: Microkernel, format_: BlockFormat, unit: PanelRows, rows: LLVMValue, counts: RowCounts
) -> None:
    """The products of a unit of work.

    rows: those of the product, not of the unit: sums do not depend on the division into units.
    """
    is_few = rows <= m.tile.rows
    if counts != "many":
        with m.b.if_then(is_few):
            emit_few_rows(m, format_, unit)
    if counts != "few":
        with m.b.if_then(is_few.eq(0)):
            emit_many_rows(m, format_, unit)


def emit_few_rows(m: Microkernel, format_: BlockFormat, unit: PanelRows) -> None:
    """One register tile over all of K."""
    b = m.b
    store = TileStore(unit.output, unit.first_row, unit.column, unit.end_column)
    span = TermSpan(unit.panel, i64(b, 0), unit.k)

    def add_terms(rows: int) -> None:
        starts = row_starts(m, unit, unit.first_row, unit.num_rows, rows)
        accumulate_span(m, [b.gep(unit.a, start) for start in starts], span, format_)

    nest.emit_tile(m, unit.num_rows, TileSums(store), add_terms)


def emit_many_rows(m: Microkernel, format_: BlockFormat, unit: PanelRows) -> None:
    """A loop over parts of k: dequantizes a part into scratch, after the partial sums, then computes the tiles of all rows."""
    b, width, terms = m.b, m.tile.width, terms_per_part(format_)
    weights = b.gep(b.scratch, i64(b, (GemmTuning.max_rows + GemmTuning.spare_rows) * width))
    blocks = terms // format_.size
    with b.loop(i64(b, 0), b.udiv(unit.k + (terms - 1), terms), 1, "part") as part:
        k = part * terms
        count = b.min(unit.k - k, terms)
        packed = b.gep(unit.panel, part * (blocks * format_.block_bytes), "i8")
        dequantize_span(b, TermSpan(packed, k, count), format_, weights)
        dequantized = replace(unit, panel=b.gep(weights, 0 - k * width))
        emit_row_blocks(m, dequantized, TermRange(k, count, None, has_next=False))
