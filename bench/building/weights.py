"""Seeded weights and inputs of the five models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RNG = np.random.default_rng(0)


def normal(*shape: int) -> NDArray[np.float32]:
    return (RNG.standard_normal(shape) / 4).astype(np.float32)


W1, B1, W2, B2 = normal(64, 32), normal(32), normal(32, 10), normal(10)
KERNEL, SCALE, SHIFT, MEAN, VARIANCE = (
    normal(8, 8, 3, 3),
    normal(8),
    normal(8),
    normal(8),
    np.abs(normal(8)) + 1,
)
WQ, WK, WV, WO = (normal(32, 32) for _ in range(4))
WX, WH, BIAS = normal(16, 32), normal(8, 32), normal(32)
OFFSET, FACTOR, COEFFICIENTS, INTERCEPTS = normal(3), normal(3), normal(3, 6), normal(3)

INPUTS: dict[str, dict[str, NDArray[np.generic]]] = {
    "mlp": {"x": normal(5, 64)},
    "cnn": {"x": normal(2, 8, 12, 12)},
    "attention": {"x": normal(2, 1, 32), "past_k": normal(2, 4, 6, 8), "past_v": normal(2, 4, 6, 8)},
    "lstm": {"x": normal(7, 2, 16), "h0": normal(2, 8), "c0": normal(2, 8)},
    "pipeline": {"x": normal(4, 3), "color": np.array([["red"], ["blue"], ["green"], ["red"]], object)},
}
