"""Convolutions and pooling: windows, strides, groups and numbers of channels, each with the activations that follow it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import (
    COMMON,
    MOBILE,
    RARE,
    Dims,
    Rule,
    VariantBuilder,
    float32s,
)


@dataclass(frozen=True, slots=True)
class ConvolutionVariant:
    """A convolution of an image [N, C, ...] by weights, with attributes."""

    image: Dims
    weights: tuple[int, ...]
    attributes: Mapping[str, object] = field(default_factory=dict)
    operator: str = "Conv"

    @property
    def out_channels(self) -> int:
        return self.weights[0] if self.operator == "Conv" else self.weights[1]


OUT_CHANNELS = (4, 16, 32, 48, 64)  # register tiles have one to four vectors of them
SIZES = (7, 8, 14, 28)  # pixels of a row, of which tiles of depthwise convolutions have four to eight
SAME_3 = {"pads": [1, 1, 1, 1]}
SAME_5 = {"pads": [2, 2, 2, 2]}
HALF_3 = {"pads": [1, 1, 1, 1], "strides": [2, 2]}
HALF_5 = {"pads": [2, 2, 2, 2], "strides": [2, 2]}


def models() -> Iterator[Model]:
    for c in OUT_CHANNELS:
        for convolution in dense(c):
            yield model_of(convolution, {**COMMON, **MOBILE}, has_residuals=True)
        for convolution in rare(c):
            yield model_of(convolution, RARE)
    for size in SIZES:
        for convolution in depthwise(size):
            yield model_of(convolution, MOBILE)
    yield from map(pools, SIZES)


def dense(channels: int) -> Iterator[ConvolutionVariant]:
    """Those that most networks have, to a number of channels."""
    yield ConvolutionVariant((1, 32, 14, 14), (channels, 32, 1, 1))
    yield ConvolutionVariant((1, 32, 14, 14), (channels, 32, 3, 3), SAME_3)
    yield ConvolutionVariant((1, 32, 14, 14), (channels, 32, 3, 3), HALF_3)
    yield ConvolutionVariant((1, 3, 32, 32), (channels, 3, 3, 3), HALF_3)
    yield ConvolutionVariant((1, 3, 32, 32), (channels, 3, 3, 3), SAME_3)


def rare(channels: int) -> Iterator[ConvolutionVariant]:
    yield ConvolutionVariant((1, 3, 32, 32), (channels, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]})
    yield ConvolutionVariant((1, 1, 32, 32), (channels, 1, 3, 3), SAME_3)
    yield ConvolutionVariant((1, 1, 32, 32), (channels, 1, 5, 5))
    yield ConvolutionVariant((1, 4, 32, 32), (channels, 4, 3, 3), SAME_3)
    yield ConvolutionVariant((1, 8, 32, 32), (channels, 8, 3, 3), SAME_3)
    yield ConvolutionVariant(("N", 32, "H", "W"), (channels, 32, 3, 3), SAME_3)
    yield ConvolutionVariant((1, 32, 14, 14), (channels, 32, 5, 5), SAME_5)
    yield ConvolutionVariant((1, 32, 14, 14), (channels, 32, 1, 1), {"strides": [2, 2]})
    yield ConvolutionVariant(
        (1, 32, 14, 14), (channels, 32, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}
    )
    yield ConvolutionVariant((1, 3, 32, 32), (channels, 3, 4, 4), {"strides": [4, 4]})
    yield ConvolutionVariant((1, 32, 50), (channels, 32, 3), {"pads": [1, 1]})
    yield ConvolutionVariant((1, 32, "L"), (channels, 32, 5), {"pads": [2, 2]})
    yield ConvolutionVariant((1, 1, 200), (channels, 1, 16), {"strides": [8]})
    yield ConvolutionVariant((1, 64, 14, 14), (channels * 4, 16, 3, 3), {**SAME_3, "group": 4})
    yield ConvolutionVariant((1, 4, 6, 14, 14), (channels, 4, 3, 3, 3), {"pads": [1] * 6})
    yield ConvolutionVariant((1, 32, 14, 14), (32, channels, 2, 2), {"strides": [2, 2]}, "ConvTranspose")
    yield ConvolutionVariant(
        (1, 32, 14, 14), (32, channels, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}, "ConvTranspose"
    )
    yield ConvolutionVariant(
        (1, 32, 50), (32, channels, 4), {"strides": [2], "pads": [1, 1]}, "ConvTranspose"
    )


def depthwise(size: int) -> Iterator[ConvolutionVariant]:
    image = (1, 32, size, size)
    for attributes, window in ((SAME_3, 3), (HALF_3, 3), (SAME_5, 5), (HALF_5, 5)):
        yield ConvolutionVariant(image, (32, 1, window, window), {**attributes, "group": 32})
    yield ConvolutionVariant(image, (32, 1, 7, 7), {"pads": [3, 3, 3, 3], "group": 32})


def model_of(
    convolution: ConvolutionVariant, activations: Mapping[str, Rule], *, has_residuals: bool = False
) -> Model:
    """A convolution with each activation, and with a residual before or after one."""
    b = VariantBuilder()
    for activation in activations.values():
        b.result(activation(b, convolve(b, convolution)))
    for activation in (COMMON["Relu"], COMMON["silu"]) if has_residuals else ():
        y = convolve(b, convolution)
        b.result(activation(b, y + b.operand(*shape_of(y))))
        y = convolve(b, convolution)
        b.result(activation(b, y) + b.operand(*shape_of(y)))
    y = convolve(b, convolution)
    b.result(y + b.operand(*shape_of(y)))
    return b.finish()


def convolve(b: VariantBuilder, c: ConvolutionVariant) -> Any:
    call: Any = b.Conv if c.operator == "Conv" else b.ConvTranspose
    return call(b.operand(*c.image), b.weight(*c.weights), b.weight(c.out_channels), **c.attributes)


def shape_of(value: Any) -> list[int | str]:
    return [dim if isinstance(dim, int) else str(dim) for dim in value.type.shape]


def pools(size: int) -> Model:
    b, image = VariantBuilder(), (1, 32, size, size)
    for window, stride in ((2, 2), (3, 2), (3, 1), (5, 1), (1, 1)):
        shape = {"kernel_shape": [window, window], "strides": [stride, stride]}
        for pad in (0, window // 2) if stride < window else (0,):
            options: dict[str, Any] = {**shape, "pads": [pad] * 4}
            for x in (b.operand(*image), b.Relu(b.Conv(b.operand(*image), b.weight(32, 32, 1, 1)))):
                b.result(b.MaxPool(x, **options))
                b.result(b.AveragePool(x, **options))
    x = b.Relu(b.Conv(b.operand(*image), b.weight(32, 32, 1, 1)))
    for pooled in (b.GlobalAveragePool(x), b.GlobalMaxPool(x), b.GlobalAveragePool(b.operand(*image))):
        b.result(pooled)
        b.result(b.Sigmoid(pooled))
    for mode in ("nearest", "linear"):
        b.result(b.Resize(x, None, float32s(1, 1, 2, 2), mode=mode))
    return b.finish()
