"""Local response normalisation (LRN) across the channels of channels-last images.

y = x / (bias + alpha / size * (sum of the squares of `size` neighbouring channels)) ^ beta

A unit of work is LRN_UNIT_PIXELS pixels, in two passes: the first stores their squares in scratch, each pixel's
[size - 1 + channels] with zeros on either side, so that the sums of the second pass need no bounds checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import (
    ChannelsLastEmitter,
    pixel_stride,
    tensor_arguments,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue, operand_arguments
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import ceil_div

LrnPass: TypeAlias = "Callable[[LLVMValue, str, LLVMValue, LLVMValue | None], None]"
LRN_UNIT_PIXELS = 16  # few enough for the first pass's input and squares to be cached in the second
POW_FLOPS = 40  # assumed of an element's power and division


@dataclass(frozen=True, slots=True)
class LrnParameters:
    """The attributes of LRN, with the defaults of the ONNX specification."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    @property
    def key(self) -> str:
        """The part of the cache key; the size is a kernel argument, except for the factor of the sum."""
        return f"{self.alpha / self.size!r},{self.beta!r},{self.bias!r}"


def lrn_step(
    x: TensorView,
    y: TensorView,
    lrn: LrnParameters,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """The LRN of x into y, both [N, H, W, C]; of an even size, one more neighbour comes after a channel than before."""
    epilogue = epilogue or Epilogue()
    epilogue_arguments = operand_arguments(epilogue, operands)
    n, height, width, channels = x.shape
    rows = n * height * width
    units = ceil_div(rows, LRN_UNIT_PIXELS)
    assert units is not None, f"dims must be known; got {x}"
    before = (lrn.size - 1) // 2

    def source(name: str, target: Target) -> str:
        return LrnEmitter(target, epilogue, lrn).build_module(name)

    strides = (pixel_stride(x), pixel_stride(y))
    return Step(
        kernel=Kernel(f"lrn_f32:{lrn.key}:{epilogue.key}", source),
        args=(x, y, *strides, rows, channels, lrn.size, before, *epilogue_arguments),
        units=units,
        reads=(x, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        flops=x.num_elements * (lrn.size + POW_FLOPS),
        bytes_accessed=x.nbytes + y.nbytes,
        scratch=(channels + (lrn.size - 1)) * (4 * LRN_UNIT_PIXELS),
        nodes=nodes,
    )


class LrnEmitter(ChannelsLastEmitter):
    """Emits LRN.

    args: x, y, their pixel strides, pixels, channels, size, the number of neighbours before a channel, the epilogue's.
    """

    def __init__(self, target: Target, epilogue: Epilogue, lrn: LrnParameters) -> None:
        super().__init__(target, epilogue)
        self.lrn = lrn
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        self.x_pixel_stride, self.y_pixel_stride, self.pixels, self.channels, self.size, self.before = (
            self.size_argument(i) for i in range(2, 8)
        )
        self.load_operands(8)
        self.padded_channels = self.channels + self.size - 1
        self.sum = self.new_slot("sum", self.vector_type)
        self.loop_call(self.zero, self.padded_channels * LRN_UNIT_PIXELS, 1, self.clear_square, "place")
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def clear_square(self, index: LLVMValue) -> None:
        self.store(
            StackSlot(self.gep(self.scratch, index), LLVMType("float")),
            self.constant(0.0, LLVMType("float")),
        )

    def emit_unit(self, unit: LLVMValue) -> None:
        begin = unit * LRN_UNIT_PIXELS
        end = self.min(begin + LRN_UNIT_PIXELS, self.pixels)
        for lrn_pass in (self.store_squares, self.normalise):

            def emit_pixel(pixel: LLVMValue, lrn_pass: LrnPass = lrn_pass) -> None:
                squares = self.gep(self.scratch, (pixel - begin) * self.padded_channels)
                self.loop_channels(
                    self.zero, self.channels, lambda channel, mask: lrn_pass(pixel, squares, channel, mask)
                )

            self.loop_call(begin, end, 1, emit_pixel, "pixel")

    def store_squares(
        self, pixel: LLVMValue, squares: str, channel: LLVMValue, mask: LLVMValue | None
    ) -> None:
        """First pass: the squares of a vector of channels, after the zeros for the neighbours before channel 0."""
        x = self.load_input(pixel, channel, mask)
        self.store_vector(x * x, self.gep(squares, channel + self.before), mask)

    def normalise(self, pixel: LLVMValue, squares: str, channel: LLVMValue, mask: LLVMValue | None) -> None:
        """Second pass: the result of a vector of channels."""

        def add_square(neighbour: LLVMValue) -> None:
            square = self.load_vector(self.gep(squares, channel + neighbour), mask)
            self.store(self.sum, self.load(self.sum) + square)

        self.store(self.sum, self.constant(0.0, self.vector_type))
        self.loop_call(self.zero, self.size, 1, add_square, "around")
        factor = self.constant(self.lrn.alpha / self.lrn.size, self.vector_type)
        base = self.fma(self.load(self.sum), factor, self.lrn.bias)
        value = self.load_input(pixel, channel, mask) / self.power(base)
        value = self.apply_epilogue(value, pixel, channel, mask)
        self.store_vector(value, self.gep(self.y, pixel * self.y_pixel_stride + channel), mask)

    def load_input(self, pixel: LLVMValue, channel: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        return self.load_vector(self.gep(self.x, pixel * self.x_pixel_stride + channel), mask)

    def power(self, base: LLVMValue) -> LLVMValue:
        """base ^ beta, by square roots for the exponents that known models have."""
        match self.lrn.beta:
            case 1.0:
                return base
            case 0.5:
                return self.call_intrinsic("sqrt", base)
            case 0.75:
                root = self.call_intrinsic("sqrt", base)
                return root * self.call_intrinsic("sqrt", root)
        return self.emit_operation("pow", base, self.constant(self.lrn.beta, self.vector_type))
