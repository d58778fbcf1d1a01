"""A linear model with two weights, its data, and its gradients by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine
from sardonyx.train import MSE, Optimizer, prepare

DRAW = np.random.default_rng(5)
X = DRAW.standard_normal((16, 3))
T = DRAW.standard_normal((16, 2))
W, B = DRAW.standard_normal((3, 2)), DRAW.standard_normal(2)
STEPS = 7


def numbers(array: Array) -> str:
    return ", ".join(map(repr, map(float, array.flat)))


def linear_model() -> sx.Model:
    """y = x w + b, in float64."""
    return sx.from_text(f"""<ir_version: 10, opset_import: ["": 21], domain: "com.example", producer_name: "t", producer_version: "1">
    linear (double[N, 3] x) => (double[N, 2] y) <double[3, 2] w = {{{numbers(W)}}}, double[2] b = {{{numbers(B)}}}> {{
      p = MatMul(x, w)
      y = Add(p, b)
    }}""")


def gradients(w: Array, b: Array) -> dict[str, Array]:
    """The gradients of mean((x w + b - t)^2)."""
    slope = 2 * (X @ w + b - T) / T.size
    return {"w": X.T @ slope, "b": slope.sum(0)}


# From the number of the update, a parameter, its gradient and its states to the new parameter; states are changed.
Formula = Callable[[int, Array, Array, dict[str, Array]], Array]


def train_by_formula(formula: Formula, steps: int = STEPS) -> dict[str, Array]:
    """The weights after steps of an optimizer as NumPy computes them."""
    weights: dict[str, Array] = {"w": W.copy(), "b": B.copy()}
    states: dict[str, dict[str, Array]] = {"w": {}, "b": {}}
    for t in range(1, steps + 1):
        slopes = gradients(weights["w"], weights["b"])
        weights = {name: formula(t, weights[name], slopes[name], states[name]) for name in weights}
    return weights


def train_by_model(optimizer: Optimizer, engine: Engine, steps: int = STEPS) -> Mapping[str, Array]:
    """The state after steps of a prepared model."""
    session = sx.TrainingSession(prepare(linear_model(), loss=MSE(), optimizer=optimizer), engine=engine)
    for _ in range(steps):
        session.step({"x": X, "target": T})
    return session.state
