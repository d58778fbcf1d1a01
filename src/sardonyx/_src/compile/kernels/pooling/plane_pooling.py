"""Max, average and Lp pooling of dense planes [..., sizes] of one to three dims, of any number type, with the positions of maxima.

Loop nest: units of work (rows of results) -> vectors of windows of a row -> taps of each axis, gathered.  `pooling` is faster
for float32 images, since its lanes are channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.sliding_window_loops import tap_range
from sardonyx._src.compile.kernels.loops.memory import load_lanes
from sardonyx._src.compile.kernels.loops.rows import lane_numbers
from sardonyx._src.compile.kernels.loops.vectors import i64, store_vector
from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, dim_product

AXIS_WORDS = ("size", "out", "kernel", "stride", "dilation", "pad", "end_pad", "step")
NO_POSITION = -1  # the position of the maximum of a window without elements


@dataclass(frozen=True, slots=True)
class PlanePooling:
    """The specialization of a kernel: the reduction, the element type, the number of axes, and which results are written."""

    algorithm: PoolingAlgorithm
    dtype: DataType
    rank: int
    has_values: bool = True
    has_positions: bool = False

    @property
    def key(self) -> str:
        results = f"{'y' if self.has_values else ''}{'i' if self.has_positions else ''}"
        return f"pool_planes:{self.algorithm.key}:{self.dtype.text}:{self.rank}{results}"

    @property
    def parameters(self) -> Parameters:
        """The parameters; step0, step1, ...: the difference of the positions of neighbors along each axis."""
        axes = [f"{word}{axis}" for axis in range(self.rank) for word in AXIS_WORDS]
        return Parameters("x", "y", "positions", *axes)


def plane_pooling_step(
    x: TensorView,
    results: tuple[TensorView | None, TensorView | None],
    algorithm: PoolingAlgorithm,
    window: Window,
    *,
    column_major: bool = False,
) -> Step:
    """The pooling of x [..., sizes], dense.

    results: the values [..., windows] of the type of x, and the positions of the maxima as int64; None if not requested.
    column_major: whether positions in a plane count the first axis fastest.
    A position is the flat index of an element of x, -1 for a window without elements.  Among equal elements the first one
    wins; NaN is greater than any number.
    """
    rank = window.rank
    written = tuple(result for result in results if result is not None)
    sizes, out = x.shape[-rank:], written[0].shape[-rank:]
    variant = PlanePooling(algorithm, x.dtype, rank, results[0] is not None, results[1] is not None)
    inner = [sizes[:axis] if column_major else sizes[axis + 1 :] for axis in range(rank)]
    columns: Sequence[Sequence[Known]] = (
        sizes, out, window.kernel, window.strides, window.dilations, window.begin_pads, window.end_pads,
        [dim_product(dims) for dims in inner],
    )  # fmt: skip
    axes = {
        f"{word}{axis}": column[axis]
        for word, column in zip(AXIS_WORDS, columns, strict=True)
        for axis in range(rank)
    }
    y, positions = (result or written[0] for result in results)
    return Step(
        Kernel(variant.key, partial(plane_pooling_module, variant=variant), variant.parameters),
        variant.parameters.pack(x=x, y=y, positions=positions, **axes),
        dim_product(written[0].shape[:-1]),
        (x,),
        written,
        flops=written[0].num_elements * window.num_taps,
        bytes_accessed=x.nbytes + dim_product([len(written)]) * written[0].nbytes,
    )


@dataclass(frozen=True, slots=True)
class PlaneAxis:
    """The arguments of an axis, named as in `AXIS_WORDS`."""

    size: LLVMValue
    out: LLVMValue
    kernel: LLVMValue
    stride: LLVMValue
    dilation: LLVMValue
    pad: LLVMValue
    end_pad: LLVMValue
    step: LLVMValue


@dataclass(frozen=True, slots=True)
class PlaneTaps:
    """The taps [first, end) along an outer axis that are inside the plane, for the windows of a row.

    start: the index of tap 0 along the axis, which may be outside.
    count: the number of taps that count for a mean.
    """

    axis: PlaneAxis
    start: LLVMValue
    first: LLVMValue
    end: LLVMValue
    count: LLVMValue


@dataclass(frozen=True, slots=True)
class WindowVector:
    """Adjacent windows of a row, one in each lane.

    start: the index of tap 0 of each window along the last axis.
    mask: the windows that exist.
    """

    axis: PlaneAxis
    start: LLVMValue
    mask: LLVMValue


@dataclass(frozen=True, slots=True)
class WindowTotals:
    """The state of the windows of a vector: maxima or sums so far, and the positions of the maxima."""

    value: MemoryLocation
    position: MemoryLocation


def plane_pooling_module(name: str, target: Target, variant: PlanePooling) -> str:
    b = KernelBuilder(target, variant.parameters)
    x, y, positions = b.pointers("x", "y", "positions")
    axes = [PlaneAxis(*b.integers(*(f"{word}{axis}" for word in AXIS_WORDS))) for axis in range(variant.rank)]
    element, last = memory_type(variant.dtype), axes[-1]
    lanes = b.target.lanes if element.is_float else 1  # bytes have no gathers
    vector, index_vector = replace(element, lanes=lanes), LLVMType("i64", lanes)
    totals = WindowTotals(b.new_slot("total", vector), b.new_slot("position", index_vector))
    plane_size = reduce(lambda product, axis: product * axis.size, axes, i64(b, 1))
    with b.loop(b.first_unit, b.end_unit, name="row") as row:
        plane, outer = split_row(b, variant, axes[:-1], row)
        base = plane * plane_size
        with b.loop(i64(b, 0), last.out + (lanes - 1), lanes, "window") as column:
            windows = window_vector(b, last, column, lanes)
            b.store(totals.value, b.constant(identity(variant), vector))
            b.store(totals.position, b.constant(NO_POSITION, index_vector))
            with (
                loop_outer_taps(b, outer, last, i64(b, 0), i64(b, 0)) as (line, line_position),
                b.loop(i64(b, 0), last.kernel, name="tap") as tap,
            ):
                index, is_inside = tap_indices(b, windows, tap, i64(b, 0), last.size)
                value = load_lanes(b, x, index + b.splat(base + line, lanes), element.element, is_inside)
                position = index * b.splat(last.step, lanes) + b.splat(line_position, lanes)
                accumulate(b, variant, totals, value, position, is_inside)
            result = row * last.out + column
            if variant.has_values:
                value = finish(b, variant, totals, outer, windows)
                store_vector(b, value, b.gep(y, result, element.llvm_element), windows.mask)
            if variant.has_positions:
                position = b.load(totals.position)
                position = b.select(position < 0, position, position + b.splat(base, lanes))
                store_vector(b, position, b.gep(positions, result, "i64"), windows.mask)
    return b.build_module(name)


def split_row(
    b: KernelBuilder, variant: PlanePooling, axes: Sequence[PlaneAxis], row: LLVMValue
) -> tuple[LLVMValue, list[PlaneTaps]]:
    """The plane of a row of results, and the taps of its windows along all axes except the last."""
    taps: list[PlaneTaps] = []
    for axis in reversed(axes):
        row, window = b.udivmod(row, axis.out)
        taps.insert(0, taps_of(b, variant, axis, window))
    return row, taps


def taps_of(b: KernelBuilder, variant: PlanePooling, axis: PlaneAxis, window: LLVMValue) -> PlaneTaps:
    """The taps of a window that are inside the plane."""
    start = window * axis.stride - axis.pad
    first, end = tap_range(b, start, i64(b, 0), axis.size, axis.kernel, axis.dilation)
    count = end - first
    if variant.algorithm.kind == "mean_with_pads":
        high = axis.size + axis.end_pad
        low_tap, high_tap = tap_range(b, start, -axis.pad, high, axis.kernel, axis.dilation)
        count = high_tap - low_tap
    return PlaneTaps(axis, start, first, end, count)


def window_vector(b: KernelBuilder, axis: PlaneAxis, column: LLVMValue, lanes: int) -> WindowVector:
    """The windows of a row from a column on."""
    columns = b.splat(column, lanes) + lane_numbers(b, LLVMType("i64", lanes))
    start = columns * b.splat(axis.stride, lanes) - b.splat(axis.pad, lanes)
    return WindowVector(axis, start, columns < b.splat(axis.out, lanes))


def tap_indices(
    b: KernelBuilder, windows: WindowVector, tap: LLVMValue, low: LLVMValue, high: LLVMValue
) -> tuple[LLVMValue, LLVMValue]:
    """For each window, the index of a tap along the last axis, and whether this index is in [low, high)."""
    lanes = windows.start.type.lanes
    index = windows.start + b.splat(tap * windows.axis.dilation, lanes)
    is_inside = (index >= b.splat(low, lanes)) & (index < b.splat(high, lanes))
    return index, is_inside & windows.mask


@contextmanager
def loop_outer_taps(
    b: KernelBuilder, taps: Sequence[PlaneTaps], last: PlaneAxis, offset: LLVMValue, position: LLVMValue
) -> Iterator[tuple[LLVMValue, LLVMValue]]:
    """The loops over the taps of all axes except the last: yields the offset of a line in its plane, and its position."""
    if not taps:
        yield offset, position
        return
    outermost, inner_taps = taps[0], taps[1:]
    stride = reduce(lambda product, other: product * other.axis.size, inner_taps, last.size)
    with b.loop(outermost.first, outermost.end, name="tap") as tap:
        index = outermost.start + tap * outermost.axis.dilation
        line_offset = offset + index * stride
        line_position = position + index * outermost.axis.step
        inner = loop_outer_taps(b, inner_taps, last, line_offset, line_position)
        with inner as line:
            yield line


def identity(variant: PlanePooling) -> float:
    """The value of a window without elements, before it is finished."""
    if variant.algorithm.kind != "max":
        return 0
    if variant.dtype in (DataType.FLOAT, DataType.DOUBLE):
        return -math.inf
    return -128 if variant.dtype is DataType.INT8 else 0


def accumulate(
    b: KernelBuilder,
    variant: PlanePooling,
    totals: WindowTotals,
    value: LLVMValue,
    position: LLVMValue,
    mask: LLVMValue,
) -> None:
    """Updates the state of the windows in the mask with an element of each; value: 0 for the other windows."""
    total = b.load(totals.value)
    if variant.algorithm.kind == "max":
        is_better = value > total
        if value.type.is_float:
            is_better = is_better | (value.ne(value) & total.eq(total))
        best = b.load(totals.position)
        if variant.has_positions:
            is_better = (is_better | (best < 0)) & mask
            b.store(totals.position, b.select(is_better, position, best))
        b.store(totals.value, b.select(is_better & mask, value, total))
    elif variant.algorithm.kind == "lp":
        b.store(totals.value, total + (b.fabs(value) if variant.algorithm.p == 1 else value * value))
    else:
        b.store(totals.value, total + value)


def finish(
    b: KernelBuilder,
    variant: PlanePooling,
    totals: WindowTotals,
    outer: Sequence[PlaneTaps],
    windows: WindowVector,
) -> LLVMValue:
    """The results of a vector of windows."""
    total = b.load(totals.value)
    if variant.algorithm.averages:
        rows = reduce(lambda product, taps: product * taps.count, outer, i64(b, 1))
        count = count_columns(b, variant, windows) * b.splat(rows, total.type.lanes)
        return total / count.convert("sitofp", total.type.element)
    is_root = variant.algorithm.kind == "lp" and variant.algorithm.p == 2
    return b.call_intrinsic("sqrt", total) if is_root else total


def count_columns(b: KernelBuilder, variant: PlanePooling, windows: WindowVector) -> LLVMValue:
    """The number of taps along the last axis that count for the mean of each window."""
    axis, index_vector = windows.axis, windows.start.type
    low, high = i64(b, 0), axis.size
    if variant.algorithm.kind == "mean_with_pads":
        low, high = -axis.pad, axis.size + axis.end_pad
    count = b.new_slot("count", index_vector)
    b.store(count, b.constant(0, index_vector))
    with b.loop(i64(b, 0), axis.kernel, name="tap") as tap:
        _, is_inside = tap_indices(b, windows, tap, low, high)
        b.store(count, b.load(count) + is_inside.convert("zext", "i64"))
    return b.load(count)
