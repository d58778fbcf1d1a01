"""Kernel that packs constants into column panels; it is called at compile time, not by the program.

It packs B [taps, k, n] float32 of any strides into [panels, taps, k, width].  A unit of work is one tap of one panel; the
loop nest in it is rows -> vectors of columns, or, where columns of B are contiguous, groups of columns -> transposed
blocks of [lanes, lanes].
"""

from __future__ import annotations

import ctypes

import numpy as np

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.gemm.vector_emitter import VectorKernelEmitter
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.program.step import Kernel
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir.tensors import Array

CONSTANT_PACKING_SIZES = ("taps", "k", "columns", "width", "b_tap", "b_row", "b_step")
MIN_RELEASED_BYTES = 1 << 16  # from this size on, the file pages of a packed constant are released


def copy_into_panels(panels: Array, b: Array) -> None:
    """Copies B [taps, k, n] float32, of any strides, into dense panels [panels, taps, k, width].

    Columns of the panels past the last one of B are not written.
    """
    taps, k, columns = b.shape
    assert b.dtype == panels.dtype == np.float32 and panels.flags.c_contiguous, (
        f"B must be float32; got {b.dtype}"
    )
    assert panels.shape[1:3] == (taps, k) and columns <= panels.shape[0] * panels.shape[3], (
        f"panels must have room for {b.shape}; got {panels.shape}"
    )
    strides = [stride // b.itemsize for stride in b.strides]
    slots = (b.ctypes.data, panels.ctypes.data, taps, k, columns, panels.shape[3], *strides)
    args = np.array(slots, np.int64)
    function_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    function_type(kernel_address(PACKING_KERNEL))(args.ctypes.data, 0, panels.shape[0] * taps, None)
    if b.nbytes >= MIN_RELEASED_BYTES and is_compact(b):
        release_pages(b)


def is_compact(b: Array) -> bool:
    """Whether at least half of the bytes in the array's address range are its own, not of columns packed later."""
    low, high = np.lib.array_utils.byte_bounds(b)
    return high - low <= 2 * b.nbytes


def constant_packing_module(name: str, target: Target) -> str:
    """The LLVM module of the kernel."""
    emitter = ConstantPackingEmitter(target)
    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, emitter.emit_unit, "unit")
    return emitter.build_module(name)


PACKING_KERNEL = Kernel("constant_panels_f32", constant_packing_module)


class ConstantPackingEmitter(VectorKernelEmitter):
    """Emits the kernel; a unit of work is one tap of one panel.  Arguments: B; the panels; `CONSTANT_PACKING_SIZES`."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.b, self.panels = self.pointer_argument(0), self.pointer_argument(1)
        self.sizes = {name: self.size_argument(i) for i, name in enumerate(CONSTANT_PACKING_SIZES, 2)}

    def emit_unit(self, unit: LLVMValue) -> None:
        size = self.sizes
        panel, tap = self.udiv(unit, size["taps"]), self.urem(unit, size["taps"])
        column = panel * size["width"]
        b = self.gep(self.b, tap * size["b_tap"] + column * size["b_step"])
        panel_tap = self.gep(self.panels, unit * size["k"] * size["width"])
        num_columns = self.min(size["columns"] - column, size["width"])
        has_dense_rows = size["b_step"].eq(1)
        has_dense_columns = has_dense_rows.eq(0) & size["b_row"].eq(1)
        self.if_then_call(has_dense_rows, lambda: self.copy_rows(b, panel_tap, num_columns))
        self.if_then_call(has_dense_columns, lambda: self.transpose_columns(b, panel_tap, num_columns))
        has_strides = (has_dense_rows | has_dense_columns).eq(0)
        self.if_then_call(has_strides, lambda: self.copy_elements(b, panel_tap, num_columns))

    def copy_rows(self, b: str, panel_tap: str, num_columns: LLVMValue) -> None:
        """Packs a panel of a B whose rows are contiguous: copies vectors."""
        size = self.sizes

        def copy_row(i: LLVMValue) -> None:
            source, target = self.gep(b, i * size["b_row"]), self.gep(panel_tap, i * size["width"])
            self.prefetch(self.gep(b, (i + 8) * size["b_row"]))

            def copy_vector(c: LLVMValue, mask: LLVMValue | None) -> None:
                self.store_vector(self.load_vector(self.gep(source, c), mask), self.gep(target, c), mask)

            self.loop_vectors(num_columns, copy_vector)

        self.loop_call(self.i64(0), size["k"], 1, copy_row, "row")

    def transpose_columns(self, b: str, panel_tap: str, num_columns: LLVMValue) -> None:
        """Packs a panel of a B whose columns are contiguous: transposes blocks of [lanes, lanes]."""

        def transpose_group(column: LLVMValue) -> None:
            columns = [self.gep(b, (column + i) * self.sizes["b_step"]) for i in range(self.lanes)]
            target = self.gep(panel_tap, column)
            k = self.sizes["k"]
            end = self.loop_call(
                self.i64(0), k, self.lanes, lambda i: self.transpose_block(columns, target, i), "turn"
            )
            self.loop_call(end, k, 1, lambda i: self.gather_row(columns, target, i), "rest")

        end = self.loop_call(self.i64(0), num_columns, self.lanes, transpose_group, "column")
        self.loop_call(end, num_columns, 1, lambda c: self.copy_column(b, panel_tap, c), "last")

    def transpose_block(self, columns: list[str], target: str, first: LLVMValue) -> None:
        """Transposes rows [first, first + lanes) of `lanes` columns."""
        rows = self.transpose([self.load_vector(self.gep(column, first)) for column in columns])
        for i, row in enumerate(rows):
            self.store_vector(row, self.gep(target, (first + i) * self.sizes["width"]))

    def gather_row(self, columns: list[str], target: str, i: LLVMValue) -> None:
        """Copies row i of `lanes` columns, element by element."""
        row = self.gep(target, i * self.sizes["width"])
        for number, column in enumerate(columns):
            self.copy_element(self.gep(column, i), self.gep(row, self.i64(number)))

    def copy_column(self, b: str, panel_tap: str, column: LLVMValue) -> None:
        size = self.sizes
        source, target = self.gep(b, column * size["b_step"]), self.gep(panel_tap, column)

        def copy_row(i: LLVMValue) -> None:
            self.copy_element(self.gep(source, i * size["b_row"]), self.gep(target, i * size["width"]))

        self.loop_call(self.i64(0), size["k"], 1, copy_row, "element")

    def copy_elements(self, b: str, panel_tap: str, num_columns: LLVMValue) -> None:
        """Packs a panel of a B of any strides, element by element."""

        def copy_row(i: LLVMValue) -> None:
            source = self.gep(b, i * self.sizes["b_row"])
            target = self.gep(panel_tap, i * self.sizes["width"])
            self.loop_call(
                self.i64(0),
                num_columns,
                1,
                lambda c: self.copy_element(self.gep(source, c * self.sizes["b_step"]), self.gep(target, c)),
                "element",
            )

        self.loop_call(self.i64(0), self.sizes["k"], 1, copy_row, "row")

    def copy_element(self, source: str, target: str) -> None:
        """Copies one float, as an integer."""
        value = self.emit(I64.with_element("i32"), f"load i32, ptr {source}, align 4")
        self.lines.append(f" store {value}, ptr {target}, align 4")
