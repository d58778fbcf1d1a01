"""Kernel that packs constants into column panels; it is called at compile time, not by the program.

    for tap of a panel (a unit of work):                      # B [taps, k, n] of any strides
        for row of B: for vector of columns: copy             # contiguous rows
        or for group of columns: for block of rows: transpose a block of [lanes, lanes]     # contiguous columns
        or for row of B: for column: copy an element

The result is [panels, taps, k, width] float32.  The steps that pack computed tensors (`panels.py`) choose the loop in the
same way, by `copy_panel`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.lanes import transpose
from sardonyx._src.compile.kernels.loops.vectors import (
    load_vector,
    loop_vectors,
    prefetch,
    store_vector,
    urem,
)
from sardonyx._src.compile.kernels.tuning import GemmTuning, tuning_for
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.program import Kernel
from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array

PARAMETERS = Parameters("b", "panels", "taps", "k", "columns", "width", "b_tap", "b_row", "b_step")


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
    b_tap, b_row, b_step = (stride // b.itemsize for stride in b.strides)
    slots = PARAMETERS.pack(
        b=b.ctypes.data,
        panels=panels.ctypes.data,
        taps=taps,
        k=k,
        columns=columns,
        width=panels.shape[3],
        b_tap=b_tap,
        b_row=b_row,
        b_step=b_step,
    )
    args = np.array(slots, np.int64)
    function_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    function_type(kernel_address(PACKING_KERNEL))(args.ctypes.data, 0, panels.shape[0] * taps, None)
    if b.nbytes >= GemmTuning.min_released_bytes and is_compact(b):
        release_pages(b)


def is_compact(b: Array) -> bool:
    """Whether the array owns at least half of the bytes in its address range.

    The other bytes may be columns that are packed later, whose pages should not be released.
    """
    low, high = np.lib.array_utils.byte_bounds(b)
    return high - low <= 2 * b.nbytes


@dataclass(frozen=True, slots=True)
class PanelCopy:
    """A copy of one panel: from B [k, num_columns] at address `source`, with any strides, to [k, width] at address `target`."""

    source: str
    row_stride: LLVMValue
    column_stride: LLVMValue
    k: LLVMValue
    num_columns: LLVMValue
    target: str
    width: LLVMValue | int


def constant_packing_module(name: str, target: Target) -> str:
    """The LLVM module of the kernel; a unit of work is one tap of one panel."""
    b = KernelBuilder(target, PARAMETERS)
    matrix, panels = b.pointers("b", "panels")
    taps, k, columns, width, b_tap, b_row, b_step = b.integers(*PARAMETERS.names[2:])
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        panel, tap = b.udiv(unit, taps), urem(b, unit, taps)
        column = panel * width
        source = b.gep(matrix, tap * b_tap + column * b_step)
        panel_tap = b.gep(panels, unit * k * width)
        num_columns = b.min(columns - column, width)
        copy = PanelCopy(source, b_row, b_step, k, num_columns, panel_tap, width)
        copy_panel(b, copy, copy_rows, transpose_columns)
    return b.build_module(name)


PACKING_KERNEL = Kernel("constant_panels_f32", constant_packing_module, PARAMETERS)


def copy_panel(
    b: KernelBuilder,
    copy: PanelCopy,
    copy_dense_rows: Callable[[KernelBuilder, PanelCopy], None],
    copy_dense_columns: Callable[[KernelBuilder, PanelCopy], None],
) -> None:
    """Copies a panel, by one function if rows of B are contiguous, by another one if columns are."""
    has_dense_rows = copy.column_stride.eq(1)
    has_dense_columns = has_dense_rows.eq(0) & copy.row_stride.eq(1)
    with b.if_then(has_dense_rows):
        copy_dense_rows(b, copy)
    with b.if_then(has_dense_columns):
        copy_dense_columns(b, copy)
    with b.if_then((has_dense_rows | has_dense_columns).eq(0)):
        copy_elements(b, copy)


def copy_rows(b: KernelBuilder, copy: PanelCopy) -> None:
    """Packs a panel of a B whose rows are contiguous: copies vectors."""
    distance = tuning_for(b.target).gemm.packing_prefetch_rows
    with b.loop(b.constant(0, I64), copy.k, 1, "row") as i:
        source, target = b.gep(copy.source, i * copy.row_stride), b.gep(copy.target, i * copy.width)
        prefetch(b, b.gep(copy.source, (i + distance) * copy.row_stride))
        for column, mask in loop_vectors(b, 0, copy.num_columns):
            value = load_vector(b, b.gep(source, column), mask)
            store_vector(b, value, b.gep(target, column), mask)


def transpose_columns(b: KernelBuilder, copy: PanelCopy) -> None:
    """Packs a panel of a B whose columns are contiguous: transposes blocks of [lanes, lanes]."""
    lanes, zero, k = b.target.lanes, b.constant(0, I64), copy.k
    with b.loop(zero, copy.num_columns, lanes, "column") as column:
        columns = [b.gep(copy.source, (column + i) * copy.column_stride) for i in range(lanes)]
        target = b.gep(copy.target, column)
        with b.loop(zero, k, lanes, "row") as first:
            rows = transpose(b, [load_vector(b, b.gep(source, first)) for source in columns])
            for number, row in enumerate(rows):
                store_vector(b, row, b.gep(target, (first + number) * copy.width))
        with b.loop(first, k, 1, "row") as i:
            row_target = b.gep(target, i * copy.width)
            for number, source in enumerate(columns):
                copy_element(b, b.gep(source, i), b.gep(row_target, b.constant(number, I64)))
    with b.loop(column, copy.num_columns, 1, "column") as column:
        source, target = b.gep(copy.source, column * copy.column_stride), b.gep(copy.target, column)
        with b.loop(zero, k, 1, "row") as i:
            copy_element(b, b.gep(source, i * copy.row_stride), b.gep(target, i * copy.width))


def copy_elements(b: KernelBuilder, copy: PanelCopy) -> None:
    """Packs a panel of a B of any strides, element by element."""
    zero = b.constant(0, I64)
    with b.loop(zero, copy.k, 1, "row") as i:
        source, target = b.gep(copy.source, i * copy.row_stride), b.gep(copy.target, i * copy.width)
        with b.loop(zero, copy.num_columns, 1, "column") as column:
            copy_element(b, b.gep(source, column * copy.column_stride), b.gep(target, column))


def copy_element(b: KernelBuilder, source: str, target: str) -> None:
    """Copies one float, as an integer."""
    value = b.emit(I64.with_element("i32"), f"load i32, ptr {source}, align 4")
    b.lines.append(f" store {value}, ptr {target}, align 4")
