"""Small networks: one that costs more to call than to compute, and one of steps of 20 to 50 us."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model
from zoo.draft import GAIN, Draft

WIDTHS = [30, 64, 64, 3]
DEEP_WIDTHS = [256] * 9


def mlp() -> Model:
    return perceptron("mlp", WIDTHS)


def deep_mlp() -> Model:
    return perceptron("deep_mlp", DEEP_WIDTHS)


def perceptron(name: str, widths: Sequence[int]) -> Model:
    d = Draft(name)
    x = d.b.input("features", DataType.FLOAT, ["N", widths[0]])
    for before, after in pairwise(widths[:-1]):
        x = d.b.Relu(d.dense(x, before, after, gain=GAIN))
    return d.finish(logits=d.dense(x, widths[-2], widths[-1]))
