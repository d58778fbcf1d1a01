"""Operands of elementwise operators that do not just broadcast: sizes that only runs tell are held to the specification."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array

CONSTANTS = (
    "float[1] one = {1}, float[4] four = {1, 1, 1, 1}, float[3, 3, 1, 1] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}"
)

REFUSED = [
    ("float[N] x, float[K] m", 'y = Clip(x, "", m)', [(3,), (3,)], "max must be a scalar"),
    ("float[N] x, float[K] m", "y = Clip(x, m)", [(0,), (0,)], "min must be a scalar"),
    ("float[N,C] x", 'y = Clip(x, "", x)', [(3, 1)], "max must be a scalar"),
    ("float[N,C] x", "a = Neg(x) b = Abs(x) y = Clip(b, a)", [(3, 1)], "min must be a scalar"),
    (
        "float[1,3,4,4] x, float[K,L,P] m",
        "c = Conv(x, w) y = Clip(c, m)",
        [(1, 3, 4, 4), (3, 4, 4)],
        "min must",
    ),
    ("float[N] x, float[K] m", "y = PRelu(x, m)", [(1,), (3,)], "slope must broadcast"),
    ("float[N,C] x", "a = Neg(x) y = PRelu(a, four)", [(3, 1)], "slope must broadcast"),
    (
        "float[N,C] x, float[K] m",
        "y = BatchNormalization(x, m, m, m, m)",
        [(3, 3), (1,)],
        "scale must have shape",
    ),
    ("float[N,C] x", "y = BatchNormalization(x, one, one, one, one)", [(3, 3)], "scale must have shape"),
]

ACCEPTED = [
    ("float[N] x, float[K] m", "y = Clip(x, m)", [(3,), (1,)]),
    ("float[N,C] x", "a = Neg(x) b = Abs(x) y = Clip(b, a)", [(1, 1)]),
    ("float[N,C] x", "a = Neg(x) y = PRelu(a, four)", [(3, 4)]),
    ("float[N,C] x, float[K] m", "y = BatchNormalization(x, m, m, m, m)", [(2, 3), (3,)]),
]


def run(
    inputs: str, nodes: str, shapes: list[tuple[int, ...]], engine: Literal["native", "reference"]
) -> tuple[Array, sx.Session]:
    model = parse_model(f"g ({inputs}) => (y) <{CONSTANTS}> {{ {nodes} }}", opset=23)
    session = sx.Session(model, engine=engine)
    arrays = (np.full(shape, 0.5, np.float32) for shape in shapes)
    result = session.run(dict(zip(("x", "m"), arrays, strict=False)))["y"]
    return np.asarray(result), session


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(("inputs", "nodes", "shapes", "message"), REFUSED)
def test_sizes_that_the_operator_does_not_accept_are_refused(
    inputs: str,
    nodes: str,
    shapes: list[tuple[int, ...]],
    message: str,
    engine: Literal["native", "reference"],
) -> None:
    with pytest.raises(sx.errors.EvaluationError, match=message):
        run(inputs, nodes, shapes, engine)


@pytest.mark.parametrize(("inputs", "nodes", "shapes"), ACCEPTED)
def test_sizes_that_the_operator_accepts_run_natively(
    inputs: str, nodes: str, shapes: list[tuple[int, ...]]
) -> None:
    expected, _ = run(inputs, nodes, shapes, "reference")
    actual, session = run(inputs, nodes, shapes, "native")
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    assert not session.stats.bailouts
    assert session.stats.fallback_nodes == 0
