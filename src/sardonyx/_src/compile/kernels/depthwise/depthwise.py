"""Depthwise convolution of channels-last float32 images: each channel has a filter of its own.

x: [N, H, W, C], weights packed as [kh * kw, C], y: [N, Ho, Wo, C].  The loops are those of `SlidingWindowEmitter`; lanes are
channels, so that a tap is one multiply-add of an input vector and a weight vector.  The weights of a kernel row are loaded
once for all pixels of a tile.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import tensor_arguments
from sardonyx._src.compile.kernels.channels_last.sliding_window import (
    SlidingWindow,
    WindowTile,
    choose_window_tile,
    count_window_units,
    sliding_window_arguments,
)
from sardonyx._src.compile.kernels.channels_last.sliding_window_emitter import SlidingWindowEmitter
from sardonyx._src.compile.kernels.epilogue import Epilogue, operand_arguments
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.tensors import Array


def pack_depthwise_weights(weights: Array) -> Array:
    """Weights [C, 1, kh, kw] as [kh * kw, C]: the channels of a tap are contiguous."""
    channels, _, height, width = weights.shape
    return weights.reshape(channels, height * width).T.copy()


def depthwise_step(
    x: TensorView,
    weights: TensorView,
    y: TensorView,
    bias: TensorView | None,
    window: SlidingWindow,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """The convolution of x [N, H, W, C] with weights [kh * kw, C] and bias [C] into y [N, Ho, Wo, C]."""
    epilogue = epilogue or Epilogue()
    tile = choose_window_tile(window, y.shape[2])
    epilogue_arguments = operand_arguments(epilogue, operands)
    has_bias = bias is not None
    constants = (weights,) if bias is None else (weights, bias)

    def source(name: str, target: Target) -> str:
        return DepthwiseEmitter(target, epilogue, tile, has_bias=has_bias).build_module(name)

    return Step(
        kernel=Kernel(f"depthwise_f32:{tile.key}:{has_bias}:{epilogue.key}", source),
        args=(*sliding_window_arguments(x, y, window), *constants, *epilogue_arguments),
        units=count_window_units(x, y, window),
        reads=(x, *constants, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        flops=y.num_elements * (2 * window.num_taps),
        bytes_accessed=x.nbytes + y.nbytes,
        nodes=nodes,
    )


class DepthwiseEmitter(SlidingWindowEmitter):
    """Emits a depthwise convolution.

    args: those of every sliding-window kernel, weights, bias if there is one, the epilogue's.
    """

    def __init__(self, target: Target, epilogue: Epilogue, tile: WindowTile, *, has_bias: bool) -> None:
        self.has_bias = has_bias
        super().__init__(target, epilogue, tile)

    def load_arguments(self, index: int) -> None:
        self.weights = self.pointer_argument(index)
        if self.has_bias:
            self.bias = self.pointer_argument(index + 1)
        self.load_operands(index + (2 if self.has_bias else 1))

    def initial_value(self, channel: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        if not self.has_bias:
            return self.constant(0.0, self.vector_type)
        return self.load_vector(self.gep(self.bias, channel), mask)

    def begin_tap_row(self, tap_row: LLVMValue, channel: LLVMValue, mask: LLVMValue | None) -> None:
        """Loads the weights of the row's unrolled taps."""
        self.row_weights = self.gep(self.weights, tap_row * self.kernel_width * self.channels + channel)
        self.weight_mask = mask
        self.tap_weights = [self.load_weight(tap) for tap in range(self.tile.taps)]

    def load_weight(self, tap: int | LLVMValue) -> LLVMValue:
        offset = self.channels * tap
        return self.load_vector(self.gep(self.row_weights, offset), self.weight_mask)

    def accumulate(self, total: LLVMValue, x: LLVMValue, tap: int | LLVMValue) -> LLVMValue:
        weight = self.tap_weights[tap] if isinstance(tap, int) else self.load_weight(tap)
        return self.fma(x, weight, total)
