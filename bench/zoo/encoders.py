"""Text encoders: BERT with LayerNormalization operators, and a small one with all operators decomposed."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

import sardonyx as sx
from sardonyx._src.ir import Array, Model, Value

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from infer.encoder import Encoder  # shared with the tests

VOCABULARY = 30_522


class Weighted(Encoder):
    """An encoder whose weights preserve the variance of activations, so that attention weights are not uniform."""

    def weight(self, name: str, *shape: int) -> Value:
        values: Array = self.rng.standard_normal(shape, np.float32)
        if name.endswith("scale"):
            return self.b.constant(name, np.abs(values) * np.float32(0.25) + np.float32(0.8))
        small = len(shape) == 1
        return self.b.constant(name, values * np.float32(0.1 if small else 1 / math.sqrt(self.width)))


class Normed(Weighted):
    """The same with LayerNormalization operators, as exporters write since operator set 17."""

    def normalize(self, x: Value, name: str) -> Value:
        scale, shift = (self.weight(f"{name}.{part}", self.width) for part in ("scale", "shift"))
        return self.b.LayerNormalization(x, scale, shift, axis=-1, epsilon=1e-12)


def bert_base() -> Model:
    return sx.infer(Normed(12, 768, 12, VOCABULARY, copied=True).model())


def encoder() -> Model:
    return sx.infer(Weighted(6, 384, 6, VOCABULARY).model())
