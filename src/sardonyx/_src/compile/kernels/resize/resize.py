"""Resize of channels-last images by tap tables: each output pixel is a copy or a weighted sum of input pixels.

Interpolation is separable: the taps of a pixel are the products of the taps of its row and of its column.  For axes of known
size the tables are constants, computed by the functions of the reference implementation; for dynamic sizes `dynamic_taps`
fills them at run time.  A unit of work is one output row; loop nest: output pixels -> vectors of channels -> taps, unrolled.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import image_arguments, load_output, store_result
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
)
from sardonyx._src.compile.kernels.loops.vectors import i64, load_vector, loop_vectors
from sardonyx._src.compile.kernels.tuning import ResizeTuning
from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView, row_major_strides
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.image.resize.resample import ResampleMode
from sardonyx._src.ops.image.resize.resampled_axis import ResampledAxis, interpolation_taps, nearest, triangle
from sardonyx._src.ops.image.sampling import cubic_weight

RESIZE_SIZES = ("x_pixel_stride", "y_pixel_stride", "height", "width", "out_height", "out_width", "channels")
INDEX_TABLES, WEIGHT_TABLES = ("row_indices", "column_indices"), ("row_weights", "column_weights")


def resize_step(
    x: TensorView,
    y: TensorView,
    tables: list[TensorView],
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The resizing of x [N, H, W, C] to y [N, Ho, Wo, C] by tap tables.

    tables: indices int64 [Ho, taps] and [Wo, taps], which must be inside the image, and weights float32 of the same shapes;
    without weights, pixels are copied.
    """
    taps = (taps_of(tables[0]), taps_of(tables[1]))
    interpolates = len(tables) == 4
    parameters = resize_parameters(epilogue, interpolates=interpolates)
    source = partial(resize_module, epilogue=epilogue, taps=taps, interpolates=interpolates)
    return Step(
        kernel=Kernel(f"resize_f32:{taps[0]}x{taps[1]}:{interpolates}:{epilogue.key}", source, parameters),
        args=parameters.pack(
            **image_arguments(x, y),
            height=x.shape[1],
            width=x.shape[2],
            out_height=y.shape[1],
            out_width=y.shape[2],
            channels=x.shape[3],
            **dict(zip((*INDEX_TABLES, *WEIGHT_TABLES), tables, strict=False)),
            **epilogue_arguments(epilogue, operands),
        ),
        units=y.shape[0] * y.shape[1],
        reads=(x, *tables, *operands),
        writes=(y,),
        flops=y.num_elements * (2 * taps[0] * taps[1] if interpolates else 0),
        bytes_accessed=x.nbytes + y.nbytes,
    )


def taps_of(table: TensorView) -> int:
    """The number of taps of each element of an axis."""
    taps = table.shape[1]
    assert isinstance(taps, int), f"the number of taps must be known; got {table}"
    return taps


def constant_tables(
    resample_mode: ResampleMode, height: ResampledAxis, width: ResampledAxis
) -> tuple[Array, ...] | None:
    """The tables of two axes of known sizes.

    None if positions are outside the input, or a pixel has more than `max_pixel_taps` taps.
    """
    rows, columns = axis_taps(height, resample_mode), axis_taps(width, resample_mode)
    if rows is None or columns is None:
        return None
    if rows[0].shape[1] * columns[0].shape[1] > ResizeTuning.max_pixel_taps:
        return None
    interpolates = resample_mode.mode != "nearest"
    return (rows[0], columns[0], rows[1], columns[1]) if interpolates else (rows[0], columns[0])


def axis_taps(
    axis: ResampledAxis, resample_mode: ResampleMode, *, crops: bool = True
) -> tuple[Array, Array] | None:
    """Indices and weights of the taps of an axis, [out, taps] each.

    None if the axis has no elements, or, with `crops`, a position is outside the input.
    """
    if axis.is_identity or axis.out == 0:
        return np.arange(axis.out).reshape(-1, 1), np.ones((axis.out, 1), np.float32)
    if axis.size == 0:
        return None
    positions = resample_mode.coordinates(axis)
    if crops and resample_mode.crops and ((positions < 0) | (positions > axis.size - 1)).any():
        return None
    if resample_mode.mode == "nearest":
        indices = nearest(positions, axis, resample_mode.nearest_mode)
        return indices.reshape(-1, 1), np.ones((axis.out, 1), np.float32)
    is_cubic = resample_mode.mode == "cubic"
    indices, weights = interpolation_taps(
        positions,
        axis,
        partial(cubic_weight, a=resample_mode.cubic_coeff_a) if is_cubic else triangle,
        2 if is_cubic else 1,
        antialias=resample_mode.antialias,
        exclude_outside=resample_mode.exclude_outside,
    )
    return indices, weights.astype(np.float32)


def table_constant(table: Array) -> TensorView:
    """A table as a constant of the program."""
    data = np.ascontiguousarray(table)
    buffer = Buffer("constant", data.nbytes, "table", data)
    return TensorView(DataType.of(data.dtype), data.shape, row_major_strides(data.shape), buffer)


@dataclass(frozen=True, slots=True)
class AxisTables:
    """The tap tables of an axis in a kernel.

    taps: the number of taps of each element.
    indices, weights: the addresses of the tables; without weights (None), pixels are copied.
    """

    taps: int
    indices: str
    weights: str | None


def resize_parameters(epilogue: Epilogue, *, interpolates: bool) -> Parameters:
    tables = (*INDEX_TABLES, *WEIGHT_TABLES) if interpolates else INDEX_TABLES
    return Parameters("x", "y", *RESIZE_SIZES, *tables) + epilogue_parameters(epilogue)


def resize_module(
    name: str, target: Target, epilogue: Epilogue, taps: tuple[int, int], *, interpolates: bool
) -> str:
    """The LLVM module of the kernel; taps: the number of taps of a row and of a column.

    The addresses and the weights of the input rows are loaded once for each output row.
    """
    b = KernelBuilder(target, resize_parameters(epilogue, interpolates=interpolates))
    x, y_address = b.pointers("x", "y")
    x_pixel_stride, y_pixel_stride, height, width, out_height, out_width, channels = map(
        b.integer, RESIZE_SIZES
    )
    rows, columns = load_tables(b, taps, interpolates=interpolates)
    y = load_output(b, y_address, y_pixel_stride, epilogue)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        image, out_row = b.udivmod(unit, out_height)
        input_rows = [
            b.gep(x, (image * height + index) * width * x_pixel_stride)
            for index in load_indices(b, rows, out_row)
        ]
        row_weights = load_weights(b, rows, out_row)
        with b.loop(i64(b, 0), out_width, name="pixel") as column:
            offsets = [index * x_pixel_stride for index in load_indices(b, columns, column)]
            column_weights = load_weights(b, columns, column)
            addresses = [b.gep(input_row, offset) for input_row in input_rows for offset in offsets]
            weights = [b.splat(v * w, target.lanes) for v in row_weights for w in column_weights]
            pixel = unit * out_width + column
            for channel, mask in loop_vectors(b, i64(b, 0), channels):
                elements = [load_vector(b, b.gep(address, channel), mask) for address in addresses]
                value = weighted_sum(b, elements, weights) if interpolates else elements[0]
                store_result(b, y, value, pixel, channel, mask)
    return b.build_module(name)


def load_tables(b: KernelBuilder, taps: tuple[int, int], *, interpolates: bool) -> list[AxisTables]:
    """The tables of rows and of columns."""
    indices = b.pointers(*INDEX_TABLES)
    weights = [b.pointer(table) if interpolates else None for table in WEIGHT_TABLES]
    return [AxisTables(*axis) for axis in zip(taps, indices, weights, strict=True)]


def load_indices(b: KernelBuilder, axis: AxisTables, i: LLVMValue) -> list[LLVMValue]:
    """The input indices of the taps of output element i along an axis."""
    return [
        b.load(MemoryLocation(b.gep(axis.indices, i * axis.taps + tap, "i64"), I64))
        for tap in range(axis.taps)
    ]


def load_weights(b: KernelBuilder, axis: AxisTables, i: LLVMValue) -> list[LLVMValue]:
    """The weights of the taps of output element i along an axis; none if pixels are copied."""
    if axis.weights is None:
        return []
    return [
        b.load(MemoryLocation(b.gep(axis.weights, i * axis.taps + tap), LLVMType("float")))
        for tap in range(axis.taps)
    ]


def weighted_sum(b: KernelBuilder, elements: list[LLVMValue], weights: list[LLVMValue]) -> LLVMValue:
    total = elements[0] * weights[0]
    for element, weight in zip(elements[1:], weights[1:], strict=True):
        total = b.fma(element, weight, total)
    return total
