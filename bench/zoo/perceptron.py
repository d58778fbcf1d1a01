"""A network so small that calling it costs more than computing it."""

from __future__ import annotations

from itertools import pairwise

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.model import Model
from zoo.draft import GAIN, Draft

WIDTHS = [30, 64, 64, 3]


def mlp() -> Model:
    d = Draft("mlp")
    x = d.b.input("features", DataType.FLOAT, ["N", WIDTHS[0]])
    for before, after in pairwise(WIDTHS[:-1]):
        x = d.b.Relu(d.dense(x, before, after, gain=GAIN))
    return d.finish(logits=d.dense(x, WIDTHS[-2], WIDTHS[-1]))
