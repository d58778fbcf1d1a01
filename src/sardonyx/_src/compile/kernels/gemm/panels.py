"""Packs the right operand of a GEMM into column panels: constants at compile time, others by a step of their own.

B [..., k, columns] becomes [..., panels, k, width], where `width` is the number of columns of the register tile, so that
the microkernel reads B sequentially.  A unit of work of the packing step is one panel; its loop nest is rows of B ->
vectors of columns, or, where columns of B are contiguous, groups of columns -> transposed blocks of [lanes, lanes].
Source: the packing of B in Goto and van de Geijn (2008) and BLIS, without blocking over k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.gemm.axes import (
    broadcast_axes,
    coalesce_axes,
    pad_to_pair,
    shift_view,
    split_leading_axes,
)
from sardonyx._src.compile.kernels.gemm.packing import make_constant, make_lazy_panels
from sardonyx._src.compile.kernels.gemm.register_tile import RegisterTile, choose_tile, make_tile
from sardonyx._src.compile.kernels.gemm.vector_emitter import VectorKernelEmitter
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView, row_major_strides
from sardonyx._src.ir.dims import Known, ceil_div, dim_product
from sardonyx._src.ir.tensors import Array

MIN_HALF_BYTES = 1 << 17  # of half-precision constants that are not promoted to float32
PACKING_SIZES = (
    "k", "columns", "panels", "inner", "b_row", "b_step", "b_outer", "b_inner", "p_outer", "p_inner",
)  # fmt: skip


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


def choose_panel_tile(columns: Known, target: Target) -> RegisterTile:
    """The register tile for a product of `columns` columns; a wide one if their number is symbolic."""
    if isinstance(columns, int):
        return choose_tile(columns, target.lanes, target.registers)
    return make_tile(4 if target.registers >= 32 else 2, target.lanes, target.registers)


def pack_constant(b: Array, target: Target, name: str = "") -> Panels:
    """Packs a constant [..., k, columns] of float32 or half precision; large half-precision panels are not promoted.

    Converting them to float32 in each run is cheaper than reading twice as many bytes from memory.
    """
    keep_half = b.dtype != np.float32 and b.nbytes >= MIN_HALF_BYTES
    *batch, k, columns = b.shape
    tile = choose_panel_tile(columns, target)
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
    axes = coalesce_axes(broadcast_axes(batch_dims, ((b, 2), (tensor, 3))))
    steps = []
    for offsets, axes_left in split_leading_axes(axes, 2):
        source, packed = (shift_view(t, c) for t, c in zip((b, tensor), offsets or (0, 0), strict=True))
        outer, inner = pad_to_pair(axes_left, 2)
        strides = (b.strides[-2], b.strides[-1], *sum(zip(outer.strides, inner.strides, strict=True), ()))
        steps.append(
            Step(
                Kernel(f"panels_f32_{tile.vectors}", partial(packing_module, vectors=tile.vectors)),
                (source, packed, k, columns, panels.num_panels, inner.size, *strides),
                units=outer.size * inner.size * panels.num_panels,
                reads=(b,),
                writes=(tensor,),
                bytes_accessed=b.nbytes + tensor.nbytes,
            )
        )
    return panels, steps


def packing_module(name: str, target: Target, vectors: int) -> str:
    """The LLVM module of the packing kernel for panels of `vectors` vectors."""
    emitter = PackingEmitter(target, vectors)
    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, emitter.emit_unit, "unit")
    return emitter.build_module(name)


class PackingEmitter(VectorKernelEmitter):
    """Emits the kernel that packs a batch of matrices; a unit of work is one panel.

    Arguments: B; the panels; `PACKING_SIZES`.  Columns of a panel past the last one of B are undefined.
    """

    def __init__(self, target: Target, vectors: int) -> None:
        super().__init__(target)
        self.width = vectors * self.lanes
        self.b, self.panels = self.pointer_argument(0), self.pointer_argument(1)
        self.sizes = {name: self.size_argument(i) for i, name in enumerate(PACKING_SIZES, 2)}

    def emit_unit(self, unit: LLVMValue) -> None:
        size = self.sizes
        item, panel = self.udiv(unit, size["panels"]), self.urem(unit, size["panels"])
        outer, inner = self.udiv(item, size["inner"]), self.urem(item, size["inner"])
        column = panel * self.width
        b = self.gep(self.b, outer * size["b_outer"] + inner * size["b_inner"] + column * size["b_step"])
        offset = outer * size["p_outer"] + inner * size["p_inner"] + panel * size["k"] * self.width
        p = self.gep(self.panels, offset)
        num_columns = self.min(size["columns"] - column, self.i64(self.width))
        has_dense_rows = size["b_step"].eq(1)
        has_dense_columns = has_dense_rows.eq(0) & size["b_row"].eq(1)
        self.if_then_call(has_dense_rows, lambda: self.copy_rows(b, p, num_columns))
        self.if_then_call(has_dense_columns, lambda: self.transpose_columns(b, p, num_columns))
        self.if_then_call(
            (has_dense_rows | has_dense_columns).eq(0), lambda: self.copy_elements(b, p, num_columns)
        )

    def copy_rows(self, b: str, p: str, num_columns: LLVMValue) -> None:
        """Packs a panel of a B whose rows are contiguous: copies vectors."""

        def copy_row(i: LLVMValue) -> None:
            source, target = self.gep(b, i * self.sizes["b_row"]), self.gep(p, i * self.width)
            self.loop_masked_vectors(
                num_columns,
                lambda c, mask: self.store_vector(
                    self.load_vector(self.gep(source, c), mask), self.gep(target, c)
                ),
            )

        self.loop_call(self.i64(0), self.sizes["k"], 1, copy_row, "row")

    def transpose_columns(self, b: str, p: str, num_columns: LLVMValue) -> None:
        """Packs a panel of a B whose columns are contiguous: transposes blocks of [lanes, lanes]."""

        def transpose_group(first_column: LLVMValue) -> None:
            indices = [self.min(first_column + i, num_columns - 1) for i in range(self.lanes)]
            columns = [self.gep(b, index * self.sizes["b_step"]) for index in indices]
            target = self.gep(p, first_column)
            self.loop_masked_vectors(
                self.sizes["k"], lambda i, mask: self.transpose_block(columns, target, i, mask)
            )

        end = num_columns + (self.lanes - 1)
        self.loop_call(self.i64(0), end, self.lanes, transpose_group, "column")

    def transpose_block(
        self, columns: list[str], target: str, first: LLVMValue, mask: LLVMValue | None
    ) -> None:
        """Transposes rows [first, first + lanes) of `lanes` columns; with a mask, rows past the last are not stored."""
        rows = self.transpose([self.load_vector(self.gep(column, first), mask) for column in columns])
        for i, row in enumerate(rows):
            address = self.gep(target, (first + i) * self.width)
            if mask is None:
                self.store_vector(row, address)
            else:
                is_row = first + i < self.sizes["k"]
                self.if_then_call(is_row, partial(self.store_vector, row, address))

    def copy_elements(self, b: str, p: str, num_columns: LLVMValue) -> None:
        """Packs a panel of a B of any strides, element by element."""

        def copy_row(i: LLVMValue) -> None:
            source, target = self.gep(b, i * self.sizes["b_row"]), self.gep(p, i * self.width)

            def copy(c: LLVMValue) -> None:
                self.copy_element(self.gep(source, c * self.sizes["b_step"]), self.gep(target, c))

            self.loop_call(self.i64(0), num_columns, 1, copy, "column")

        self.loop_call(self.i64(0), self.sizes["k"], 1, copy_row, "row")

    def copy_element(self, source: str, target: str) -> None:
        """Copies one float, as an integer."""
        value = self.emit(I64.with_element("i32"), f"load i32, ptr {source}, align 4")
        self.lines.append(f" store {value}, ptr {target}, align 4")
