"""Networks of depthwise convolutions: MobileNet v2, and EfficientNet B0 with SiLU and squeeze-and-excite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.ir import Model, Value
from zoo.draft import Draft

# expansion, channels, blocks, stride of the first block, kernel
Plan = list[tuple[int, int, int, int, int]]
MOBILENET: Plan = [
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 32, 3, 2, 3),
    (6, 64, 4, 2, 3),
    (6, 96, 3, 1, 3),
    (6, 160, 3, 2, 3),
    (6, 320, 1, 1, 3),
]
EFFICIENTNET: Plan = [
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
]
HEAD = 1280
SQUEEZED = 4  # channels of a block's input over those of the middle of squeeze-and-excite

Step = Callable[[Value], Value]


def mobilenet_v2() -> Model:
    d = Draft("mobilenet_v2")
    low, high = (d.b.constant(f"bound {n}", np.float32(n)) for n in (0, 6))

    def relu6(x: Value) -> Value:
        return d.known(d.b.Clip(x, low, high), d.channels[x])

    return inverted_bottlenecks(d, MOBILENET, relu6, lambda x, _: x)


def efficientnet_b0() -> Model:
    d = Draft("efficientnet_b0")

    def silu(x: Value) -> Value:
        return d.known(d.b.Mul(x, d.b.Sigmoid(x)), d.channels[x])

    def squeeze_excite(x: Value, before: int) -> Value:
        squeezed = d.unary("GlobalAveragePool", x)
        weighed = d.conv(silu(d.conv(squeezed, before // SQUEEZED, 1)), d.channels[x], 1)
        return d.known(d.b.Mul(x, d.b.Sigmoid(weighed)), d.channels[x])

    return inverted_bottlenecks(d, EFFICIENTNET, silu, squeeze_excite)


def inverted_bottlenecks(d: Draft, plan: Plan, act: Step, gate: Callable[[Value, int], Value]) -> Model:
    """A network of inverted bottlenecks; `gate` gets a block's middle, and the channels before the block."""
    x = act(d.conv(d.image(3, 224, 224), 32, 3, stride=2))
    for expansion, channels, blocks, stride, kernel in plan:
        for i in range(blocks):
            before = d.channels[x]
            y = x if expansion == 1 else act(d.conv(x, expansion * before, 1))
            wide = d.channels[y]
            y = act(d.conv(y, wide, kernel, stride=1 if i else stride, groups=wide))
            y = d.conv(gate(y, before), channels, 1, gain=1.0)
            x = d.add(x, y) if i else y
    return d.add_classifier(act(d.conv(x, HEAD, 1)))
