"""Determinants of small matrices as native kernels, beside exact ones."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import prod

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array

INF, NAN = float("inf"), float("nan")


def random_matrices(*shape: int, seed: int = 3) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def run_native(x: Array, dims: str) -> Array:
    batch = ",".join(dims.split(",")[:-2])
    result = f"float[{batch}]" if batch else "float"
    text = f"g (float[{dims}] x) => ({result} y) {{ y = Det(x) }}"
    session = sx.Session(parse_model(text, opset=22), engine="native")
    assert session.stats.fallback_nodes == 0
    y = np.asarray(session.run({"x": x})["y"])
    assert not session.stats.bailouts
    return y


def exact_determinant(matrix: Array) -> float:
    """By the formula of Leibniz, in rational numbers."""
    rows = [[Fraction(float(element)) for element in row] for row in matrix]
    total = Fraction(0)
    for order in permutations(range(len(rows))):
        inversions = sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])
        total += (-1) ** inversions * prod((rows[i][j] for i, j in enumerate(order)), start=Fraction(1))
    return float(total)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_small_determinants_are_exact(size: int) -> None:
    x = random_matrices(40, size, size)
    expected = [exact_determinant(matrix) for matrix in x]
    np.testing.assert_allclose(run_native(x, f"40,{size},{size}"), expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "dims"),
    [((9, 9), "9,9"), ((2, 3, 16, 16), "A,B,16,16"), ((0, 4, 4), "A,4,4"), ((100, 4, 4), "A,4,4")],
)
def test_shapes_of_determinants(shape: tuple[int, ...], dims: str) -> None:
    x = random_matrices(*shape)
    actual = run_native(x, dims)
    assert actual.shape == shape[:-2] and actual.dtype == np.float32
    np.testing.assert_allclose(actual, np.linalg.det(x.astype(np.float64)), rtol=1e-4)


def test_special_matrices() -> None:
    x = np.array(
        [
            [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
            [[1, 2, 3], [2, 4, 6], [1, 0, 1]],
            [[0, 0, 0], [0, NAN, 0], [0, 0, 0]],
            [[0, 1, NAN], [0, 2, 3], [0, 4, 5]],
            [[1e30, 0, 0], [0, 1e30, 0], [0, 0, 1e-30]],
            [[INF, 0, 0], [0, 1, 0], [0, 0, 2]],
        ],
        np.float32,
    )
    expected = [-1, 0, NAN, NAN, 1e30, INF]
    np.testing.assert_allclose(run_native(x, "6,3,3"), expected, rtol=1e-6)


def test_large_matrices_fall_back() -> None:
    model = parse_model("g (float[17,17] x) => (float y) { y = Det(x) }", opset=22)
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 1
    x = random_matrices(17, 17)
    np.testing.assert_allclose(session.run({"x": x})["y"], np.linalg.det(x.astype(np.float64)), rtol=1e-4)
