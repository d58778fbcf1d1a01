"""Resampling along one axis by tap tables: y [outer, out, inner] = weighted sums of rows of x [outer, size, inner].

    inner > 1: for row of y: for vector of the row: for tap: add a row of x times a weight
    inner = 1: for vector of the axis, for row of x: for tap: gather elements, add them times a vector of weights

Interpolation is separable, so that a Resize is one such step for each axis.  Vectors are full even for images of few channels,
and the cost of a pixel grows with the sum, not the product, of the numbers of taps of its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.loops.memory import load_at, load_lanes
from sardonyx._src.compile.kernels.loops.rows import num_units, rows_per_unit
from sardonyx._src.compile.kernels.loops.strided_loops import unit_row_range
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_splat,
    load_vector,
    loop_blocks,
    loop_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.resize.resize import axis_taps
from sardonyx._src.compile.kernels.tuning import ResizeTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import dim_product
from sardonyx._src.ops.image.resize.resample import ResampleMode
from sardonyx._src.ops.image.resize.resampled_axis import ResampledAxis

PARAMETERS = Parameters("x", "y", "indices", "weights", "rows", "unit_rows", "size", "out", "inner", "padded")
MAX_LANES = 16  # lanes of the widest target, to which tables are padded


@dataclass(frozen=True, slots=True)
class ResampleTable:
    """The taps of a resampled axis: indices int64 [out, taps], which are inside of the axis, and weights float32 [out, taps]."""

    axis: int
    indices: Array
    weights: Array

    @property
    def growth(self) -> float:
        """The approximate ratio of the size of the result to the size of the axis."""
        return len(self.indices) / (int(self.indices.max()) + 1)


def plan_axes(axes: Sequence[ResampledAxis | None], mode: ResampleMode) -> tuple[ResampleTable, ...] | None:
    """The taps of the resampled axes, shrinking ones first.

    None if the mode copies pixels (nearest), if positions are outside of the image, if an axis is or becomes empty, or if no axis
    is resampled.
    axes: an entry for each axis, None for an axis that is not resampled.
    """
    if mode.mode == "nearest":
        return None
    result = []
    for i, axis in enumerate(axes):
        if axis is None or axis.is_identity:
            continue
        taps = axis_taps(axis, mode)
        if taps is None or not taps[0].size:
            return None
        result.append(ResampleTable(i, *taps))
    return tuple(sorted(result, key=lambda taps: taps.growth)) or None


def resample_axis_step(x: TensorView, taps: ResampleTable, y: TensorView) -> Step:
    """The step of y, which has the shape of x except for the axis of the taps; both are dense."""
    outer, inner = dim_product(x.shape[: taps.axis]), dim_product(x.shape[taps.axis + 1 :])
    (out, count), by_element = taps.indices.shape, inner == 1
    padded = -(-out // MAX_LANES) * MAX_LANES
    tables = (taps.indices, taps.weights)
    if by_element:
        tables = (pad_table(taps.indices.astype(np.int32), padded), pad_table(taps.weights, padded))
    indices, weights = map(make_constant, tables)
    rows, width = (outer, out) if by_element else (outer * out, inner)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, y=y, indices=indices, weights=weights, rows=rows, unit_rows=rows_per_unit(width),
        size=x.shape[taps.axis], out=out, inner=inner, padded=padded,
    )  # fmt: skip
    emit = element_module if by_element else row_module
    return Step(
        Kernel(
            f"resample_{'elements' if by_element else 'rows'}_{count}", partial(emit, taps=count), PARAMETERS
        ),
        args,
        num_units(rows, width),
        (x, indices, weights),
        (y,),
        flops=2 * count * y.num_elements,
        bytes_accessed=x.nbytes + y.nbytes,
    )


def pad_table(table: Array, padded: int) -> Array:
    """A table [out, taps] as [taps, padded], so that vectors of it are whole."""
    return np.pad(table, ((0, padded - len(table)), (0, 0))).T


def row_module(name: str, target: Target, taps: int) -> str:
    """The LLVM module of the kernel for inner > 1: rows along `inner` are added."""
    b = KernelBuilder(target, PARAMETERS)
    x, y, indices, weights = b.pointers("x", "y", "indices", "weights")
    rows, unit_rows, size, out, inner = b.integers("rows", "unit_rows", "size", "out", "inner")
    with b.loop(*unit_row_range(b, rows, unit_rows), name="row") as row:
        item, position = b.udivmod(row, out)
        plane, first, target_row = b.gep(x, item * size * inner), position * taps, b.gep(y, row * inner)
        for i, mask in loop_vectors(b, 0, inner):

            def load_tap(
                tap: LLVMValue,
                plane: str = plane,
                first: LLVMValue = first,
                i: LLVMValue = i,
                mask: LLVMValue | None = mask,
            ) -> tuple[LLVMValue, LLVMValue]:
                index = load_at(b, indices, first + tap, "i64")
                factor = load_splat(b, b.gep(weights, first + tap))
                return factor, load_vector(b, b.gep(plane, index * inner + i), mask)

            store_vector(b, weighted_sum(b, load_tap, taps), b.gep(target_row, i), mask)
    return b.build_module(name)


def element_module(name: str, target: Target, taps: int) -> str:
    """The LLVM module of the kernel for inner = 1: elements along the axis are gathered."""
    b = KernelBuilder(target, PARAMETERS)
    x, y, indices, weights = b.pointers("x", "y", "indices", "weights")
    rows, unit_rows, size, out, padded = b.integers("rows", "unit_rows", "size", "out", "padded")
    first, end = unit_row_range(b, rows, unit_rows)
    index_type = LLVMType("i32", target.lanes)
    with loop_blocks(b, out, target.lanes, "element") as i:
        mask = first_lanes(b, out - i, target.lanes)
        with b.loop(first, end, name="row") as row:
            line = b.gep(x, row * size)

            def load_tap(tap: LLVMValue, line: str = line, i: LLVMValue = i) -> tuple[LLVMValue, LLVMValue]:
                entry = tap * padded + i
                index = b.load(MemoryLocation(b.gep(indices, entry, "i32"), index_type))
                return load_vector(b, b.gep(weights, entry)), load_lanes(b, line, index, "float")

            store_vector(b, weighted_sum(b, load_tap, taps), b.gep(y, row * out + i), mask)
    return b.build_module(name)


def weighted_sum(
    b: KernelBuilder, load_tap: Callable[[LLVMValue], tuple[LLVMValue, LLVMValue]], taps: int
) -> LLVMValue:
    """The sum of all taps times their weights, in the order of the taps; many taps become a loop.

    load_tap: emits the weight and the vector of a tap.
    """
    total = b.new_slot("sum", vector_type(b))
    b.store(total, zeros(b))
    if taps <= ResizeTuning.max_axis_taps:
        for tap in range(taps):
            add_tap(b, total, load_tap(i64(b, tap)))
    else:
        with b.loop(i64(b, 0), i64(b, taps), name="tap") as number:
            add_tap(b, total, load_tap(number))
    return b.load(total)


def add_tap(b: KernelBuilder, total: MemoryLocation, tap: tuple[LLVMValue, LLVMValue]) -> None:
    factor, value = tap
    b.store(total, b.fma(factor, value, b.load(total)))
