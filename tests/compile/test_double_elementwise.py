"""Exp, Log, Sigmoid, Tanh, Softplus and Softmax of float64 as native kernels."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import sardonyx as sx
from models import parse_model

Doubles = NDArray[np.float64]
LongDoubles = NDArray[np.longdouble]
MAX_ULPS = 3
LIMITS = [
    0.0,
    -0.0,
    5e-324,
    1e-310,
    2.0**-1022,
    1 - 2.0**-53,
    1 + 2.0**-52,
    1.7e308,
    709.78,
    709.79,
    -708.4,
    -745.1,
    -745.2,
]
EXACT: dict[str, Callable[[LongDoubles], LongDoubles]] = {
    "Exp": np.exp,
    "Log": np.log,
    "Sigmoid": lambda x: np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x))),
    "Tanh": np.tanh,
    "Softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}


def arguments() -> Doubles:
    draw = np.random.default_rng(5)
    parts = (draw.uniform(-750, 712, 300), draw.uniform(-40, 40, 300), draw.uniform(-1, 1, 300))
    return np.concatenate([*parts, draw.standard_normal(100) * 1e-8, LIMITS])


def run_native(text: str, x: Doubles) -> Doubles:
    session = sx.Session(parse_model(text, opset=21), engine="native")
    assert session.stats.fallback_nodes == 0
    result = np.asarray(session.run({"x": x})["y"])
    assert not session.stats.bailouts
    return result


@pytest.mark.parametrize("op_type", EXACT)
def test_functions_of_float64_are_exact_within_some_ulp(op_type: str) -> None:
    x = arguments()
    actual = run_native(f"g (double[N] x) => (double[N] y) {{ y = {op_type}(x) }}", x)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        exact = EXACT[op_type](x.astype(np.longdouble))
        rounded = exact.astype(np.float64)
    is_finite = np.isfinite(rounded)
    np.testing.assert_array_equal(actual[~is_finite], rounded[~is_finite])
    errors = np.abs(actual[is_finite] - exact[is_finite]) / np.spacing(np.abs(rounded[is_finite]))
    assert errors.max() <= MAX_ULPS, x[is_finite][errors.argmax()]


@pytest.mark.parametrize("op_type", EXACT)
def test_special_numbers_of_float64(op_type: str) -> None:
    text = f"g (double[N] x) => (double[N] y) {{ y = {op_type}(x) }}"
    x = np.array([math.inf, -math.inf, math.nan, 1e300, -1e300])
    expected = sx.Session(parse_model(text, opset=21), engine="reference").run({"x": x})["y"]
    np.testing.assert_array_equal(run_native(text, x), np.asarray(expected))


def softmax(x: Doubles) -> Doubles:
    weights = np.exp(np.asarray(x, np.longdouble) - x.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True), np.float64)


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 1), (7, 8), (3, 17), (1, 1000), (0, 4)])
@pytest.mark.parametrize("is_open", [False, True])
def test_softmax_of_float64(shape: tuple[int, ...], is_open: bool) -> None:
    dims = ",".join("ABC"[: len(shape)]) if is_open else ",".join(map(str, shape))
    x = np.random.default_rng(6).standard_normal(shape) * 20
    actual = run_native(f"g (double[{dims}] x) => (double[{dims}] y) {{ y = Softmax(x) }}", x)
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, softmax(x) if x.size else x, rtol=1e-14)


def test_softmax_of_special_rows_of_float64() -> None:
    inf, nan = math.inf, math.nan
    x = np.array([[1.0, -inf, 2.0], [-inf, -inf, -inf], [inf, 1, 2], [nan, 1, 2], [-1000, 0, -740]])
    text = "g (double[A,3] x) => (double[A,3] y) { y = Softmax(x) }"
    expected = np.asarray(sx.Session(parse_model(text, opset=21), engine="reference").run({"x": x})["y"])
    np.testing.assert_allclose(run_native(text, x), expected, rtol=1e-14)


def test_softmax_of_transposed_float64() -> None:
    x = np.random.default_rng(7).standard_normal((6, 9))
    text = "g (double[A,B] x) => (double[C,D] y) { t = Transpose(x) y = Softmax(t) }"
    np.testing.assert_allclose(run_native(text, x), softmax(x.T), rtol=1e-14)
