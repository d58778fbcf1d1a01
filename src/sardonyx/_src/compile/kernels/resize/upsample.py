"""Nearest-neighbour upsampling of channels-last images by integer factors, for static and dynamic sizes.

A unit of work is one output row; loop nest: input pixels of the row -> vectors of channels -> copies to the right, so that
each vector is loaded once for all its copies.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import (
    ChannelsLastEmitter,
    pixel_stride,
    tensor_arguments,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue, operand_arguments
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView


def upsample_step(
    x: TensorView,
    y: TensorView,
    factors: tuple[int, int],
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """x [N, H, W, C] with each pixel repeated by the factors (height, width), into y [N, Ho, Wo, C].

    This is the nearest mode of Resize for integer scales, with asymmetric coordinates rounded by floor, or half_pixel
    coordinates rounded either way.
    """
    out_size = (x.shape[1] * factors[0], x.shape[2] * factors[1])
    assert y.shape[1:3] == out_size, f"y must have height and width {out_size}; got {y}"
    epilogue = epilogue or Epilogue()
    epilogue_arguments = operand_arguments(epilogue, operands)

    def source(name: str, target: Target) -> str:
        return UpsampleEmitter(target, epilogue).build_module(name)

    sizes = (pixel_stride(x), pixel_stride(y), x.shape[2], x.shape[3])
    return Step(
        kernel=Kernel(f"upsample_f32:{epilogue.key}", source),
        args=(x, y, *sizes, *factors, *epilogue_arguments),
        units=y.shape[0] * y.shape[1],
        reads=(x, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        bytes_accessed=x.nbytes + y.nbytes,
        nodes=nodes,
    )


class UpsampleEmitter(ChannelsLastEmitter):
    """Emits upsampling; args: x, y, their pixel strides, width of x, channels, the factors, the epilogue's."""

    def __init__(self, target: Target, epilogue: Epilogue) -> None:
        super().__init__(target, epilogue)
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        (
            self.x_pixel_stride,
            self.y_pixel_stride,
            self.width,
            self.channels,
            self.factor_height,
            self.factor_width,
        ) = (self.size_argument(i) for i in range(2, 8))
        self.load_operands(8)
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_row, "unit")

    def emit_row(self, out_row: LLVMValue) -> None:
        """An output row; rows are numbered across images, which works since each image has Ho = H * factor_height rows."""
        source = self.sdiv(out_row, self.factor_height) * self.width
        self.loop_call(
            self.zero, self.width, 1, lambda p: self.emit_pixel(out_row * self.width + p, source + p), "pixel"
        )

    def emit_pixel(self, index: LLVMValue, source: LLVMValue) -> None:
        """The copies of an input pixel; index: the number of the first copy, divided by factor_width."""
        first = index * self.factor_width

        def emit_vector(channel: LLVMValue, mask: LLVMValue | None) -> None:
            x = self.load_vector(self.gep(self.x, source * self.x_pixel_stride + channel), mask)

            def store_copy(i: LLVMValue) -> None:
                pixel = first + i
                value = self.apply_epilogue(x, pixel, channel, mask)
                self.store_vector(value, self.gep(self.y, pixel * self.y_pixel_stride + channel), mask)

            self.loop_call(self.zero, self.factor_width, 1, store_copy, "again")

        self.loop_channels(self.zero, self.channels, emit_vector)
