"""Loop nest of a batched GEMM around the microkernel: y [M, N] = epilogue(a [M, K] @ b [K, N] + bias).

    for chunk of rows of a large B:                        # it stays in a cache while the panels stream through
        for panel of B, of any batch item:
            for rows in the panel's units of this call:    # a unit of work is a panel and a group of rows
                the rows times the panel                   # `panel_rows.py`

A has any strides; B is packed in panels [batch, panels, K, NR]; rows of y are contiguous.  If a call has several units of
one panel, their rows are computed together: all of them use a block of the panel while it is in the cache, and the next
block is prefetched meanwhile.  Unlike the five loops of BLIS there is no packing of A and no loop over blocks of columns:
a unit has one panel.  Source: Goto and van de Geijn (2008); BLIS.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats import low_rank
from sardonyx._src.compile.kernels.gemm.floats.low_rank import load_update
from sardonyx._src.compile.kernels.gemm.floats.panel_rows import PanelRows, emit_rows
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    Microkernel,
    TileArithmetic,
    make_microkernel,
    panel_address,
    release_microkernel,
)
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import operand_type, result_type
from sardonyx._src.compile.kernels.gemm.tile.output import (
    OutputMatrix,
    load_output_matrix,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import divide_evenly, loop_chunks
from sardonyx._src.compile.kernels.tuning import GemmTuning

MATMUL_SIZES = (
    "rows", "columns", "k", "panels", "group_rows", "groups", "k_block", "inner", "a_row", "a_step",
    "a_outer", "a_inner", "b_outer", "b_inner", "y_outer", "y_inner", "chunk_rows",
)  # fmt: skip


def matmul_parameters(epilogue: Epilogue, *, has_bias: bool, has_update: bool = False) -> Parameters:
    """A; panels of B; their bias [panels, width]; sizes; the output; strides of the epilogue's matrices along the batch axes.

    The batch has two axes, `outer` and `inner`; `a_step` is the stride of A along k, `group_rows` the rows of a unit,
    `chunk_rows` those of a chunk.
    Scratch: partial sums [`max_rows` + `spare_rows`, width].
    """
    batch_strides = (f"{name}_{axis}" for name in matrix_names(epilogue) for axis in ("outer", "inner"))
    inputs = Parameters("a", "b", "bias") if has_bias else Parameters("a", "b")
    update = low_rank.PARAMETERS if has_update else Parameters()
    outputs = output_parameters(epilogue) + Parameters(*batch_strides)
    return inputs + Parameters(*MATMUL_SIZES) + outputs + update


def matrix_names(epilogue: Epilogue) -> list[str]:
    """The parameters of the matrix operands of an epilogue."""
    return [f"o{i}" for i, layout in enumerate(epilogue.operand_layouts) if layout == "matrix"]


def matmul_module(
    name: str,
    target: Target,
    *,
    vectors: int,
    amx_words: int = 0,
    epilogue: Epilogue,
    arithmetic: TileArithmetic,
    has_bias: bool,
    has_strided_a: bool,
    is_large: bool = False,
    has_update: bool = False,
) -> str:
    """The LLVM module of the kernel, specialized on the panel's width, the arithmetic, the epilogue, a bias, a strided A and a low-rank update.

    is_large: whether B is assumed to be in memory, not in the level-2 cache.
    amx_words: the words along k of an AMX tile (`RegisterTile`); 0 without AMX.
    """
    b = KernelBuilder(target, matmul_parameters(epilogue, has_bias=has_bias, has_update=has_update))
    tile = make_tile(vectors, target, amx_words)
    m = make_microkernel(b, tile, epilogue, arithmetic)
    emit_matmul(m, has_bias=has_bias, has_strided_a=has_strided_a, is_large=is_large, has_update=has_update)
    release_microkernel(m)
    return b.build_module(name)


def emit_matmul(
    m: Microkernel, *, has_bias: bool, has_strided_a: bool, is_large: bool, has_update: bool
) -> None:
    """The loops over units of work, blocks of k and row blocks."""
    b, width, panel_row = m.b, m.tile.width, m.panel_row
    a, panels = b.pointers("a", "b")
    bias = b.pointer("bias") if has_bias else None
    update_sizes = low_rank.SIZES if has_update else ()
    size = {p: b.integer(p) for p in (*MATMUL_SIZES, *update_sizes)}
    y = load_output_matrix(b, m.epilogue)
    groups = b.select(size["groups"] < 1, b.constant(1, I64), size["groups"])
    k_blocks = divide_evenly(b, size["k"], size["k_block"])
    end_panel = b.udiv(b.end_unit + groups - 1, groups)
    is_one_item = end_panel <= size["panels"]
    chunks = loop_chunks(b, size["rows"], size["chunk_rows"], is_one_item) if is_large else nullcontext()
    with chunks as chunk, b.loop(b.udiv(b.first_unit, groups), end_panel, 1, "panel") as item_panel:
        item, panel = b.udivmod(item_panel, size["panels"])
        outer, inner = b.udivmod(item, size["inner"])
        a_item = b.gep(a, outer * size["a_outer"] + inner * size["a_inner"])
        b_item = panel_address(m, panels, outer * size["b_outer"] + inner * size["b_inner"])
        first, end = unit_rows(b, size, item_panel * groups)
        if chunk is not None:
            first, end = b.select(first < chunk.first, chunk.first, first), b.min(end, chunk.end)
        update = load_update(m, panel, outer, inner, size) if has_update else None
        with b.loop(first, end + (GemmTuning.max_rows - 1), GemmTuning.max_rows, "rows") as row:
            rows = PanelRows(
                a=a_item,
                a_row=size["a_row"],
                a_step=size["a_step"] if has_strided_a else None,
                panel=panel_address(m, b_item, panel * size["k"] * panel_row),
                k=size["k"],
                bias=None if bias is None else b.gep(bias, panel * width),
                output=batch_output(m, y, size, outer, inner),
                first_row=row,
                num_rows=b.min(end - row, GemmTuning.max_rows),
                column=panel * width,
                end_column=size["columns"],
                update=update,
            )
            emit_rows(m, rows, k_blocks, is_large=is_large)


def unit_rows(
    b: KernelBuilder, size: Mapping[str, LLVMValue], unit: LLVMValue
) -> tuple[LLVMValue, LLVMValue]:
    """The rows [first, end) of the call's units of one panel; unit: the number of the panel's first unit."""
    first = b.select(b.first_unit < unit, b.constant(0, I64), b.first_unit - unit)
    end = b.min(b.end_unit - unit, size["groups"])
    return first * size["group_rows"], b.min(end * size["group_rows"], size["rows"])


def batch_output(
    m: Microkernel, y: OutputMatrix, size: Mapping[str, LLVMValue], outer: LLVMValue, inner: LLVMValue
) -> OutputMatrix:
    """The output of a batch item, with the epilogue's operands of that item; strides count elements of each tensor's type."""
    b, operands = m.b, list(y.operands)
    for i, operand in enumerate(y.operands):
        if operand.layout == "matrix":
            offset = outer * b.integer(f"o{i}_outer") + inner * b.integer(f"o{i}_inner")
            element = operand_type(m.epilogue, i).llvm_element
            operands[i] = replace(operand, address=b.gep(operand.address, offset, element))
    offset = outer * size["y_outer"] + inner * size["y_inner"]
    address = b.gep(y.address, offset, result_type(m.epilogue).llvm_element)
    return replace(y, address=address, operands=tuple(operands))
