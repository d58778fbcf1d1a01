"""Layers of convolutional networks with random weights that preserve the variance of activations."""

from __future__ import annotations

import math

import numpy as np

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model, Value

GAIN = math.sqrt(2)  # compensates a ReLU, which halves the variance
SEED = 20


class Draft:
    """A network being built, which knows the number of channels of each value."""

    def __init__(self, name: str, *, opset: int = 17) -> None:
        self.b = sx.ir.GraphBuilder(opset, name=name)
        self.draw = np.random.default_rng(SEED)
        self.channels: dict[Value, int] = {}
        self._layers = 0

    def image(self, channels: int, height: int | str, width: int | str) -> Value:
        """An input [N, channels, height, width]."""
        return self.known(self.b.input("image", DataType.FLOAT, ["N", channels, height, width]), channels)

    def conv(
        self,
        x: Value,
        channels: int,
        kernel: int,
        *,
        stride: int = 1,
        groups: int = 1,
        gain: float = GAIN,
        bias: bool = True,
    ) -> Value:
        """A convolution with padding that keeps the image size, divided by the stride."""
        name, each = self.layer("conv"), self.channels[x] // groups
        weight = self.weight(f"{name}.weight", (channels, each, kernel, kernel), each * kernel**2, gain)
        operands = [x, weight, *([self.shift(f"{name}.bias", channels)] if bias else [])]
        result = self.b.Conv(
            *operands,
            kernel_shape=[kernel, kernel],
            pads=[kernel // 2] * 4,
            strides=[stride, stride],
            dilations=[1, 1],
            group=groups,
            name=name,
        )
        return self.known(result, channels)

    def norm(self, x: Value) -> Value:
        """A batch normalization with statistics as after training."""
        name, n = self.layer("norm"), self.channels[x]
        scale, variance = (self.around_one(f"{name}.{part}", n) for part in ("scale", "variance"))
        shift, mean = (self.shift(f"{name}.{part}", n) for part in ("shift", "mean"))
        return self.known(self.b.BatchNormalization(x, scale, shift, mean, variance, name=name), n)

    def unary(self, op_type: str, x: Value, **attributes: object) -> Value:
        """An operator that keeps the channels."""
        return self.known(self.b.op(op_type, x, **attributes), self.channels[x])  # type: ignore[arg-type]  # none is a parameter of op

    def add(self, x: Value, y: Value) -> Value:
        return self.known(self.b.Add(x, y), self.channels[x])

    def dense(self, x: Value, before: int, after: int, *, gain: float = 1.0) -> Value:
        """x [N, before] times a weight, and a bias: [N, after]."""
        name = self.layer("dense")
        weight = self.weight(f"{name}.weight", (after, before), before, gain)
        return self.b.Gemm(x, weight, self.shift(f"{name}.bias", after), transB=1, name=name)

    def add_classifier(self, x: Value, classes: int = 1000) -> Model:
        """The network that ends with global average pooling of x and a dense layer."""
        pooled = self.b.Flatten(self.b.GlobalAveragePool(x), axis=1)
        return self.finish(logits=self.dense(pooled, self.channels[x], classes))

    def finish(self, **outputs: Value) -> Model:
        """The network, with a type on every value."""
        for name, value in outputs.items():
            self.b.output(value, name)
        return sx.infer(self.b.model())

    # --- weights ------------------------------------------------------------------------------

    def weight(self, name: str, shape: tuple[int, ...], fan_in: int, gain: float) -> Value:
        values = self.draw.standard_normal(shape, np.float32)
        values *= np.float32(gain / math.sqrt(fan_in))
        return self.b.constant(name, values)

    def shift(self, name: str, n: int) -> Value:
        return self.b.constant(name, self.draw.standard_normal(n, np.float32) * np.float32(0.1))

    def around_one(self, name: str, n: int) -> Value:
        return self.b.constant(name, self.draw.uniform(0.5, 1.5, n).astype(np.float32))

    def layer(self, kind: str) -> str:
        self._layers += 1
        return f"{kind}_{self._layers}"

    def known(self, x: Value, channels: int) -> Value:
        self.channels[x] = channels
        return x
