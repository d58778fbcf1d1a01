"""Convolutions of each channel with a kernel of its own, channels last."""

from __future__ import annotations

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import operand_tensors
from sardonyx._src.compile.spatial.window import Grip, Window, arguments, grip_for, units
from sardonyx._src.compile.spatial.windows import Windows
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.tensors import Array


def packed(weights: Array) -> Array:
    """Weights [C, 1, kh, kw] as [kh * kw, C]."""
    channels, _, height, width = weights.shape
    return weights.reshape(channels, height * width).T.copy()


def depthwise(
    x: Tensor,
    weights: Tensor,
    y: Tensor,
    bias: Tensor | None,
    window: Window,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """The convolution of x [N, H, W, C] with weights [kh * kw, C] and bias [C] into y [N, Ho, Wo, C]."""
    tail = tail or Tail()
    grip = grip_for(window, y.shape[2])
    more = tail_arguments(tail, operands)
    has_bias = bias is not None
    given = (weights,) if bias is None else (weights, bias)

    def source(name: str, target: Target) -> str:
        return Depthwise(target, tail, grip, has_bias=has_bias).module(name)

    return Step(
        kernel=Kernel(f"depthwise_f32:{grip.key}:{has_bias}:{tail.key}", source),
        args=(*arguments(x, y, window), *given, *more),
        units=units(x, y, window),
        reads=(x, *given, *operand_tensors(more)),
        writes=(y,),
        flops=y.count * (2 * window.taps),
        traffic=x.bytes + y.bytes,
        nodes=nodes,
    )


class Depthwise(Windows):
    """The instructions of a depthwise convolution."""

    def __init__(self, target: Target, tail: Tail, grip: Grip, *, has_bias: bool) -> None:
        self.has_bias = has_bias
        super().__init__(target, tail, grip)

    def fetch(self, index: int) -> None:
        self.weights = self.pointer(index)
        if self.has_bias:
            self.bias = self.pointer(index + 1)
        self.fetch_operands(index + (2 if self.has_bias else 1))

    def start(self, channel: Value, mask: Value | None) -> Value:
        if not self.has_bias:
            return self.constant(0.0, self.vector)
        return self.taken(self.address(self.bias, channel), mask)

    def tap_row_begins(self, tap_row: Value, channel: Value, mask: Value | None) -> None:
        self.line = self.address(self.weights, tap_row * self.kernel_width * self.channels + channel)
        self.weight_mask = mask
        self.of_row = [self.weight(tap) for tap in range(self.grip.width)]

    def weight(self, tap: int | Value) -> Value:
        at = self.channels * tap
        return self.taken(self.address(self.line, at), self.weight_mask)

    def step(self, total: Value, x: Value, tap: int | Value) -> Value:
        weight = self.of_row[tap] if isinstance(tap, int) else self.weight(tap)
        return self.fma(x, weight, total)
