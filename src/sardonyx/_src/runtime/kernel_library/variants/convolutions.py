"""Convolutions and pooling: windows, strides, groups and numbers of channels, each with the activations that follow it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import (
    COMMON,
    FURTHER,
    MOBILE,
    RARE,
    Dims,
    Rule,
    VariantBuilder,
    int64s,
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
EPSILONS = (float(np.float32(1e-5)), float(np.float32(1e-6)))
FEW_CHANNELS = (1, 2, 3)  # of results, whose pixels are in the lanes
SIZES = (5, 6, 7, 8, 14, 28)  # pixels of a row, of which tiles of depthwise convolutions have four to eight
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
    for convolution in dense(16):
        yield model_of(convolution, FURTHER)
    for convolution in rare(16):
        yield model_of(convolution, FURTHER)
    for c in FEW_CHANNELS:
        yield model_of(ConvolutionVariant((1, 32, 14, 14), (c, 32, 3, 3), SAME_3), COMMON)
        yield model_of(ConvolutionVariant((1, 32, 14, 14), (c, 32, 1, 1)), COMMON)
    yield parts()
    yield normalized()
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
    yield ConvolutionVariant(image, (32, 1, 3, 3), {"group": 32})
    yield ConvolutionVariant(image, (32, 1, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2], "group": 32})
    yield ConvolutionVariant((1, 32, 4 * size), (32, 1, 3), {"pads": [1, 1], "group": 32})


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


def parts() -> Model:
    """Convolutions of some channels of an image, and of images whose sizes no tile divides."""
    b = VariantBuilder()
    for activation in {**COMMON, **FURTHER}.values():
        x = b.Slice(b.operand(1, 64, 14, 14), int64s(8), int64s(40), int64s(1))
        b.result(activation(b, b.Conv(x, b.weight(16, 32, 3, 3), b.weight(16), pads=[1, 1, 1, 1])))
    for channels in (8, 12, 24):
        for activation in RARE.values():
            x = b.operand(1, channels, 10, 10)
            b.result(activation(b, b.Conv(x, b.weight(channels, channels, 3, 3), pads=[1, 1, 1, 1])))
        x = b.operand(1, channels, 10, 10)
        y = b.Conv(x, b.weight(channels, channels, 3, 3), pads=[1, 1, 1, 1])
        b.result(y + b.operand(1, channels, 10, 10))
    for activation in {**COMMON, **FURTHER}.values():
        y = b.Conv(b.operand(1, 32, 14, 14), b.weight(16, 32, 1, 1), b.weight(16))
        b.result(activation(b, y * b.operand(1, 16, 14, 14)))
        y = b.Conv(b.operand(1, 32, 14, 14), b.weight(16, 32, 1, 1), b.weight(16))
        b.result(activation(b, y + b.operand(1, 16, 14, 14)))
    return b.finish()


def normalized() -> Model:
    """Norms of groups and of images between convolutions, and convolutions of parts of a result."""
    b = VariantBuilder()
    scale, bias = b.weight(32), b.weight(32)
    for epsilon in EPSILONS:
        for activation in (*COMMON.values(), *FURTHER.values()):
            x = b.Conv(b.operand(1, 32, 14, 14), b.weight(32, 32, 3, 3), b.weight(32), pads=[1, 1, 1, 1])
            y = b.GroupNormalization(x, scale, bias, num_groups=4, epsilon=epsilon)
            b.result(b.Conv(activation(b, y), b.weight(32, 32, 1, 1)))
            x = b.Conv(b.operand(1, 32, 14, 14), b.weight(32, 32, 3, 3), b.weight(32), pads=[1, 1, 1, 1])
            y = activation(b, b.InstanceNormalization(x, scale, bias, epsilon=epsilon))
            b.result(b.Conv(y, b.weight(32, 32, 1, 1)))
            b.result(b.Conv(y + b.operand(1, 32, 14, 14), b.weight(32, 32, 1, 1)))
    for activation in (*COMMON.values(), *FURTHER.values()):
        x = b.Conv(b.operand(1, 32, 14, 14), b.weight(64, 32, 1, 1), b.weight(64))
        part = b.Slice(x, int64s(16), int64s(48), int64s(1))
        y = b.Conv(part, b.weight(16, 32, 3, 3), b.weight(16), pads=[1, 1, 1, 1])
        b.result(activation(b, y))
        b.result(b.Conv(part, b.weight(16, 32, 1, 1)))
    return b.finish()


def pools(size: int) -> Model:
    b, image = VariantBuilder(), (1, 32, size, size)
    for window, stride in ((2, 2), (3, 2), (3, 1), (5, 1), (1, 1), (2, 1), (6, 6)):
        shape = {"kernel_shape": [window, window], "strides": [stride, stride]}
        for pad in (0, window // 2) if stride < window else (0,):
            options: dict[str, Any] = {**shape, "pads": [pad] * 4}
            for x in (b.operand(*image), b.Relu(b.Conv(b.operand(*image), b.weight(32, 32, 1, 1)))):
                b.result(b.MaxPool(x, **options))
                b.result(b.AveragePool(x, **options))
                b.result(b.AveragePool(x, **options, count_include_pad=1))
    x = b.Relu(b.Conv(b.operand(*image), b.weight(32, 32, 1, 1)))
    for pooled in (b.GlobalAveragePool(x), b.GlobalMaxPool(x), b.GlobalAveragePool(b.operand(*image))):
        b.result(pooled)
        b.result(b.Sigmoid(pooled))
    return b.finish()
