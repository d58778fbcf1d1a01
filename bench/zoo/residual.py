"""ResNet-50 as exporters write it: norms are folded into the convolutions, which have biases."""

from __future__ import annotations

from sardonyx._src.ir import Model, Value
from zoo.draft import Draft

STAGES = [(64, 3), (128, 4), (256, 6), (512, 3)]  # width and blocks
EXPANSION = 4  # channels of a block's output over those of its middle


def resnet50() -> Model:
    d = Draft("resnet50")
    x = d.unary("Relu", d.conv(d.image(3, 224, 224), 64, 7, stride=2))
    x = d.unary("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    for stage, (width, blocks) in enumerate(STAGES):
        for i in range(blocks):
            x = bottleneck(d, x, width, stride=2 if stage and i == 0 else 1)
    return d.add_classifier(x)


def bottleneck(d: Draft, x: Value, width: int, *, stride: int) -> Value:
    """1x1, 3x3 and 1x1 convolution plus a shortcut, which is the identity where shapes allow."""
    h = d.unary("Relu", d.conv(x, width, 1))
    h = d.unary("Relu", d.conv(h, width, 3, stride=stride))
    h = d.conv(h, EXPANSION * width, 1, gain=0.5)
    fits = stride == 1 and d.channels[x] == EXPANSION * width
    return d.unary("Relu", d.add(h, x if fits else d.conv(x, EXPANSION * width, 1, stride=stride, gain=1.0)))
