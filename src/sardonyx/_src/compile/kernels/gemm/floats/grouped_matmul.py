"""Grouped GEMM: y[row] = a[row / selections] @ b[group of row], for rows that are sorted by group.

    for panel of the matrix of a group:                    # a unit of work; a group without rows has nothing to do
        for rows of the group: as in `panel_rows.py`       # `order` has the numbers of the rows of A and y

Nothing is gathered: the microkernel reads rows of A by their addresses, and the store maps rows of the tile to rows of y.  A
panel is read once for all rows of its group, and panels of groups without rows are not read.  Sums have the same bits as
those of `loop_nest.py`, whatever the other rows are.
Source: the grouped GEMM of MegaBlocks (Gale et al., 2023), without padding of groups to whole tiles.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen import I64, Element, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.element_types import HALF_TYPES, LLVM_ELEMENTS
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import is_large
from sardonyx._src.compile.kernels.gemm.floats.panel_rows import PanelRows, emit_rows
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels
from sardonyx._src.compile.kernels.gemm.packing.promoted_panels import scratch_bytes
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    FLOAT32_ARITHMETIC,
    make_microkernel,
    panel_address,
)
from sardonyx._src.compile.kernels.gemm.tile.output import (
    load_output_matrix,
    output_arguments,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import divide_evenly
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.ir.dims import Known

SIZES = ("columns", "k", "panels", "selections", "k_block", "a_row")
PARAMETERS = Parameters("a", "b", "order", "starts", *SIZES) + output_parameters(Epilogue())


def grouped_matmul_step(
    a: TensorView, b: Panels, groups: Known, order: TensorView, starts: TensorView, y: TensorView
) -> Step:
    """The step of y [M, S, N], dense, from a [M, K] with contiguous rows and panels b of matrices [groups, K, N].

    order, starts: the M * S rows in the order of their groups, and the first index of each group, as `group_rows_step`
    computes them.
    """
    panels, (tokens, selections, columns) = b.tensor, y.shape
    rows = tokens * selections
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        a=a,
        b=panels,
        order=order,
        starts=starts,
        columns=columns,
        k=b.k,
        panels=b.num_panels,
        selections=selections,
        k_block=GemmTuning.k_block,
        a_row=a.strides[0],
        **output_arguments(y.reshape((rows, columns)), Epilogue(), ()),
    )
    half = LLVM_ELEMENTS[panels.dtype] if panels.dtype in HALF_TYPES else None
    large = is_large(b)
    source = partial(grouped_matmul_module, vectors=b.tile.vectors, half=half, is_large=large)
    key = f"grouped_matmul_f32_{b.tile.vectors}{'_large' * large}{'' if half is None else f'_{half}'}"
    return Step(
        Kernel(key, source, PARAMETERS),
        args,
        groups * b.num_panels,
        (a, panels, order, starts),
        (y,),
        flops=2 * rows * columns * b.k,
        bytes_accessed=(rows * b.k + rows * columns) * 4 + panels.num_elements * element_bytes(panels.dtype),
        scratch=scratch_bytes(b.tile.width, is_half=half is not None),
    )


def grouped_matmul_module(
    name: str, target: Target, *, vectors: int, half: Element | None, is_large: bool
) -> str:
    """The LLVM module of the kernel; a unit of work is a panel of the matrix of a group."""
    b, epilogue = KernelBuilder(target, PARAMETERS), Epilogue()
    arithmetic = replace(FLOAT32_ARITHMETIC, half_type=half)
    m = make_microkernel(b, make_tile(vectors, target), epilogue, arithmetic)
    a, panels, order, starts = b.pointers("a", "b", "order", "starts")
    size = {name: b.integer(name) for name in SIZES}
    y = load_output_matrix(b, epilogue)
    k_blocks = divide_evenly(b, size["k"], size["k_block"])
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        group, panel = b.udivmod(unit, size["panels"])
        first, end = load_index(b, starts, group), load_index(b, starts, group + 1)
        row_of = partial(load_index, b, b.gep(order, first, "i64"))
        with b.loop(
            b.constant(0, I64), end - first + (GemmTuning.max_rows - 1), GemmTuning.max_rows, "rows"
        ) as row:
            rows = PanelRows(
                a=a,
                a_row=size["a_row"],
                panel=panel_address(m, panels, unit * size["k"] * m.tile.width),
                k=size["k"],
                output=replace(y, map_row=row_of),
                first_row=row,
                num_rows=b.min(end - first - row, GemmTuning.max_rows),
                column=panel * m.tile.width,
                end_column=size["columns"],
                map_row=lambda number: b.udiv(row_of(number), size["selections"]),
            )
            emit_rows(m, rows, k_blocks, is_large=is_large)
    return b.build_module(name)


def load_index(b: KernelBuilder, base: str, index: LLVMValue) -> LLVMValue:
    return b.load(MemoryLocation(b.gep(base, index, "i64"), I64))
