"""Resize of channels-last images by tap tables: each output pixel is a copy or a weighted sum of input pixels.

Interpolation is separable: the taps of a pixel are the products of those of its row and of its column.  For axes of known
size the tables are constants, computed by the functions of the reference implementation; for dynamic sizes `dynamic_taps`
fills them at run time.  A unit of work is one output row; loop nest: output pixels -> vectors of channels -> taps, unrolled.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import (
    ChannelsLastEmitter,
    pixel_stride,
    tensor_arguments,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue, operand_arguments
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.image.resize.resample import ResampleMode
from sardonyx._src.ops.image.resize.resampled_axis import (
    ResampledAxis,
    interpolation_taps,
    nearest,
    triangle,
)
from sardonyx._src.ops.image.sampling import cubic_weight

MAX_PIXEL_TAPS = 16  # taps of an output pixel, which are unrolled: 4 x 4 for cubic interpolation


def resize_step(
    x: TensorView,
    y: TensorView,
    resample_mode: ResampleMode,
    height: ResampledAxis,
    width: ResampledAxis,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """The resizing of x [N, H, W, C] to y [N, Ho, Wo, C] along two axes of known sizes.

    None if there is no kernel for it: the shapes of x and y are not those of the axes (they may be dynamic), positions are
    outside the input, or a pixel has more than MAX_PIXEL_TAPS taps.
    """
    if (*x.shape[1:3], *y.shape[1:3]) != (height.size, width.size, height.out, width.out):
        return None
    rows, columns = axis_taps(height, resample_mode), axis_taps(width, resample_mode)
    if rows is None or columns is None:
        return None
    taps = (rows[0].shape[1], columns[0].shape[1])
    if taps[0] * taps[1] > MAX_PIXEL_TAPS:
        return None
    interpolates = resample_mode.mode != "nearest"
    tables = (rows[0], columns[0], rows[1], columns[1]) if interpolates else (rows[0], columns[0])
    return table_resize_step(
        x, y, taps, [table_constant(table) for table in tables], epilogue, operands, nodes
    )


def table_resize_step(
    x: TensorView,
    y: TensorView,
    taps: tuple[int, int],
    tables: list[TensorView],
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """The resizing of x [N, H, W, C] to y [N, Ho, Wo, C] by tap tables.

    taps: of a row and of a column.  tables: indices int64 [Ho, taps] and [Wo, taps], which must be inside the image, and
    weights float32 of the same shapes; without weights, pixels are copied.
    """
    epilogue, interpolates = epilogue or Epilogue(), len(tables) == 4
    epilogue_arguments = operand_arguments(epilogue, operands)

    def source(name: str, target: Target) -> str:
        return ResizeEmitter(target, epilogue, taps, interpolates=interpolates).build_module(name)

    sizes = (pixel_stride(x), pixel_stride(y), *x.shape[1:3], *y.shape[1:3], x.shape[3])
    return Step(
        kernel=Kernel(f"resize_f32:{taps[0]}x{taps[1]}:{interpolates}:{epilogue.key}", source),
        args=(x, y, *sizes, *tables, *epilogue_arguments),
        units=y.shape[0] * y.shape[1],
        reads=(x, *tables, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        flops=y.num_elements * (2 * taps[0] * taps[1] if interpolates else 0),
        bytes_accessed=x.nbytes + y.nbytes,
        nodes=nodes,
    )


def axis_taps(axis: ResampledAxis, resample_mode: ResampleMode) -> tuple[Array, Array] | None:
    """Indices and weights of the taps of an axis, [out, taps] each; None if a position is outside the input."""
    if axis.is_whole or axis.out == 0:
        return np.arange(axis.out).reshape(-1, 1), np.ones((axis.out, 1), np.float32)
    if axis.size == 0:
        return None
    positions = resample_mode.coordinates(axis)
    if resample_mode.crops and ((positions < 0) | (positions > axis.size - 1)).any():
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


class ResizeEmitter(ChannelsLastEmitter):
    """Emits resizing by tap tables; taps: of a row and of a column.

    args: x, y, their pixel strides, heights and widths of x and y, channels, the tables of rows and columns (indices, then
    weights if it interpolates), the epilogue's.
    """

    def __init__(
        self, target: Target, epilogue: Epilogue, taps: tuple[int, int], *, interpolates: bool
    ) -> None:
        super().__init__(target, epilogue)
        self.taps, self.interpolates = taps, interpolates
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        (
            self.x_pixel_stride,
            self.y_pixel_stride,
            self.height,
            self.width,
            self.out_height,
            self.out_width,
            self.channels,
        ) = (self.size_argument(i) for i in range(2, 9))
        tables = [self.pointer_argument(9 + i) for i in range(4 if interpolates else 2)]
        self.index_tables, self.weight_tables = tables[:2], tables[2:]
        self.load_operands(9 + len(tables))
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_row, "unit")

    def emit_row(self, unit: LLVMValue) -> None:
        """One output row; its input rows and their weights are loaded once."""
        image, out_row = self.udivmod(unit, self.out_height)
        input_rows: list[str] = []
        for index in self.load_indices(0, out_row):
            first_pixel = (image * self.height + index) * self.width
            input_rows.append(self.gep(self.x, first_pixel * self.x_pixel_stride))
        row_weights = self.load_weights(0, out_row)
        self.loop_call(
            self.zero,
            self.out_width,
            1,
            lambda column: self.emit_pixel(unit, column, input_rows, row_weights),
            "pixel",
        )

    def emit_pixel(
        self, unit: LLVMValue, column: LLVMValue, input_rows: list[str], row_weights: list[LLVMValue]
    ) -> None:
        """One output pixel: a weighted sum over the taps for each vector of channels."""
        offsets = [index * self.x_pixel_stride for index in self.load_indices(1, column)]
        column_weights = self.load_weights(1, column)
        taps = [self.gep(input_row, offset) for input_row in input_rows for offset in offsets]
        weights = [self.splat(a * b, self.lanes) for a in row_weights for b in column_weights]
        pixel = unit * self.out_width + column

        def emit_vector(channel: LLVMValue, mask: LLVMValue | None) -> None:
            elements = [self.load_vector(self.gep(tap, channel), mask) for tap in taps]
            value = self.weighted_sum(elements, weights) if self.interpolates else elements[0]
            value = self.apply_epilogue(value, pixel, channel, mask)
            self.store_vector(value, self.gep(self.y, pixel * self.y_pixel_stride + channel), mask)

        self.loop_channels(self.zero, self.channels, emit_vector)

    def weighted_sum(self, elements: list[LLVMValue], weights: list[LLVMValue]) -> LLVMValue:
        total = elements[0] * weights[0]
        for element, weight in zip(elements[1:], weights[1:], strict=True):
            total = self.fma(element, weight, total)
        return total

    def load_indices(self, axis: int, i: LLVMValue) -> list[LLVMValue]:
        """The input indices of the taps of output element i along an axis: 0 for rows, 1 for columns."""
        taps = self.taps[axis]
        return [
            self.load(StackSlot(self.gep(self.index_tables[axis], i * taps + tap, "i64"), I64))
            for tap in range(taps)
        ]

    def load_weights(self, axis: int, i: LLVMValue) -> list[LLVMValue]:
        """The weights of these taps; none if pixels are copied."""
        if not self.interpolates:
            return []
        taps = self.taps[axis]
        return [
            self.load(StackSlot(self.gep(self.weight_tables[axis], i * taps + tap), LLVMType("float")))
            for tap in range(taps)
        ]
