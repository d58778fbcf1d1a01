"""A U-Net on 256 x 256 pixels: 18 billion operations, batch normalizations not folded into convolutions."""

from __future__ import annotations

from sardonyx._src.ir import Model, Value
from zoo.draft import Draft

WIDTHS = [32, 64, 128, 256]
CLASSES = 2


def unet(height: int | str = 256, width: int | str = 256) -> Model:
    """height, width: of images; expressions that have to be multiples of 8."""
    d = Draft("unet")
    x, kept = d.image(3, height, width), []
    for width in WIDTHS[:-1]:
        x = double_conv(d, x, width)
        kept.append(x)
        x = d.unary("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = double_conv(d, x, WIDTHS[-1])
    for skip in reversed(kept):
        width = d.channels[skip]
        both = d.b.Concat(skip, upsample(d, x, width), axis=1)
        x = double_conv(d, d.known(both, 2 * width), width)
    return d.finish(mask=d.b.Sigmoid(d.conv(x, CLASSES, 1, gain=1.0)))


def double_conv(d: Draft, x: Value, channels: int) -> Value:
    for _ in range(2):
        x = d.unary("Relu", d.norm(d.conv(x, channels, 3, bias=False)))
    return x


def upsample(d: Draft, x: Value, channels: int) -> Value:
    """x over twice as many rows and columns, by a transposed convolution."""
    name, before = d.layer("up"), d.channels[x]
    weight = d.weight(f"{name}.weight", (before, channels, 2, 2), before, gain=1.0)
    bias = d.shift(f"{name}.bias", channels)
    return d.b.ConvTranspose(x, weight, bias, kernel_shape=[2, 2], strides=[2, 2], name=name)
