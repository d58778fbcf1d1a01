"""Python's operators and NumPy's indexing on operands, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sardonyx as sx

RNG = np.random.default_rng(1)
FLOATS = RNG.standard_normal((3, 4, 5)).astype(np.float32)
INTEGERS = RNG.integers(-9, 9, (3, 4))
BOOLEANS = RNG.integers(0, 2, (3, 4)).astype(bool)

CASES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "add": (lambda x: x + 1.5, FLOATS),
    "radd": (lambda x: 1.5 + x, FLOATS),
    "sub": (lambda x: x - 2, FLOATS),
    "rsub": (lambda x: 2 - x, INTEGERS),
    "mul": (lambda x: x * x, FLOATS),
    "rmul": (lambda x: 3 * x, INTEGERS),
    "truediv": (lambda x: x / 2, FLOATS),
    "rtruediv": (lambda x: 2 / x, FLOATS),
    "pow": (lambda x: x**2, FLOATS),
    "mod": (lambda x: x % 4, INTEGERS),
    "neg": (lambda x: -x, FLOATS),
    "abs": (abs, FLOATS),
    "lt": (lambda x: x < 0, FLOATS),
    "le": (lambda x: x <= 0, INTEGERS),
    "gt": (lambda x: x > 0, FLOATS),
    "ge": (lambda x: x >= 0, INTEGERS),
    "and": (lambda x: x & True, BOOLEANS),
    "or": (lambda x: x | (x ^ True), BOOLEANS),
    "invert": (lambda x: ~x, BOOLEANS),
    "bits-and": (lambda x: x & 3, INTEGERS),
    "bits-or": (lambda x: x | 3, INTEGERS),
    "bits-xor": (lambda x: x ^ 3, INTEGERS),
    "bits-invert": (lambda x: ~x, INTEGERS),
    "matmul": (lambda x: x @ np.ones((5, 2), np.float32), FLOATS),
}
INDICES: list[object] = [
    0,
    -1,
    (1, 2),
    (slice(None), -2),
    (0, slice(1, 3), slice(None, None, 2)),
    (slice(None, None, -1), 1),
    (..., 0),
    (..., None),
    (None, 1, None),
    (slice(1, None), ..., slice(None, -1)),
    slice(5, 1, -2),
    [2, 0],
    (slice(None), [1, 3, 1]),
    (slice(0, 2), np.array([[0, 1], [2, 3]])),
    (...,),
]


def built(values: np.ndarray, compute: Callable[[Any], Any]) -> np.ndarray:
    """What a model of one computation gives, by a session."""
    b = sx.Builder(opset=21)
    x = b.input("x", values.dtype, list(values.shape))
    result = compute(x)
    assert isinstance(result, sx.Operand)
    return sx.Session(b.model(y=result), engine="reference").run({"x": values})["y"]


@pytest.mark.parametrize("name", CASES)
def test_operators_are_those_of_numpy(name: str) -> None:
    compute, values = CASES[name]
    expected = np.asarray(compute(values))
    np.testing.assert_allclose(built(values, compute), expected, rtol=1e-6)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_that_of_numpy(index: object) -> None:
    expected = FLOATS[index]  # type: ignore[call-overload]
    np.testing.assert_array_equal(built(FLOATS, lambda x: x[index]), expected)


def test_bounds_may_be_operands() -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["N", 4])
    end = b.Shape(x, end=1)
    half = b.Div(end, 2)
    model = b.model(y=x[half:end, 1:])
    np.testing.assert_array_equal(
        sx.Session(model).run({"x": FLOATS[0, :4, :4]})["y"],
        FLOATS[0, 2:4, 1:4],
    )


def test_equality_is_a_method() -> None:
    result = built(INTEGERS, lambda x: x.equal(3))
    np.testing.assert_array_equal(result, INTEGERS == 3)
