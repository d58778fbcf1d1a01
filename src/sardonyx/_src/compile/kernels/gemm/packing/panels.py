"""Packs the right operand of a GEMM into column panels: constants at compile time, others by a step of their own.

B [..., k, columns] becomes [..., panels, k, width], where `width` is the number of columns of the register tile, so that
the microkernel reads B sequentially.  A unit of work of the packing step is one panel; its loop nest is rows of B ->
vectors of columns, or, where columns of B are contiguous, groups of columns -> transposed blocks of [lanes, lanes].
Source: the packing of B in Goto and van de Geijn (2008) and BLIS, without blocking over k.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import I64, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, make_lazy_panels
from sardonyx._src.compile.kernels.gemm.packing.packing_kernel import PanelCopy, copy_panel
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_tile, make_tile
from sardonyx._src.compile.kernels.loops.batch_space import (
    batch_space,
    shift_view,
    unroll_leading_dims,
)
from sardonyx._src.compile.kernels.loops.lanes import transpose
from sardonyx._src.compile.kernels.loops.vectors import load_vector, loop_masked_vectors, store_vector, urem
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.compile.program import Buffer, Kernel, KernelArgument, Step, TensorView, row_major_strides
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, ceil_div, dim_product

PACKING_SIZES = (
    "k", "columns", "panels", "inner", "b_row", "b_step", "b_outer", "b_inner", "p_outer", "p_inner",
)  # fmt: skip
PACKING_PARAMETERS = Parameters("b", "packed", *PACKING_SIZES)


@dataclass(frozen=True, slots=True)
class Panels:
    """A packed right operand: B [..., k, columns] as a tensor [..., panels, k, width] of panels as wide as the tile."""

    tensor: TensorView
    tile: RegisterTile
    columns: Known

    @property
    def num_panels(self) -> Known:
        return self.tensor.shape[-3]

    @property
    def k(self) -> Known:
        return self.tensor.shape[-2]


def choose_panel_tile(columns: Known, target: Target, rows: Known | None = None) -> RegisterTile:
    """The register tile for a product of `columns` columns and `rows` rows; a wide one if the number of columns is symbolic."""
    if isinstance(columns, int):
        return choose_tile(columns, target, rows)
    return make_tile(tuning_for(target).gemm.dynamic_tile_vectors, target)


def pack_constant(b: Array, target: Target, name: str = "", tile: RegisterTile | None = None) -> Panels:
    """Packs a constant [..., k, columns] of float32 or half precision; large half-precision panels stay in half precision.

    Converting them to float32 in each run is cheaper than reading twice as many bytes from memory.
    tile: the tile that determines the width of panels; None: `choose_panel_tile` chooses it.
    """
    keep_half = b.dtype != np.float32 and b.nbytes >= tuning_for(target).gemm.min_half_bytes
    *batch, k, columns = b.shape
    tile = tile or choose_panel_tile(columns, target)
    tensor = make_constant(make_lazy_panels(b[..., None, :, :], tile, keep_half=keep_half), name)
    return Panels(tensor.reshape((*batch, -(-columns // tile.width), k, tile.width)), tile, columns)


def pack_tensor(b: TensorView, target: Target, name: str = "") -> tuple[Panels, list[Step]]:
    """The panels of B [..., k, columns], of any strides, and the steps that pack them into the arena."""
    *batch, k, columns = b.shape
    tile = choose_panel_tile(columns, target)
    batch_dims = tuple(1 if stride == 0 else dim for dim, stride in zip(batch, b.strides, strict=False))
    shape = (*batch_dims, ceil_div(columns, tile.width), k, tile.width)
    buffer = Buffer("arena", dim_product(shape) * 4, name)
    tensor = TensorView(b.dtype, shape, row_major_strides(shape), buffer)
    panels = Panels(tensor, tile, columns)
    matrices = batch_space(batch_dims, ((b, 2), (tensor, 3)))
    module = partial(packing_module, vectors=tile.vectors)
    kernel = Kernel(f"panels_f32_{tile.vectors}", module, PACKING_PARAMETERS)
    steps = []
    for offsets, space in unroll_leading_dims(matrices, 2):
        source, packed = (shift_view(t, c) for t, c in zip((b, tensor), offsets, strict=True))
        (b_outer, b_inner), (p_outer, p_inner) = space.strides
        args: tuple[KernelArgument, ...] = PACKING_PARAMETERS.pack(
            b=source,
            packed=packed,
            k=k,
            columns=columns,
            panels=panels.num_panels,
            inner=space.shape[1],
            b_row=b.strides[-2],
            b_step=b.strides[-1],
            b_outer=b_outer,
            b_inner=b_inner,
            p_outer=p_outer,
            p_inner=p_inner,
        )
        steps.append(
            Step(
                kernel,
                args,
                units=space.size * panels.num_panels,
                reads=(b,),
                writes=(tensor,),
                bytes_accessed=b.nbytes + tensor.nbytes,
            )
        )
    return panels, steps


def packing_module(name: str, target: Target, vectors: int) -> str:
    """The LLVM module of the packing kernel for panels of `vectors` vectors; a unit of work is one panel.

    Columns of a panel past the last one of B are undefined.
    """
    b, width = KernelBuilder(target, PACKING_PARAMETERS), vectors * target.lanes
    matrix, packed = b.pointers("b", "packed")
    size = {p: b.integer(p) for p in PACKING_SIZES}
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        item, panel = b.udiv(unit, size["panels"]), urem(b, unit, size["panels"])
        outer, inner = b.udiv(item, size["inner"]), urem(b, item, size["inner"])
        column = panel * width
        source_offset = outer * size["b_outer"] + inner * size["b_inner"] + column * size["b_step"]
        source = b.gep(matrix, source_offset)
        panel_offset = outer * size["p_outer"] + inner * size["p_inner"] + panel * size["k"] * width
        panel_address = b.gep(packed, panel_offset)
        num_columns = b.min(size["columns"] - column, width)
        copy = PanelCopy(source, size["b_row"], size["b_step"], size["k"], num_columns, panel_address, width)
        copy_panel(b, copy, copy_padded_rows, transpose_padded_columns)
    return b.build_module(name)


def copy_padded_rows(b: KernelBuilder, copy: PanelCopy) -> None:
    """Packs a panel of a B whose rows are contiguous: copies vectors, the last one with zeros past its columns."""
    with b.loop(b.constant(0, I64), copy.k, 1, "row") as i:
        source, target = b.gep(copy.source, i * copy.row_stride), b.gep(copy.target, i * copy.width)
        for column, mask in loop_masked_vectors(b, copy.num_columns):
            store_vector(b, load_vector(b, b.gep(source, column), mask), b.gep(target, column))


def transpose_padded_columns(b: KernelBuilder, copy: PanelCopy) -> None:
    """Packs a panel of a B whose columns are contiguous: transposes blocks of [lanes, lanes]; the last column is the padding."""
    lanes = b.target.lanes
    with b.loop(b.constant(0, I64), copy.num_columns + (lanes - 1), lanes, "column") as column:
        indices = [b.min(column + i, copy.num_columns - 1) for i in range(lanes)]
        columns = [b.gep(copy.source, index * copy.column_stride) for index in indices]
        target = b.gep(copy.target, column)
        for first, mask in loop_masked_vectors(b, copy.k):
            rows = transpose(b, [load_vector(b, b.gep(source, first), mask) for source in columns])
            for i, row in enumerate(rows):
                address = b.gep(target, (first + i) * copy.width)
                with nullcontext() if mask is None else b.if_then(first + i < copy.k):
                    store_vector(b, row, address)
